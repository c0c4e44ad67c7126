"""The interface of rules."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from copydesk.drafting.rules.reading import Reading
from copydesk.drafting.subject import Subject
from copydesk.model.draft import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class Found(NamedTuple):
    """A violation: severity, message for the user, and span in the text if there is one."""

    severity: Severity
    message: str
    start: int | None = None
    end: int | None = None


class Rule(NamedTuple):
    """One check: its name, the check function, and the predicate for the drafts it applies to."""

    name: str
    look: Callable[[Reading, Subject], Iterator[Found]]
    applies: Callable[[Subject], bool]


def always(_: Subject) -> bool:
    """Apply a rule to every draft."""
    return True


def has_source(subject: Subject) -> bool:
    """Apply a rule to drafts with a source to compare with."""
    return bool(subject.source.strip())
