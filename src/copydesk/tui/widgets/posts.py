"""The list of published posts."""

from textual.content import Content

from copydesk.model.trend import LivePost
from copydesk.tui.pages.post import post_row
from copydesk.tui.widgets.aged import TimestampedList


class PostList(TimestampedList[LivePost]):
    """One line per post, the best first."""

    def draw(self, row: LivePost, width: int) -> Content:
        return post_row(row, self.clock(), width)
