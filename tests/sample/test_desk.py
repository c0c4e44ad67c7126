"""Tests for the sample desk: every source type through the whole pipeline in one run."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from copydesk import sample
from copydesk.errors import ConflictError
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.draft import Format, ListedDraft, Status
from copydesk.model.run import Run, RunRequest, RunStatus, Stage
from copydesk.model.source import Health
from copydesk.sample.desk import is_created, open_sample, sample_settings
from copydesk.sample.history import APPROVED, SCHEDULED, SLOTS
from copydesk.settings import load
from desk_fixtures import (
    NOW,
    ProgressRecorder,
    Watch,
    integrity_errors,
    item_states,
    list_drafts,
    query_db,
    settings_at,
)

UNLIMITED = RunRequest(max_drafts=1000)


def open_sample_desk(home: Path, clock: Watch | None = None):
    return open_sample(sample_settings(settings_at(home)), clock=clock or Watch())


async def run_once(home: Path, request: RunRequest = UNLIMITED) -> tuple[Run, list[ListedDraft]]:
    async with open_sample_desk(home) as desk:
        return await desk.pipeline.run(request), await list_drafts(desk)


async def test_all_source_types_produce_drafts(tmp_path):
    run, drafts = await run_once(tmp_path)

    assert run.status is RunStatus.SUCCEEDED
    assert run.error is None
    assert {draft.item.source_type for draft in drafts} == set(SOURCE_TYPES)
    assert run.stats.drafts_created == len(drafts) >= 20
    assert run.stats.drafts_failed == 0
    assert integrity_errors(tmp_path) == []


async def test_stage_counts_decrease_and_stages_are_timed(tmp_path):
    run, _ = await run_once(tmp_path, RunRequest())

    stats = run.stats
    counts = [stats.items_considered, stats.items_filtered, stats.items_ranked, stats.drafts_created]
    assert all(larger >= smaller for larger, smaller in pairwise(counts)), counts
    assert stats.items_new == len(item_states(tmp_path)) == stats.items_ingested
    assert stats.drafts_created == 10
    assert set(stats.stage_timing) == set(Stage)
    assert all(0 <= seconds < 60 for seconds in stats.stage_timing.values())


async def test_sample_is_not_on_a_server(tmp_path):
    settings = sample_settings(settings_at(tmp_path, database__url="postgresql://nowhere.invalid/desk"))
    async with open_sample(settings, clock=Watch()) as desk:
        assert len(await desk.sources.list()) > 0


async def test_foreign_urls_are_refused_with_sample_hint(tmp_path):
    async with open_sample_desk(tmp_path) as desk:
        foreign = await desk.sources.test_candidate({"type": "rss", "url": "http://127.0.0.1:8765/feed.xml"})
        emoji = await desk.sources.test_candidate({"type": "rss", "url": "https://☃.example/"})
        (mast,) = [source for source in await desk.sources.list() if source.name == "Signal Mast"]
        failing = await desk.sources.test(mast.id)

    message = "Cannot fetch 127.0.0.1:8765: the sample desk reads only its own sources."
    assert foreign.error == f"{message} Open your own desk with `copydesk`."
    assert emoji.error == foreign.error.replace("127.0.0.1:8765", "xn--n3h.example")
    # The bearer of the simulated X API is a secret, which is masked in messages.
    assert sample.BEARER not in foreign.error
    assert failing.error is not None
    assert failing.error.endswith("The site has a problem.")


async def test_failing_source_does_not_stop_run(tmp_path):
    async with open_sample_desk(tmp_path) as desk:
        run = await desk.pipeline.run()
        sources = {source.name: source for source in await desk.sources.list()}

    failing = sources.pop("Signal Mast")
    assert (failing.fail_count, failing.health, failing.item_count) == (1, Health.DEGRADED, 0)
    assert failing.last_error
    assert "503" in failing.last_error
    assert run.stats.sources_failed == 1
    assert run.stats.sources_fetched == len(sources) == len(sample.SOURCES) - 1
    for source in sources.values():
        assert (source.fail_count, source.last_error, source.health) == (0, None, Health.HEALTHY), source.name
        assert source.item_count > 0
        assert source.last_fetch == NOW


async def test_story_of_five_sources_is_one_draft(tmp_path):
    _, drafts = await run_once(tmp_path)

    matching = [draft for draft in drafts if draft.score and len(draft.score.sources) == 5]
    (draft,) = matching
    assert draft.score
    assert len({source.source_id for source in draft.score.sources}) == 5
    assert draft.score.sources[0].item_id == draft.item_id
    corroboration = next(part for part in draft.score.parts if part.name == "corroboration")
    assert corroboration.why == "reported by 5 sources"
    assert query_db(
        tmp_path, "SELECT count(*) FROM draft WHERE story_id = (SELECT story_id FROM item WHERE id = ?)", draft.item_id
    ) == [(1,)]


async def test_score_parts_add_up(tmp_path):
    _, drafts = await run_once(tmp_path)

    for draft in drafts:
        assert draft.score
        assert draft.score.total == pytest.approx(sum(part.points for part in draft.score.parts))
        assert all(part.why for part in draft.score.parts)
        assert all(part.points == pytest.approx(part.value * part.weight) for part in draft.score.parts)
        assert draft.checks.ran > 0
        assert 0 <= draft.confidence <= 1


async def test_old_items_are_never_drafted(tmp_path):
    _, drafts = await run_once(tmp_path)

    old = query_db(tmp_path, "SELECT id FROM item WHERE state = 'history'")
    cutoff = int((NOW - timedelta(hours=48)).timestamp() * 1e6)
    assert old
    assert query_db(tmp_path, "SELECT count(*) FROM item WHERE published < ? AND state != 'history'", cutoff) == [(0,)]
    assert not {draft.item_id for draft in drafts} & {str(item_id) for (item_id,) in old}


async def test_markup_in_title_is_literal(tmp_path):
    _, drafts = await run_once(tmp_path)

    (hostile,) = [draft for draft in drafts if draft.item.title.startswith("[red]")]
    assert hostile.item.title.startswith("[red]Titles that bite[/red]: what a feed reader must survive")
    assert "\x1b" not in hostile.item.title
    assert "[red]Titles that bite[/red]" in hostile.text


async def test_drafts_have_tags_of_their_source(tmp_path):
    _, drafts = await run_once(tmp_path)

    assert {draft.tags for draft in drafts if draft.item.source_type == "twitter"} == {("databases",)}
    assert {draft.tags for draft in drafts if draft.item.source_type == "substack"} == {("publishing",)}


async def test_avoided_phrases_are_in_no_draft(tmp_path):
    _, drafts = await run_once(tmp_path)

    avoided = sample.VOICE["avoid"]
    assert isinstance(avoided, list)
    assert [draft.id for draft in drafts if any(str(phrase) in draft.text.lower() for phrase in avoided)] == []


async def test_result_is_deterministic(tmp_path):
    first = await run_once(tmp_path / "first")
    second = await run_once(tmp_path / "second")

    def comparable(drafts: list[ListedDraft]) -> list[tuple[object, ...]]:
        return [(draft.item.title, draft.text, draft.score and draft.score.total, draft.confidence) for draft in drafts]

    assert comparable(second[1]) == comparable(first[1])
    assert second[0].stats.items_filtered == first[0].stats.items_filtered


async def test_second_run_creates_nothing(tmp_path):
    clock = Watch()
    async with open_sample_desk(tmp_path, clock) as desk:
        await desk.pipeline.run(UNLIMITED)
        before = (item_states(tmp_path), [draft.id for draft in await list_drafts(desk)])
        clock.advance(600)
        run = await desk.pipeline.run(UNLIMITED)
        after = (item_states(tmp_path), [draft.id for draft in await list_drafts(desk)])

    assert after == before
    assert (run.status, run.stats.items_new, run.stats.drafts_created) == (RunStatus.SUCCEEDED, 0, 0)
    # Hacker News and X have no body to compare: their responses only say that nothing is newer.
    assert run.stats.sources_unchanged >= run.stats.sources_fetched - 2


async def test_all_formats_respect_voice_limits(tmp_path):
    request = RunRequest(max_drafts=1000, formats=tuple(Format))
    run, drafts = await run_once(tmp_path, request)

    by_story: dict[str, set[Format]] = {}
    for draft in drafts:
        by_story.setdefault(draft.item_id, set()).add(draft.format)
        assert not [finding for finding in draft.checks.findings if finding.severity == "error"], draft.text
    assert set().union(*by_story.values()) == set(Format)
    # Below a headline with its date and source, a round-up may quote what says too little for a SHORT.
    assert all(Format.SHORT in formats or formats == {Format.BLOG} for formats in by_story.values())
    assert run.status is RunStatus.SUCCEEDED


async def test_progress_is_monotonic_and_complete(tmp_path):
    steps = ProgressRecorder()
    async with open_sample_desk(tmp_path) as desk:
        run = await desk.pipeline.run(RunRequest(max_drafts=5), steps)

    assert list(dict.fromkeys(step.stage for step in steps.events)) == list(Stage)
    assert {step.run_id for step in steps.events} == {run.id}
    for stage in Stage:
        progress = steps.for_stage(stage)
        assert all(earlier.done <= later.done for earlier, later in pairwise(progress)), stage
        assert progress[-1].done == progress[-1].total, stage
    assert steps.for_stage(Stage.INGEST)[-1].total == len(sample.SOURCES)
    assert steps.for_stage(Stage.DRAFT)[-1].total == 5


async def test_sample_is_created_once(tmp_path):
    for _ in range(2):
        async with open_sample_desk(tmp_path) as desk:
            assert len(await desk.sources.list()) == len(sample.SOURCES)
            assert (await desk.voice.get()).avoid == tuple(sample.VOICE["avoid"])  # type: ignore[arg-type]


async def test_interrupted_first_start_is_completed(tmp_path, monkeypatch):
    """A start interrupted between two sources once left the sample without the remaining ones."""
    first_sources = sample.SOURCES[:3]
    with monkeypatch.context() as patch:
        patch.setattr("copydesk.sample.SOURCES", (*first_sources, None))
        with pytest.raises(AttributeError):
            async with open_sample_desk(tmp_path):
                pass
    async with open_sample_desk(tmp_path) as desk:
        assert [source.name for source in await desk.sources.list()] == [source.name for source in sample.SOURCES]
        assert (await desk.voice.get()).style


async def test_deleted_sample_source_stays_deleted(tmp_path):
    async with open_sample_desk(tmp_path) as desk:
        await desk.sources.delete((await desk.sources.list())[0].id)
    async with open_sample_desk(tmp_path) as desk:
        assert len(await desk.sources.list()) == len(sample.SOURCES) - 1


@pytest.mark.parametrize(
    ("tag", "known"), [("#refused", "Not posted: "), ("#unknown", "Unknown whether it was posted.")]
)
async def test_post_with_a_tag_needs_the_user(tmp_path: Path, tag: str, known: str) -> None:
    async with open_sample_desk(tmp_path) as desk:
        created = await desk.drafts.create({"text": f"The harbour opens. {tag}"})
        await desk.drafts.approve(created.drafts[0].id)
        await desk.posting.post(created.drafts[0].id)
        (question,) = await desk.posting.list_needing_user()
    assert question.known.startswith(known)


def open_with_history(home: Path):
    return open_sample(sample_settings(settings_at(home)), clock=Watch(), with_history=True)


async def test_desk_with_history_shows_every_screen(tmp_path: Path) -> None:
    async with open_with_history(tmp_path) as desk:
        counts = await desk.drafts.counts()
        trends = await desk.engagement.trends(90)
        experiments = {experiment.name: experiment for experiment in await desk.experiments.list()}
        week = await desk.schedule.week()
        (question,) = await desk.posting.list_needing_user()
    assert counts.by_status[Status.PENDING_REVIEW] >= 6
    assert counts.by_status[Status.SCHEDULED] == 6
    assert trends.figures.posts == 23
    assert len(week.slots) == len(SLOTS)
    assert experiments["How many hashtags"].results["verdict"]["kind"] == "better"
    assert experiments["Short or long"].results["verdict"]["kind"] == "not_enough_data"
    assert question.known.startswith("Unknown whether it was posted.")
    assert integrity_errors(tmp_path) == []


async def test_history_is_added_once(tmp_path: Path) -> None:
    async with open_with_history(tmp_path) as desk:
        before = await list_drafts(desk)
        await desk.pipeline.run()
    async with open_with_history(tmp_path) as desk:
        assert len(await list_drafts(desk)) == len(before)
        assert len(await desk.experiments.list()) == 2


async def test_undo_finds_the_users_own_changes_only(tmp_path: Path) -> None:
    async with open_with_history(tmp_path) as desk:
        before = await desk.drafts.counts()
        with pytest.raises(ConflictError, match="Nothing to undo"):
            await desk.drafts.undo()
        rejected = (await desk.drafts.list(status=Status.PENDING_REVIEW)).items[0].id
        await desk.drafts.reject(rejected)
        assert (await desk.drafts.undo()).succeeded == (rejected,)
        with pytest.raises(ConflictError, match="Nothing to undo"):
            await desk.drafts.undo()
        assert await desk.drafts.counts() == before


async def test_used_desk_gets_no_history(tmp_path: Path) -> None:
    await run_once(tmp_path)
    async with open_with_history(tmp_path) as desk:
        assert await desk.engagement.top_posts() == ()


async def test_interrupted_history_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("copydesk.sample.history.LENGTH", {})
        with pytest.raises(KeyError):
            async with open_with_history(tmp_path):
                pass
    async with open_with_history(tmp_path) as desk:
        assert len((await desk.engagement.posts(limit=100)).items) == 23
        assert len(await desk.experiments.list()) == 2
        assert (await desk.drafts.counts()).by_status[Status.PENDING_REVIEW] >= 6


async def interrupt(*_: object) -> None:
    raise KeyError


async def test_history_is_completed_after_an_interrupted_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("copydesk.desk.pipeline.service._import_stages", lambda: interrupt)
        with pytest.raises(KeyError):
            async with open_with_history(tmp_path):
                pass
    async with open_with_history(tmp_path) as desk:
        assert (await desk.drafts.counts()).by_status[Status.SCHEDULED] == 6


@pytest.mark.parametrize("marker", ["kept", "of an earlier version"])
async def test_created_desk_keeps_the_users_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    async with open_with_history(tmp_path) as desk:
        await desk.schedule.set_slots([])
        await desk.drafts.reject((await desk.drafts.list(status=Status.APPROVED)).items[0].id)
        with monkeypatch.context() as patch:
            patch.setattr("copydesk.desk.pipeline.service._import_stages", lambda: interrupt)
            for _ in range(10):
                with pytest.raises(KeyError):
                    await desk.pipeline.run()
        before = await desk.drafts.counts()
    if marker != "kept":
        (sample_settings(settings_at(tmp_path)).data_home / "created").unlink()
    assert is_created(sample_settings(settings_at(tmp_path)))
    async with open_with_history(tmp_path) as desk:
        assert (await desk.schedule.week()).slots == ()
        assert await desk.drafts.counts() == before


@pytest.mark.parametrize("step", ["drafts.service.Drafts.approve", "schedule.Schedule.auto_schedule"])
async def test_interrupted_decisions_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"copydesk.desk.{step}", interrupt)
        with pytest.raises(KeyError):
            async with open_with_history(tmp_path):
                pass
    async with open_with_history(tmp_path) as desk:
        counts = (await desk.drafts.counts()).by_status
        assert (counts[Status.SCHEDULED], counts[Status.APPROVED]) == (SCHEDULED, APPROVED - SCHEDULED)
        assert len(await desk.posting.list_needing_user()) == 1
        with pytest.raises(ConflictError, match="Nothing to undo"):
            await desk.drafts.undo()


async def test_undo_finds_a_change_made_before_the_history(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    async with open_sample(settings) as desk:
        own = (await desk.drafts.create({"text": "Mine."})).drafts[0].id
        await desk.drafts.approve(own)
    async with open_sample(settings, with_history=True) as desk:
        assert (await desk.drafts.undo()).succeeded == (own,)


async def test_desk_on_which_commands_ran_the_pipeline_gets_no_history(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    async with open_sample(settings) as desk:
        await desk.pipeline.run()
        before = await desk.drafts.counts()
    async with open_sample(settings, with_history=True) as desk:
        assert await desk.drafts.counts() == before
