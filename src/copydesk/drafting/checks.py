"""Run the checks on a draft, whoever wrote it. They compute on text and need no model.

An error must not be posted as it is, a warning should be looked at, an info is good to know. A rule with false
positives on text written by people must not report errors.
"""

from itertools import islice

from msgspec.structs import replace

from copydesk.drafting.check_context import CheckContext, RecentTexts, Rule, build_check_context
from copydesk.drafting.rules import ai_phrases, claims, facts, form, remains, structure, voice
from copydesk.drafting.rules.analyzed_text import AnalyzedText
from copydesk.drafting.rules.injection import find_injections
from copydesk.model.draft import Checks, Finding, Severity

__all__ = [
    "RULES",
    "CheckContext",
    "RecentTexts",
    "add_notes",
    "build_check_context",
    "check",
    "find_error",
    "find_injections",
]

_ALL: tuple[Rule, ...] = (
    *form.RULES,
    *remains.RULES,
    *facts.RULES,
    *claims.RULES,
    *voice.RULES,
    *structure.RULES,
    *ai_phrases.RULES,
)
_MAY_REPORT_ERRORS = tuple(rule for rule in _ALL if rule not in (*claims.RULES, *ai_phrases.RULES))
RULES = tuple(rule.name for rule in _ALL)
"""Names of all rules, in the order in which findings are listed."""

MAX_FINDINGS_PER_RULE = 5
"""Findings listed per rule; more of the same are no help to a reader."""


def check(text: str, context: CheckContext) -> Checks:
    """Return the findings of all rules that apply to the draft, and its claims; `ran` is the number of these rules."""
    analyzed = AnalyzedText(text, context.format)
    rules = [rule for rule in _ALL if rule.applies(context)]
    findings = [
        Finding(rule=rule.name, severity=match.severity, message=match.message, start=match.start, end=match.end)
        for rule in rules
        for match in islice(rule.check(analyzed, context), MAX_FINDINGS_PER_RULE)
    ]
    return Checks(ran=len(rules), findings=tuple(findings), claims=claims.draft_claims(analyzed, context))


def find_error(text: str, context: CheckContext) -> str | None:
    """Return the message of the first error in the draft, or None. Costs a fraction of `check`."""
    analyzed = AnalyzedText(text, context.format)
    return next(
        (
            match.message
            for rule in _MAY_REPORT_ERRORS
            if rule.applies(context)
            for match in rule.check(analyzed, context)
            if match.severity is Severity.ERROR
        ),
        None,
    )


def add_notes(checks: Checks, notes: tuple[str, ...]) -> Checks:
    """Return `checks` with the writer's own notes added, as infos of the rule `writer`."""
    if not notes:
        return checks
    findings = [Finding(rule="writer", severity=Severity.INFO, message=note) for note in notes]
    return replace(checks, ran=checks.ran + 1, findings=(*checks.findings, *findings))
