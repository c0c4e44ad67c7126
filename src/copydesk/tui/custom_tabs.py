"""The user's own tabs of the review: filters with a name, from the settings file and saved in the console."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from copydesk.errors import InvalidError, SettingsError
from copydesk.settings import MAX_FILE_SIZE, QueueTab, Settings
from copydesk.tui import labels

if TYPE_CHECKING:
    from copydesk.model.filters import DraftView
    from copydesk.model.source import Source

TABS_FILE = "console-tabs.json"
MAX_TAB_NAME_LENGTH = 30
MAX_TAB_COUNT = 20_000
"""Drafts of a tab that are counted; the number is a lower bound from there on."""
_PREFIX = ":"
"""Begins the key of a tab, so that no name is the key of a built-in tab."""
AGENTS_TAB = QueueTab(agents=True)


def tab_key(name: str) -> str:
    """Return the key under which the review knows the tab."""
    return f"{_PREFIX}{name}"


def tab_name(key: str) -> str:
    """Return the name of a tab by its key; empty for a built-in tab."""
    return key[len(_PREFIX) :] if key.startswith(_PREFIX) else ""


class CustomTabs:
    """The tabs after the built-in ones: those of the settings, then those saved in the console, each in its order.

    Only the latter can be changed here. They are stored in `file`, or not at all if that is None.
    """

    def __init__(self, configured: Mapping[str, QueueTab] | None = None, file: Path | None = None) -> None:
        self._configured = dict(configured or {})
        self._file = file
        self._saved, self.problem = _load(file)
        self.counts: dict[str, int] = {}
        """The number of drafts by key, as last counted by the review."""

    @property
    def tabs(self) -> Mapping[str, QueueTab]:
        """All tabs by name, in order."""
        # A name that the settings use as well is theirs.
        return self._configured | {name: tab for name, tab in self._saved.items() if name not in self._configured}

    @property
    def keys(self) -> list[str]:
        """The keys of all tabs of the review, in order."""
        return [*labels.TABS, *map(tab_key, self.tabs)]

    def is_configured(self, name: str) -> bool:
        """Return True if the tab is set in the settings file, which the console does not write."""
        return name in self._configured

    def refusal(self, name: str, *, replaces: str) -> str:
        """Return why a tab cannot have this name; empty if it can. The tab `replaces` gives up its name."""
        if problem := name_problem(name):
            return problem
        taken = {other.casefold() for other in self.tabs if other != replaces or other in self._configured}
        return labels.tab_exists(name) if name.casefold() in taken else ""

    def save(self, name: str, tab: QueueTab) -> None:
        """Add a tab at the end, or change the filters of the one with this name. Raise OSError."""
        self._write(self._load_saved() | {name: tab})

    def rename(self, name: str, new_name: str) -> None:
        """Rename a tab, which keeps its place. Raise OSError."""
        saved = self._load_saved()
        # It is displayed here, even if another console has removed it.
        saved.setdefault(name, self._saved[name])
        # Nor does it take the place of one that another console has saved.
        if new_name.casefold() in {other.casefold() for other in saved if other != name}:
            raise OSError(labels.tab_saved_elsewhere(new_name))
        self._write({new_name if other == name else other: tab for other, tab in saved.items()})

    def remove(self, name: str) -> None:
        """Remove a tab. Raise OSError."""
        self._write({other: tab for other, tab in self._load_saved().items() if other != name})

    def move(self, name: str, by: int) -> None:
        """Move a tab to the left (`by` -1) or to the right (1). Raise OSError."""
        saved = self._load_saved()
        names = list(saved)
        if name in names and 0 <= (target := names.index(name) + by) < len(names):
            names.insert(target, names.pop(names.index(name)))
            self._write({other: saved[other] for other in names})

    def _load_saved(self) -> dict[str, QueueTab]:
        """Return the saved tabs as they are now: another console may have changed them. Raise OSError."""
        if self._file is None:
            return self._saved
        try:
            return _read(self._file)
        except msgspec.MsgspecError as error:
            # Written again, the file would lose the tabs that can still be repaired by hand.
            raise OSError(labels.tabs_file_unreadable(self._file.name, str(error))) from error

    def _write(self, tabs: dict[str, QueueTab]) -> None:
        """Write the file atomically: another console may read it now."""
        if self._file is not None:
            from copydesk.file_replacement import replace_file  # noqa: PLC0415 - not needed for the first paint

            replace_file(self._file, msgspec.json.encode(tabs))
        self._saved = tabs


def _load(file: Path | None) -> tuple[dict[str, QueueTab], str]:
    """Return the stored tabs, and what is wrong with the file; nothing if there is none."""
    if file is None:
        return {}, ""
    try:
        return _read(file), ""
    except (OSError, msgspec.MsgspecError) as error:
        return {}, labels.saved_tabs_unreadable(file.name, getattr(error, "strerror", None) or str(error))


def _read(file: Path) -> dict[str, QueueTab]:
    """Return the tabs of the file; none if it does not exist. Raise OSError or MsgspecError."""
    try:
        with file.open("rb") as stream:
            tabs = msgspec.json.decode(stream.read(MAX_FILE_SIZE), type=dict[str, QueueTab])
    except FileNotFoundError:
        return {}
    return {name: tab for name, tab in tabs.items() if not name_problem(name)}


def tabs_file(settings: Settings, user: str | None) -> Path:
    """Return the file with the tabs that a user saved; `user` is None for the owner."""
    if user is None:
        return settings.data_home / TABS_FILE
    from hashlib import sha256  # noqa: PLC0415 - for other users than the owner

    # Names of users are free text, which not every file system takes.
    return settings.data_home / f"console-tabs-{sha256(user.encode()).hexdigest()[:16]}.json"


def configured_tabs(settings: Settings) -> Mapping[str, QueueTab]:
    """Return the tabs of the settings file. Raise SettingsError if one cannot be shown."""
    for name, tab in settings.tabs.items():
        if problem := name_problem(name) or _problem(tab):
            raise SettingsError(f"{settings.settings_file}: [tabs] {name!r}: {problem}")
    agents = {labels.AGENTS_TAB: AGENTS_TAB} if settings.console.agents_tab else {}
    return agents | settings.tabs


def name_problem(name: str) -> str:
    """Return why a name cannot be the name of a tab; empty if it can."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_TAB_NAME_LENGTH:
        return labels.tab_name_invalid(MAX_TAB_NAME_LENGTH)
    builtin = {long.casefold() for long, _ in labels.TABS.values()} | {labels.NEEDS_YOU.casefold()}
    return labels.tab_exists(name) if name.casefold() in builtin else ""


def _problem(tab: QueueTab) -> str:
    """Return why the filters cannot be used; empty if they can. Whether the source exists is known to the desk."""
    from copydesk.model.filters import Order, Tab, list_orders, parse_query  # noqa: PLC0415 - for tabs only

    orders = list_orders(Tab(tab.status))
    if tab.order and Order(tab.order) not in orders:
        return labels.tab_order_invalid(tab.status, orders)
    try:
        if tab.search:
            parse_query(tab.search, incomplete=True)
    except InvalidError as error:
        return "; ".join(f"search {problem.message}" for problem in error.errors) + "."
    return ""


def to_view(tab: QueueTab, sources: "Sequence[Source]") -> "DraftView":
    """Return the drafts of a tab as a view; those of a source that does not exist are none."""
    from copydesk.model.draft import Format  # noqa: PLC0415 - not needed for the first paint
    from copydesk.model.filters import DraftView, Order, Tab  # noqa: PLC0415 - as above

    ids = [source.id for source in sources if source.name == tab.source]
    return DraftView(
        tab=Tab(tab.status),
        format=Format(tab.format) if tab.format else None,
        # No source has its name as its id, so an unknown one matches nothing.
        source_id=(ids[0] if ids else tab.source) or None,
        tags=tab.tags,
        by_agent=tab.agents,
        query=tab.search,
        sort=Order(tab.order) if tab.order else None,
    )


def from_view(view: "DraftView", sources: "Sequence[Source]") -> QueueTab:
    """Return a view as the filters of a tab, which name its source."""
    names = [source.name for source in sources if source.id == view.source_id]
    return QueueTab(
        # The values of the enumerations are those that the settings accept.
        status=view.tab.value,
        format=view.format.value if view.format is not None else "",
        source=names[0] if names else view.source_id or "",
        tags=view.tags,
        agents=view.by_agent,
        search=view.query,
        order=view.sort.value if view.sort is not None else "",
    )
