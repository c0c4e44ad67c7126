"""The interface of rules."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from copydesk.drafting.rules.reading import AnalyzedText
from copydesk.drafting.subject import CheckContext
from copydesk.model.draft import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class RuleMatch(NamedTuple):
    """A violation: severity, message for the user, and span in the text if there is one."""

    severity: Severity
    message: str
    start: int | None = None
    end: int | None = None


class Rule(NamedTuple):
    """One check: its name, the check function, and the predicate for the drafts it applies to."""

    name: str
    check: Callable[[AnalyzedText, CheckContext], Iterator[RuleMatch]]
    applies: Callable[[CheckContext], bool]


def always(_: CheckContext) -> bool:
    """Apply a rule to every draft."""
    return True


def has_source(context: CheckContext) -> bool:
    """Apply a rule to drafts with a source to compare with."""
    return bool(context.source.strip())
