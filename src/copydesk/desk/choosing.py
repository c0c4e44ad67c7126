"""The second and third stage of a run: what waits is filtered, merged into stories, and ranked.

What is decided is decided in threads: of thousands of items it takes longer than a key may wait for its answer.
"""

import asyncio
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.desk.report import Report
from copydesk.errors import InvalidError
from copydesk.model.item import Item, ItemState
from copydesk.model.run import RunRequest, Stage
from copydesk.model.source import Source, SourceConfig
from copydesk.ranking.duplicates import StoryIndex
from copydesk.ranking.filters import Rules, compile_rules, judge
from copydesk.ranking.preference import Decision, train
from copydesk.ranking.rank import Ranked, Ranking, rank
from copydesk.ranking.score import Context, Standing, Weights
from copydesk.ranking.stories import Candidate, gather
from copydesk.settings import Settings
from copydesk.store import counts, drafts, items, sources
from copydesk.store.drafts import Decided
from copydesk.store.items import StoryMember
from copydesk.text.digest import digest

log = logging.getLogger(__name__)
WINDOW = timedelta(days=14)
"""Stories are told anew for so long; later the same words are another story."""
TOLD = timedelta(days=60)
"""What was drafted in this time is no news."""
NO_RULES = Rules()
JUDGED_AT_ONCE = 500
"""Items; between two lots a run may be cancelled."""
MOST_DECISIONS = 2000
"""Decisions that the preference is learnt from, the newest; more would not change it."""


async def choose(ground: Ground, request: RunRequest, report: Report, new: Container[str]) -> tuple[Ranked, ...]:
    """The stories worth drafting, the best first. `new` are the ids of the items that this run stored."""
    with report.during(Stage.FILTER):
        stories = await _filter(ground, request, report, new)
    with report.during(Stage.RANK, len(stories)):
        return await _rank(ground, stories, report)


async def _filter(ground: Ground, request: RunRequest, report: Report, new: Container[str]) -> tuple[Candidate, ...]:
    """The stories that the items that pass tell; what was decided of the others is kept."""
    now = ground.clock()
    rules = await _rules(ground)
    waiting = await ground.read(items.waiting, request.source_ids)
    # Counted one by one: of what this run stored some may be gone again.
    before = sum(item.id not in new for item in waiting)
    report.add(items_ingested=before, items_waiting=before)
    report.expect(len(waiting))
    if not waiting:
        return ()
    passed, outcomes = await _judge_all(waiting, rules, now, report)
    placed = await _place(ground, passed, now)
    passed = [msgspec.structs.replace(item, story_id=placed.get(item.id, item.story_id)) for item in passed]
    told = await ground.write(_settle, passed, placed, outcomes)
    stories = await asyncio.to_thread(gather, [item for item in passed if item.story_id not in told])
    report.count(items_filtered=len(stories))
    return stories


def _settle(
    conn: Connection,
    user_id: str,
    passed: Sequence[Item],
    placed: Mapping[str, str],
    outcomes: Sequence[tuple[str, ItemState, str | None]],
) -> frozenset[str]:
    """Keep where items were placed and what was decided of them; of which stories there are drafts already."""
    items.place(conn, user_id, placed.items())
    told = drafts.drafted_among(conn, user_id, sorted({item.story_id for item in passed}))
    late = [(item.id, ItemState.DUPLICATE, "its story was drafted before") for item in passed if item.story_id in told]
    items.settle(conn, user_id, [*outcomes, *late])
    return told


async def _rank(ground: Ground, stories: Sequence[Candidate], report: Report) -> tuple[Ranked, ...]:
    """The stories in order; those that are dropped for good are kept out of later runs."""
    if not stories:
        return ()
    now = ground.clock()
    known = await ground.read(_known, now - TOLD)
    ranking = await asyncio.to_thread(_ranking, stories, known, ground.settings, now)
    outcomes = [
        (item.id, ItemState.FILTERED, dropped.reason)
        for dropped in ranking.dropped
        if dropped.for_good
        for item in dropped.story.items
    ]
    if outcomes:
        await ground.write(items.settle, outcomes)
    report.count(items_ranked=len(ranking.ranked))
    report.all_done()
    return ranking.ranked


class _Known(NamedTuple):
    """What was stored by now that tells how good a story is."""

    sources: tuple[Source, ...]
    told: tuple[str, ...]
    counts: Mapping[str, tuple[int, int]]
    decisions: tuple[Decided, ...]


def _known(conn: Connection, user_id: str, since: datetime) -> _Known:
    return _Known(
        sources=sources.every(conn, user_id),
        told=drafts.titles_since(conn, user_id, since),
        counts=counts.decisions(conn, user_id),
        decisions=drafts.decisions(conn, user_id, MOST_DECISIONS),
    )


def _ranking(stories: Sequence[Candidate], known: _Known, settings: Settings, now: datetime) -> Ranking:
    return rank(stories, _context(known, settings), now)


def _context(known: _Known, settings: Settings) -> Context:
    """What the ranking should know: the settings, the sources' standing, the user's decisions, what was told."""
    asked = settings.ranking
    return Context(
        interests=asked.interests,
        weights=Weights(**{name: getattr(asked, name) for name in Weights.__struct_fields__}),
        half_life_hours=asked.half_life_hours,
        standings={source.id: _standing(source, *known.counts.get(source.id, (0, 0))) for source in known.sources},
        told=known.told,
        preference=train(_labels(known.decisions)),
        min_score=settings.pipeline.min_score,
    )


def _standing(source: Source, approved: int, rejected: int) -> Standing:
    config = source.config or SourceConfig()
    return Standing(weight=config.weight, min_score=config.min_score, approved=approved, rejected=rejected)


def _labels(decisions: Iterable[Decided]) -> Iterable[Decision]:
    for each in decisions:
        yield Decision(text=f"{each.title}\n{each.summary}", source_id=each.source_id or "", approved=each.approved)


async def _rules(ground: Ground) -> tuple[Rules, Mapping[str, Rules | None]]:
    """The rules for every item, and those of each source that has some of its own; None where they are unusable.

    Where they are not those that a source's items were last judged by, what they left out waits again.
    """
    max_age = timedelta(hours=ground.settings.pipeline.max_age_hours)
    every, judged_by = await ground.read(_sources_and_rules)
    compiled = await asyncio.to_thread(_compiled, ground.settings, max_age, every)
    named = {each.id: _named(ground, each.config or SourceConfig()) for each in every}
    if changed := {source_id: rules for source_id, rules in named.items() if judged_by.get(source_id) != rules}:
        await ground.write(_judge_again, changed, ground.clock() - max_age)
    return compiled


def _sources_and_rules(conn: Connection, user_id: str) -> tuple[tuple[Source, ...], Mapping[str, str | None]]:
    return sources.every(conn, user_id), sources.judged_by(conn, user_id)


def _judge_again(conn: Connection, user_id: str, changed: Mapping[str, str], since: datetime) -> None:
    items.reopen(conn, user_id, list(changed), since)
    sources.judge_by(conn, user_id, changed)


def _named(ground: Ground, config: SourceConfig) -> str:
    """What stands for all that leaves items of a source out for good: another one where anything of it changes."""
    asked = ground.settings.pipeline
    everywhere = (asked.include, asked.exclude, asked.language, asked.max_age_hours)
    unwanted = sorted(each for each in ground.settings.ranking.interests if each.startswith("-"))
    rules = (everywhere, unwanted, config.include, config.exclude, config.language)
    return digest(msgspec.json.encode(rules), 8).hex()


def _compiled(
    settings: Settings, max_age: timedelta, every: Iterable[Source]
) -> tuple[Rules, Mapping[str, Rules | None]]:
    asked = settings.pipeline
    everywhere = compile_rules(asked.include, asked.exclude, asked.language or None, max_age, field="pipeline")
    return everywhere, {each.id: _own_rules(each.config) for each in every if each.config is not None}


def _own_rules(config: SourceConfig) -> Rules | None:
    try:
        return compile_rules(config.include, config.exclude, config.language, None)
    except InvalidError as error:
        # They were checked when they were set; an expression may still take too long on a much slower machine.
        log.warning("the items of a source wait: %s", error)
        return None


async def _judge_all(
    waiting: Sequence[Item], rules: tuple[Rules, Mapping[str, Rules | None]], now: datetime, report: Report
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    """Which items pass, and what became of the others; those of a source with unusable rules go on waiting."""
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for start in range(0, len(waiting), JUDGED_AT_ONCE):
        some = waiting[start : start + JUDGED_AT_ONCE]
        more_passed, more_outcomes = await asyncio.to_thread(_judge, some, rules, now)
        passed += more_passed
        outcomes += more_outcomes
        report.step(steps=len(some))
    return passed, outcomes


def _judge(
    waiting: Sequence[Item], rules: tuple[Rules, Mapping[str, Rules | None]], now: datetime
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    everywhere, own = rules
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for item in waiting:
        its_own = own.get(item.source_id, NO_RULES)
        if its_own is None:
            continue
        reason = judge(item, everywhere, now) or judge(item, its_own, now)
        if reason is None:
            passed.append(item)
        else:
            outcomes.append((item.id, ItemState.FILTERED, reason))
    return passed, outcomes


async def _place(ground: Ground, passed: Sequence[Item], now: datetime) -> dict[str, str]:
    """The stories of the items that are in none yet: {item id: story id}."""
    unplaced = [item for item in passed if not item.story_id]
    if not unplaced:
        return {}
    members = await ground.read(items.story_members, now - WINDOW)
    return await asyncio.to_thread(_stories, members, unplaced)


def _stories(members: Iterable[StoryMember], unplaced: Sequence[Item]) -> dict[str, str]:
    index = StoryIndex(WINDOW)
    for known in members:
        index.add(known.story_id, known.source_id, known.title, known.canonical, known.published)
    return {
        item.id: index.place(item.id, item.source_id, item.entry.title, item.canonical, item.published) or item.id
        for item in unplaced
    }
