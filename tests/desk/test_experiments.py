"""Experiments: made, listed, concluded, archived; drafts take part in them in turn, and are counted."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import update

import copydesk.drafting.writer as writer_module
from copydesk.desk import Desk
from copydesk.desk import experiments as module
from copydesk.desk.experiments import unfollowed
from copydesk.desk.trial import assign, next_turn, take, treatment_of
from copydesk.drafting.fake import FakeWriter
from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.draft import Format
from copydesk.model.experiment import Experiment, ExperimentStatus
from copydesk.model.voice import Voice
from copydesk.model.wire import to_wire
from copydesk.store import experiments as kept
from copydesk.store import tables
from desk_fixtures import NOW, ONE, StubbornWriter, Watch, Web, add, cannot_write, entry, feed, open_at, rows, title
from store_fixtures import add_draft, add_item, add_source, add_user

HASHTAGS = {
    "name": "How many hashtags",
    "parameter": "hashtags",
    "variants": [
        {"id": "a", "label": "none", "config": {"hashtags": 0}},
        {"id": "b", "label": "two", "config": {"hashtags": 2}},
    ],
}
HOOK = {
    "name": "A question first",
    "parameter": "hook",
    "variants": [
        {"id": "plain", "label": "plain", "config": {"hook": None}},
        {"id": "asks", "label": "asks", "config": {"hook": "question"}},
        {"id": "tells", "label": "tells", "config": {"hook": "figure"}},
    ],
}
FAR = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def desk(tmp_path, watch) -> AsyncIterator[Desk]:
    async with open_at(tmp_path, clock=watch) as opened:
        yield opened


def arms(found: Experiment) -> dict[str, dict[str, object]]:
    return {arm["id"]: arm for arm in found.results["arms"]}


async def run(desk: Desk, web: Web, *numbers: int, **formats: object) -> None:
    """A run over a feed with these stories."""
    web.put(ONE, feed(*(entry(number) for number in numbers)))
    if not await desk.sources.list():
        await add(desk)
    await desk.pipeline.run()


async def seed(desk: Desk, made: Experiment, variant: str, **values: object) -> str:
    """A draft of a variant, as if it had been assigned."""

    def make(conn, user_id):
        item = add_item(conn, user_id, add_source(conn, user_id))
        values.setdefault("experiment_id", made.id)
        return add_draft(conn, user_id, item, variant_id=variant, **values)

    return await desk.ground.write(make)


async def test_an_experiment_is_shown_in_the_shape_of_the_interface(desk):
    made = await desk.experiments.create(HASHTAGS)
    wire = to_wire(made)

    assert list(wire) == [
        *("id", "name", "parameter", "status", "variants", "results", "startedAt", "endedAt", "createdAt")
    ]
    assert {name: wire[name] for name in HASHTAGS} == HASHTAGS
    assert (wire["status"], wire["startedAt"], wire["endedAt"]) == ("active", "2026-02-10T12:00:00.000Z", None)
    assert wire["results"]["arms"][0] == {
        "id": "a",
        "name": "none",
        "isControl": True,
        **dict.fromkeys(["assigned", "drafted", "accepted", "rejected", "published", "measured", "interactions"], 0),
        **dict.fromkeys(["acceptanceRate", "meanEditRatio", "impressions", "ratePooled", "interactionsPerPost"]),
    }


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "n" * 101}, "name"),
        ({"name": None}, "name"),
        ({"parameter": " "}, "parameter"),
        ({"variants": HASHTAGS["variants"][:1]}, "variants"),
        ({"variants": [HASHTAGS["variants"][0]] * 6}, "variants"),
        ({"variants": [HASHTAGS["variants"][0]] * 2}, "variants[1].id"),
        ({"parameter": "tone"}, "variants[0].config"),
        ({"status": "active"}, "status"),
    ],
)
async def test_what_breaks_a_rule_is_refused_with_its_field_and_nothing_is_made(desk, changes, field):
    with pytest.raises(InvalidError) as error:
        await desk.experiments.create(HASHTAGS | changes)

    assert field in [problem.field for problem in error.value.errors]
    assert await desk.experiments.list() == ()


async def test_experiments_are_listed_newest_first_and_by_their_state(desk):
    one, two = await desk.experiments.create(HASHTAGS), await desk.experiments.create(HOOK)
    await desk.experiments.conclude(one.id)

    assert [each.id for each in await desk.experiments.list()] == [two.id, one.id]
    assert [each.id for each in await desk.experiments.list("active")] == [two.id]
    assert [each.id for each in await desk.experiments.list(ExperimentStatus.CONCLUDED)] == [one.id]
    assert await desk.experiments.list("archived") == ()
    with pytest.raises(InvalidError, match="status"):
        await desk.experiments.list("over")


async def test_an_experiment_is_concluded_with_a_winner_and_then_archived(desk, watch):
    made = await desk.experiments.create(HASHTAGS)
    watch.now = NOW.replace(hour=20)
    done = await desk.experiments.conclude(made.id, winner="b")
    assert (done.status, done.ended_at, done.results["winner"]) == (ExperimentStatus.CONCLUDED, watch.now, "b")

    away = await desk.experiments.archive(made.id)
    assert (away.status, away.ended_at, away.results["winner"]) == (ExperimentStatus.ARCHIVED, watch.now, "b")


async def test_an_experiment_may_end_without_a_winner(desk):
    made = await desk.experiments.create(HASHTAGS)

    assert (await desk.experiments.conclude(made.id)).results["winner"] is None


async def test_the_course_goes_one_way(desk):
    made = await desk.experiments.create(HASHTAGS)
    with pytest.raises(ConflictError) as early:
        await desk.experiments.archive(made.id)
    await desk.experiments.conclude(made.id)
    with pytest.raises(ConflictError) as twice:
        await desk.experiments.conclude(made.id, winner="a")

    assert (early.value.current_status, early.value.allowed_actions) == ("active", ("conclude",))
    assert (twice.value.current_status, twice.value.allowed_actions) == ("concluded", ("archive",))
    assert (await desk.experiments.get(made.id)).results["winner"] is None


async def test_only_a_variant_can_win(desk):
    made = await desk.experiments.create(HASHTAGS)
    with pytest.raises(InvalidError, match="winner"):
        await desk.experiments.conclude(made.id, winner="c")

    assert (await desk.experiments.get(made.id)).status is ExperimentStatus.ACTIVE


async def test_an_unknown_experiment_and_that_of_another_user_are_not_found_alike(desk):
    made = await desk.experiments.create(HASHTAGS)

    def give_away(conn, _user_id):
        conn.execute(update(tables.experiment).values(user_id=add_user(conn, "Bob")))

    await desk.ground.write(give_away)
    assert await desk.experiments.list() == ()
    for experiment_id in (FAR, made.id):
        for asked in (desk.experiments.get, desk.experiments.conclude, desk.experiments.archive):
            with pytest.raises(NotFoundError, match="There is no experiment"):
                await asked(experiment_id)


async def test_the_drafts_of_a_run_take_turns_in_the_variants(tmp_path):
    web = Web()
    async with open_at(tmp_path, web) as desk:
        made = await desk.experiments.create(HASHTAGS)
        await run(desk, web, 1, 2, 3)
        await run(desk, web, 4, 5, 6)
        found = arms(await desk.experiments.get(made.id))

    taken = rows(tmp_path, "SELECT experiment_id, variant_id FROM draft ORDER BY id")
    assert {experiment for experiment, _ in taken} == {made.id}
    # Each block of two has each variant once.
    assert [{variant for _, variant in taken[place : place + 2]} for place in (0, 2, 4)] == [{"a", "b"}] * 3
    assert {name: (arm["assigned"], arm["drafted"]) for name, arm in found.items()} == {"a": (3, 3), "b": (3, 3)}


async def test_a_draft_is_written_as_its_variant_says(tmp_path):
    web = Web()
    lengths = [{"id": str(most), "label": f"{most}", "config": {"length": most}} for most in (90, 250)]
    async with open_at(tmp_path, web) as desk:
        await desk.experiments.create({"name": "Length", "parameter": "length", "variants": lengths})
        await run(desk, web, *range(1, 7))

    texts = rows(tmp_path, "SELECT variant_id, text FROM draft")
    assert all(len(str(text)) <= 90 for variant, text in texts if variant == "90")
    assert any(len(str(text)) > 90 for variant, text in texts if variant == "250")


async def test_what_no_voice_can_hold_is_handed_to_the_writer_by_name(tmp_path, monkeypatch):
    web, writer = Web(), FakeWriter()
    monkeypatch.setattr(writer_module, "choose_writer", lambda: writer)
    async with open_at(tmp_path, web) as desk:
        await desk.experiments.create(HOOK)
        await run(desk, web, 1, 2, 3)
        await desk.experiments.conclude((await desk.experiments.list())[0].id)
        await run(desk, web, 4)

    given = [brief.parameters for brief in writer.briefs]
    assert Counter(str(each) for each in given[:3]) == {
        "{'hook': None}": 1,
        "{'hook': 'question'}": 1,
        "{'hook': 'figure'}": 1,
    }
    assert given[3] == {}


async def test_each_format_takes_turns_of_its_own(tmp_path):
    web = Web()
    async with open_at(tmp_path, web, pipeline__formats="SHORT,THREAD") as desk:
        await desk.experiments.create(HASHTAGS)
        await run(desk, web, *range(1, 5))

    for kind in ("SHORT", "THREAD"):
        variants = Counter(row[0] for row in rows(tmp_path, "SELECT variant_id FROM draft WHERE format = ?", kind))
        assert abs(variants["a"] - variants["b"]) <= 1


async def test_drafts_take_part_in_the_oldest_active_experiment_and_a_younger_one_waits(tmp_path):
    web = Web()
    async with open_at(tmp_path, web) as desk:
        one, two = await desk.experiments.create(HASHTAGS), await desk.experiments.create(HOOK)
        await run(desk, web, 1, 2)
        await desk.experiments.conclude(one.id)
        await run(desk, web, 3)
        await desk.experiments.conclude(two.id)
        await run(desk, web, 4)

    taken = [row[0] for row in rows(tmp_path, "SELECT experiment_id FROM draft ORDER BY id")]
    assert taken == [one.id, one.id, two.id, None]


async def test_without_an_experiment_a_draft_takes_part_in_none(tmp_path):
    web = Web()
    async with open_at(tmp_path, web) as desk:
        await run(desk, web, 1)

    assert rows(tmp_path, "SELECT experiment_id, variant_id FROM draft") == [(None, None)]


async def test_what_could_not_be_written_has_had_its_turn(tmp_path, monkeypatch):
    web, writer = Web(), StubbornWriter(cannot_write(title(2)))
    monkeypatch.setattr(writer_module, "choose_writer", lambda: writer)
    async with open_at(tmp_path, web) as desk:
        made = await desk.experiments.create(HASHTAGS)
        await run(desk, web, 1, 2, 3, 4)
        found = arms(await desk.experiments.get(made.id))

    assert sorted(arm["assigned"] for arm in found.values()) == [2, 2]
    assert sorted(arm["drafted"] for arm in found.values()) == [1, 2]


async def test_a_turn_that_another_draft_took_meanwhile_is_written_once_more(tmp_path, monkeypatch):
    web, tried = Web(), []

    class Busy(StubbornWriter):
        async def write(self, brief):
            tried.append(brief.parameters["hashtags"])
            if len(tried) == 1:
                await desk.ground.write(assign, brief.format)
            return await super().write(brief)

    monkeypatch.setattr(writer_module, "choose_writer", Busy)
    async with open_at(tmp_path, web) as desk:
        made = await desk.experiments.create(HASHTAGS)
        await run(desk, web, 1)
        found = arms(await desk.experiments.get(made.id))

    assert sorted(tried) == [0, 2]
    ((variant,),) = rows(tmp_path, "SELECT variant_id FROM draft")
    assert {"a": 0, "b": 2}[str(variant)] == tried[1]
    assert [arm["assigned"] for arm in found.values()] == [1, 1]


async def test_a_draft_whose_experiment_ended_while_it_was_written_is_written_without_it(tmp_path, monkeypatch):
    web, tried = Web(), []

    class Late(StubbornWriter):
        async def write(self, brief):
            tried.append(brief.parameters)
            if len(tried) == 1:
                await desk.experiments.conclude(made.id)
            return await super().write(brief)

    monkeypatch.setattr(writer_module, "choose_writer", Late)
    async with open_at(tmp_path, web) as desk:
        made = await desk.experiments.create(HASHTAGS)
        await run(desk, web, 1)
        found = arms(await desk.experiments.get(made.id))

    assert (len(tried), tried[1]) == (2, {})
    assert rows(tmp_path, "SELECT variant_id FROM draft") == [(None,)]
    assert [arm["assigned"] for arm in found.values()] == [0, 0]


async def test_whoever_never_gets_a_turn_takes_part_in_no_experiment(tmp_path, monkeypatch):
    web = Web()

    class Unlucky(StubbornWriter):
        async def write(self, brief):
            if brief.parameters:
                await desk.ground.write(assign, brief.format)
            return await super().write(brief)

    monkeypatch.setattr(writer_module, "choose_writer", Unlucky)
    async with open_at(tmp_path, web) as desk:
        await desk.experiments.create(HASHTAGS)
        await run(desk, web, 1)

    assert rows(tmp_path, "SELECT variant_id FROM draft") == [(None,)]


async def test_of_two_that_want_one_turn_one_gets_it(desk):
    await desk.experiments.create(HASHTAGS)

    def race(conn, user_id):
        mine, yours = (next_turn(conn, user_id, Format.SHORT, ("x",)) for _ in range(2))
        return mine == yours, take(conn, user_id, mine), take(conn, user_id, yours), take(conn, user_id, mine)

    assert await desk.ground.write(race) == (True, True, False, False)


async def test_many_assignments_never_leave_the_variants_more_than_one_apart(desk):
    await desk.experiments.create(HOOK)
    counts: dict[str, Counter[str]] = {}
    for number in range(60):
        platforms = ("x",) if number % 3 else ("x", "bluesky")
        turn = await desk.ground.write(assign, Format.SHORT, platforms)
        seen = counts.setdefault(turn.stratum, Counter())
        seen[turn.variant_id] += 1
        assert max(seen.values()) - min(seen[each["id"]] for each in HOOK["variants"]) <= 1

    assert len(counts) == 2


async def test_a_draft_keeps_its_treatment_when_the_experiment_has_ended(desk):
    made = await desk.experiments.create(HASHTAGS)
    draft = await seed(desk, made, "b")
    plain = await seed(desk, made, None, experiment_id=None)
    await desk.experiments.conclude(made.id)
    found = await desk.ground.read(treatment_of, draft)

    assert (found.experiment_id, found.variant_id, found.parameters) == (made.id, "b", {"hashtags": 2})
    assert found.voice(Voice(), Format.SHORT).of(Format.SHORT).hashtags == 2
    assert await desk.ground.read(treatment_of, plain) is None
    assert await desk.ground.read(treatment_of, FAR) is None


async def test_the_results_are_a_funnel_of_counts_with_raw_rates(desk):
    made = await desk.experiments.create(HASHTAGS)
    for status in ("approved", "scheduled", "rejected", "pending_review"):
        await seed(desk, made, "a", status=status)
    await seed(desk, made, "a", status="generation_failed", text="")
    two = [await seed(desk, made, "b", status="posted") for _ in range(3)]
    await desk.engagement.record({"draftId": two[0], "platform": "x", "likes": 5, "impressions": 100})
    await desk.engagement.record({"draftId": two[0], "platform": "mastodon", "likes": 7})
    await desk.engagement.record({"draftId": two[1], "platform": "x", "likes": 5, "impressions": 300})
    found = arms(await desk.experiments.get(made.id))

    a, b = found["a"], found["b"]
    assert (a["drafted"], a["accepted"], a["rejected"], a["published"], a["measured"]) == (4, 2, 1, 0, 0)
    assert (a["acceptanceRate"], a["impressions"], a["ratePooled"], a["meanEditRatio"]) == (2 / 3, None, None, 0.0)
    assert (b["drafted"], b["accepted"], b["published"], b["measured"]) == (3, 3, 3, 2)
    assert (b["interactions"], b["impressions"], b["ratePooled"]) == (17, 400, 10 / 400)
    assert b["interactionsPerPost"] == 17 / 2


async def test_of_a_draft_that_was_written_anew_the_newest_version_counts(desk):
    made = await desk.experiments.create(HASHTAGS)
    old = await seed(desk, made, "a", status="changes_requested")
    await seed(desk, made, "a", status="approved", regenerated_from_id=old)
    found = arms(await desk.experiments.get(made.id))

    assert (found["a"]["drafted"], found["a"]["accepted"]) == (1, 1)


async def test_an_edit_is_counted_by_the_share_of_words_that_it_changed(desk):
    made = await desk.experiments.create(HASHTAGS)
    edited = await seed(desk, made, "a", status="approved", text="one two three five")
    await seed(desk, made, "a", status="approved", text="as it was")

    def note(conn, user_id):
        event = {"draft_id": edited, "user_id": user_id, "at": NOW, "who": "user", "kind": "change", "action": "edit"}
        first, second = {"text": "one two three four"}, {"text": "one two three six"}
        for version, before in ((2, first), (3, second)):
            row = event | {"version": version, "before": before, "after": {}}
            conn.execute(tables.draft_event.insert().values(row))

    await desk.ground.write(note)
    ratio = arms(await desk.experiments.get(made.id))["a"]["meanEditRatio"]
    assert 0 < ratio <= 0.25
    assert [each.written for each in await desk.ground.read(kept.edited, made.id)] == ["one two three four"]


async def test_another_users_drafts_are_not_counted(desk):
    made = await desk.experiments.create(HASHTAGS)

    def put(conn, _user_id):
        other = add_user(conn, "Bob")
        item = add_item(conn, other, add_source(conn, other))
        add_draft(conn, other, item, experiment_id=made.id, variant_id="a", status="approved")

    await desk.ground.write(put)
    assert arms(await desk.experiments.get(made.id))["a"]["drafted"] == 0


async def test_it_is_told_where_the_offline_writer_writes_every_variant_alike(desk):
    assert unfollowed(await desk.experiments.create(HOOK))
    assert not unfollowed(await desk.experiments.create(HASHTAGS))


async def test_a_list_holds_the_texts_of_one_experiment_at_a_time(desk, monkeypatch):
    made = [(await desk.experiments.create(each)).id for each in (HASHTAGS, HOOK)]
    course: list[str] = []
    edited, shown = kept.edited, module._shown
    monkeypatch.setattr(kept, "edited", lambda *args: course.append(args[2]) or edited(*args))
    monkeypatch.setattr(module, "_shown", lambda *args: course.append("compared") or shown(*args))
    assert [each.id for each in await desk.experiments.list()] == made[::-1]
    assert course == [made[1], "compared", made[0], "compared"]
