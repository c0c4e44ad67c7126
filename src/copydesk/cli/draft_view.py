"""Print one draft: text, status, checks and score."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from copydesk.cli.ids import shorten_draft
from copydesk.cli.output import print_table
from copydesk.model.confidence import DecisionProgress
from copydesk.model.draft import CLAIM_LABELS, STATUS_LABELS, Agent, Checks, Claim, Draft, Score, Status, is_held
from copydesk.model.writer import ModelRequest
from copydesk.text import clean, reveal
from copydesk.text.formatting import describe_confidence, format_cost, format_count

if TYPE_CHECKING:
    from copydesk.desk import Desk

STATUSES_WITH_DELIVERIES = frozenset({Status.POSTING, Status.POSTED})
"""Statuses for which the deliveries are listed, account by account."""
TIME_LABELS = {Status.MISSED: "missed"}
"""The label of a draft's time in a status in which it will not go out at that time."""


def print_draft(draft: Draft, short_id: str, progress: DecisionProgress, facts: Sequence[tuple[str, str]] = ()) -> None:
    """Print a draft with its short id, the given facts, its checks and the parts of its score.

    `progress` tells from how many decisions its confidence will be known.
    """
    confidence = describe_confidence(
        draft.confidence, known=draft.confidence_known, decisions=progress.decisions, needed=progress.needed
    )
    click.echo(f"{draft.format} · {STATUS_LABELS[draft.status]} · confidence {confidence} · {short_id}\n")
    click.echo(reveal(draft.text) or "No text yet.")
    if facts:
        click.echo()
        print_table(facts, empty="")
    if draft.checks.ran:
        click.echo()
        print_checks(draft.text, draft.checks)
    if draft.score:
        _print_score(draft.score)


def print_request(request: ModelRequest) -> None:
    """Print a request to a language model: its answer in figures, then its parameters and both turns."""
    usage = request.usage
    facts = [
        ("writer", request.writer),
        ("model", request.model),
        ("answered by", request.answered_by or "no model"),
        ("tokens", f"{format_count(usage.input_tokens)} in, {format_count(usage.output_tokens)} out"),
        ("cost", format_cost(request.cost)),
        ("time", f"{request.seconds:.1f} s"),
        ("attempts", f"{request.attempts}"),
        ("error", request.error or "none"),
        *((f"parameter {name}", f"{value}") for name, value in request.parameters.items()),
    ]
    print_table([(name, clean(value)) for name, value in facts], empty="")
    sections = {"Instructions": request.system, "Material": request.prompt, "Report": request.report}
    for title, text in sections.items():
        if text:
            click.echo(f"\n{title}\n{reveal(text)}")
    if request.claims:
        click.echo("\nClaims, with the words of the source that the model names")
        print_table([(clean(claim.text), clean(claim.source_quote)) for claim in request.claims], empty="")


async def draft_facts(desk: "Desk", draft: Draft) -> list[tuple[str, str]]:
    """Return (label, value) rows: the draft's times in the user's time zone, deliveries, feedback, tags, images."""
    times = [(name, at) for name, at in _draft_times(draft) if at is not None]
    formatted = await desk.schedule.format_times(*(at for _, at in times))
    # Only these drafts can have deliveries worth showing; others save the query.
    reports = (
        await desk.posting.list_deliveries(draft.id)
        if draft.status in STATUSES_WITH_DELIVERIES or draft.last_error
        else ()
    )
    older = draft.regenerated_from_id
    return [
        *((name, at) for (name, _), at in zip(times, formatted, strict=True)),
        *([("version of", await shorten_draft(desk, older))] if older else []),
        *((report.account, report.says) for report in reports),
        # The deliveries name their own errors; `last_error` would repeat them.
        *_text_facts(draft, without_error=bool(reports)),
    ]


def _draft_times(draft: Draft) -> tuple[tuple[str, datetime | None], ...]:
    scheduled = TIME_LABELS.get(draft.status, "scheduled") if draft.posted_at is None else "was scheduled"
    return (scheduled, draft.scheduled_at), ("posted", draft.posted_at), ("archived", draft.archived_at)


def _text_facts(draft: Draft, *, without_error: bool) -> Iterator[tuple[str, str]]:
    rejected = draft.rejection_feedback if draft.status is Status.REJECTED else None
    error = None if without_error else draft.last_error
    held = error if is_held(draft.status, draft.last_error) else None
    for name, text in (
        ("rejected", rejected),
        ("feedback", draft.feedback),
        ("held", held and held.removeprefix("Held: ")),
        ("error", None if held else error),
    ):
        if text:
            yield name, text
    for item in draft.items:
        yield "source", f"{item.source_name}: {item.title} {item.url or ''}".strip()
    if draft.agent is not None:
        yield from _agent_facts(draft.agent)
    for name, values in (("tags", draft.tags), ("platforms", draft.target_platforms)):
        if values:
            yield name, ", ".join(values)
    for name, images in (("image", draft.images), ("proposed image", draft.proposed_images)):
        for image in images:
            agency = f" (from {image.agency}: may need a licence)" if image.agency else ""
            yield name, f"{image.url} {image.alt or '(no alt text)'}{agency}"


def _agent_facts(agent: Agent) -> Iterator[tuple[str, str]]:
    yield "proposed by", agent.name
    for name, text in (("model", agent.model), ("prompt", agent.prompt_hash), ("token", agent.token)):
        if text:
            yield name, text
    for source in agent.sources:
        span = f" {source.start}-{source.end}" if source.start is not None and source.end is not None else ""
        yield "source", f"{source.url}{span} {source.text}".strip()


def print_checks(text: str, checks: Checks) -> None:
    """Print the findings of the checks, and the claims of the text."""
    failed = {finding.rule for finding in checks.findings}
    click.echo(f"Checks: {checks.ran - len(failed)} of {checks.ran} passed")
    if checks.findings:
        print_table([("", finding.severity, finding.rule, finding.message) for finding in checks.findings], empty="")
    if checks.claims:
        _print_claims(text, checks.claims)


def _print_claims(text: str, claims: Sequence[Claim]) -> None:
    """Print each sentence with its verdict, and below it the words of the source."""
    click.echo("\nClaims")
    for claim in claims:
        click.echo(f"  {CLAIM_LABELS[claim.verdict]:<11}  {clean(text[claim.start : claim.end])}")
        if claim.reason:
            click.echo(f"{'':13}  {clean(claim.reason)}")
        if claim.source:
            location = f"{claim.source.field} {claim.source.start}-{claim.source.end}"
            click.echo(f"{'':13}  {location}: {clean(claim.source.text)}")


def _print_score(score: Score) -> None:
    click.echo(f"\nScore: {score.total:.3f}")
    print_table([("", part.name, f"{part.points:.3f}", part.why) for part in score.parts], empty="")
    if len(score.sources) > 1:
        click.echo("Reported by " + ", ".join(clean(source.name) for source in score.sources))
