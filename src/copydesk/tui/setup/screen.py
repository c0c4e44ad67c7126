"""The setup screen: accounts, voice, writer, time zone, and file locations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from copydesk.errors import CopydeskError, FieldError, InvalidError
from copydesk.model.delivery import ConnectedAccount, name_accounts
from copydesk.model.token import Scope
from copydesk.model.writer import OFFLINE, WriterInfo
from copydesk.tui import empty_states, labels
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.dialogs.fields import FieldsDialog
from copydesk.tui.dialogs.prompt import ConfirmDialog, prompt_time_zone
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block, paragraph
from copydesk.tui.ranking_pages import ranking_page, rules_page
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.setup.pages import (
    Section,
    SetupSnapshot,
    account_page,
    account_row,
    learning_page,
    locations_page,
    voice_page,
    writer_page,
    zone_page,
)
from copydesk.tui.setup.writers import WriterActions, writer_row
from copydesk.tui.terminal.cells import fit
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.accounts.service import ConnectMethod
    from copydesk.model.check_finding import CheckFinding


def _draw_section(section: Section, width: int) -> Content:
    return Content(fit(section.value, width))


class SetupScreen(DeskScreen):
    """Sections at the left, the one under the cursor at the right."""

    NAME = "Setup"
    WHERE = (KeyContext.LIST, KeyContext.SETUP)
    BINDINGS = bindings(KeyContext.SETUP)
    CSS_PATH = stylesheet_path("setup.tcss")
    AUTO_FOCUS = "#sections"
    OPENS_CREDENTIAL_FORMS = True
    """Text typed ahead here may be a password."""
    # One breakpoint more than other screens have: two panes fit side by side here where a queue would be too narrow.
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (40, "-slim"), (64, "-narrow"), (100, "-medium"), (150, "-wide")]

    accounts: getters.query_one[LineList[ConnectedAccount]] = getters.query_one("#accounts", LineList)
    writers: getters.query_one[LineList[WriterInfo]] = getters.query_one("#writers", LineList)
    sections: getters.query_one[LineList[Section]] = getters.query_one("#sections", LineList)
    detail_pane = getters.query_one("#about", Page)

    class Loaded(Message, bubble=False):
        """The configuration was loaded from the desk."""

        def __init__(self, setup: SetupSnapshot) -> None:
            super().__init__()
            self.setup = setup

    class ChecksCompleted(Message, bubble=False):
        """The checks of `copydesk doctor` have run."""

        def __init__(self, checks: "tuple[CheckFinding, ...]") -> None:
            super().__init__()
            self.checks = checks

    def __init__(self) -> None:
        super().__init__()
        self._setup: SetupSnapshot | None = None
        self._account_names: dict[str, str] = {}
        """Names of the accounts by id, each different."""
        self._added_writer = ""
        """Name of a writer that was added here and is not shown yet."""
        self._checks: tuple[CheckFinding, ...] | None = None
        self._loader: Coalescer[Desk] = Coalescer(self._load_setup)
        self._check_runner: Coalescer[Desk] = Coalescer(self._run_checks)

    def body(self) -> Iterable[Widget]:
        accounts = LineList(self._draw_account, shows_times=True, id="accounts")
        writers = LineList(self._draw_writer, shows_times=True, id="writers")
        with Container(id="body"):
            yield LineList(_draw_section, id="sections")
            yield Vertical(accounts, writers, Page(empty_states.opening(self.app.opening_text), id="about"), id="right")

    def _draw_account(self, account: ConnectedAccount, width: int) -> Content:
        return account_row(account, self._account_names[account.id], self.app.clock(), width)

    def _draw_writer(self, writer: WriterInfo, width: int) -> Content:
        return writer_row(writer, self.app.clock(), width)

    def on_mount(self) -> None:
        set_title(self.sections, labels.SETUP_TITLE)
        set_title(self.accounts, labels.ACCOUNTS_TITLE)
        set_title(self.writers, labels.WRITERS_TITLE)
        self.sections.show(list(Section))
        self._show_pane("sections")

    def refresh_data(self) -> None:
        """Load the configuration; run the doctor's checks only while they are displayed."""
        self.load_with_retry(self._loader.submit_and_wait)
        if self.section is Section.LOCATIONS:
            self._request_checks()

    async def _load_setup(self, desk: "Desk") -> None:
        from copydesk.desk.voice import unsupported_fields  # noqa: PLC0415 - not needed for the first paint

        voice, writers = await desk.voice.get(), await desk.writers.list()
        try:
            vault = await desk.accounts.vault_status()
            credential_storage = (
                vault.description if vault.has_credentials else labels.credentials_empty(vault.description)
            )
        except CopydeskError as error:
            credential_storage = error.message
        setup = SetupSnapshot(
            accounts=await desk.accounts.list(),
            credential_storage=credential_storage,
            voice=voice,
            # A language model follows all of it.
            unfollowed=unsupported_fields(voice) if writers.writers[0].name == OFFLINE else (),
            writers=writers,
            zone=await desk.schedule.zone(),
            local_time=_without_distance(
                *await desk.schedule.format_times(self.app.clock().replace(second=0, microsecond=0))
            ),
            slots=len(await desk.schedule.slots()),
            ranking=await desk.ranking.get(),
            rules=await desk.rules.list(),
            learning=await desk.learning.report() if self.section is Section.LEARNING else None,
        )
        self.post_message(self.Loaded(setup))

    def _request_checks(self) -> None:
        if self.app.desk is not None:
            self.app.run_desk_task(self._check_runner.submit)

    async def _run_checks(self, desk: "Desk") -> None:
        from contextlib import nullcontext  # noqa: PLC0415 - only needed here

        from copydesk.desk.doctor import examine  # noqa: PLC0415 - as above

        self.post_message(self.ChecksCompleted(await examine(desk.settings, lambda: nullcontext(desk))))

    @on(Loaded)
    def _show_setup(self, message: Loaded) -> None:
        """Show the configuration; the cursors stay where they are, but for a new account or a writer added here."""
        before, self._setup, self.is_loaded = self._setup, message.setup, True
        accounts, writers = message.setup.accounts, message.setup.writers.writers
        if accounts:
            self._account_names = name_accounts(accounts)
            known = [account.id for account in before.accounts] if before is not None else None
            ids = [account.id for account in accounts]
            # One that was connected just now is what the user looks for.
            new = [account_id for account_id in ids if known is not None and account_id not in known]
            connected = new[0] if len(new) == 1 else ""
            self.accounts.show(accounts, _new_cursor(self.accounts.cursor, known or (), ids, connected))
        else:
            self.accounts.show_note([paragraph(labels.EMPTY_ACCOUNTS, "dim")])
        known = [writer.name for writer in before.writers.writers] if before is not None else []
        names = [writer.name for writer in writers]
        self.writers.show(writers, _new_cursor(self.writers.cursor, known, names, self._added_writer))
        if self._added_writer in names:
            self._added_writer = ""
        self._show_section()

    @on(ChecksCompleted)
    def _show_checks(self, message: ChecksCompleted) -> None:
        self._checks = message.checks
        self._show_section()

    def show_error(self, error: CopydeskError) -> None:
        self.detail_pane.show(self.error_note(error))

    @property
    def section(self) -> Section:
        """Return the section under the cursor."""
        return self.sections.current or Section.ACCOUNTS

    def show_section(self, section: Section) -> None:
        """Move the cursor to a section, and focus what is in it."""
        self.sections.cursor = list(Section).index(section)
        self._go_to(self._panes[1])

    @on(LineList.Moved)
    def _follow_cursor(self) -> None:
        # The checks take time: run them when they are first displayed, not when the screen is opened.
        if self.section is Section.LOCATIONS and self._checks is None:
            self._request_checks()
        if self.section is Section.LEARNING and self._setup is not None and self._setup.learning is None:
            self.refresh_data()
        self._show_section()

    def _show_section(self) -> None:
        """Show the current section; an unchanged one keeps its scroll position."""
        self.accounts.display = self.section is Section.ACCOUNTS
        self.writers.display = self.section is Section.WRITERS
        # Below a list it shows one of its rows.
        titles = {Section.ACCOUNTS: labels.ACCOUNT_TITLE, Section.WRITERS: labels.WRITER_TITLE}
        set_title(self.detail_pane, titles.get(self.section, self.section.value))
        if self._setup is None:
            return
        show = self.detail_pane.show_more if self._displayed_section is self.section else self.detail_pane.show
        show(partial(self._section_page, self._setup))
        self._displayed_section = self.section
        self.update_keys()

    def refusal(self, key_id: str) -> str:
        """Return why a key does nothing in the section under the cursor: what is not on the screen is not meant."""
        return super().refusal(key_id) or self._section_refusal(key_id) or self._row_refusal(key_id)

    def shows_key(self, key_id: str) -> bool:
        """Leave out of the footer what the section never has."""
        return not self._section_refusal(key_id)

    @property
    def key_words(self) -> Mapping[str, str]:
        """Words of the footer for what keys do in the section under the cursor."""
        learning = self._setup.learning if self._setup is not None else None
        forget = labels.RESTORE_LEARNING if learning is not None and learning.reset_at else labels.FORGET
        words: Mapping[Section, Mapping[str, str]] = {
            Section.WRITERS: {labels.CONNECT: labels.ADD},
            Section.LEARNING: {labels.REMOVE: forget},
            Section.RANKING: {labels.REMOVE: labels.RESET},
        }
        return words.get(self.section, {})

    def _section_refusal(self, key_id: str) -> str:
        """Return why a key does nothing in the section under the cursor, whatever it contains."""
        refusals: Mapping[str, Mapping[Section, str]] = {
            "setup.edit": {
                Section.ACCOUNTS: labels.account_keys(),
                Section.LEARNING: labels.learning_keys(),
                Section.LOCATIONS: labels.NOTHING_TO_EDIT,
            },
            "setup.check": dict.fromkeys(set(Section) - {Section.ACCOUNTS, Section.WRITERS}, labels.NOTHING_TO_TEST),
            "setup.import": dict.fromkeys(set(Section) - {Section.ACCOUNTS, Section.VOICE}, labels.NOTHING_TO_IMPORT),
            "setup.use": dict.fromkeys(set(Section) - {Section.WRITERS}, labels.NOTHING_TO_USE),
            "setup.remove": {
                **dict.fromkeys((Section.VOICE, Section.ZONE, Section.LOCATIONS), labels.NOTHING_TO_REMOVE),
                Section.RULES: labels.rules_removed_by(),
            },
        }
        return refusals.get(key_id, {}).get(self.section, "")

    def _row_refusal(self, key_id: str) -> str:
        """Return why a key does nothing to what the section contains now."""
        setup, writer = self._setup, self.writers.current
        has_rules = setup is not None and bool(setup.rules)
        # Until they are loaded there may be some.
        no_account = labels.account_missing() if setup is not None and not setup.accounts else ""
        not_reset = labels.ranking_not_reset() if setup is not None and not setup.ranking.saved else ""
        is_offline = writer is not None and writer.endpoint is None
        refusals: Mapping[str, Mapping[Section, str]] = {
            "setup.edit": {Section.RULES: "" if has_rules else labels.rules_empty()},
            "setup.check": {
                Section.ACCOUNTS: no_account,
                Section.WRITERS: labels.offline_writer_tested() if is_offline else "",
            },
            "setup.import": {Section.ACCOUNTS: no_account, Section.VOICE: no_account},
            "setup.remove": {
                Section.ACCOUNTS: no_account,
                Section.WRITERS: labels.offline_writer_removed() if is_offline else "",
                Section.RANKING: not_reset,
            },
        }
        return refusals.get(key_id, {}).get(self.section, "")

    def _is_refused(self, key_id: str) -> bool:
        """Return whether a key does nothing here, and notify why."""
        if reason := self.refusal(key_id):
            self.app.notify(reason, severity="warning")
        return bool(reason)

    _displayed_section: Section | None = None

    def _section_page(self, setup: SetupSnapshot) -> Sequence[Block]:
        checking, now = [paragraph(labels.CHECKING, "dim")], self.app.local_now
        pages: Mapping[Section, Callable[[], Sequence[Block]]] = {
            Section.ACCOUNTS: lambda: account_page(self.accounts.current, setup.credential_storage, now()),
            Section.VOICE: lambda: voice_page(setup),
            Section.LEARNING: lambda: learning_page(setup.learning, now()) if setup.learning else checking,
            Section.WRITERS: lambda: writer_page(self.writers.current, setup, now()),
            Section.ZONE: lambda: zone_page(setup),
            Section.RANKING: lambda: ranking_page(setup.ranking),
            Section.RULES: lambda: rules_page(setup.rules, now()),
            Section.LOCATIONS: lambda: (
                locations_page(self._checks, self.app.name_keys, self.app.notice) if self._checks else checking
            ),
        }
        return pages[self.section]()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show the keys of the focused pane in the footer."""
        self._show_pane(event.widget.id or "")

    def _show_pane(self, pane: str) -> None:
        body = self.query_one("#body")
        body.set_class(pane == "sections", "-sections")
        body.set_class(pane != "sections", "-right")
        self.show_keys(KeyContext.PAGE if pane == "about" else KeyContext.LIST, KeyContext.SETUP)

    @property
    def _panes(self) -> list[str]:
        accounts = ["accounts"] if self.section is Section.ACCOUNTS and self.accounts.rows else []
        writers = ["writers"] if self.section is Section.WRITERS and self.writers.rows else []
        return ["sections", *accounts, *writers, "about"]

    def action_pane(self, by: int) -> None:
        """Focus the next pane (`by` 1) or the previous one (-1)."""
        panes = self._panes
        current = panes.index(self.focused.id) if self.focused and self.focused.id in panes else 0
        self._go_to(panes[(current + by) % len(panes)])

    def _go_to(self, pane: str) -> None:
        # Make the pane visible first: a hidden widget cannot take the focus.
        self._show_pane(pane)
        self.focus_after_layout(self.query_one(f"#{pane}"))

    def on_line_list_opened(self) -> None:
        """Enter focuses the next pane."""
        self.action_pane(1)

    def action_back(self) -> None:
        """Focus the sections."""
        self._go_to("sections")

    def action_refresh(self) -> None:
        """Load the data again, or retry to open the desk."""
        self._checks = None
        if self.app.desk is None:
            self.app.open()
        else:
            self.refresh_data()

    def action_edit(self) -> None:
        """Edit the current section, or notify where that is done."""
        if self._setup is None or self._is_refused("setup.edit"):
            return
        if self.section in {Section.VOICE, Section.WRITERS}:
            self.app.run_desk_task(self._edit_voice, hold_keys=Hold.SCREEN)
        elif self.section is Section.ZONE:
            self._prompt_zone(self._setup.zone)
        elif self.section is Section.RANKING:
            self.app.run_desk_task(self._edit_ranking, hold_keys=Hold.SCREEN)
        else:
            self.app.run_desk_task(self._edit_rule, hold_keys=Hold.SCREEN)

    async def _edit_ranking(self, desk: "Desk") -> None:
        from copydesk.tui.setup.ranking_dialogs import open_ranking_form  # noqa: PLC0415 - not needed for the first paint

        open_ranking_form(self, await desk.ranking.get())

    async def _edit_rule(self, desk: "Desk") -> None:
        from copydesk.tui.setup.ranking_dialogs import open_rule_form  # noqa: PLC0415 - as above

        open_rule_form(self, await desk.rules.list(), self._report_rule)

    def _report_rule(self, message: str | None) -> None:
        if message:
            self.app.notify(message)
            self.refresh_data()

    async def _edit_voice(self, desk: "Desk") -> None:
        from copydesk.tui.setup.voice_dialog import edit_voice  # noqa: PLC0415 - not needed for the first paint

        # Load the voice again: the one on the screen may be older than the last save.
        await edit_voice(self, desk, await desk.voice.get(), self._voice_saved)

    def _voice_saved(self, saved: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if saved:
            self.app.notify(labels.VOICE_SAVED)
            self.refresh_data()

    def _forget(self) -> None:
        """Forget what is learnt from decisions, or the saved ranking, after a confirmation; or take the former back."""
        if self._setup is None:
            return
        if self.section is Section.RANKING:
            dialog = ConfirmDialog(labels.RESET_RANKING_PROMPT, yes=labels.RESET)
            self.app.push_screen(dialog, self._reset_ranking_if_confirmed)
            return
        if self._setup.learning is None:
            return
        if self._setup.learning.reset_at is not None:
            self.app.enqueue_write(self._undo_reset, hold_keys=Hold.RESULT)
            return
        dialog = ConfirmDialog(labels.FORGET_PROMPT, yes=labels.FORGET)
        self.app.push_screen(dialog, self._reset_if_confirmed)

    def _reset_if_confirmed(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self.app.enqueue_write(self._reset, hold_keys=Hold.RESULT)

    async def _reset(self, desk: "Desk") -> None:
        await desk.learning.reset()
        self.app.notify(labels.LEARNING_RESET)
        self.refresh_for_keys()

    async def _undo_reset(self, desk: "Desk") -> None:
        await desk.learning.undo_reset()
        self.app.notify(labels.LEARNING_RESTORED)
        self.refresh_for_keys()

    def _reset_ranking_if_confirmed(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self.app.enqueue_write(self._reset_ranking, hold_keys=Hold.RESULT)

    async def _reset_ranking(self, desk: "Desk") -> None:
        await desk.ranking.reset()
        self.app.notify(labels.RANKING_RESET)
        self.refresh_for_keys()

    def _prompt_zone(self, zone: str, value: str = "", error: CopydeskError | None = None) -> None:
        def apply(name: str | None) -> None:
            if name and name.strip() and name.strip() != zone:
                self.app.enqueue_write(lambda desk: self._set_zone(desk, zone, name.strip()), hold_keys=Hold.RESULT)

        prompt_time_zone(self, zone, apply, value, error)

    async def _set_zone(self, desk: "Desk", old: str, new: str) -> None:
        try:
            await desk.schedule.set_zone(new)
        except CopydeskError as error:
            # Ask again, with the rejected name in the line and the error below it.
            self.app.call_later(self._prompt_zone, old, new, error)
            return
        self.app.notify(labels.zone_saved(new))
        self.refresh_for_keys()

    # Accounts.

    def action_connect(self) -> None:
        """Choose a platform, then open its form; add a language model in the section of writers."""
        if self.section is Section.WRITERS:
            WriterActions(self).add(self._follow_writer)
            return
        if reason := self.app.role_refusal("setup.connect", Scope.PUBLISH):
            self.app.notify(reason, severity="warning")
            return
        self.app.run_desk_task(self._choose_platform, hold_keys=Hold.SCREEN)

    def _follow_writer(self, name: str) -> None:
        """Move the cursor to the writer once it is loaded."""
        self._added_writer = name

    async def _choose_platform(self, desk: "Desk") -> None:
        from copydesk.tui.setup.connect_dialogs import NameDialog  # noqa: PLC0415 - not needed for the first paint

        dialog = NameDialog(desk.accounts.platforms(), labels.platform_list_title())
        self.app.push_if_current(self, dialog, self._load_form)

    def _load_form(self, platform: str | None) -> None:
        if platform is not None:
            self.connect(platform)

    def connect(self, platform: str, account_id: str = "") -> None:
        """Open the form to connect an account of `platform`, or this one again; the platforms if it is empty."""
        if not platform:
            self.app.run_desk_task(self._choose_platform, hold_keys=Hold.SCREEN)
            return
        self.app.run_desk_task(partial(self._open_form, platform, account_id), hold_keys=Hold.SCREEN)

    async def _open_form(self, platform: str, account_id: str, desk: "Desk") -> None:
        """Open the form with the platform's credential fields, and with the server of the account if it has one."""
        from copydesk.tui.setup.connect_dialogs import SERVER_FIELD, SignInDialog, credential_fields  # noqa: PLC0415 - as above

        login = await desk.accounts.connect_method(platform)
        # `submit` cannot open a dialog itself: the form is still open. It leaves the sign-in dialog here for `finish`.
        sign_in: list[SignInDialog] = []

        async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
            from copydesk.desk.accounts.oauth_flow import needs_browser  # noqa: PLC0415 - as above

            server = _server_url(login, values.get(SERVER_FIELD, ""))
            credentials = {name: value for name, value in values.items() if value and name != SERVER_FIELD}
            if needs_browser(login, credentials):
                _require_credentials(login, credentials)
                sign_in[:] = [SignInDialog(login, credentials, server)]
                return ""
            return labels.account_connected((await desk.accounts.connect(platform, credentials, server)).label)

        def finish(message: str | None) -> None:
            if message is not None and sign_in:
                self.app.push_screen(
                    sign_in[0], lambda label: self._report_connected(label and labels.account_connected(label))
                )
            else:
                self._report_connected(message)

        accounts = await desk.accounts.list() if account_id else ()
        # Not by its label, which an account on another server may share.
        server = next((account.details.server for account in accounts if account.id == account_id), "")
        title, fields = labels.connect_title(platform), credential_fields(login, server)
        form = FieldsDialog(title, fields, submit, hint=labels.ACCOUNT_FIELDS_HINT, effect=labels.CONNECT)
        self.app.push_if_current(self, form, finish)

    def _report_connected(self, message: str | None) -> None:
        if message:
            self.app.notify(message)
            self.refresh_data()

    def action_check(self) -> None:
        """Check with its server that the account or the writer works."""
        if self._is_refused("setup.check"):
            return
        if self.section is Section.WRITERS:
            WriterActions(self).test(self.writers.current)
        elif account := self._current_account():
            self.app.notify(labels.account_testing(account.details.server))
            self.app.run_desk_task(partial(self._check_account, account))

    async def _check_account(self, account: ConnectedAccount, desk: "Desk") -> None:
        try:
            checked = await desk.accounts.check(account.id)
        except CopydeskError as error:
            self.app.notify(labels.account_failed(account.label, str(error)), severity="error")
        else:
            self.app.notify(labels.account_works(checked.label))
        # Load again after a failure, too: a rejected login is stored with the account and shown in its row.
        self.call_later(self.refresh_data)

    def action_import_posts(self) -> None:
        """Import the posts of the account under the cursor, or of a chosen one in the section of the voice."""
        if self._is_refused("setup.import"):
            return
        accounts = self._setup.accounts if self._setup else ()
        if self.section is Section.VOICE and len(accounts) > 1:
            from copydesk.tui.setup.connect_dialogs import NameDialog  # noqa: PLC0415 - not needed for the first paint

            by_name = {self._account_names[account.id]: account for account in accounts}
            dialog = NameDialog(list(by_name), labels.import_account_title())
            self.app.push_screen(dialog, lambda name: self._import_posts(by_name[name]) if name else None)
        elif account := self._current_account():
            self._import_posts(account)

    def _import_posts(self, account: ConnectedAccount) -> None:
        self.app.notify(labels.posts_reading(account.label))
        self.app.run_desk_task(partial(self._read_posts, account))

    async def _read_posts(self, account: ConnectedAccount, desk: "Desk") -> None:
        from copydesk.tui.setup.voice_dialog import import_posts  # noqa: PLC0415 - as above

        await import_posts(self, account, desk)

    def action_use(self) -> None:
        """Let the writer under the cursor write drafts."""
        if not self._is_refused("setup.use"):
            WriterActions(self).use(self.writers.current)

    def action_remove(self) -> None:
        """Remove the account, the writer, or what is learnt or saved in the section, after a confirmation."""
        if self._is_refused("setup.remove"):
            return
        if self.section in {Section.RANKING, Section.LEARNING}:
            self._forget()
        elif self.section is Section.WRITERS:
            WriterActions(self).remove(self.writers.current)
        elif account := self._current_account():
            question = labels.disconnect_prompt(self._account_names[account.id])
            dialog = ConfirmDialog(question, yes=labels.DISCONNECT)
            self.app.push_screen(dialog, partial(self._remove_if_confirmed, account))

    def _remove_if_confirmed(self, account: ConnectedAccount, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self.app.enqueue_write(partial(self._delete_account, account), hold_keys=Hold.RESULT)

    async def _delete_account(self, account: ConnectedAccount, desk: "Desk") -> None:
        removed = await desk.accounts.remove(account.id)
        self.app.notify(labels.account_removed(removed.label))
        self.refresh_for_keys()

    def _current_account(self) -> ConnectedAccount | None:
        if self.accounts.current is None:
            self.app.notify(labels.account_missing(), severity="warning")
        return self.accounts.current


def _new_cursor(cursor: int, known: Sequence[str], keys: Sequence[str], added: str) -> int:
    """Return the cursor in a list with `keys` that replaces one with `known` ones: on `added`, or where it was."""
    current = added if added in keys else known[cursor] if cursor < len(known) else ""
    return keys.index(current) if current in keys else min(cursor, len(keys) - 1)


def _without_distance(formatted: str) -> str:
    """Return a formatted time without the part in parentheses, its distance from now."""
    return formatted.partition(" (")[0]


def _server_url(login: "ConnectMethod", server: str) -> str:
    """Return the server as a URL. Raise InvalidError if it is missing and the platform has no default."""
    if not server and not login.default_server:
        raise InvalidError(FieldError("url", labels.server_required(login.platform)))
    # Users tend to type the bare host name.
    if server and "://" not in server:
        return f"https://{server}"
    return server


def _require_credentials(login: "ConnectMethod", credentials: Mapping[str, str]) -> None:
    """Raise InvalidError if a required credential is missing."""
    missing = [field.name for field in login.credential_fields if not field.optional and field.name not in credentials]
    if missing:
        raise InvalidError(*(FieldError(name, labels.CREDENTIAL_REQUIRED) for name in missing))
