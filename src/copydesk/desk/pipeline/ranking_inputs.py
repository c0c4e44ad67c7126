"""Inputs of the ranking: the settings, the sources, the user's decisions and earlier drafts."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from copydesk.desk.learning import load_decisions
from copydesk.model.rule import RuleKind
from copydesk.model.source import Source, SourceConfig
from copydesk.ranking.preference import Decision, train
from copydesk.ranking.score import ScoringContext, SourceRecord, Weights
from copydesk.settings import Settings
from copydesk.store import drafts, rules, sources
from copydesk.store.database import Transaction
from copydesk.store.drafts import DraftDecision

NOVELTY_WINDOW = timedelta(days=60)
"""Stories drafted within this window are no longer news."""


class RankingInputs(NamedTuple):
    """Stored data that the ranking uses."""

    sources: tuple[Source, ...]
    drafted_titles: tuple[str, ...]
    counts: Mapping[str, tuple[int, int]]
    """By source id: (approved, rejected)."""
    decisions: tuple[DraftDecision, ...]
    excluded: tuple[str, ...]
    """Words that the user's rules exclude."""


def load_ranking_inputs(conn: Transaction, user_id: str, since: datetime) -> RankingInputs:
    """Load what stories are ranked by; stories drafted since `since` are no longer news."""
    state, decisions = load_decisions(conn, user_id)
    return RankingInputs(
        sources=sources.list_all(conn, user_id),
        drafted_titles=drafts.list_titles_since(conn, user_id, since),
        counts=_count_by_source(decisions) if state.since else drafts.count_decisions_by_source(conn, user_id),
        decisions=decisions,
        excluded=rules.list_terms(conn, user_id, RuleKind.EXCLUDE),
    )


def _count_by_source(decisions: Iterable[DraftDecision]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for decision in decisions:
        approved, rejected = counts.get(decision.source_id or "", (0, 0))
        counts[decision.source_id or ""] = (approved + decision.approved, rejected + (not decision.approved))
    return counts


def ranking_context(inputs: RankingInputs, settings: Settings) -> ScoringContext:
    """Build the ranking context from the settings, the sources' records, the user's decisions and earlier titles."""
    options = settings.ranking
    return ScoringContext(
        interests=options.interests,
        weights=Weights(**{name: getattr(options, name) for name in Weights.__struct_fields__}),
        half_life_hours=options.half_life_hours,
        source_records={
            source.id: _source_record(source, *inputs.counts.get(source.id, (0, 0))) for source in inputs.sources
        },
        recent_titles=inputs.drafted_titles,
        preference=train(_to_decisions(inputs.decisions)),
        min_score=settings.pipeline.min_score,
    )


def _source_record(source: Source, approved: int, rejected: int) -> SourceRecord:
    config = source.config or SourceConfig()
    return SourceRecord(weight=config.weight, min_score=config.min_score, approved=approved, rejected=rejected)


def _to_decisions(decisions: Iterable[DraftDecision]) -> Iterable[Decision]:
    for decision in decisions:
        yield Decision(
            text=f"{decision.title}\n{decision.summary}",
            source_id=decision.source_id or "",
            approved=decision.approved,
            reason=decision.reason,
        )
