"""What lies over the schedule: a plan to agree to, approved drafts to choose from."""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from textual.app import ComposeResult
from textual.content import Content

from copydesk.model.draft import ListedDraft
from copydesk.model.schedule import AutoSchedule
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.pages.plan import plan_page
from copydesk.tui.pages.row import draft_row
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.page import Page
from copydesk.tui.words import plural


class PlanScreen(Over[bool], inherit_bindings=False):
    """Shows what the automatic schedule would do; True where it is to be done."""

    CSS_PATH = sheet("over.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.PAGE, Where.PLAN)
    BINDINGS = bindings(Where.PLAN)

    def __init__(self, plan: AutoSchedule, zone: ZoneInfo, now: datetime) -> None:
        super().__init__()
        self._plan = plan
        self._blocks = plan_page(plan, zone, now)

    def compose(self) -> ComposeResult:
        """One page."""
        yield Page(self._blocks, id="over")

    def on_mount(self) -> None:
        """Say what Enter does."""
        count = plural(len(self._plan.scheduled), "draft")
        self.query_one(Page).set_title(f"Schedule {count} · {key('plan.do')} does it · {key('plan.leave')} leaves")

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - Textual hands it over so
        """Do it, or leave it."""
        self.close(yes)


class Drafts(LineList[ListedDraft]):
    """Drafts to choose from."""

    def __init__(self, now: datetime, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now

    def draw(self, row: ListedDraft, width: int) -> Content:
        """One draft, as the queue shows it."""
        return draft_row(row, self._now, width)


class PickScreen(Over[str | None], inherit_bindings=False):
    """Lets one of the approved drafts be chosen; its id, or None."""

    CSS_PATH = sheet("over.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.LIST, Where.PICK)
    BINDINGS = bindings(Where.PICK)

    def __init__(self, drafts: Sequence[ListedDraft], title: str, now: datetime) -> None:
        super().__init__()
        self._drafts = drafts
        self._title = title
        self._now = now

    def compose(self) -> ComposeResult:
        """One list."""
        yield Drafts(self._now, id="over")

    def on_mount(self) -> None:
        """Show them."""
        drafts = self.query_one(Drafts)
        drafts.set_title(self._title)
        drafts.show(self._drafts)

    def on_line_list_opened(self) -> None:
        """That one."""
        self.action_take()

    def action_take(self) -> None:
        """The one that the cursor is on."""
        current = self.query_one(Drafts).current
        self.close(current.id if current else None)

    def action_leave(self) -> None:
        """None of them."""
        self.close(None)
