"""A desk in memory with generated drafts, and the console on it."""

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from textual._compositor import Compositor
from textual.app import App
from textual.events import Paste
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen

from copydesk.errors import CopydeskError, NotFoundError
from copydesk.model.activity import DraftActivity, ReviewedDraft
from copydesk.model.desk_status import DeskStatus
from copydesk.model.draft import (
    Checks,
    DraftItem,
    Finding,
    Format,
    ListedDraft,
    Score,
    ScorePart,
    Severity,
    Status,
    StorySource,
)
from copydesk.model.filters import (
    DraftCounts,
    DraftPosition,
    DraftSlice,
    DraftView,
    LoadedView,
    RefreshedDrafts,
    SliceAround,
    Tab,
    tab_contains,
)
from copydesk.model.item import Entry, Item, ItemState
from copydesk.model.job import ClockWarning
from copydesk.model.run import Progress, Run, RunRequest, RunStats, RunStatus, Stage
from copydesk.model.user import User
from copydesk.settings import Settings
from copydesk.tui.app import Console

NOW = datetime(2026, 2, 11, 9, 30, tzinfo=UTC)
SETTLE_TIMEOUT = 60.0
"""Seconds for the console to become idle on the slowest machine."""
MAX_TYPED = 6
"""Characters of a line that are all typed as keys."""
QUIET_ROUNDS = 3
"""Rounds of the event loop, a millisecond each, after which a console with nothing to do stays so."""
TEXTS = (
    "A missing index made the docs search slow for a year. Measuring first would have found it in an afternoon.",
    "Quarrystone 4.2 replays its log in parallel: a restart after a crash takes 40 seconds, not 11 minutes.",
    "Feeds outlive the apps that are built on them, because they ask nothing of the reader.",
    "The maintainers of Tidewater stop taking pull requests for six weeks, and say why.",
    "Alt text takes forty seconds to write. The dull pictures are the hardest.",
    "A terminal program that can be used without looking at it: what a screen reader needs.",
    "Two of three newsletters lose readers at the third link. A short study of 1,200 issues.",
    "A postmortem that names no culprit and ends with two things they will not change.",
)
SOURCES = (
    ("The Lighthouse", "rss"),
    ("@quarrystonedb", "twitter"),
    ("Field Notes", "substack"),
    ("Hacker News", "hackernews"),
    ("r/harbourdev", "reddit"),
)


def make_draft(number: int = 0, **values: Any) -> ListedDraft:
    """Return a draft, the same for the same number, with `values` in place of its fields."""
    name, source_type = SOURCES[number % len(SOURCES)]
    text = TEXTS[number % len(TEXTS)]
    created_at = NOW - timedelta(minutes=7 + 47 * number)
    fields: dict[str, Any] = {
        "id": f"draft-{number}",
        "text": f"{text}\n\nhttps://lighthouse.example/{number} #opensource",
        "format": Format.SHORT,
        "status": Status.PENDING_REVIEW,
        "confidence": max(0.93 - number * 0.037, 0.05),
        "confidence_known": True,
        "feedback": None,
        "rejection_feedback": None,
        "scheduled_at": None,
        "posted_at": None,
        "post_id": None,
        "item_id": f"item-{number}",
        "regenerated_from_id": None,
        "created_at": created_at,
        "updated_at": created_at,
        "tags": ("open-source",),
        "checks": make_checks(number),
        "score": make_score(name, source_type, number),
        "writer": "offline",
        "item": DraftItem(
            id=f"item-{number}",
            title=text.split(".")[0],
            source_type=source_type,
            published=created_at - timedelta(hours=2),
        ),
    }
    return ListedDraft(**fields | values)


def make_checks(number: int) -> Checks:
    """Return checks: a warning in every third draft, an error in every seventh."""
    findings = []
    if number % 3 == 1:
        findings.append(
            Finding(rule="length", severity=Severity.WARNING, message="257 of 280 characters: no room for a reply.")
        )
    if number % 7 == 3:
        findings.append(
            Finding(rule="claim", severity=Severity.ERROR, message="“six weeks” is not in the source.", start=0, end=15)
        )
    return Checks(ran=12, findings=tuple(findings))


def make_score(name: str, kind: str, number: int) -> Score:
    """Return a score with its parts and reasons."""
    parts = (
        ("recency", 0.91, 0.22, "published 2 h ago"),
        ("interest", 0.75, 0.28, "matches open source, databases"),
        ("source", 0.5, 0.12, f"{name} has weight 1.5"),
        ("popularity", 0.33, 0.14, "212 points, more than 33% of what Hacker News had lately"),
        ("corroboration", 0.4, 0.06, "reported by 2 sources"),
        ("novelty", 1.0, 0.10, "nothing like it in the last 60 days"),
    )
    return Score(
        total=sum(value * weight for _, value, weight, _ in parts),
        parts=tuple(
            ScorePart(name=part_name, value=value, weight=weight, points=value * weight, why=why)
            for part_name, value, weight, why in parts
        ),
        sources=tuple(
            StorySource(item_id=f"item-{number}", source_id="s", name=source_name, type=kind, title="", url=None)
            for source_name in (name, "Paper Trail")
        ),
    )


def make_item(number: int = 0, **values: Any) -> Item:
    """Return the source item of the draft of the same number; `values` replace fields of its entry."""
    name, source_type = SOURCES[number % len(SOURCES)]
    text = TEXTS[number % len(TEXTS)]
    published = NOW - timedelta(hours=2, minutes=47 * number)
    entry: dict[str, Any] = {
        "ident": f"{number}",
        "alias": f"{number}",
        "title": text.split(".")[0],
        "url": f"https://lighthouse.example/{number}",
        "summary": f"{text} It was found by a reader who wanted to know why the third page never came.",
        "text": "The first version had no index at all.\n\nThe second had one on the wrong column, which is worse:"
        " it made every write slower and no read faster.",
        "author": "Ines Marlow",
        "published": published,
        "points": 212,
        "comments": 48,
    }
    return Item(
        id=f"item-{number}",
        source_id="s",
        source_name=name,
        source_type=source_type,
        story_id="story",
        entry=Entry(**entry | values),
        canonical="",
        published=published,
        seen=published,
        state=ItemState.DRAFTED,
    )


class FakeDrafts:
    """The drafts of a fake desk."""

    def __init__(self, drafts: Sequence[ListedDraft], items: Sequence[Item]) -> None:
        self.all = tuple(drafts)
        self.items = {item.id: item for item in items}
        self.requested_items: list[str] = []
        """Ids of the requested items, in order."""
        self.views = self
        self.activity = self

    async def overview(self, draft_id: str) -> ReviewedDraft:
        """Nobody else is there."""
        return ReviewedDraft("anna", DraftActivity(viewers=(), editing=None, unsaved=()))

    async def check(self, text: str, **_: object) -> Checks:
        """Find nothing in any text."""
        return Checks()

    async def window(
        self,
        view: DraftView,
        *,
        limit: int = 200,
        after: DraftPosition | None = None,
        before: DraftPosition | None = None,
        end: bool = False,
        offset: int = 0,
        event_number: int | None = None,
    ) -> DraftSlice:
        tab_drafts = [
            draft
            for draft in self.all
            if tab_contains(view.tab, draft) and (event_number is None or draft.id in self._known)
        ]
        ids = [draft.id for draft in tab_drafts]
        if before is not None or end:
            stop = ids.index(before.id) if before else len(ids)
            page = tab_drafts[max(stop - limit, 0) : stop]
            more = stop > limit
        else:
            start = ids.index(after.id) + 1 if after else offset
            page = tab_drafts[start : start + limit]
            more = start + limit < len(ids)
        # In the order given by the test: their numbers, last one first.
        return DraftSlice(tuple(page), tuple(DraftPosition(None, draft.id) for draft in page), more)

    async def load(self, view: DraftView, position: DraftPosition | None = None, *, limit: int = 200) -> LoadedView:
        around = self.around(view, position, limit=limit) if position else None
        rows = await around if around else SliceAround(await self.window(view, limit=limit), 0)
        return LoadedView(await self.event_number(), await self.newest(), await self.counts(), rows, None)

    async def refresh(self, view: DraftView, ids: Sequence[str], newest_id: str) -> RefreshedDrafts:
        new_count = await self.newer_than(newest_id, view)
        return RefreshedDrafts(await self.by_ids(ids), await self.counts(), new_count, None)

    async def around(self, view: DraftView, place: DraftPosition, *, limit: int = 200) -> SliceAround:
        above = await self.window(view, limit=limit // 2, before=place)
        ids = [draft.id for draft in self.all if tab_contains(view.tab, draft)]
        start = ids.index(place.id) - len(above.drafts)
        return SliceAround(await self.window(view, limit=limit, offset=start), start)

    async def counts(self) -> DraftCounts:
        by_status = {status: sum(draft.status is status for draft in self.all) for status in Status}
        return DraftCounts(by_status=by_status, archived=0)

    async def newest(self) -> str:
        self._known = {draft.id for draft in self.all}
        return "newest"

    async def event_number(self) -> int:
        return 0

    async def entered_since(self, moment: int, tab: Tab, ids: Sequence[str]) -> frozenset[str]:
        return frozenset(ids) - self._known

    async def newer_than(self, draft_id: str, view: DraftView) -> int:
        return sum(draft.id not in self._known and tab_contains(view.tab, draft) for draft in self.all)

    async def by_ids(self, ids: Sequence[str]) -> tuple[ListedDraft, ...]:
        return tuple(draft for draft in self.all if draft.id in ids)

    async def interrupted_bulks(self) -> tuple[()]:
        return ()

    async def tags(self) -> tuple[str, ...]:
        return ("open-source",)

    async def rejection_reasons(self, limit: int = 9) -> tuple[str, ...]:
        return ()

    async def item(self, item_id: str) -> Item:
        self.requested_items.append(item_id)
        await asyncio.sleep(0)
        if item_id not in self.items:
            raise NotFoundError(f"No item {item_id!r}.")
        return self.items[item_id]


class FakeSources:
    """The sources of a fake desk, of which only the number matters."""

    def __init__(self, count: int) -> None:
        self.count = count

    async def list(self) -> list[object]:
        return [object()] * self.count


class FakeAccounts:
    """No account is connected."""

    async def list(self) -> list[object]:
        return []


class FakePipeline:
    """A pipeline whose run advances as far as the test lets it."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []
        """Progress reported before the run waits for `resume`."""
        self.resume = asyncio.Event()
        self.before_end: Callable[[], Awaitable[None]] | None = None
        """Called before the run ends."""
        self.result = successful_run()
        self.cancelled: list[str] = []
        self.task_cancelled = False

    async def queue(self, request: RunRequest | None = None) -> Run:
        return make_run(RunStatus.QUEUED)

    async def execute(self, run_id: str, on_progress: Callable[[Progress], None]) -> Run:
        for step in self.progress:
            on_progress(step)
        try:
            await self.resume.wait()
        except asyncio.CancelledError:
            self.task_cancelled = True
            raise
        if self.before_end:
            await self.before_end()
        return self.result

    async def cancel(self, run_id: str) -> Run:
        self.cancelled.append(run_id)
        self.result = make_run(RunStatus.CANCELLED, error="The run was cancelled.")
        self.resume.set()
        return self.result


def make_run(status: RunStatus, *, error: str | None = None, **stats: Any) -> Run:
    """Return a run of the pipeline."""
    ended_at = None if status in {RunStatus.QUEUED, RunStatus.RUNNING} else NOW
    return Run(
        id="run",
        status=status,
        stage=None,
        started_at=NOW,
        ended_at=ended_at,
        duration=2.1 if ended_at else None,
        stats=RunStats(**stats),
        error=error,
    )


def successful_run() -> Run:
    """Return a successful run in which one source failed."""
    stage_timing = {Stage.INGEST: 1.4, Stage.FILTER: 0.1, Stage.RANK: 0.2, Stage.DRAFT: 0.4}
    counts = {"items_considered": 54, "items_filtered": 41, "items_ranked": 41, "drafts_created": 7}
    return make_run(RunStatus.SUCCEEDED, stage_timing=stage_timing, sources_fetched=9, sources_failed=1, **counts)


def partial_progress() -> list[Progress]:
    """Return the progress of a run up to its third stage."""
    reports = [(Stage.INGEST, 10, 10, ""), (Stage.FILTER, 54, 54, ""), (Stage.RANK, 14, 41, "Quarrystone 4.2 replays")]
    return [
        Progress(run_id="run", stage=stage, done=done, total=total, note=note) for stage, done, total, note in reports
    ]


class FakeSchedule:
    """A schedule whose clock the test sets."""

    def __init__(self) -> None:
        self.warning: ClockWarning | None = None


class FakePosting:
    """A desk without connected accounts and previews."""

    async def preview(self, *_: object, **__: object) -> tuple[()]:
        return ()


class FakeDesk:
    """The part of a desk that the console uses."""

    def __init__(self, count: int = 0, *, sources: int = 5, drafts: Sequence[ListedDraft] | None = None) -> None:
        drafts_or_generated = [make_draft(number) for number in range(count)] if drafts is None else drafts
        self.drafts = FakeDrafts(
            drafts_or_generated, [make_item(number) for number in range(max(count, len(drafts_or_generated)))]
        )
        self.sources = FakeSources(sources)
        self.accounts = FakeAccounts()
        self.pipeline = FakePipeline()
        self.posting = FakePosting()
        self.schedule = FakeSchedule()
        self.is_interactive = False
        self.user = User(id="1", name="me", time_zone="UTC", created_at=NOW, is_owner=True)
        # A folder of its own: autosaved text of one test must not appear in another.
        data_home = tempfile.mkdtemp(prefix="copydesk-")
        weakref.finalize(self, shutil.rmtree, data_home, ignore_errors=True)
        self.settings = Settings(data_home=Path(data_home))
        self.open_error: CopydeskError | None = None
        self.open_count = 0
        self.close_count = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator["FakeDesk"]:
        """Open the desk, or raise `open_error`."""
        if self.open_error is not None:
            raise self.open_error
        self.open_count += 1
        try:
            yield self
        finally:
            self.close_count += 1

    def set_interactive(self, prompt_passphrase: object) -> None:
        """Nobody is asked for a passphrase."""
        self.is_interactive = True

    async def release_memory(self) -> bool:
        """There is no memory to release."""
        return False

    async def status(self) -> DeskStatus:
        """Nothing is wrong but the clock, if the test says so."""
        return DeskStatus(
            failing_sources=(),
            is_posting_paused=self.schedule.warning is not None,
            needing_user=0,
            most_approvals=1,
            time_zone=self.user.time_zone,
            role=None,
        )

    async def change_counter(self) -> int:
        """No other process writes to the desk."""
        return 0

    async def wait_for_change(self, counter: int) -> None:
        """Like SQLite: nobody tells of a change."""
        await asyncio.sleep(0)


def make_console(desk: FakeDesk) -> Console:
    """Return the console of this desk, on a fixed clock."""
    return Console(desk.open, clock=lambda: NOW)  # type: ignore[arg-type]


async def wait_until_idle(pilot: Pilot[int]) -> None:
    """Wait until the desk has opened, no request to it is running and the screen shows the results."""
    app = pilot.app
    assert isinstance(app, Console)
    await _wait_for_rounds(
        app,
        lambda: (
            ((app.desk is not None and _is_status_read(app)) or app.open_error is not None)
            and all(_is_paused_run(app, task) for task in app.desk_tasks.pending)
            and _is_quiet(app)
        ),
    )


def _is_status_read(app: Console) -> bool:
    """Return whether the desk's status is known, the last of what is read while it opens, or reading has failed."""
    return app.status is not None or any(entry.severity == "error" for entry in app.notification_log)


async def wait_for_messages(app: Console) -> None:
    """Wait until every key and message is processed and shown; requests to the desk may be running."""
    await _wait_for_rounds(app, lambda: _is_quiet(app))


async def _wait_for_rounds(app: Console, condition: Callable[[], bool]) -> None:
    """Wait until `condition` has been true in several rounds of the event loop, or the console exits."""
    rounds, loop = 0, asyncio.get_running_loop()
    deadline = loop.time() + SETTLE_TIMEOUT
    while rounds < QUIET_ROUNDS and not app._exit:
        assert loop.time() < deadline, "the console does not come to rest"
        await pass_round(app)
        rounds = rounds + 1 if condition() else 0


async def pass_round(app: App[int]) -> None:
    """Let every task run once, and paint if that changed no more than what is on the screen."""
    await asyncio.sleep(0.001)
    if not app._screen_stack or not _has_processed_messages(app):
        return
    # A test may have opened another console since.
    with app._context():
        if _needs_painting(app):
            # The screen's own timer does it up to a sixtieth of a second later, and again what the next message
            # changes.
            app.screen._on_timer_update()
        elif app.screen._compositor._dirty_regions:
            app._display(app.screen, render_update(app.screen._compositor, screen_stack=app._background_screens))


render_update = Compositor.render_update
"""The original method."""


def defer_frame(compositor: Compositor, full: bool = False, **values: Any) -> RenderableType | None:
    """Take the place of `render_update`: leave a console's changed regions to `pass_round`, once it is idle.

    Most frames until then are replaced before anyone looks, and painting them is a quarter of a test's time.
    """
    if full or not (isinstance(compositor.root, Screen) and isinstance(compositor.root.app, Console)):
        return render_update(compositor, full, **values)
    return None


def _is_quiet(app: Console) -> bool:
    """Return whether no key, message or new size is on its way, and nothing to paint."""
    # Textual passes a new size on after a hundredth of a second.
    arrived = not app.type_ahead.is_busy and app._resize_timer is None
    return arrived and not _needs_painting(app) and _has_processed_messages(app) and _is_painted(app)


def _is_painted(app: Console) -> bool:
    return not app.screen._compositor._dirty_regions


def _needs_painting(app: App[int]) -> bool:
    screen = app.screen
    to_paint = (screen._layout_required, screen._scroll_required, screen._repaint_required, screen._dirty_widgets)
    return any((*to_paint, screen._callbacks, screen._recompose_required))


def _has_processed_messages(app: App[int]) -> bool:
    # `Pilot.pause` asks the same by a message to each widget, which takes several times as long.
    return all(map(_is_waiting, (app, *app.screen.walk_children(with_self=True))))


def _is_waiting(pump: MessagePump) -> bool:
    """Return whether `pump` has processed its messages and waits for the next one."""
    queue = pump._message_queue
    return pump._closed or (queue.empty() and bool(queue.ready_event._waiters))


def _is_paused_run(app: Console, task: asyncio.Task[None]) -> bool:
    """Return whether the task is the run, which continues only when the test lets it."""
    pipeline = getattr(app.desk, "pipeline", None)
    return task.get_name() == "run" and isinstance(pipeline, FakePipeline) and not pipeline.resume.is_set()


def screen_text(app: Console) -> str:
    """Return the text on the screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


class ConsoleDriver:
    """Drives the console on a screen and reads what it shows."""

    def __init__(self, app: Console, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys, waiting after each until the console is idle."""
        for key in keys:
            self.app.simulate_key(key)
            await wait_until_idle(self.pilot)

    async def resize(self, width: int, height: int) -> None:
        """Set the terminal's size."""
        await self.pilot.resize_terminal(width, height)
        await wait_until_idle(self.pilot)

    async def wait(self) -> None:
        """Wait until the console is idle."""
        await wait_until_idle(self.pilot)

    @property
    def text(self) -> str:
        """The text on the screen."""
        return screen_text(self.app)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen."""
        return self.text.split("\n")

    @property
    def toasts(self) -> list[str]:
        """The messages of all toasts."""
        return [notification.message for notification in self.app._notifications]


def record_frames(ui: ConsoleDriver) -> list[RenderableType]:
    """Return a list that collects every frame drawn from now on."""
    frames: list[RenderableType] = []
    display = ui.app._display

    def record(screen: Screen[object], renderable: RenderableType | None) -> None:
        if renderable is not None:
            frames.append(renderable)
        display(screen, renderable)

    ui.app._display = record  # type: ignore[method-assign]
    return frames


async def type_text(ui: ConsoleDriver, text: str) -> None:
    """Type `text` into the focused widget.

    The middle of a long line is pasted: each key takes as long as a paste of any length.
    """
    for number, line in enumerate(text.split("\n")):
        if number:
            ui.app.simulate_key("enter")
        long = len(line) > MAX_TYPED
        for character in line[: MAX_TYPED // 2] if long else line:
            ui.app.simulate_key(character)
        if long:
            ui.app.post_message(Paste(line[MAX_TYPED // 2 : -1]))
            ui.app.simulate_key(line[-1])
    await ui.wait()


@asynccontextmanager
async def open_console(desk: FakeDesk, size: tuple[int, int] = (120, 32)) -> AsyncIterator[ConsoleDriver]:
    """Open the console of this desk with its first rows loaded."""
    app = make_console(desk)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ConsoleDriver(app, pilot)
