"""Pages about the ranking: why an item has no draft, what a change of the settings would do, the rules."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from textual.content import Content

from copydesk.model.ranking import RankingProfile
from copydesk.model.ranking_preview import (
    Explanation,
    Hits,
    PreviewedStory,
    RankingPreview,
    describe_drafted,
    describe_reason,
)
from copydesk.model.rule import Rule
from copydesk.tui import labels
from copydesk.tui.layout import Block, Table, paragraph
from copydesk.tui.terminal.cells import safe_line


def explanation_page(found: Explanation) -> list[Block]:
    """Return the page that says why an item has no draft."""
    blocks: list[Block] = []
    if found.title:
        blocks += [paragraph(safe_line(found.title), "strong"), paragraph(safe_line(found.source), "dim"), paragraph()]
    blocks.append(paragraph(safe_line(found.why)))
    if found.lead_title:
        blocks.append(paragraph(labels.story_told_by(safe_line(found.lead_title))))
    blocks += [
        paragraph(labels.rank_without_interest(safe_line(other.interest), other.rank), "dim")
        for other in found.without_interest
    ]
    if found.parts:
        rows = [
            (Content(part.name), Content(f"{part.points:+.2f}"), Content.styled(safe_line(part.why), "dim"))
            for part in found.parts
        ]
        blocks += [paragraph(), Table(rows, right_aligned=frozenset({1}))]
    return blocks


def ranking_preview_page(found: RankingPreview) -> list[Block]:
    """Return the result of a preview."""
    blocks: list[Block] = [
        paragraph(labels.preview_days(found.days, found.items), "dim"),
        paragraph(describe_drafted(found), "strong"),
        paragraph(),
    ]
    if found.hits.of:
        rows = [
            _hits_row(labels.WITH_CHANGE, found.hits),
            _hits_row(labels.WITHOUT_CHANGE, found.hits_now),
            _hits_row(labels.BY_RECENCY, found.hits_by_recency),
        ]
        blocks += [paragraph(labels.preview_approvals(found.hits.of, found.top)), Table(rows)]
    else:
        blocks.append(paragraph(labels.NO_APPROVALS_TO_COMPARE, "dim"))
    gained = _stories(labels.GAINED, found.gained, found.gained_count)
    return [*blocks, *gained, *_stories(labels.LOST, found.lost, found.lost_count)]


def _hits_row(name: str, hits: Hits) -> tuple[Content, ...]:
    return Content(name), Content(labels.hits_with_interval(hits.hits, hits.of, hits.low, hits.high))


def _stories(heading: str, stories: Sequence[PreviewedStory], count: int) -> Iterator[Block]:
    """Yield the first of `count` stories."""
    if not stories:
        return
    yield paragraph()
    yield paragraph(heading, "strong")
    yield Table(
        [
            (
                Content.styled(f"{story.day:%d %b}", "dim"),
                Content(labels.rank_change(story.rank, story.rank_now)),
                # In one column, which is wrapped: no title is cut.
                Content.assemble(safe_line(story.title), *_details(describe_reason(story))),
            )
            for story in stories
        ]
    )
    if rest := labels.and_more(count - len(stories)).strip():
        yield paragraph(rest, "dim")


def rules_page(rules: Sequence[Rule], now: datetime) -> list[Block]:
    """Return the list of the rules that were made of reasons."""
    if not rules:
        return [paragraph(labels.rules_empty(), "dim")]
    rows = [
        (
            Content.styled(labels.RULE_EFFECTS[rule.kind], "accent" if rule.enabled else "dim"),
            Content.assemble(
                safe_line(rule.term),
                *_details(
                    "" if rule.enabled else labels.RULE_OFF,
                    labels.format_date_time(rule.created_at, now),
                    rule.reason,
                ),
            ),
        )
        for rule in rules
    ]
    return [Table(rows)]


def _details(*texts: str) -> Iterator[tuple[str, str]]:
    """Yield what follows a name on its line, in pieces; empty texts are left out."""
    return ((f" · {safe_line(text)}", "dim") for text in texts if text)


def ranking_page(ranking: RankingProfile) -> list[Block]:
    """Return the interests, filters and weights that runs use."""
    rows = [
        (labels.FIELD_INTERESTS, ", ".join(ranking.interests)),
        (labels.FIELD_INCLUDE, ", ".join(ranking.include)),
        (labels.FIELD_EXCLUDE, ", ".join(ranking.exclude)),
        (labels.FIELD_MIN_SCORE, f"{ranking.min_score:g}"),
        (labels.FIELD_MAX_DRAFTS, f"{ranking.max_drafts}"),
        (labels.FIELD_WEIGHTS, ", ".join(f"{name} {weight:g}" for name, weight in ranking.weights.items())),
    ]
    return [
        Table([(Content.styled(name, "dim"), Content(safe_line(value) or "–")) for name, value in rows]),
        paragraph(),
        paragraph(labels.ranking_saved(ranking.saved) if ranking.saved else labels.RANKING_NOT_SAVED, "dim"),
        paragraph(),
        paragraph(labels.ranking_hints(is_saved=bool(ranking.saved))),
    ]
