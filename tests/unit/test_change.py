"""Tests for validating draft changes: each limit, with the field named."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.model.change import (
    BulkChange,
    BulkFailure,
    ChangeDraft,
    CreateDraft,
    Mode,
    NewImage,
    bulk_outcome,
    checked_bulk,
    checked_change,
    checked_create,
    created,
)
from copydesk.model.draft import BULK_ACTIONS, Action, Draft, Format, ImageSource, Status
from copydesk.model.wire import to_wire

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = "2026-11-21T09:00:00Z"
PAGE = "https://example.com/page"


def create(**body: object) -> CreateDraft:
    return checked_create(body)


def change(**body: object) -> ChangeDraft:
    return checked_change(body, NOW)


def bulk(**body: object) -> BulkChange:
    return checked_bulk(body, NOW)


def problems(ask, **body: object) -> dict[str, str]:
    """Return the messages by invalid field."""
    with pytest.raises(InvalidError) as refused:
        ask(**body)
    return dict(refused.value.errors)


class TestCreate:
    def test_text_alone_makes_short_draft(self):
        draft = create(text="  Hello.\n")
        assert (draft.text, draft.format, draft.formats, draft.mode) == ("Hello.", Format.SHORT, None, Mode.DIRECT)

    def test_url_or_prompt_makes_one_short_draft(self):
        for body in ({"url": PAGE}, {"prompt": "About tides"}, {"url": PAGE, "prompt": "About tides"}):
            draft = create(**body)
            assert (draft.format, draft.formats, draft.mode) == (None, (Format.SHORT,), Mode.GENERATE)

    def test_formats_keep_their_order(self):
        assert create(url=PAGE, formats=["BLOG", "SHORT"]).formats == (Format.BLOG, Format.SHORT)

    def test_text_url_or_prompt_is_required(self):
        assert set(problems(create)) == {"text"}
        assert set(problems(create, text=None, tags=["a"])) == {"text"}

    @pytest.mark.parametrize(("name", "value"), [("url", PAGE), ("prompt", "x"), ("formats", ["SHORT"])])
    def test_text_excludes_generation_fields(self, name, value):
        assert set(problems(create, text="x", **{name: value})) == {name}

    def test_format_requires_text(self):
        assert set(problems(create, url=PAGE, format="SHORT")) == {"format"}

    @pytest.mark.parametrize("text", ["", "  \n", "x" * 50_001, "a\x00b", "a\ud800b", 7])
    def test_invalid_text_is_refused(self, text):
        assert set(problems(create, text=text)) == {"text"}

    def test_text_limit_ignores_surrounding_spaces(self):
        assert len(create(text=" " + "x" * 50_000 + "\n").text or "") == 50_000

    def test_control_characters_in_text_are_preserved(self):
        assert create(text="a\x1b[31mb\u202ec").text == "a\x1b[31mb\u202ec"

    @pytest.mark.parametrize("prompt", ["", " ", "x" * 5_001])
    def test_prompt_length_is_checked(self, prompt):
        assert set(problems(create, prompt=prompt)) == {"prompt"}

    @pytest.mark.parametrize(
        "url",
        ["", "example.com", "ftp://example.com", "javascript:alert(1)", "https://", "https://a b.com", "http://[",
         "https://user:secret@example.com", "https://example.com/\x1b", "https://example.com/" + "x" * 2_000],
    )  # fmt: skip
    def test_url_must_be_web_address(self, url):
        assert set(problems(create, url=url)) == {"url"}

    @pytest.mark.parametrize(
        ("formats", "field"),
        [([], "formats"), (["SHORT"] * 4, "formats"), ("SHORT", "formats"),
         (["SHORT", "THREAD", "SHORT"], "formats[2]"), (["SHORT", "EPIC"], "formats[1]"), ([["SHORT"]], "formats[0]")],
    )  # fmt: skip
    def test_formats_are_one_to_three_and_unique(self, formats, field):
        assert set(problems(create, url=PAGE, formats=formats)) == {field}

    def test_platform_has_no_control_characters(self):
        assert problems(create, text="x", targetPlatforms=["x", "blue\x1b]0;sky\x07"]) == {
            "targetPlatforms[1]": "holds a control character (U+001B)"
        }

    def test_tags_are_trimmed_and_unique(self):
        assert create(text="x", tags=[" b ", "a", "b", "B"]).tags == ("b", "a", "B")

    @pytest.mark.parametrize(
        ("tags", "field"),
        [(["t"] * 21, "tags"), (["a", "x" * 51], "tags[1]"), (["a", "b", " "], "tags[2]"), ([1], "tags[0]"),
         (["a", "b\x1b[31m"], "tags[1]"), (["a\nb"], "tags[0]")],
    )  # fmt: skip
    def test_tag_count_and_length_are_limited(self, tags, field):
        assert set(problems(create, text="x", tags=tags)) == {field}
        assert len(create(text="x", tags=[f"{n:050}" for n in range(20)]).tags) == 20

    @pytest.mark.parametrize(
        ("platforms", "field"),
        [(["x"] * 21, "targetPlatforms"), (["x", ""], "targetPlatforms[1]"), (["x" * 51], "targetPlatforms[0]")],
    )
    def test_target_platform_names_are_checked(self, platforms, field):
        assert set(problems(create, text="x", targetPlatforms=platforms)) == {field}

    def test_images_keep_order_and_get_positions(self):
        images = [{"url": PAGE, "source": "OG"}, {"url": PAGE, "source": "UPLOAD", "alt": " A cat ", "position": 0}]
        assert create(text="x", images=images).images == (
            NewImage(url=PAGE, source=ImageSource.OG, position=0),
            NewImage(url=PAGE, source=ImageSource.UPLOAD, alt="A cat", position=0),
        )

    def test_at_most_ten_images(self):
        image = {"url": PAGE, "source": "OG"}
        assert len(create(text="x", images=[image] * 10).images) == 10
        assert set(problems(create, text="x", images=[image] * 11)) == {"images"}

    @pytest.mark.parametrize(
        ("image", "fields"),
        [
            ({}, {"images[1].url", "images[1].source"}),
            ("https://example.com/cat.png", {"images[1]", "images[1].url", "images[1].source"}),
            ({"url": "cat.png", "source": "OG"}, {"images[1].url"}),
            ({"url": PAGE, "source": "CAMERA"}, {"images[1].source"}),
            ({"url": PAGE, "source": "OG", "position": -1}, {"images[1].position"}),
            ({"url": PAGE, "source": "OG", "position": True}, {"images[1].position"}),
            ({"url": PAGE, "source": "OG", "alt": "x" * 2_001}, {"images[1].alt"}),
            ({"url": PAGE, "source": "OG", "width": 100}, {"images[1].width"}),
        ],
    )
    def test_invalid_image_names_its_field(self, image, fields):
        assert set(problems(create, text="x", images=[{"url": PAGE, "source": "OG"}, image])) == fields

    def test_all_invalid_fields_are_reported(self):
        invalid = problems(
            create,
            text="",
            format="EPIC",
            formats=["SHORT", "SHORT"],
            tags=["ok", "ok", "x" * 51],
            images=[{"url": "no", "source": "OG"}],
            colour="red",
        )
        assert set(invalid) == {"text", "format", "formats", "formats[1]", "tags[2]", "images[0].url", "colour"}

    def test_unknown_fields_and_non_objects_are_refused(self):
        assert problems(create, text="x", textt="y") == {"textt": "is no known field"}
        with pytest.raises(InvalidError, match="body: takes an object"):
            checked_create(["text"])

    def test_error_message_length_is_limited(self):
        with pytest.raises(InvalidError) as refused:
            checked_create({"x" * 1_000 + str(n): n for n in range(5_000)})
        assert len(str(refused.value)) < 10_000


class TestChange:
    def test_change_is_edit_action_or_both(self):
        assert change(text=" New. ") == ChangeDraft(text="New.")
        assert change(action="approve") == ChangeDraft(action=Action.APPROVE)
        assert change(action="approve", text="New.") == ChangeDraft(action=Action.APPROVE, text="New.")
        assert set(problems(change)) == {"action"}

    def test_unknown_action_is_refused(self):
        assert "cancel_schedule" in problems(change, action="publish")["action"]

    @pytest.mark.parametrize("text", ["", "x" * 50_001])
    def test_edit_has_text_limits(self, text):
        assert set(problems(change, text=text)) == {"text"}

    @pytest.mark.parametrize("action", Action)
    def test_feedback_is_for_feedback_actions_only(self, action):
        body = {"action": action, "feedback": "Too long."}
        body |= {"scheduledAt": LATER} if action == "reschedule" else {}
        if action in ("reject", "unapprove", "regenerate"):
            assert change(**body).feedback == "Too long."
        else:
            assert set(problems(change, **body)) == {"feedback"}

    def test_blank_feedback_becomes_none(self):
        assert change(action="unapprove", feedback=" \n").feedback is None
        assert change(action="approve", feedback="").feedback is None

    def test_feedback_length_is_checked(self):
        assert set(problems(change, action="reject", feedback="x" * 5_001)) == {"feedback"}

    def test_feedback_without_action_is_refused(self):
        assert set(problems(change, text="x", feedback="y")) == {"feedback"}

    def test_reschedule_requires_a_time(self):
        assert set(problems(change, action="reschedule")) == {"scheduledAt"}
        assert change(action="schedule").scheduled_at is None
        for action in ("schedule", "reschedule"):
            assert change(action=action, scheduledAt=LATER).scheduled_at == datetime(2026, 11, 21, 9, tzinfo=UTC)

    def test_time_is_converted_to_utc(self):
        scheduled_at = change(action="schedule", scheduledAt="2026-11-21T09:00:00+05:30").scheduled_at
        assert scheduled_at is not None
        assert (scheduled_at.isoformat(), scheduled_at.tzinfo) == ("2026-11-21T03:30:00+00:00", UTC)

    @pytest.mark.parametrize(
        ("time", "said"),
        [
            ("2026-11-20T12:00:00Z", "not in the future"),
            ("0001-01-01T00:00:00+14:00", "not in the future"),
            ("2026-11-21T09:00:00", "offset"),
            ("9999-12-31T23:59:59-12:00", "ten years"),
            ("tomorrow", "takes a time"),
            (1_900_000_000, "takes a time"),
        ],
    )
    def test_unschedulable_time_is_refused(self, time, said):
        assert said in problems(change, action="schedule", scheduledAt=time)["scheduledAt"]

    @pytest.mark.parametrize("action", [action for action in Action if "schedule" not in action.split("_")[-1]])
    def test_time_and_slot_are_for_scheduling_only(self, action):
        assert set(problems(change, action=action, scheduledAt=LATER)) == {"scheduledAt"}
        assert set(problems(change, action=action, smartSchedule=True)) == {"smartSchedule"}

    def test_slot_is_not_for_reschedule_or_cancel(self):
        assert set(problems(change, action="reschedule", scheduledAt=LATER, smartSchedule=True)) == {"smartSchedule"}
        assert set(problems(change, action="cancel_schedule", scheduledAt=LATER)) == {"scheduledAt"}
        assert change(action="schedule", scheduledAt=LATER, smartSchedule=True).smart_schedule
        assert not change(action="approve", smartSchedule=False).smart_schedule

    def test_platforms_are_for_post_only(self):
        assert change(action="post", platforms=["x", "x", " bluesky "]).platforms == ("x", "bluesky")
        assert change(action="post").platforms is None
        assert set(problems(change, action="post", platforms=[])) == {"platforms"}
        assert set(problems(change, action="approve", platforms=["x"])) == {"platforms"}

    def test_unknown_action_does_not_invalidate_other_fields(self):
        assert set(problems(change, action="shedule", scheduledAt=LATER)) == {"action"}

    def test_all_invalid_fields_are_reported(self):
        invalid = problems(
            change, action="approve", text="", feedback="x", scheduledAt="soon", smartSchedule="yes", a=1
        )
        assert set(invalid) == {"text", "feedback", "scheduledAt", "smartSchedule", "a"}


class TestBulk:
    @pytest.mark.parametrize("action", Action)
    def test_bulk_accepts_bulk_actions(self, action):
        body = {"action": action, "ids": ["a"]} | ({"scheduledAt": LATER} if action == "reschedule" else {})
        if action in BULK_ACTIONS:
            assert bulk(**body).action == action
        else:
            assert set(problems(bulk, **body)) == {"action"}

    def test_duplicate_ids_keep_first_position(self):
        assert bulk(action="approve", ids=["b", "a", "b", "c", "a"]).ids == ("b", "a", "c")

    def test_one_to_hundred_ids_including_duplicates(self):
        ids = [str(n) for n in range(100)]
        assert bulk(action="approve", ids=ids).ids == tuple(ids)
        for invalid_ids in ([], [*ids, "100"], [*ids, "0"]):
            assert set(problems(bulk, action="approve", ids=invalid_ids)) == {"ids"}

    @pytest.mark.parametrize("wrong", ["", " ", 7, None, "a\x00", "\ud800", "x" * 101])
    def test_invalid_id_is_reported(self, wrong):
        assert set(problems(bulk, action="approve", ids=["a", wrong])) == {"ids[1]"}

    def test_action_and_ids_are_required(self):
        assert set(problems(bulk)) == {"action", "ids"}

    def test_action_fields_are_checked(self):
        assert set(problems(bulk, action="reschedule", ids=["a"])) == {"scheduledAt"}
        assert problems(bulk, action="approve", ids=["a"], feedback="x") == {"feedback": "goes only with reject"}
        assert set(problems(bulk, action="approve", ids=["a"], smartSchedule=True)) == {"smartSchedule"}
        assert set(problems(bulk, action="approve", ids=["a"], text="x")) == {"text"}

    def test_change_is_same_for_all_drafts(self):
        request = bulk(action="reject", ids=["a", "b"], feedback="Old news.")
        assert request.each == ChangeDraft(action=Action.REJECT, feedback="Old news.")

    def test_outcome_counts_and_keeps_order(self):
        outcome = bulk_outcome(Action.APPROVE, ["b", "a"], [BulkFailure(id="c", error="There is no draft 'c'.")])
        assert to_wire(outcome) == {
            "action": "approve",
            "total": 3,
            "succeeded": 2,
            "failed": 1,
            "results": {"succeeded": ["b", "a"], "failed": [{"id": "c", "error": "There is no draft 'c'."}]},
        }


def test_creation_response_is_serialized():
    draft = Draft(
        id="d", text="Hello.", format=Format.SHORT, status=Status.AWAITING_REVIEW, confidence=0.5, feedback=None,
        rejection_feedback=None, scheduled_at=None, posted_at=None, post_id=None, item_id="i",
        regenerated_from_id=None, created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    assert to_wire(created(Mode.DIRECT, "i", [draft])) == {
        "mode": "direct",
        "itemId": "i",
        "drafts": [
            {
                "id": "d",
                "text": "Hello.",
                "format": "SHORT",
                "status": "awaiting_review",
                "confidence": 0.5,
                "images": [],
                "createdAt": "2026-11-20T12:00:00.000Z",
            }
        ],
    }


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([LATER, PAGE, "SHORT", 0.5]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["url", "source", "x"]), inner),
    max_leaves=5,
)  # fmt: skip
NAMES = {
    kind: [field.encode_name for field in msgspec.structs.fields(kind)]
    for kind in (CreateDraft, ChangeDraft, BulkChange)
}


@pytest.mark.parametrize("kind", NAMES)
@given(values=st.data())
def test_any_body_is_refused_or_validates_idempotently(kind, values):
    validate = {
        CreateDraft: checked_create,
        ChangeDraft: lambda given: checked_change(given, NOW),
        BulkChange: lambda given: checked_bulk(given, NOW),
    }[kind]
    body = values.draw(
        st.dictionaries(st.sampled_from(NAMES[kind]) | st.just("action"), JUNK | st.sampled_from(Action))
    )
    try:
        validated = validate(body)
    except InvalidError:
        return
    assert validate(validated) == validated
    assert msgspec.convert(msgspec.to_builtins(validated), kind) == validated


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-12)), timezone(timedelta(hours=14))])))
def test_time_must_be_within_ten_years(moment):
    request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=moment)
    if NOW < moment <= NOW + timedelta(days=3653):
        assert checked_change(request, NOW).scheduled_at == moment
    else:
        with pytest.raises(InvalidError, match="scheduledAt"):
            checked_change(request, NOW)


def test_struct_input_is_validated_too():
    with pytest.raises(InvalidError, match="offset"):
        checked_change(ChangeDraft(action=Action.SCHEDULE, scheduled_at=datetime(2026, 11, 21)), NOW)  # noqa: DTZ001
    with pytest.raises(InvalidError, match=r"tags\[0\]"):
        checked_create(CreateDraft(text="x", tags=("",)))
