"""Tests for explaining and previewing the ranking, with a real desk."""

import pytest

from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.ranking import ChangeRanking
from copydesk.model.ranking_preview import ItemFate, RankingPreviewRequest, describe_drafted, describe_reason
from copydesk.model.source import SourceConfig
from desk_fixtures import (
    URL_ONE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    entry,
    feed,
    list_drafts,
    made_up_word,
    open_desk_at,
    query_db,
)
from draft_consistency import dump_tables

PAGE = "https://stories.example/{}"


def web_with(*numbers, **options):
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number, **options) for number in numbers)))
    return web


async def fate(desk, number):
    return await desk.ranking.why(PAGE.format(number))


async def test_drafted_item_names_its_draft(tmp_path):
    async with open_desk_at(tmp_path, web_with(1)) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        (draft,) = await list_drafts(desk)
        found = await fate(desk, 1)
    assert (found.fate, found.drafts[0].id, found.item_id) == (ItemFate.DRAFTED, draft.id, draft.item_id)
    assert draft.id in found.why


async def test_waiting_item_has_its_rank_and_score(tmp_path):
    async with open_desk_at(tmp_path, web_with(1, 2, 3), pipeline__max_drafts="1") as desk:
        await create_source(desk)
        await desk.pipeline.run()
        found = await fate(desk, 3)
    assert (found.fate, found.rank, found.of) == (ItemFate.WAITING, 2, 2)
    assert found.why == "It waits at rank 2 of 2 stories. A run drafts 1."
    assert {part.name for part in found.parts} >= {"recency", "interest"}


async def test_rank_without_an_interest(tmp_path):
    interests = f"{made_up_word(12)},harbour"
    async with open_desk_at(
        tmp_path, web_with(1, 2, 3), pipeline__max_drafts="0", ranking__interests=interests
    ) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        found = [await fate(desk, number) for number in (1, 2, 3)]
    titles = {explanation.title: explanation for explanation in found}
    matching = [explanation for title, explanation in titles.items() if made_up_word(12).lower() in title.lower()]
    assert all(explanation.without_interest for explanation in matching)
    assert all(not explanation.without_interest for explanation in found if explanation not in matching)


async def test_filter_is_named_with_its_place(tmp_path):
    word = made_up_word(4)
    async with open_desk_at(tmp_path, web_with(1), pipeline__exclude=word) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        found = await fate(desk, 1)
    assert found.fate is ItemFate.FILTERED
    assert found.why == f"It was filtered out by the settings for all sources: has the excluded {word}."


async def test_filter_of_source_is_named(tmp_path):
    async with open_desk_at(tmp_path, web_with(1)) as desk:
        await create_source(desk, exclude=[made_up_word(4)])
        await desk.pipeline.run()
        found = await fate(desk, 1)
    assert found.why.startswith(f"It was filtered out by the settings of {found.source}: has the excluded")


async def test_item_that_the_writer_declined_is_no_filtered_one(tmp_path):
    web = web_with(1, title="Take our quiz", text="Take our quiz and see how much you know.")
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        found = await fate(desk, 1)
    assert found.fate is ItemFate.DECLINED
    assert found.why.startswith("The writer declined it. Nothing to quote: ")


async def test_item_before_the_first_fetch_is_history(tmp_path):
    async with open_desk_at(tmp_path, web_with(60)) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        found = await fate(desk, 60)
    assert (found.fate, "older than 48 hours" in found.why) == (ItemFate.HISTORY, True)


async def test_story_whose_draft_was_deleted(tmp_path):
    web, clock, headline = FakeWeb(), Watch(), "Harbour bridge collapses in Port Ellery after storm"
    web.put(URL_ONE, feed(entry(1, title=headline)))
    web.put(URL_TWO, feed())
    async with open_desk_at(tmp_path, web, clock) as desk:
        first = await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        web.put(URL_TWO, feed(entry(2, title=headline)))
        clock.advance(600)
        await desk.pipeline.run()
        await desk.sources.delete(first.id)
        found = await fate(desk, 2)
    assert (found.fate, found.why) == (ItemFate.MERGED, "Its story was drafted; the draft was deleted since.")


async def test_item_that_matches_no_interest_waits_and_is_not_drafted(tmp_path):
    async with open_desk_at(tmp_path, web_with(1), ranking__interests="nothing of the kind") as desk:
        await create_source(desk)
        run = await desk.pipeline.run()
        found = await fate(desk, 1)
    assert run.stats.drafts_created == 0
    assert (found.fate, found.why) == (
        ItemFate.DROPPED,
        "It waits, but a run does not draft it: matches none of your interests.",
    )


async def test_unknown_page_of_a_known_site(tmp_path):
    async with open_desk_at(tmp_path, web_with(1)) as desk:
        source = await create_source(desk)
        site = source.url.rsplit("/", 1)[0]
        before = await desk.ranking.why(f"{site}/other")
        await desk.pipeline.run()
        after = await desk.ranking.why(f"{site}/other")
        elsewhere = await desk.ranking.why("https://elsewhere.example/1")
    assert (before.fate, after.fate, elsewhere.fate) == (ItemFate.NOT_FETCHED, ItemFate.UNKNOWN, ItemFate.UNKNOWN)
    assert before.why == f"Your source {source.name} is on this site and was not fetched yet."
    assert "has not listed this page so far" in after.why
    assert elsewhere.why == "No item has this address, and no source is on its site."


async def test_address_is_found_in_any_form(tmp_path):
    async with open_desk_at(tmp_path, web_with(1)) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        found = await desk.ranking.why("http://www.stories.example/1?utm_source=x")
        by_id = await desk.ranking.why(found.item_id)
    assert found.fate is by_id.fate is ItemFate.DRAFTED


async def test_preview_changes_nothing(tmp_path):
    async with open_desk_at(tmp_path, web_with(1, 2, 3)) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        before = dump_tables(tmp_path)
        await desk.ranking.preview({"interests": ["ferries"], "exclude": ["x"], "weights": {"recency": 0}})
        assert dump_tables(tmp_path) == before


async def test_preview_lists_what_is_lost_and_gained(tmp_path):
    async with open_desk_at(tmp_path, web_with(1, 2, 3), pipeline__max_drafts="1") as desk:
        await create_source(desk)
        await desk.pipeline.run()
        (first,) = await list_drafts(desk)
        found = await desk.ranking.preview({"exclude": [first.item.title]})
    assert (found.drafted_now, found.drafted, found.items) == (1, 1, 3)
    assert [(story.title, story.rank, story.rank_now) for story in found.lost] == [(first.item.title, None, 1)]
    assert describe_reason(found.lost[0]).startswith("has the excluded")
    (gained,) = found.gained
    assert (gained.rank, gained.rank_now) == (1, 2)
    assert describe_drafted(found) == "0 of 1 story would still be drafted, and 1 other."


async def test_reason_of_a_gained_story_is_that_of_the_settings_so_far(tmp_path):
    async with open_desk_at(tmp_path, web_with(1), ranking__interests="nothing of the kind") as desk:
        await create_source(desk)
        await desk.pipeline.run()
        (gained,) = (await desk.ranking.preview({"interests": []})).gained
    assert describe_reason(gained) == "so far: matches none of your interests"


async def test_preview_counts_approvals_among_the_top(tmp_path):
    async with open_desk_at(tmp_path, web_with(1, 2, 3)) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        for draft in await list_drafts(desk):
            await desk.drafts.change(draft.id, {"action": "approve"})
        found = await desk.ranking.preview({"interests": ["nothing of the kind"]})
    assert (found.hits_now.hits, found.hits.hits, found.hits_by_recency.hits) == (3, 0, 3)
    assert found.hits.of == 3
    assert found.hits_now.low < 1 == found.hits_now.high


async def test_preview_of_a_source(tmp_path):
    async with open_desk_at(tmp_path, web_with(1, 2)) as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        found = await desk.ranking.preview({"sourceId": source.id, "sourceConfig": {"include": ["no such word"]}})
    assert (found.drafted, found.lost_count) == (0, 2)
    assert describe_drafted(found) == "0 of 2 stories would still be drafted."


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"weights": {"luck": 0.1}}, "weights"),
        ({"weights": {"recency": 2}}, "weights"),
        ({"sourceId": "x"}, "sourceConfig"),
        ({"sourceId": "x", "sourceConfig": SourceConfig(weight=99.0)}, "sourceConfig.weight"),
        (RankingPreviewRequest(source_id="x", source_config=SourceConfig(weight=99.0)), "sourceConfig.weight"),
        ({"exclude": ["/(/"]}, "pipeline.exclude"),
    ],
)
async def test_invalid_change_is_refused(tmp_path, change, field):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        with pytest.raises(InvalidError) as refused:
            await desk.ranking.preview(change)
    assert field in str(refused.value)


async def test_unknown_source_is_refused(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        with pytest.raises(NotFoundError):
            await desk.ranking.preview({"sourceId": "x", "sourceConfig": {}})


async def test_disabled_source_is_named(tmp_path):
    async with open_desk_at(tmp_path, web_with(1), pipeline__max_drafts="0") as desk:
        source = await create_source(desk)
        await desk.pipeline.run()
        await desk.sources.update(source.id, {"enabled": False})
        found = await fate(desk, 1)
    assert "is disabled" in found.why
    assert query_db(tmp_path, "SELECT state FROM item") == [("new",)]


async def test_saved_interests_decide_what_a_run_drafts(tmp_path):
    async with open_desk_at(tmp_path, web_with(1, 2)) as desk:
        await create_source(desk)
        await desk.ranking.change({"interests": ["nothing of the kind"]})
        nothing = await desk.pipeline.run()
        found = await fate(desk, 1)
        await desk.ranking.reset()
        both = await desk.pipeline.run()
    assert (nothing.stats.drafts_created, both.stats.drafts_created) == (0, 2)
    assert found.why.endswith("matches none of your interests.")


async def test_saved_filter_is_lifted_again(tmp_path):
    async with open_desk_at(tmp_path, web_with(1)) as desk:
        await create_source(desk)
        await desk.ranking.change({"exclude": [made_up_word(4)]})
        await desk.pipeline.run()
        found = await fate(desk, 1)
        await desk.ranking.change({"exclude": []})
        run = await desk.pipeline.run()
    assert found.fate is ItemFate.FILTERED
    assert run.stats.drafts_created == 1


async def test_change_of_the_ranking_is_merged_and_kept(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb(), ranking__interests="rail", ranking__novelty="0.5") as desk:
        before = await desk.ranking.get()
        await desk.ranking.change({"interests": ["ferries"], "weights": {"recency": 0.5}})
        await desk.ranking.change({"minScore": 0.1, "weights": {"source": 0}})
    async with open_desk_at(tmp_path, FakeWeb(), ranking__interests="rail", ranking__novelty="0.5") as desk:
        found = await desk.ranking.get()
        reset = await desk.ranking.reset()
    assert (found.interests, found.min_score) == (("ferries",), 0.1)
    assert found.weights == {**before.weights, "recency": 0.5, "source": 0}
    assert found.saved == ("interests", "min_score", "recency", "source")
    assert reset == before
    assert (before.interests, before.saved, before.weights["novelty"]) == (("rail",), (), 0.5)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"weights": {"luck": 0.1}}, "weights"),
        ({"weights": {"recency": 2}}, "weights"),
        ({"interests": [""]}, "interests[0]"),
        (ChangeRanking(weights={"recency": 2}), "weights"),
        ({"exclude": ["/(/"]}, "pipeline.exclude"),
    ],
)
async def test_invalid_change_is_not_saved(tmp_path, change, field):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        with pytest.raises(InvalidError) as refused:
            await desk.ranking.change(change)
        assert (await desk.ranking.get()).saved == ()
    assert refused.value.errors[0].field == field


async def test_preview_starts_from_what_is_saved(tmp_path):
    async with open_desk_at(tmp_path, web_with(1, 2)) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        await desk.ranking.change({"interests": ["nothing of the kind"]})
        found = await desk.ranking.preview({"interests": []})
    assert (found.drafted_now, found.drafted) == (0, 2)
