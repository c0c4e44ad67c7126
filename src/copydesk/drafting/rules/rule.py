"""What a rule is."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from copydesk.drafting.rules.reading import Reading
from copydesk.drafting.subject import Subject
from copydesk.model.draft import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class Found(NamedTuple):
    """What a rule says: how bad, in words for a person, and where in the text, if somewhere."""

    severity: Severity
    message: str
    start: int | None = None
    end: int | None = None


class Rule(NamedTuple):
    """One check: its name, what it looks for, and the subjects that it has anything to say about."""

    name: str
    look: Callable[[Reading, Subject], Iterator[Found]]
    applies: Callable[[Subject], bool]


def always(_: Subject) -> bool:
    """For a rule that holds for every draft."""
    return True


def has_source(subject: Subject) -> bool:
    """For a rule that compares with the item."""
    return bool(subject.source.strip())
