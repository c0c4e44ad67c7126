"""What came back of posts: sums and charts of a period, and its posts, the best first."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Vertical
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from copydesk.errors import CopydeskError, FieldError, InvalidError
from copydesk.model.engagement import FIGURES
from copydesk.model.trend import LivePost
from copydesk.tui.browser import follow, is_link
from copydesk.tui.cells import cell
from copydesk.tui.keys import Where, bindings
from copydesk.tui.latest import Latest
from copydesk.tui.modals.fields import Field, FieldsScreen
from copydesk.tui.naming import key
from copydesk.tui.pages import note
from copydesk.tui.pages.engagement import PERIODS, Engagement, Period, engagement_page
from copydesk.tui.pages.post import post_page
from copydesk.tui.pages.row import first_line
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.posts import Posts
from copydesk.tui.widgets.too_small import TooSmall
from copydesk.tui.words import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk

SHOWN = 50
"""Posts that the list holds; asking a platform for the figures of more would cost more than it tells."""
PANES = ("figures", "posts", "post")
LARGEST_DIGITS = 12
FIRST_PERIOD = 1


class EngagementScreen(DeskScreen):
    """Figures at the left, posts at the right; a narrow terminal shows one of both."""

    NAME = "Engagement"
    WHERE = (Where.PAGE, Where.ENGAGEMENT)
    BINDINGS = bindings(Where.ENGAGEMENT)
    CSS_PATH = sheet("engagement.tcss")
    AUTO_FOCUS = "#figures"

    figures_pane = getters.query_one("#figures", Page)
    posts_pane = getters.query_one("#posts", Posts)
    post_pane = getters.query_one("#post", Page)

    class Read(Message, bubble=False):
        """What the desk says of a period."""

        def __init__(self, found: Engagement) -> None:
            super().__init__()
            self.found = found

    def __init__(self) -> None:
        super().__init__()
        self._at = FIRST_PERIOD
        self._found: Engagement | None = None
        self._shown: LivePost | None = None
        self._reading = Latest(self._read_period)

    def body(self) -> Iterable[Widget]:
        """Each is made once."""
        yield Page(note.OPENING, id="figures")
        yield Vertical(Posts(self.app.clock, id="posts"), Page(id="post"), id="right")

    def on_mount(self) -> None:
        """Which of them a narrow terminal shows."""
        self._select("figures")
        self._titles()
        self.post_pane.set_title("Post")

    # The desk.

    @property
    def period(self) -> Period:
        """The stretch of time that is shown."""
        return PERIODS[self._at]

    def read(self) -> None:
        """Read the sums, the charts and the posts of the period."""
        self.ask_for(lambda desk: self._reading.wish((desk, self.period)))

    async def _read_period(self, wish: "tuple[Desk, Period]") -> None:
        desk, period = wish
        since = await desk.engagement.since(period.days) if period.days else None
        found = Engagement(
            period=period,
            kinds=await desk.engagement.by_kind(since),
            spans=await desk.engagement.over_time(since, period.step),
            hours=await desk.engagement.by_hour(since),
            posts=await desk.engagement.posts(since, SHOWN),
            zone=await desk.schedule.zone(),
        )
        self.post_message(self.Read(found))

    @on(Read)
    def _fill(self, message: Read) -> None:
        """The cursor stays on its post; a text that is being read stays where it was scrolled to."""
        if message.found.period != self.period or message.found == self._found:
            return
        before, self._found, self.has_read = self._found, message.found, True
        pane = self.figures_pane
        show = pane.show_more if before and before.period == self.period else pane.show
        show(engagement_page(message.found))
        current = self.posts_pane.current
        places = {post.id: at for at, post in enumerate(message.found.posts)}
        self.posts_pane.show(message.found.posts, places.get(current.id, 0) if current else 0)
        self._titles()

    def say_trouble(self, error: CopydeskError) -> None:
        """Why there are no figures."""
        self.figures_pane.show(self.trouble_note(error))

    def _titles(self) -> None:
        self.figures_pane.set_title(f"Figures · {self.period.words}")
        posts = self._found.posts if self._found else ()
        most = "the best " if len(posts) >= SHOWN else ""
        self.posts_pane.set_title(f"Posts · {most}{len(posts)}" if posts else "Posts")

    @on(LineList.Moved)
    def _show_current(self) -> None:
        """What is read again and is the same stays where it was scrolled to."""
        post = self.posts_pane.current
        if post is not None and post == self._shown:
            return
        self._shown = post
        zone = self._found.zone if self._found else "UTC"
        self.post_pane.show((lambda: post_page(post, self.app.clock(), zone)) if post else ())

    # Panes.

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The footer shows the keys of what has the focus."""
        self._select(event.widget.id or "")

    def _select(self, pane: str) -> None:
        body = self.query_one("#body")
        body.set_class(pane == "figures", "-figures")
        body.set_class(pane != "figures", "-right")
        self.show_keys(Where.LIST if pane == "posts" else Where.PAGE, Where.ENGAGEMENT)

    def action_pane(self, by: int) -> None:
        """The next pane, or the one before."""
        here = PANES.index(self.focused.id) if self.focused and self.focused.id in PANES else 0
        self._go_to(PANES[(here + by) % len(PANES)])

    def _go_to(self, pane: str) -> None:
        # Displayed first: what is hidden cannot take the focus.
        self._select(pane)
        self.focus_when_shown(self.query_one(f"#{pane}"))

    def on_line_list_opened(self) -> None:
        """Enter on a post goes into it."""
        self._go_to("post")

    def action_back(self) -> None:
        """Back to the figures."""
        self._go_to("figures")

    def go_back(self) -> bool:
        """Back to the figures where a narrow terminal shows the posts; False where they can be seen."""
        if self.figures_pane.region or self.query_one(TooSmall).display:
            return False
        self._go_to("figures")
        return True

    # What can be done.

    def action_period(self, by: int) -> None:
        """A longer period, or a shorter one."""
        at = min(max(self._at + by, 0), len(PERIODS) - 1)
        if at != self._at:
            self._at = at
            self._titles()
            if self.app.desk is not None:
                self.read()

    def action_refresh(self) -> None:
        """Read the desk again, or try again to open it."""
        if self.app.desk is None:
            self.app.open()
        else:
            self.read()

    def action_open_link(self) -> None:
        """Open the post in the browser."""
        post = self.posts_pane.current
        if post is None or not is_link(post.url):
            self.app.notify("No link is known of this post.", severity="warning")
        else:
            self.run_worker(follow(self.app, post.url), exit_on_error=False)

    def action_fetch(self) -> None:
        """Ask the platforms for the figures of the posts that are shown."""
        asked = list(dict.fromkeys(post.draft_id for post in self.posts_pane.rows if post.account))
        if not asked:
            self.app.notify(
                f"No post here went out from Copydesk: {key('engagement.record')} records figures by hand.",
                severity="warning",
            )
            return
        self.app.notify(f"Asking for the figures of {plural(len(asked), 'draft')} …")
        self.app.ask(partial(self._fetch, asked))

    async def _fetch(self, draft_ids: "list[str]", desk: "Desk") -> None:
        read = await desk.posting.refresh_figures(draft_ids)
        if read:
            self.app.notify(f"Read what is reported of {plural(read, 'post')}.")
        else:
            self.app.notify("No platform answered. Setup says whether an account is in trouble.", severity="warning")
        await self._reading.wish((desk, self.period))

    def action_record(self) -> None:
        """Record by hand what is known of the post."""
        post = self.posts_pane.current
        if post is None:
            self.app.notify("There is no post to record figures of.", severity="warning")
            return
        known = {name: getattr(post, name) for name in FIGURES}
        fields = [
            Field(name, name, "not known" if value is None else f"{value}", digits=True, longest=LARGEST_DIGITS)
            for name, value in known.items()
        ]
        title = f"Figures of {cell(post.place)}: {first_line(post.text)[:40]}"
        hint = "What is left empty stays as it is."
        self.app.push_screen(FieldsScreen(title, fields, partial(_record, post), hint=hint), self._recorded)

    def _recorded(self, said: str | None) -> None:
        if said is not None:
            self.app.notify(said)
            self.read()


async def _record(post: LivePost, desk: "Desk", values: Mapping[str, str]) -> str:
    figures = {name: int(value) for name, value in values.items() if value}
    if not figures:
        raise InvalidError(FieldError("figures", "are all empty"))
    await desk.engagement.record({"draftId": post.draft_id, "platform": post.place, **figures})
    return f"Recorded {', '.join(f'{value:,} {name}' for name, value in figures.items())}."
