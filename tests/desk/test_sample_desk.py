"""The sample desk: every type of source, through the whole pipeline, in one run."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from copydesk import sample
from copydesk.model.draft import Format, ListedDraft
from copydesk.model.run import Run, RunRequest, RunStatus, Stage
from copydesk.model.source import Health, SourceType
from copydesk.sample.desk import open_sample, sample_settings
from desk_fixtures import NOW, Steps, Watch, damage, drafts_of, rows, settings_at, states

ALL = RunRequest(max_drafts=1000)


def open_at(home: Path, clock: Watch | None = None):
    return open_sample(sample_settings(settings_at(home)), clock=clock or Watch())


async def in_one_run(home: Path, request: RunRequest = ALL) -> tuple[Run, list[ListedDraft]]:
    async with open_at(home) as desk:
        return await desk.pipeline.run(request), await drafts_of(desk)


async def test_every_type_of_source_ends_in_drafts(tmp_path):
    run, drafts = await in_one_run(tmp_path)

    assert run.status is RunStatus.SUCCEEDED
    assert run.error is None
    assert {draft.item.source_type for draft in drafts} == set(SourceType)
    assert run.stats.drafts_created == len(drafts) > 20
    assert run.stats.drafts_failed == 0
    assert damage(tmp_path) == []


async def test_the_figures_of_a_run_are_a_funnel_and_every_stage_has_its_time(tmp_path):
    run, _ = await in_one_run(tmp_path, RunRequest())

    stats = run.stats
    figures = [stats.items_ingested, stats.items_filtered, stats.items_ranked, stats.drafts_created]
    assert all(more >= fewer for more, fewer in pairwise(figures)), figures
    assert stats.items_new == len(states(tmp_path)) == stats.items_ingested
    assert stats.drafts_created == 10
    assert set(stats.stage_timing) == set(Stage)
    assert all(0 <= seconds < 60 for seconds in stats.stage_timing.values())


async def test_what_is_not_of_the_sample_is_not_blamed_on_the_internet_and_not_tried_again(tmp_path):
    async with open_at(tmp_path) as desk:
        tried = await desk.sources.try_out("rss", "http://127.0.0.1:8765/feed.xml")
        down = await desk.sources.try_out("rss", "https://signal-mast.example/feed.xml")

    says = "127.0.0.1:8765 was not asked: the sample desk reads only its own sources."
    assert tried.error == f"{says} Open your own desk with `copydesk`."
    assert down.error is not None
    assert down.error.endswith("This is the site's trouble.")


async def test_the_source_that_is_down_says_so_and_stops_no_other(tmp_path):
    async with open_at(tmp_path) as desk:
        run = await desk.pipeline.run()
        sources = {source.name: source for source in await desk.sources.list()}

    down = sources.pop("Signal Mast")
    assert (down.fail_count, down.health, down.item_count) == (1, Health.DEGRADED, 0)
    assert down.last_error
    assert "503" in down.last_error
    assert run.stats.sources_failed == 1
    assert run.stats.sources_fetched == len(sources) == len(sample.SOURCES) - 1
    for source in sources.values():
        assert (source.fail_count, source.last_error, source.health) == (0, None, Health.HEALTHY), source.name
        assert source.item_count > 0
        assert source.last_fetch == NOW


async def test_the_story_that_five_sources_tell_is_one_draft_that_names_all_five(tmp_path):
    _, drafts = await in_one_run(tmp_path)

    told = [draft for draft in drafts if draft.score and len(draft.score.sources) == 5]
    (draft,) = told
    assert draft.score
    assert len({source.source_id for source in draft.score.sources}) == 5
    assert draft.score.sources[0].item_id == draft.item_id
    corroboration = next(part for part in draft.score.parts if part.name == "corroboration")
    assert corroboration.why == "5 sources tell it"
    assert rows(
        tmp_path, "SELECT count(*) FROM draft WHERE story_id = (SELECT story_id FROM item WHERE id = ?)", draft.item_id
    ) == [(1,)]


async def test_every_part_of_a_score_is_kept_and_they_add_up(tmp_path):
    _, drafts = await in_one_run(tmp_path)

    for draft in drafts:
        assert draft.score
        assert draft.score.total == pytest.approx(sum(part.points for part in draft.score.parts))
        assert all(part.why for part in draft.score.parts)
        assert all(part.points == pytest.approx(part.value * part.weight) for part in draft.score.parts)
        assert draft.checks.ran > 0
        assert 0 <= draft.confidence <= 1


async def test_what_is_older_than_two_days_is_kept_as_history_and_never_drafted(tmp_path):
    _, drafts = await in_one_run(tmp_path)

    old = rows(tmp_path, "SELECT id FROM item WHERE state = 'history'")
    long_ago = int((NOW - timedelta(hours=48)).timestamp() * 1e6)
    assert old
    assert rows(tmp_path, "SELECT count(*) FROM item WHERE published < ? AND state != 'history'", long_ago) == [(0,)]
    assert not {draft.item_id for draft in drafts} & {str(item_id) for (item_id,) in old}


async def test_the_title_that_wants_to_be_markup_is_kept_to_the_letter(tmp_path):
    _, drafts = await in_one_run(tmp_path)

    (hostile,) = [draft for draft in drafts if draft.item.title.startswith("[red]")]
    assert hostile.item.title.startswith("[red]Titles that bite[/red]: what a feed reader must survive")
    assert "\x1b" not in hostile.item.title
    assert "[red]Titles that bite[/red]" in hostile.text


async def test_the_tags_of_a_source_are_on_its_drafts(tmp_path):
    _, drafts = await in_one_run(tmp_path)

    assert {draft.tags for draft in drafts if draft.item.source_type is SourceType.TWITTER} == {("databases",)}
    assert {draft.tags for draft in drafts if draft.item.source_type is SourceType.SUBSTACK} == {("publishing",)}


async def test_the_words_that_the_voice_avoids_are_in_no_draft(tmp_path):
    _, drafts = await in_one_run(tmp_path)

    avoided = sample.VOICE["avoid"]
    assert isinstance(avoided, list)
    assert [draft.id for draft in drafts if any(str(each) in draft.text.lower() for each in avoided)] == []


async def test_two_fresh_desks_with_the_same_clock_make_the_same_drafts_in_the_same_order(tmp_path):
    first = await in_one_run(tmp_path / "first")
    second = await in_one_run(tmp_path / "second")

    def seen(drafts: list[ListedDraft]) -> list[tuple[object, ...]]:
        return [(draft.item.title, draft.text, draft.score and draft.score.total, draft.confidence) for draft in drafts]

    assert seen(second[1]) == seen(first[1])
    assert second[0].stats.items_filtered == first[0].stats.items_filtered


async def test_a_second_run_finds_nothing_new_and_makes_nothing(tmp_path):
    clock = Watch()
    async with open_at(tmp_path, clock) as desk:
        await desk.pipeline.run(ALL)
        before = (states(tmp_path), [draft.id for draft in await drafts_of(desk)])
        clock.forward(600)
        run = await desk.pipeline.run(ALL)
        after = (states(tmp_path), [draft.id for draft in await drafts_of(desk)])

    assert after == before
    assert (run.status, run.stats.items_new, run.stats.drafts_created) == (RunStatus.SUCCEEDED, 0, 0)
    # Hacker News and X have no body that could be the same: they answer that there is nothing since.
    assert run.stats.sources_unchanged >= run.stats.sources_fetched - 2


async def test_three_formats_of_a_story_are_three_drafts_within_the_limits_of_the_voice(tmp_path):
    wanted = RunRequest(max_drafts=1000, formats=tuple(Format))
    run, drafts = await in_one_run(tmp_path, wanted)

    by_story: dict[str, set[Format]] = {}
    for draft in drafts:
        by_story.setdefault(draft.item_id, set()).add(draft.format)
        assert not [finding for finding in draft.checks.findings if finding.severity == "error"], draft.text
    assert any(formats == set(Format) for formats in by_story.values())
    assert all(Format.SHORT in formats for formats in by_story.values())
    assert run.status is RunStatus.SUCCEEDED


async def test_progress_only_grows_and_each_stage_comes_to_its_end(tmp_path):
    steps = Steps()
    async with open_at(tmp_path) as desk:
        run = await desk.pipeline.run(RunRequest(max_drafts=5), steps)

    assert list(dict.fromkeys(step.stage for step in steps.seen)) == list(Stage)
    assert {step.run_id for step in steps.seen} == {run.id}
    for stage in Stage:
        told = steps.of(stage)
        assert all(sooner.done <= later.done for sooner, later in pairwise(told)), stage
        assert told[-1].done == told[-1].total, stage
    assert steps.of(Stage.INGEST)[-1].total == len(sample.SOURCES)
    assert steps.of(Stage.DRAFT)[-1].total == 5


async def test_the_sample_is_furnished_once(tmp_path):
    for _ in range(2):
        async with open_at(tmp_path) as desk:
            assert len(await desk.sources.list()) == len(sample.SOURCES)
            assert (await desk.voice.read()).avoid == tuple(sample.VOICE["avoid"])  # type: ignore[arg-type]


async def test_a_first_start_that_was_interrupted_is_made_good_by_the_next(tmp_path, monkeypatch):
    """Interrupted between two sources, the sample stayed without the others for ever."""
    some = sample.SOURCES[:3]
    with monkeypatch.context() as patched:
        patched.setattr("copydesk.sample.SOURCES", (*some, None))
        with pytest.raises(AttributeError):
            async with open_at(tmp_path):
                pass
    async with open_at(tmp_path) as desk:
        assert [source.name for source in await desk.sources.list()] == [source.name for source in sample.SOURCES]
        assert (await desk.voice.read()).style


async def test_a_sample_source_that_was_deleted_does_not_come_back(tmp_path):
    async with open_at(tmp_path) as desk:
        await desk.sources.delete((await desk.sources.list())[0].id)
    async with open_at(tmp_path) as desk:
        assert len(await desk.sources.list()) == len(sample.SOURCES) - 1
