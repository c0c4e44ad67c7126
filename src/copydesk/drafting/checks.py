"""The checks that run on every draft, whoever wrote it: arithmetic on text, no model.

An error is something that must not be posted as it is, a warning something to look at, an info something to know.
Rules that are wrong about what people write now and then never say error.
"""

from itertools import islice

from copydesk.drafting.rules import facts, form, structure, tells, voice
from copydesk.drafting.rules.injection import source_findings
from copydesk.drafting.rules.reading import Reading
from copydesk.drafting.rules.rule import Rule
from copydesk.drafting.subject import Recent, Subject, subject_of
from copydesk.model.draft import Checks, Finding, Severity

__all__ = ["RULES", "Recent", "Subject", "check", "confidence", "source_findings", "subject_of", "with_notes"]

_ALL: tuple[Rule, ...] = (*form.RULES, *facts.RULES, *voice.RULES, *structure.RULES, *tells.RULES)
RULES = tuple(rule.name for rule in _ALL)
"""The name of every rule, in the order in which findings are listed."""

AT_MOST = 5
"""Findings of one rule that are listed; the sixth tells a reader nothing new."""

UNKNOWN, CLEAN, PER_WARNING, WITH_ERROR = 0.5, 0.7, 0.8, 0.2


def check(text: str, subject: Subject) -> Checks:
    """What the rules say about `text`; `ran` is the number of rules that had anything to look at."""
    reading = Reading(text, subject.format)
    rules = [rule for rule in _ALL if rule.applies(subject)]
    findings = [
        Finding(rule=rule.name, severity=found.severity, message=found.message, start=found.start, end=found.end)
        for rule in rules
        for found in islice(rule.look(reading, subject), AT_MOST)
    ]
    return Checks(ran=len(rules), findings=tuple(findings))


def with_notes(checks: Checks, notes: tuple[str, ...]) -> Checks:
    """`checks` and what the writer itself has to say about the text: infos of the rule `writer`."""
    if not notes:
        return checks
    said = [Finding(rule="writer", severity=Severity.INFO, message=note) for note in notes]
    return Checks(ran=checks.ran + 1, findings=(*checks.findings, *said))


def confidence(checks: Checks) -> float:
    """How likely it is that the reviewer approves the draft as it stands, before there is any history: 0 to 1.

    A judgement, to be replaced by the user's own approvals: 0.5 where nothing was checked; else 0.7, times 0.8 for
    each rule that warns, never over 0.5 where there was no source, and never over 0.2 with an error. Infos do not
    count.
    """
    if not checks.ran:
        return UNKNOWN
    warned = {finding.rule for finding in checks.findings if finding.severity is Severity.WARNING}
    most = UNKNOWN if "source-missing" in warned else CLEAN
    prior = min(most, CLEAN * PER_WARNING ** len(warned))
    failed = any(finding.severity is Severity.ERROR for finding in checks.findings)
    return round(min(prior, WITH_ERROR) if failed else prior, 3)
