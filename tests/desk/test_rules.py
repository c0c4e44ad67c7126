"""Tests for rules made from the reasons of rejections."""

import pytest

from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.ranking_preview import ItemFate
from copydesk.model.rule import MAX_RULES, RuleKind
from desk_fixtures import (
    NOW,
    URL_ONE,
    FakeWeb,
    create_source,
    draft_titles,
    entry,
    feed,
    list_drafts,
    made_up_word,
    open_desk_at,
)


@pytest.fixture
async def desk(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    async with open_desk_at(tmp_path, web, pipeline__max_drafts="1") as opened:
        await create_source(opened)
        yield opened


async def reject(desk, reason):
    """Run the pipeline and reject its draft; return the draft."""
    await desk.pipeline.run()
    draft = (await list_drafts(desk))[0]
    return await desk.drafts.change(draft.id, {"action": "reject", "feedback": reason})


async def test_reason_is_suggested_and_makes_nothing(desk):
    draft = await reject(desk, "")
    with pytest.raises(ConflictError, match="not rejected with a reason"):
        await desk.rules.suggest(draft.id)
    word = max((await list_drafts(desk))[0].item.title.split(), key=len)
    await desk.drafts.undo(draft.id)
    rejected = await desk.drafts.change(draft.id, {"action": "reject", "feedback": f"no more {word}"})
    (suggestion, *_) = await desk.rules.suggest(rejected.id)
    assert (suggestion.term, suggestion.reason, suggestion.draft_id) == (word, f"no more {word}", rejected.id)
    assert await desk.rules.list() == ()


async def test_rule_keeps_its_origin_and_date(desk):
    draft = await reject(desk, "no more of it")
    rule = await desk.rules.add({"kind": "exclude", "term": " giveaway ", "draftId": draft.id})
    assert (rule.kind, rule.term, rule.reason, rule.draft_id) == (
        RuleKind.EXCLUDE,
        "giveaway",
        "no more of it",
        draft.id,
    )
    assert (rule.created_at, rule.enabled) == (NOW, True)
    assert await desk.rules.list() == (rule,)


async def test_excluding_rule_filters_items_until_it_is_switched_off(desk):
    word = made_up_word(4)
    rule = await desk.rules.add({"kind": "exclude", "term": word})
    await desk.pipeline.run()
    await desk.pipeline.run()
    titles = await draft_titles(desk)
    assert all(word not in title for title in titles)
    found = await desk.ranking.why("https://stories.example/1")
    assert (found.fate, "by a rule of yours" in found.why) == (ItemFate.FILTERED, True)

    await desk.rules.change(rule.id, {"enabled": False})
    await desk.pipeline.run()
    assert any(word in title for title in await draft_titles(desk))


async def test_avoided_word_is_a_finding_of_the_checks(desk):
    await desk.rules.add({"kind": "avoid", "term": "synergy"})
    created = await desk.drafts.create({"text": "Pure synergy."})
    draft = await desk.drafts.get(created.drafts[0].id)
    assert any("synergy" in finding.message for finding in draft.checks.findings)
    assert (await desk.voice.get()).avoid == ()


async def test_rule_is_changed_and_deleted(desk):
    rule = await desk.rules.add({"kind": "exclude", "term": "giveaway"})
    changed = await desk.rules.change(rule.id, {"term": "phone giveaway", "kind": "avoid"})
    assert (changed.term, changed.kind, changed.enabled) == ("phone giveaway", RuleKind.AVOID, True)
    await desk.rules.remove(rule.id)
    assert await desk.rules.list() == ()
    for attempt in (desk.rules.remove(rule.id), desk.rules.change(rule.id, {"enabled": True})):
        with pytest.raises(NotFoundError):
            await attempt


async def test_same_rule_twice_is_refused(desk):
    rule = await desk.rules.add({"kind": "exclude", "term": "giveaway"})
    other = await desk.rules.add({"kind": "avoid", "term": "giveaway"})
    with pytest.raises(ConflictError):
        await desk.rules.add({"kind": "exclude", "term": "giveaway"})
    with pytest.raises(ConflictError):
        await desk.rules.change(other.id, {"kind": rule.kind})


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"kind": "exclude", "term": " "}, "term"),
        ({"kind": "other", "term": "x"}, "kind"),
        ({"term": "x"}, "kind"),
        ({"kind": "avoid", "term": "/(a+)+/"}, "term"),
        ({"kind": "avoid", "term": "x" * 101}, "term"),
    ],
)
async def test_invalid_rule_is_refused(desk, request_, field):
    with pytest.raises(InvalidError) as refused:
        await desk.rules.add(request_)
    assert field in {error.field for error in refused.value.errors}


async def test_rule_of_unknown_draft_is_refused(desk):
    with pytest.raises(NotFoundError):
        await desk.rules.add({"kind": "avoid", "term": "x", "draftId": "unknown"})


async def test_number_of_rules_is_limited(desk):
    for number in range(MAX_RULES):
        await desk.rules.add({"kind": "avoid", "term": f"word {number}"})
    with pytest.raises(ConflictError, match=f"There are {MAX_RULES} rules"):
        await desk.rules.add({"kind": "avoid", "term": "one more"})
