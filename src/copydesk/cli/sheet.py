"""One draft in words: its text, where it stands, its checks, and why it was picked."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from copydesk.cli.show import table
from copydesk.model.draft import Checks, Draft, Score, Status
from copydesk.text import clean, reveal

if TYPE_CHECKING:
    from copydesk.desk import Desk

SENT = frozenset({Status.POSTING, Status.POSTED})
"""Where it is told what became of a draft, account by account."""
TIMES = {Status.MISSED: "missed"}
"""What a draft's time is called in a state where it will not go out then."""


def print_draft(found: Draft, facts: Sequence[tuple[str, str]] = ()) -> None:
    """A draft with what is known of it, its checks and the parts of its score."""
    click.echo(f"{found.format} · {found.status} · {found.confidence:.0%} by its checks · {found.id}\n")
    click.echo(reveal(found.text) or "No text yet.")
    if facts:
        click.echo()
        table(facts, empty="")
    if found.checks.ran:
        _print_checks(found.checks)
    if found.score:
        _print_score(found.score)


async def facts_of(desk: "Desk", found: Draft) -> list[tuple[str, str]]:
    """Where a draft stands beside its state: its times on the user's clock, what was said of it, what goes with it."""
    times = [(name, at) for name, at in _times(found) if at is not None]
    shown = await desk.schedule.shown(*(at for _, at in times))
    went = await desk.posting.deliveries(found.id) if found.status in SENT or found.last_error else ()
    return [
        *((name, at) for (name, _), at in zip(times, shown, strict=True)),
        *((each.account, each.says) for each in went),
        *_said(found, without_error=bool(went)),
    ]


def _times(found: Draft) -> tuple[tuple[str, datetime | None], ...]:
    scheduled = TIMES.get(found.status, "goes out") if found.posted_at is None else "was due"
    return (scheduled, found.scheduled_at), ("posted", found.posted_at), ("archived", found.archived_at)


def _said(found: Draft, *, without_error: bool) -> Iterator[tuple[str, str]]:
    rejected = found.rejection_feedback if found.status is Status.REJECTED else None
    error = None if without_error else found.last_error
    for name, text in (("rejected", rejected), ("feedback", found.feedback), ("error", error)):
        if text:
            yield name, text
    if found.regenerated_from_id:
        yield "version of", found.regenerated_from_id
    for name, words in (("tags", found.tags), ("platforms", found.target_platforms)):
        if words:
            yield name, ", ".join(words)
    for image in found.images:
        yield "picture", f"{image.url} {image.alt or '(no description)'}"


def _print_checks(checks: Checks) -> None:
    failed = {finding.rule for finding in checks.findings}
    click.echo(f"\nChecks: {checks.ran - len(failed)} of {checks.ran} pass")
    if checks.findings:
        table([("", finding.severity, finding.rule, finding.message) for finding in checks.findings], empty="")


def _print_score(score: Score) -> None:
    click.echo(f"\nWhy it was picked: {score.total:.3f}")
    table([("", part.name, f"{part.points:.3f}", part.why) for part in score.parts], empty="")
    if len(score.sources) > 1:
        click.echo("Told by " + ", ".join(clean(each.name) for each in score.sources))
