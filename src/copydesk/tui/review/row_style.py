"""The style that all rows of a list of drafts share. Apart from the rows: the console needs it before the first one."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, NamedTuple

from copydesk.settings import Console

if TYPE_CHECKING:
    from copydesk.model.draft import Status


DEFAULT = Console()


class RowStyle(NamedTuple):
    """Properties of a list that its rows are drawn with. Values that all its rows share are left out of them."""

    zone: tzinfo | None = None
    """Time zone of the times in the rows; None if they show the age of the story."""
    usual_status: "Status | None" = None
    """The status of most drafts of the list, which is not shown."""
    usual_part: str = ""
    """The part of the score that weighed most in all drafts of the list, which is not shown; empty if they differ."""
    is_archive: bool = False
    """True if all drafts of the list are archived."""
    shows_format: bool = True
    shows_confidence: bool = False
    """True if the confidence of some drafts of the list is known, so that the others keep its place free."""
    shows_source: bool = True
    """False if no draft of the list has a source."""
    columns: Sequence[str] = DEFAULT.columns
    """The columns before the text of a row of one line, in order."""
    details: Sequence[str] = DEFAULT.details
    """The facts in the lower line of a row of two lines, in order."""
