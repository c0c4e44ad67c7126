"""The engagement screen: totals and charts of a period, and its posts, best first."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.model.engagement import METRICS, EngagementMetric, LivePost
from copydesk.tui import empty_states, labels
from copydesk.tui.browser import is_link, open_or_show_link
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.dialogs.fields import Field, FieldsDialog
from copydesk.tui.engagement.pages import (
    PERIODS,
    EngagementReport,
    Period,
    engagement_page,
    post_header,
    post_page,
    post_row,
)
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.terminal.cells import safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList, ListPane
from copydesk.tui.widgets.lines import TooSmall, set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk

MAX_POSTS = 50
"""Posts in the list. More would take too many requests when their metrics are fetched from the platforms."""
PANES = ("metrics", "posts", "post")
MAX_METRIC_DIGITS = 12
DEFAULT_PERIOD_INDEX = 1


class EngagementScreen(DeskScreen):
    """Metrics at the left, posts at the right; a narrow terminal shows one of the two."""

    NAME = labels.ENGAGEMENT
    WHERE = (KeyContext.PAGE, KeyContext.ENGAGEMENT)
    BINDINGS = bindings(KeyContext.ENGAGEMENT)
    CSS_PATH = [stylesheet_path("list_pane.tcss"), stylesheet_path("engagement.tcss")]
    AUTO_FOCUS = "#metrics"

    metrics_pane = getters.query_one("#metrics", Page)
    posts_pane = getters.query_one("#posts-pane", ListPane)
    posts_list: getters.query_one[LineList[LivePost]] = getters.query_one("#posts", LineList)
    post_pane = getters.query_one("#post", Page)

    class Loaded(Message, bubble=False):
        """The report of a period was loaded."""

        def __init__(self, report: EngagementReport) -> None:
            super().__init__()
            self.report = report

    def __init__(self) -> None:
        super().__init__()
        self._period_index = DEFAULT_PERIOD_INDEX
        self._chosen_metric: EngagementMetric | None = None
        """None for the one that suits the posts."""
        self._report: EngagementReport | None = None
        self._displayed_post: LivePost | None = None
        self._loader = Coalescer(self._load_report)

    def body(self) -> Iterable[Widget]:
        with Container(id="body"):
            yield Page(empty_states.opening(self.app.opening_text), id="metrics")
            posts = LineList(self._draw_post, shows_times=True, id="posts")
            yield Vertical(ListPane(self._format_headings, posts, id="posts-pane"), Page(id="post"), id="right")

    def _format_headings(self, width: int) -> str:
        return post_header(self.metric, width)

    def _draw_post(self, post: LivePost, width: int) -> Content:
        return post_row(post, self.metric, self.app.clock(), width)

    def on_mount(self) -> None:
        self._show_pane("metrics")
        self._update_titles()
        set_title(self.post_pane, labels.POST)

    @property
    def period(self) -> Period:
        return PERIODS[self._period_index]

    @property
    def metric(self) -> EngagementMetric:
        """The metric of the displayed report."""
        return self._report.trends.metric if self._report else EngagementMetric.INTERACTIONS

    def refresh_data(self) -> None:
        """Load the report of the selected period and metric."""
        self.load_with_retry(lambda desk: self._loader.submit((desk, self.period, self._chosen_metric)))

    async def _load_report(self, request: "tuple[Desk, Period, EngagementMetric | None]") -> None:
        desk, period, metric = request
        trends = await desk.engagement.trends(period.days, metric)
        posts = await desk.engagement.top_posts(period.days, MAX_POSTS, trends.metric)
        has_posts = bool(posts or await desk.engagement.top_posts(0, 1, trends.metric))
        report = EngagementReport(period, trends, posts, has_posts)
        self.post_message(self.Loaded(report))

    @on(Loaded)
    def _show_report(self, message: Loaded) -> None:
        """Show the report. The cursor stays on its post, and the scroll position is kept."""
        # The user may have changed the period or the metric while this one was loading.
        if message.report.period != self.period or message.report == self._report:
            return
        if self._chosen_metric not in {None, message.report.trends.metric}:
            return
        previous, self._report, self.is_loaded = self._report, message.report, True
        pane = self.metrics_pane
        # A refresh keeps the scroll position; another period starts at the top.
        show = pane.show_more if previous and previous.period == self.period else pane.show
        show(engagement_page(message.report))
        current = self.posts_list.current
        positions = {post.id: index for index, post in enumerate(message.report.posts)}
        self.posts_list.show(message.report.posts, positions.get(current.id, 0) if current else 0)
        self._update_titles()

    def show_error(self, error: CopydeskError) -> None:
        self.metrics_pane.show(self.error_note(error))

    def _update_titles(self) -> None:
        set_title(self.metrics_pane, labels.metrics_title(self.period.label))
        posts = self._report.posts if self._report else ()
        self.posts_pane.show_headings(visible=bool(posts))
        title = labels.posts_title(len(posts), self.metric, is_limited=len(posts) >= MAX_POSTS)
        self.posts_pane.legend_title.set(title, labels.legend(labels.FORMAT[post.format] for post in posts))

    @on(LineList.Moved)
    def _show_current(self) -> None:
        """Show the post under the cursor; an unchanged post keeps its scroll position."""
        post = self.posts_list.current
        if post is not None and post == self._displayed_post:
            return
        self._displayed_post = post
        self.post_pane.show((lambda: post_page(post, self.app.local_now())) if post else ())

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show the keys of the focused pane in the footer."""
        self._show_pane(event.widget.id or "")

    def _show_pane(self, pane: str) -> None:
        body = self.query_one("#body")
        body.set_class(pane == "metrics", "-metrics")
        body.set_class(pane != "metrics", "-right")
        self.show_keys(KeyContext.LIST if pane == "posts" else KeyContext.PAGE, KeyContext.ENGAGEMENT)

    def action_pane(self, by: int) -> None:
        """Focus the next pane (`by` 1) or the previous one (-1)."""
        current = PANES.index(self.focused.id) if self.focused and self.focused.id in PANES else 0
        self._go_to(PANES[(current + by) % len(PANES)])

    def _go_to(self, pane: str) -> None:
        # Make the pane visible first: a hidden widget cannot take the focus.
        self._show_pane(pane)
        self.focus_after_layout(self.query_one(f"#{pane}"))

    def on_line_list_opened(self) -> None:
        """Enter on a post focuses its page."""
        self._go_to("post")

    def action_back(self) -> None:
        """Focus the metrics."""
        self._go_to("metrics")

    @property
    def can_go_back(self) -> bool:
        return not self.metrics_pane.region and not self.query_one(TooSmall).display

    def go_back(self) -> bool:
        """Return to the metrics if a narrow terminal hides them; return False if not."""
        if not self.can_go_back:
            return False
        self._go_to("metrics")
        return True

    def action_period(self, by: int) -> None:
        """Select a longer period (`by` 1) or a shorter one (-1)."""
        index = min(max(self._period_index + by, 0), len(PERIODS) - 1)
        if index != self._period_index:
            self._period_index = index
            self._update_titles()
            if self.app.desk is not None:
                self.refresh_data()

    def action_metric(self) -> None:
        """Compare by the other metric."""
        # From the metric chosen last: keys typed ahead act on what the user chose, not on what is loaded.
        shown = self._chosen_metric or self.metric
        self._chosen_metric = next(metric for metric in EngagementMetric if metric is not shown)
        if self.app.desk is not None:
            self.refresh_data()

    @property
    def _no_posts(self) -> str:
        """Why a key that acts on posts does nothing."""
        is_empty_period = self.period.days and self._report is not None and self._report.has_older_posts
        return labels.no_posts_in(self.period.label) if is_empty_period else labels.NO_POSTS

    def action_refresh(self) -> None:
        """Load the data again, or retry to open the desk."""
        if self.app.desk is None:
            self.app.open()
        else:
            self.refresh_data()

    def action_open_link(self) -> None:
        """Open the post in the browser."""
        post = self.posts_list.current
        if post is None:
            self.app.notify(self._no_posts, severity="warning")
        elif not is_link(post.url):
            self.app.notify(labels.NO_LINK_TO_OPEN, severity="warning")
        else:
            self.run_worker(open_or_show_link(self.app, post.url), exit_on_error=False)

    def action_fetch(self) -> None:
        """Fetch the metrics of the listed posts from the platforms."""
        # Posts without an account were recorded by hand: there is no platform to fetch from. A draft on several
        # accounts has several posts.
        draft_ids = list(dict.fromkeys(post.draft_id for post in self.posts_list.rows if post.account))
        if not draft_ids:
            has_posts = bool(self.posts_list.rows)
            self.app.notify(labels.no_posts_to_fetch() if has_posts else self._no_posts, severity="warning")
            return
        self.app.notify(labels.fetching_metrics(len(draft_ids)))
        self.app.run_desk_task(partial(self._fetch, draft_ids))

    async def _fetch(self, draft_ids: "list[str]", desk: "Desk") -> None:
        count = await desk.posting.refresh_metrics(draft_ids)
        if count:
            self.app.notify(labels.metrics_fetched(count))
        else:
            self.app.notify(labels.no_platform_answered(), severity="warning")
        # The user may have changed the period while the metrics were fetched.
        await self._loader.submit((desk, self.period, self._chosen_metric))

    def action_record(self) -> None:
        """Prompt for the post's metrics, to record them by hand."""
        post = self.posts_list.current
        if post is None:
            self.app.notify(self._no_posts, severity="warning")
            return
        values = {name: getattr(post, name) for name in METRICS}
        fields = [
            Field(
                name,
                labels.METRIC_NAMES[name],
                labels.VALUE_UNKNOWN if value is None else f"{value:,}",
                digits_only=True,
                max_length=MAX_METRIC_DIGITS,
            )
            for name, value in values.items()
        ]
        title = labels.metrics_form_title(safe_line(post.target_label), labels.draft_name(post.text))
        form = FieldsDialog(title, fields, partial(_record, post), hint=labels.METRICS_FORM_HINT, effect=labels.RECORD)
        self.app.push_screen(form, self._report_recorded)

    def _report_recorded(self, message: str | None) -> None:
        if message is not None:
            self.app.notify(message)
            self.refresh_data()


async def _record(post: LivePost, desk: "Desk", values: Mapping[str, str]) -> str:
    metrics = {name: int(value) for name, value in values.items() if value}
    if not metrics:
        return labels.EMPTY_METRICS
    await desk.engagement.record({"draftId": post.draft_id, "platform": post.target_label, **metrics})
    return labels.metrics_recorded(metrics)
