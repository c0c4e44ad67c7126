"""Tests for validating draft changes: each limit, with the field named."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.draft import BULK_ACTIONS, Action, Draft, Format, ImageSource, Status
from copydesk.model.requests import (
    BulkChange,
    ChangeDraft,
    CreateDraft,
    CreationMode,
    NewImage,
    bulk_response,
    creation_response,
    validate_bulk,
    validate_change,
    validate_create,
)
from copydesk.model.serialization import to_json_value
from copydesk.model.transitions import BulkFailure

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FUTURE_TIME = "2026-11-21T09:00:00Z"
PAGE_URL = "https://example.com/page"


def create(**body: object) -> CreateDraft:
    return validate_create(body)


def change(**body: object) -> ChangeDraft:
    return validate_change(body, NOW)


def bulk(**body: object) -> BulkChange:
    return validate_bulk(body, NOW)


def find_problems(validate, **body: object) -> dict[str, str]:
    """Return the messages by invalid field."""
    with pytest.raises(InvalidError) as refused:
        validate(**body)
    return dict(refused.value.errors)


class TestCreate:
    def test_text_alone_makes_short_draft(self):
        draft = create(text="  Hello.\n")
        assert (draft.text, draft.format, draft.formats, draft.mode) == (
            "  Hello.\n",
            Format.SHORT,
            None,
            CreationMode.DIRECT,
        )

    def test_url_or_prompt_makes_one_short_draft(self):
        for body in ({"url": PAGE_URL}, {"prompt": "About tides"}, {"url": PAGE_URL, "prompt": "About tides"}):
            draft = create(**body)
            assert (draft.format, draft.formats, draft.mode) == (None, (Format.SHORT,), CreationMode.GENERATE)

    def test_formats_keep_their_order(self):
        assert create(url=PAGE_URL, formats=["BLOG", "SHORT"]).formats == (Format.BLOG, Format.SHORT)

    def test_text_url_or_prompt_is_required(self):
        assert set(find_problems(create)) == {"text"}
        assert set(find_problems(create, text=None, tags=["a"])) == {"text"}

    @pytest.mark.parametrize(("name", "value"), [("url", PAGE_URL), ("prompt", "x"), ("formats", ["SHORT"])])
    def test_text_excludes_generation_fields(self, name, value):
        assert set(find_problems(create, text="x", **{name: value})) == {name}

    def test_format_requires_text(self):
        assert set(find_problems(create, url=PAGE_URL, format="SHORT")) == {"format"}

    @pytest.mark.parametrize("text", ["", "x" * 50_001, "a\x00b", "a\ud800b", 7])
    def test_invalid_text_is_refused(self, text):
        assert set(find_problems(create, text=text)) == {"text"}

    def test_blank_text_is_accepted_as_given(self):
        assert create(text=" \n").text == " \n"
        assert change(text="\t").text == "\t"

    def test_text_limit_counts_surrounding_spaces(self):
        assert set(find_problems(create, text="x" * 50_000 + "\n")) == {"text"}

    def test_control_characters_in_text_are_preserved(self):
        assert create(text="a\x1b[31mb\u202ec").text == "a\x1b[31mb\u202ec"

    @pytest.mark.parametrize("prompt", ["", " ", "x" * 5_001])
    def test_prompt_length_is_checked(self, prompt):
        assert set(find_problems(create, prompt=prompt)) == {"prompt"}

    @pytest.mark.parametrize(
        "url",
        ["", "example.com", "ftp://example.com", "javascript:alert(1)", "https://", "https://a b.com", "http://[",
         "https://user:secret@example.com", "https://example.com/\x1b", "https://example.com/" + "x" * 2_000],
    )  # fmt: skip
    def test_url_must_be_web_address(self, url):
        assert set(find_problems(create, url=url)) == {"url"}

    @pytest.mark.parametrize(
        ("formats", "field"),
        [([], "formats"), (["SHORT"] * 4, "formats"), ("SHORT", "formats"),
         (["SHORT", "THREAD", "SHORT"], "formats[2]"), (["SHORT", "EPIC"], "formats[1]"), ([["SHORT"]], "formats[0]")],
    )  # fmt: skip
    def test_formats_are_one_to_three_and_unique(self, formats, field):
        assert set(find_problems(create, url=PAGE_URL, formats=formats)) == {field}

    def test_platform_has_no_control_characters(self):
        assert find_problems(create, text="x", targetPlatforms=["x", "blue\x1b]0;sky\x07"]) == {
            "targetPlatforms[1]": "contains a control character (U+001B)"
        }

    def test_tags_are_trimmed_and_unique(self):
        assert create(text="x", tags=[" b ", "a", "b", "B"]).tags == ("b", "a", "B")

    @pytest.mark.parametrize(
        ("tags", "field"),
        [(["t"] * 21, "tags"), (["a", "x" * 51], "tags[1]"), (["a", "b", " "], "tags[2]"), ([1], "tags[0]"),
         (["a", "b\x1b[31m"], "tags[1]"), (["a\nb"], "tags[0]")],
    )  # fmt: skip
    def test_tag_count_and_length_are_limited(self, tags, field):
        assert set(find_problems(create, text="x", tags=tags)) == {field}
        assert len(create(text="x", tags=[f"{n:050}" for n in range(20)]).tags) == 20

    @pytest.mark.parametrize(
        ("platforms", "field"),
        [(["x"] * 21, "targetPlatforms"), (["x", ""], "targetPlatforms[1]"), (["x" * 2_001], "targetPlatforms[0]")],
    )
    def test_target_platform_names_are_checked(self, platforms, field):
        assert set(find_problems(create, text="x", targetPlatforms=platforms)) == {field}

    def test_images_keep_order_and_get_positions(self):
        images = [
            {"url": PAGE_URL, "source": "OG"},
            {"url": PAGE_URL, "source": "UPLOAD", "alt": " A cat ", "position": 0},
        ]
        assert create(text="x", images=images).images == (
            NewImage(url=PAGE_URL, source=ImageSource.OG, position=0),
            NewImage(url=PAGE_URL, source=ImageSource.UPLOAD, alt="A cat", position=0),
        )

    @pytest.mark.parametrize(("position", "accepted"), [(1.0, True), (0.0, True), (1.5, False), (float("nan"), False)])
    def test_number_without_fraction_is_whole(self, position, accepted):
        fields = {"text": "x", "images": [{"url": PAGE_URL, "source": "OG", "position": position}]}
        if accepted:
            (image,) = create(**fields).images
            assert (image.position, type(image.position)) == (int(position), int)
        else:
            assert set(find_problems(create, **fields)) == {"images[0].position"}

    def test_at_most_ten_images(self):
        image = {"url": PAGE_URL, "source": "OG"}
        assert len(create(text="x", images=[image] * 10).images) == 10
        assert set(find_problems(create, text="x", images=[image] * 11)) == {"images"}

    @pytest.mark.parametrize(
        ("image", "fields"),
        [
            ({}, {"images[1].url", "images[1].source"}),
            ("https://example.com/cat.png", {"images[1]", "images[1].url", "images[1].source"}),
            ({"url": "cat.png", "source": "OG"}, {"images[1].url"}),
            ({"url": PAGE_URL, "source": "CAMERA"}, {"images[1].source"}),
            ({"url": PAGE_URL, "source": "OG", "position": -1}, {"images[1].position"}),
            ({"url": PAGE_URL, "source": "OG", "position": True}, {"images[1].position"}),
            ({"url": PAGE_URL, "source": "OG", "alt": "x" * 2_001}, {"images[1].alt"}),
            ({"url": PAGE_URL, "source": "OG", "width": 100}, {"images[1].width"}),
        ],
    )
    def test_invalid_image_names_its_field(self, image, fields):
        assert set(find_problems(create, text="x", images=[{"url": PAGE_URL, "source": "OG"}, image])) == fields

    def test_all_invalid_fields_are_reported(self):
        invalid = find_problems(
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
        assert find_problems(create, text="x", textt="y") == {"textt": "unknown field"}
        with pytest.raises(InvalidError, match="body: takes an object"):
            validate_create(["text"])

    def test_error_message_length_is_limited(self):
        with pytest.raises(InvalidError) as refused:
            validate_create({"x" * 1_000 + str(n): n for n in range(5_000)})
        assert len(str(refused.value)) < 10_000


class TestChange:
    def test_change_is_edit_action_or_both(self):
        assert change(text=" New. ") == ChangeDraft(text=" New. ")
        assert change(action="approve") == ChangeDraft(action=Action.APPROVE)
        assert change(action="approve", text="New.") == ChangeDraft(action=Action.APPROVE, text="New.")
        assert set(find_problems(change)) == {"action"}

    def test_unknown_action_is_refused(self):
        assert "cancel_schedule" in find_problems(change, action="publish")["action"]

    @pytest.mark.parametrize("text", ["", "x" * 50_001])
    def test_edit_has_text_limits(self, text):
        assert set(find_problems(change, text=text)) == {"text"}

    @pytest.mark.parametrize("action", Action)
    def test_feedback_is_for_feedback_actions_only(self, action):
        body = {"action": action, "feedback": "Too long."}
        body |= {"scheduledAt": FUTURE_TIME} if action == "reschedule" else {}
        if action in ("reject", "unapprove", "regenerate"):
            assert change(**body).feedback == "Too long."
        else:
            assert set(find_problems(change, **body)) == {"feedback"}

    def test_blank_feedback_becomes_none(self):
        assert change(action="unapprove", feedback=" \n").feedback is None
        assert change(action="approve", feedback="").feedback is None

    def test_feedback_length_is_checked(self):
        assert set(find_problems(change, action="reject", feedback="x" * 5_001)) == {"feedback"}

    def test_feedback_without_action_is_refused(self):
        assert set(find_problems(change, text="x", feedback="y")) == {"feedback"}

    def test_reschedule_requires_a_time(self):
        assert set(find_problems(change, action="reschedule")) == {"scheduledAt"}
        assert change(action="schedule").scheduled_at is None
        for action in ("schedule", "reschedule"):
            assert change(action=action, scheduledAt=FUTURE_TIME).scheduled_at == datetime(2026, 11, 21, 9, tzinfo=UTC)

    def test_time_is_converted_to_utc(self):
        scheduled_at = change(action="schedule", scheduledAt="2026-11-21T09:00:00+05:30").scheduled_at
        assert scheduled_at is not None
        assert (scheduled_at.isoformat(), scheduled_at.tzinfo) == ("2026-11-21T03:30:00+00:00", UTC)

    @pytest.mark.parametrize(
        ("time", "expected"),
        [
            ("2026-11-20T12:00:00Z", "is in the past"),
            ("0001-01-01T00:00:00+14:00", "is in the past"),
            ("2026-11-21T09:00:00", "offset"),
            ("9999-12-31T23:59:59-12:00", "ten years"),
            ("tomorrow", "takes a time"),
            (1_900_000_000, "takes a time"),
        ],
    )
    def test_unschedulable_time_is_refused(self, time, expected):
        assert expected in find_problems(change, action="schedule", scheduledAt=time)["scheduledAt"]

    @pytest.mark.parametrize("action", [action for action in Action if "schedule" not in action.split("_")[-1]])
    def test_time_and_slot_are_for_scheduling_only(self, action):
        assert set(find_problems(change, action=action, scheduledAt=FUTURE_TIME)) == {"scheduledAt"}
        assert set(find_problems(change, action=action, smartSchedule=True)) == {"smartSchedule"}

    def test_slot_is_not_for_reschedule_or_cancel(self):
        assert set(find_problems(change, action="reschedule", scheduledAt=FUTURE_TIME, smartSchedule=True)) == {
            "smartSchedule"
        }
        assert set(find_problems(change, action="cancel_schedule", scheduledAt=FUTURE_TIME)) == {"scheduledAt"}
        assert change(action="schedule", scheduledAt=FUTURE_TIME, smartSchedule=True).smart_schedule
        assert not change(action="approve", smartSchedule=False).smart_schedule

    def test_platforms_are_for_post_only(self):
        assert change(action="post", platforms=["x", "x", " bluesky "]).platforms == ("x", "bluesky")
        assert change(action="post").platforms is None
        assert set(find_problems(change, action="post", platforms=[])) == {"platforms"}
        assert set(find_problems(change, action="approve", platforms=["x"])) == {"platforms"}

    def test_unknown_action_does_not_invalidate_other_fields(self):
        assert set(find_problems(change, action="shedule", scheduledAt=FUTURE_TIME)) == {"action"}

    def test_all_invalid_fields_are_reported(self):
        invalid = find_problems(
            change, action="approve", text="", feedback="x", scheduledAt="soon", smartSchedule="yes", a=1
        )
        assert set(invalid) == {"text", "feedback", "scheduledAt", "smartSchedule", "a"}


class TestBulk:
    @pytest.mark.parametrize("action", Action)
    def test_bulk_accepts_bulk_actions(self, action):
        body = {"action": action, "ids": ["a"]} | ({"scheduledAt": FUTURE_TIME} if action == "reschedule" else {})
        if action in BULK_ACTIONS:
            assert bulk(**body).action == action
        else:
            assert set(find_problems(bulk, **body)) == {"action"}

    def test_duplicate_ids_keep_first_position(self):
        assert bulk(action="approve", ids=["b", "a", "b", "c", "a"]).ids == ("b", "a", "c")

    def test_one_to_hundred_ids_including_duplicates(self):
        ids = [str(n) for n in range(100)]
        assert bulk(action="approve", ids=ids).ids == tuple(ids)
        for invalid_ids in ([], [*ids, "100"], [*ids, "0"]):
            assert set(find_problems(bulk, action="approve", ids=invalid_ids)) == {"ids"}

    @pytest.mark.parametrize("invalid_id", ["", " ", 7, None, "a\x00", "\ud800", "x" * 101])
    def test_invalid_id_is_reported(self, invalid_id):
        assert set(find_problems(bulk, action="approve", ids=["a", invalid_id])) == {"ids[1]"}

    def test_action_and_ids_are_required(self):
        assert set(find_problems(bulk)) == {"action", "ids"}

    def test_action_fields_are_checked(self):
        assert set(find_problems(bulk, action="reschedule", ids=["a"])) == {"scheduledAt"}
        assert find_problems(bulk, action="approve", ids=["a"], feedback="x") == {
            "feedback": "only allowed with reject"
        }
        assert set(find_problems(bulk, action="approve", ids=["a"], smartSchedule=True)) == {"smartSchedule"}
        assert set(find_problems(bulk, action="approve", ids=["a"], text="x")) == {"text"}

    def test_change_is_same_for_all_drafts(self):
        request = bulk(action="reject", ids=["a", "b"], feedback="Old news.")
        assert request.change_per_draft == ChangeDraft(action=Action.REJECT, feedback="Old news.")

    def test_outcome_counts_and_keeps_order(self):
        outcome = bulk_response(
            Action.APPROVE, ["b", "a"], [BulkFailure.from_error("c", NotFoundError("No draft 'c'."))]
        )
        assert to_json_value(outcome) == {
            "action": "approve",
            "total": 3,
            "succeeded": 2,
            "failed": 1,
            "results": {
                "succeeded": ["b", "a"],
                "failed": [{"id": "c", "error": "No draft 'c'.", "type": "/problems/not-found"}],
            },
        }


def test_creation_response_is_serialized():
    draft = Draft(
        id="d", text="Hello.", format=Format.SHORT, status=Status.AWAITING_REVIEW, confidence=0.5, feedback=None,
        rejection_feedback=None, scheduled_at=None, posted_at=None, post_id=None, item_id="i",
        regenerated_from_id=None, created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    assert to_json_value(creation_response(CreationMode.DIRECT, "i", [draft])) == {
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
                "confidenceKnown": False,
            }
        ],
    }


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([FUTURE_TIME, PAGE_URL, "SHORT", 0.5]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["url", "source", "x"]), inner),
    max_leaves=5,
)  # fmt: skip
FIELD_NAMES = {
    kind: [field.encode_name for field in msgspec.structs.fields(kind)]
    for kind in (CreateDraft, ChangeDraft, BulkChange)
}


@pytest.mark.parametrize("kind", FIELD_NAMES)
@given(values=st.data())
def test_any_body_is_refused_or_validates_idempotently(kind, values):
    validate = {
        CreateDraft: validate_create,
        ChangeDraft: lambda given: validate_change(given, NOW),
        BulkChange: lambda given: validate_bulk(given, NOW),
    }[kind]
    body = values.draw(
        st.dictionaries(st.sampled_from(FIELD_NAMES[kind]) | st.just("action"), ANY_JSON | st.sampled_from(Action))
    )
    try:
        validated = validate(body)
    except InvalidError:
        return
    assert validate(validated) == validated
    assert msgspec.convert(msgspec.to_builtins(validated), kind) == validated


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-12)), timezone(timedelta(hours=14))])))
def test_time_must_be_within_ten_years(time):
    request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=time)
    if NOW < time <= NOW + timedelta(days=3653):
        assert validate_change(request, NOW).scheduled_at == time
    else:
        with pytest.raises(InvalidError, match="scheduledAt"):
            validate_change(request, NOW)


def test_struct_input_is_validated_too():
    with pytest.raises(InvalidError, match="offset"):
        validate_change(ChangeDraft(action=Action.SCHEDULE, scheduled_at=datetime(2026, 11, 21)), NOW)  # noqa: DTZ001
    with pytest.raises(InvalidError, match=r"tags\[0\]"):
        validate_create(CreateDraft(text="x", tags=("",)))
