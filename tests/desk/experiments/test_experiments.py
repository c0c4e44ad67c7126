"""Tests for experiments: life cycle, assignment of drafts to variants, results."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import update

import copydesk.drafting.writer as writer_module
from copydesk.desk import Desk
from copydesk.desk import experiments as module
from copydesk.desk.assignments import Treatment, claim_assignment, claim_next, get_treatment, next_assignment
from copydesk.desk.experiments import has_unsupported_variants
from copydesk.drafting.fake_writer import FakeWriter
from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.draft import DraftVariant, Format, Status
from copydesk.model.experiment import Experiment, ExperimentStatus
from copydesk.model.serialization import to_json_value
from copydesk.model.voice import Voice
from copydesk.store import experiments as kept
from copydesk.store import tables
from desk_fixtures import (
    NOW,
    URL_ONE,
    FailingWriter,
    FakeWeb,
    Watch,
    create_source,
    entry,
    feed,
    open_desk_at,
    query_db,
    story_title,
    writer_errors,
)
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
REASON = "Enough seen."
UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def clock() -> Watch:
    return Watch()


@pytest.fixture
async def desk(tmp_path, clock) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path, clock=clock) as opened:
        yield opened


def arms_by_id(experiment: Experiment) -> dict[str, dict[str, object]]:
    return {arm["id"]: arm for arm in experiment.results["arms"]}


async def run_pipeline(desk: Desk, web: FakeWeb, *numbers: int, **formats: object) -> None:
    """Run the pipeline over a feed with these stories."""
    web.put(URL_ONE, feed(*(entry(number) for number in numbers)))
    if not await desk.sources.list():
        await create_source(desk)
    await desk.pipeline.run()


async def add_assigned_draft(desk: Desk, experiment: Experiment, variant: str, **values: object) -> str:
    """Insert a draft as if it had been assigned to `variant`."""

    def insert(conn, user_id):
        item = add_item(conn, user_id, add_source(conn, user_id))
        values.setdefault("experiment_id", experiment.id)
        return add_draft(conn, user_id, item, variant_id=variant, **values)

    return await desk._context.write(insert)


async def test_experiment_as_json(desk):
    experiment = await desk.experiments.create(HASHTAGS)
    document = to_json_value(experiment)

    assert list(document) == [
        *("id", "name", "parameter", "status", "variants", "results", "startedAt", "endedAt", "createdAt"),
        *("plan", "aaTest"),
    ]
    assert {name: document[name] for name in HASHTAGS} == HASHTAGS
    assert (document["status"], document["startedAt"], document["endedAt"]) == (
        "active",
        "2026-02-10T12:00:00.000Z",
        None,
    )
    assert document["results"]["arms"][0] == {
        "id": "a",
        "name": "none",
        "isControl": True,
        **dict.fromkeys(["assigned", "drafted", "accepted", "unedited", "rejected"], 0),
        **dict.fromkeys(["published", "measured", "tooYoung", "noMetrics", "interactions"], 0),
        **dict.fromkeys(["acceptanceRate", "editDistance", "meanEditRatio", "impressions"]),
        **dict.fromkeys(["ratePooled", "rateMedianPost", "interactionsPerPost", "estimate"]),
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
async def test_invalid_experiment_is_not_created(desk, changes, field):
    with pytest.raises(InvalidError) as error:
        await desk.experiments.create(HASHTAGS | changes)

    assert field in [problem.field for problem in error.value.errors]
    assert await desk.experiments.list() == ()


async def test_experiments_are_listed_newest_first_by_status(desk):
    first, second = await desk.experiments.create(HASHTAGS), await desk.experiments.create(HOOK)
    await desk.experiments.conclude(first.id, reason=REASON)

    assert [experiment.id for experiment in await desk.experiments.list()] == [second.id, first.id]
    assert [experiment.id for experiment in await desk.experiments.list("active")] == [second.id]
    assert [experiment.id for experiment in await desk.experiments.list(ExperimentStatus.CONCLUDED)] == [first.id]
    assert await desk.experiments.list("archived") == ()
    with pytest.raises(InvalidError, match="status"):
        await desk.experiments.list("over")


async def test_conclude_with_winner_then_archive(desk, clock):
    experiment = await desk.experiments.create(HASHTAGS)
    clock.now = NOW.replace(hour=20)
    concluded = await desk.experiments.conclude(experiment.id, winner="b", reason=REASON)
    assert (concluded.status, concluded.ended_at, concluded.results["winner"]) == (
        ExperimentStatus.CONCLUDED,
        clock.now,
        "b",
    )

    archived = await desk.experiments.archive(experiment.id)
    assert (archived.status, archived.ended_at, archived.results["winner"]) == (
        ExperimentStatus.ARCHIVED,
        clock.now,
        "b",
    )


async def test_conclude_without_winner(desk):
    experiment = await desk.experiments.create(HASHTAGS)

    assert (await desk.experiments.conclude(experiment.id, reason=REASON)).results["winner"] is None


async def test_status_changes_only_forward(desk):
    experiment = await desk.experiments.create(HASHTAGS)
    with pytest.raises(ConflictError) as archive_error:
        await desk.experiments.archive(experiment.id)
    await desk.experiments.conclude(experiment.id, reason=REASON)
    with pytest.raises(ConflictError) as conclude_error:
        await desk.experiments.conclude(experiment.id, winner="a", reason=REASON)

    assert (archive_error.value.current_status, archive_error.value.allowed_actions) == ("active", ("conclude",))
    assert (conclude_error.value.current_status, conclude_error.value.allowed_actions) == ("concluded", ("archive",))
    assert (await desk.experiments.get(experiment.id)).results["winner"] is None


async def test_winner_must_be_a_variant(desk):
    experiment = await desk.experiments.create(HASHTAGS)
    with pytest.raises(InvalidError, match="winner"):
        await desk.experiments.conclude(experiment.id, winner="c")

    assert (await desk.experiments.get(experiment.id)).status is ExperimentStatus.ACTIVE


async def test_unknown_and_foreign_experiments_are_not_found(desk):
    experiment = await desk.experiments.create(HASHTAGS)

    def give_away(conn, _user_id):
        conn.execute(update(tables.experiment).values(user_id=add_user(conn, "Bob")))

    await desk._context.write(give_away)
    assert await desk.experiments.list() == ()
    for experiment_id in (UNKNOWN_ID, experiment.id):
        for method in (desk.experiments.get, desk.experiments.conclude, desk.experiments.archive):
            with pytest.raises(NotFoundError, match="No experiment"):
                await method(experiment_id)


async def test_draft_tells_its_variants(desk):
    created = await desk.drafts.create({"text": "Words of my own."})
    assert (await desk.drafts.get(created.drafts[0].id)).variants == ()
    experiment = await desk.experiments.create(HASHTAGS)
    taking_part = await add_assigned_draft(desk, experiment, "b", status=Status.AWAITING_REVIEW)
    expected = (DraftVariant(experiment_id=experiment.id, variant_id="b"),)
    found = await desk.drafts.get(taking_part)
    assert found.variants == expected
    assert found in (await desk.drafts.list()).items
    assert found in await desk.drafts.queue()
    changed = await desk.drafts.approve(taking_part)
    assert to_json_value(changed)["variants"] == [{"experimentId": experiment.id, "variantId": "b"}]


async def test_run_alternates_variants(tmp_path):
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        experiment = await desk.experiments.create(HASHTAGS)
        await run_pipeline(desk, web, 1, 2, 3)
        await run_pipeline(desk, web, 4, 5, 6)
        results = arms_by_id(await desk.experiments.get(experiment.id))

    assigned = query_db(
        tmp_path, "SELECT experiment_id, variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id ORDER BY id"
    )
    assert {experiment_id for experiment_id, _ in assigned} == {experiment.id}
    # Variants are assigned in shuffled blocks of two that hold each variant once.
    assert [{variant for _, variant in assigned[start : start + 2]} for start in (0, 2, 4)] == [{"a", "b"}] * 3
    assert {name: (arm["assigned"], arm["drafted"]) for name, arm in results.items()} == {"a": (3, 3), "b": (3, 3)}


async def test_variant_changes_length(tmp_path):
    web = FakeWeb()
    lengths = [
        {"id": str(max_length), "label": f"{max_length}", "config": {"length": max_length}} for max_length in (90, 250)
    ]
    async with open_desk_at(tmp_path, web) as desk:
        await desk.experiments.create({"name": "Length", "parameter": "length", "variants": lengths})
        await run_pipeline(desk, web, *range(1, 7))

    texts = query_db(tmp_path, "SELECT variant_id, text FROM draft LEFT JOIN draft_variant ON draft_id = id")
    assert all(len(str(text)) <= 90 for variant, text in texts if variant == "90")
    assert any(len(str(text)) > 90 for variant, text in texts if variant == "250")


async def test_unmapped_parameter_is_passed_to_writer(tmp_path, monkeypatch):
    web, writer = FakeWeb(), FakeWriter()
    monkeypatch.setattr(writer_module, "get_writer", lambda: writer)
    async with open_desk_at(tmp_path, web) as desk:
        await desk.experiments.create(HOOK)
        await run_pipeline(desk, web, 1, 2, 3)
        await desk.experiments.conclude((await desk.experiments.list())[0].id, reason=REASON)
        await run_pipeline(desk, web, 4)

    parameters = [brief.parameters for brief in writer.briefs]
    assert Counter(str(values) for values in parameters[:3]) == {
        "{'hook': None}": 1,
        "{'hook': 'question'}": 1,
        "{'hook': 'figure'}": 1,
    }
    assert parameters[3] == {}


async def test_formats_are_assigned_separately(tmp_path):
    web = FakeWeb()
    async with open_desk_at(tmp_path, web, pipeline__formats="SHORT,THREAD") as desk:
        await desk.experiments.create(HASHTAGS)
        await run_pipeline(desk, web, *range(1, 5))

    for format_name in ("SHORT", "THREAD"):
        variants = Counter(
            row[0]
            for row in query_db(
                tmp_path,
                "SELECT variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id WHERE format = ?",
                format_name,
            )
        )
        assert abs(variants["a"] - variants["b"]) <= 1


async def test_drafts_join_all_active_experiments(tmp_path, monkeypatch):
    web, writer = FakeWeb(), FakeWriter()
    monkeypatch.setattr(writer_module, "get_writer", lambda: writer)
    async with open_desk_at(tmp_path, web) as desk:
        first, second = await desk.experiments.create(HASHTAGS), await desk.experiments.create(HOOK)
        await run_pipeline(desk, web, *range(1, 7))
        await desk.experiments.conclude(first.id, reason=REASON)
        await run_pipeline(desk, web, 7)
        listed = (await desk.drafts.list()).items

    assert [[variant.experiment_id for variant in draft.variants] for draft in reversed(listed)] == [
        *[[first.id, second.id]] * 6,
        [second.id],
    ]
    assert [sorted(brief.parameters) for brief in writer.briefs] == [*[["hashtags", "hook"]] * 6, ["hook"]]


async def test_experiments_assign_independently(desk):
    first, second = await desk.experiments.create(HASHTAGS), await desk.experiments.create(HOOK)
    pairs: Counter[tuple[str, ...]] = Counter()
    for _ in range(120):
        assignment = await desk._context.write(claim_next, Format.SHORT)
        pairs[tuple(variant.variant_id for variant in assignment.variants)] += 1
    assert [place.experiment_id for place in assignment.positions] == [first.id, second.id]
    assert len(pairs) == 6
    assert all(8 <= count <= 32 for count in pairs.values())


async def test_second_experiment_on_the_same_parameter_is_refused(desk):
    first = await desk.experiments.create(HASHTAGS)
    with pytest.raises(ConflictError, match="“How many hashtags” is active and tests hashtags already"):
        await desk.experiments.create(HASHTAGS | {"name": "Again"})
    await desk.experiments.conclude(first.id, reason=REASON)
    assert (await desk.experiments.create(HASHTAGS | {"name": "Again"})).status is ExperimentStatus.ACTIVE


async def test_draft_without_experiment(tmp_path):
    web = FakeWeb()
    async with open_desk_at(tmp_path, web) as desk:
        await run_pipeline(desk, web, 1)

    assert query_db(
        tmp_path, "SELECT experiment_id, variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id"
    ) == [(None, None)]


async def test_failed_draft_uses_up_its_assignment(tmp_path, monkeypatch):
    web, writer = FakeWeb(), FailingWriter(writer_errors(story_title(2)))
    monkeypatch.setattr(writer_module, "get_writer", lambda: writer)
    async with open_desk_at(tmp_path, web) as desk:
        experiment = await desk.experiments.create(HASHTAGS)
        await run_pipeline(desk, web, 1, 2, 3, 4)
        results = arms_by_id(await desk.experiments.get(experiment.id))

    assert sorted(arm["assigned"] for arm in results.values()) == [2, 2]
    assert sorted(arm["drafted"] for arm in results.values()) == [1, 2]


async def test_contested_assignment_is_rewritten(tmp_path, monkeypatch):
    web, hashtags = FakeWeb(), []

    class ContestingWriter(FailingWriter):
        async def write(self, brief):
            hashtags.append(brief.parameters["hashtags"])
            if len(hashtags) == 1:
                await desk._context.write(claim_next, brief.format)
            return await super().write(brief)

    monkeypatch.setattr(writer_module, "get_writer", ContestingWriter)
    async with open_desk_at(tmp_path, web) as desk:
        experiment = await desk.experiments.create(HASHTAGS)
        await run_pipeline(desk, web, 1)
        results = arms_by_id(await desk.experiments.get(experiment.id))

    assert sorted(hashtags) == [0, 2]
    ((variant,),) = query_db(tmp_path, "SELECT variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id")
    assert {"a": 0, "b": 2}[str(variant)] == hashtags[1]
    assert [arm["assigned"] for arm in results.values()] == [1, 1]


async def test_draft_is_rewritten_when_experiment_ends(tmp_path, monkeypatch):
    web, parameters = FakeWeb(), []

    class ConcludingWriter(FailingWriter):
        async def write(self, brief):
            parameters.append(brief.parameters)
            if len(parameters) == 1:
                await desk.experiments.conclude(experiment.id, reason=REASON)
            return await super().write(brief)

    monkeypatch.setattr(writer_module, "get_writer", ConcludingWriter)
    async with open_desk_at(tmp_path, web) as desk:
        experiment = await desk.experiments.create(HASHTAGS)
        await run_pipeline(desk, web, 1)
        results = arms_by_id(await desk.experiments.get(experiment.id))

    assert (len(parameters), parameters[1]) == (2, {})
    assert query_db(tmp_path, "SELECT variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id") == [(None,)]
    assert [arm["assigned"] for arm in results.values()] == [0, 0]


async def test_draft_without_assignment_joins_no_experiment(tmp_path, monkeypatch):
    web = FakeWeb()

    class ContestingWriter(FailingWriter):
        async def write(self, brief):
            if brief.parameters:
                await desk._context.write(claim_next, brief.format)
            return await super().write(brief)

    monkeypatch.setattr(writer_module, "get_writer", ContestingWriter)
    async with open_desk_at(tmp_path, web) as desk:
        await desk.experiments.create(HASHTAGS)
        await run_pipeline(desk, web, 1)

    assert query_db(tmp_path, "SELECT variant_id FROM draft LEFT JOIN draft_variant ON draft_id = id") == [(None,)]


async def test_assignment_is_claimed_once(desk):
    await desk.experiments.create(HASHTAGS)

    def claim_twice(conn, user_id):
        first, second = (next_assignment(conn, user_id, Format.SHORT, ("x",)) for _ in range(2))
        return (
            first == second,
            claim_assignment(conn, user_id, first),
            claim_assignment(conn, user_id, second),
            claim_assignment(conn, user_id, first),
        )

    assert await desk._context.write(claim_twice) == (True, True, False, False)


async def test_variant_counts_differ_by_at_most_one(desk):
    await desk.experiments.create(HOOK)
    counts: dict[str, Counter[str]] = {}
    for number in range(60):
        platforms = ("x",) if number % 3 else ("x", "bluesky")
        assignment = await desk._context.write(claim_next, Format.SHORT, platforms)
        stratum_counts = counts.setdefault(assignment.positions[0].stratum, Counter())
        stratum_counts[assignment.variants[0].variant_id] += 1
        assert max(stratum_counts.values()) - min(stratum_counts[variant["id"]] for variant in HOOK["variants"]) <= 1

    assert len(counts) == 2


async def test_draft_keeps_treatment_after_conclusion(desk):
    experiment = await desk.experiments.create(HASHTAGS)
    draft = await add_assigned_draft(desk, experiment, "b")
    await desk.experiments.conclude(experiment.id, reason=REASON)
    variants = (await desk.drafts.get(draft)).variants
    treatment = await desk._context.read(get_treatment, variants)

    assert (treatment.variants, treatment.parameters) == (variants, {"hashtags": 2})
    assert treatment.apply_to(Voice(), Format.SHORT).format_settings(Format.SHORT).hashtags == 2
    assert await desk._context.read(get_treatment, ()) is None


def test_style_is_applied_before_what_adds_to_it():
    treatment = Treatment(variants=(), parameters={"tone": "warm", "style": "Plain."})
    assert treatment.apply_to(Voice(style="Old."), Format.SHORT).style == "Plain.\nTone: warm"


async def record_metrics(desk: Desk, clock: Watch, draft_id: str, hours: int, platform: str = "x", **metrics: int):
    """Record metrics by hand, `hours` after NOW."""
    clock.now = NOW + timedelta(hours=hours)
    await desk.engagement.record({"draftId": draft_id, "platform": platform, **metrics})


async def test_results_are_a_funnel(desk, clock):
    experiment = await desk.experiments.create(HASHTAGS)
    for status in ("approved", "scheduled", "rejected", "pending_review"):
        await add_assigned_draft(desk, experiment, "a", status=status)
    await add_assigned_draft(desk, experiment, "a", status="generation_failed", text="")
    posted = [await add_assigned_draft(desk, experiment, "b", status="posted", posted_at=NOW) for _ in range(4)]
    await record_metrics(desk, clock, posted[2], 20, likes=900)
    await record_metrics(desk, clock, posted[0], 50, likes=5, impressions=100)
    await record_metrics(desk, clock, posted[0], 50, "mastodon", likes=7, impressions=60)
    await record_metrics(desk, clock, posted[1], 50, likes=5, impressions=300)
    results = arms_by_id(await desk.experiments.get(experiment.id))

    a, b = results["a"], results["b"]
    assert (a["drafted"], a["accepted"], a["rejected"], a["published"], a["measured"]) == (4, 2, 1, 0, 0)
    assert (b["drafted"], b["accepted"], b["published"], b["measured"]) == (4, 4, 4, 2)
    assert (b["tooYoung"], b["noMetrics"]) == (1, 1)
    assert (b["interactions"], b["impressions"]) == (17, 460)


async def test_metrics_are_those_at_the_fixed_age(desk, clock):
    experiment = await desk.experiments.create(HASHTAGS)
    posted = await add_assigned_draft(desk, experiment, "a", status="posted", posted_at=NOW)
    for hours, likes in ((1, 1), (49, 6), (90, 40), (200, 900)):
        await record_metrics(desk, clock, posted, hours, likes=likes)
    assert arms_by_id(await desk.experiments.get(experiment.id))["a"]["interactions"] == 6


async def test_only_newest_version_is_counted(desk):
    experiment = await desk.experiments.create(HASHTAGS)
    old = await add_assigned_draft(desk, experiment, "a", status="changes_requested")
    await add_assigned_draft(desk, experiment, "a", status="approved", regenerated_from_id=old)
    results = arms_by_id(await desk.experiments.get(experiment.id))

    assert (results["a"]["drafted"], results["a"]["accepted"]) == (1, 1)


async def test_edit_ratio(desk):
    experiment = await desk.experiments.create(HASHTAGS)
    edited = await add_assigned_draft(desk, experiment, "a", status="approved", text="one two three five")
    await add_assigned_draft(desk, experiment, "a", status="approved", text="as it was")

    def insert_edits(conn, user_id):
        event = {"draft_id": edited, "user_id": user_id, "at": NOW, "who": "user", "kind": "change", "action": "edit"}
        first, second = {"text": "one two three four"}, {"text": "one two three six"}
        for version, before in ((2, first), (3, second)):
            row = event | {"version": version, "before": before, "after": {}}
            conn.execute(tables.draft_event.insert().values(row))

    await desk._context.write(insert_edits)
    arm = arms_by_id(await desk.experiments.get(experiment.id))["a"]
    assert (arm["accepted"], arm["unedited"]) == (2, 1)
    rows = await desk._context.read(kept.list_participants, experiment.id)
    assert {row.generated for row in rows} == {"one two three four", None}


async def test_foreign_drafts_are_not_counted(desk):
    experiment = await desk.experiments.create(HASHTAGS)

    def insert(conn, _user_id):
        foreign_user = add_user(conn, "Bob")
        item = add_item(conn, foreign_user, add_source(conn, foreign_user))
        add_draft(conn, foreign_user, item, experiment_id=experiment.id, variant_id="a", status="approved")

    await desk._context.write(insert)
    assert arms_by_id(await desk.experiments.get(experiment.id))["a"]["drafted"] == 0


async def test_unfollowed_parameters_are_reported(desk):
    assert has_unsupported_variants(await desk.experiments.create(HOOK))
    assert not has_unsupported_variants(await desk.experiments.create(HASHTAGS))


async def test_list_loads_texts_per_experiment(desk, monkeypatch):
    ids = [(await desk.experiments.create(experiment)).id for experiment in (HASHTAGS, HOOK)]
    calls: list[str] = []
    original_load, original_compare = kept.list_participants, module._compute_results
    monkeypatch.setattr(kept, "list_participants", lambda *args: calls.append(args[2]) or original_load(*args))
    monkeypatch.setattr(module, "_compute_results", lambda *args: calls.append("compared") or original_compare(*args))
    assert [experiment.id for experiment in await desk.experiments.list()] == ids[::-1]
    assert calls == [ids[1], "compared", ids[0], "compared"]
