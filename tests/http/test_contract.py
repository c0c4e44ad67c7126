"""The interface row by row: fields, defaults, limits with their neighbours, actions in every status, facts."""

import asyncio
import re
from datetime import datetime, timedelta
from functools import partial
from itertools import product

import pytest

from copydesk.model.serialization import format_iso
from desk_fixtures import NOW, URL_ONE, URL_TWO, FakeWeb, Watch, entry, execute_sql, feed
from draft_consistency import HOURLY_SLOTS, insert_drafts
from http_service import run_service
from openapi_document import validate_response
from posting_fixtures import connect_account, fake_platforms
from reference_tables import (
    ALLOWED_FROM,
    APPROVED,
    CHANGES,
    POSTED,
    STATES,
    STATUS_AFTER_ACTION,
    STATUS_AFTER_EDIT,
    TIMED_STATES,
)

FORMATS = ("SHORT", "THREAD", "BLOG")
LATER = NOW + timedelta(hours=300, minutes=30)
ACTIONS = (
    "approve",
    "reject",
    "regenerate",
    "schedule",
    "archive",
    "unapprove",
    "reschedule",
    "cancel_schedule",
    "post",
)
BULK_ACTIONS = ("approve", "reject", "archive", "schedule", "reschedule", "cancel_schedule")
VARIANTS = [{"id": name, "label": name, "config": {"hashtags": number}} for number, name in enumerate("abcdef")]
SLOT = {"dayOfWeek": 1, "hour": 9, "minute": 0}
SOURCE = {"name": "One", "type": "rss", "url": URL_ONE}
IMAGE = {"url": "https://one.example/a.png", "source": "OG"}


@pytest.fixture
def web():
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2, hours=3)))
    web.put(URL_TWO, feed(entry(3)))
    return web


@pytest.fixture
async def service(tmp_path, web):
    async with run_service(tmp_path, clock=Watch(), transport=web, platforms=fake_platforms()) as running:
        yield running


@pytest.fixture
async def client(service):
    return await service.client()


@pytest.fixture
async def desk(service):
    desk = await service.desks.get(service.desks.owner)
    await connect_account(desk)
    return desk


async def finish_background_work(service):
    while service.service._tasks:
        await asyncio.gather(*service.service._tasks)


async def call(client, request, body=None):
    """Return the JSON of the response to a request such as `POST /drafts`, which must succeed."""
    method, _, path = request.partition(" ")
    response = await client.request(method, path, json=body)
    assert response.is_success, (request, body, response.text)
    return response.json()


async def create_draft(client, text="The harbour is open.", **fields):
    return (await call(client, "POST /drafts", {"text": text, **fields}))["drafts"][0]["id"]


# Part 2: fields


def is_time(value):
    return isinstance(value, str) and value.endswith("Z") and datetime.fromisoformat(value) is not None


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_string(value):
    return isinstance(value, str)


def is_object(value):
    return isinstance(value, dict)


def is_strings(value):
    return isinstance(value, list) and all(map(is_string, value))


def or_null(check):
    return lambda value: value is None or check(value)


def one_of(*values):
    return lambda value: value in values


def has(fields):
    """Return a check of an object that has these fields, at least."""
    return lambda value: not problems(value, fields)


def list_of(check):
    """Return a check of a list that is not empty, so that each of its entries was looked at."""
    return lambda value: isinstance(value, list) and bool(value) and all(map(check, value))


def problems(value, fields):
    return [name for name, check in fields.items() if name not in value or not check(value[name])]


ITEM = {"id": is_string, "title": is_string, "sourceType": is_string}
DRAFT = {
    "id": is_string,
    "text": is_string,
    "format": one_of(*FORMATS),
    "status": one_of(*STATES),
    "confidence": lambda value: is_number(value) and 0 <= value <= 1,
    "feedback": or_null(is_string),
    "rejectionFeedback": or_null(is_string),
    "scheduledAt": or_null(is_time),
    "postedAt": or_null(is_time),
    "postId": or_null(is_string),
    "itemId": is_string,
    "regeneratedFromId": or_null(is_string),
    "createdAt": is_time,
    "updatedAt": is_time,
}
LISTED_DRAFT = {**DRAFT, "item": has(ITEM)}
SHOWN_IMAGE = {
    "id": is_string,
    "url": is_string,
    "alt": or_null(is_string),
    "position": is_number,
    "source": one_of("OG", "UPLOAD", "AI_PROVIDER_A", "AI_PROVIDER_B"),
}
CREATED_DRAFT = {
    "id": is_string,
    "text": is_string,
    "format": one_of(*FORMATS),
    "status": is_string,
    "confidence": is_number,
    "images": list_of(has(SHOWN_IMAGE)),
    "createdAt": is_time,
}
CREATED = {"mode": one_of("direct", "generate"), "itemId": is_string, "drafts": list_of(has(CREATED_DRAFT))}
STATS = {
    "itemsIngested": is_number,
    "itemsFiltered": is_number,
    "itemsRanked": is_number,
    "draftsCreated": is_number,
    "stageTiming": is_object,
}
RUN = {
    "id": is_string,
    "status": one_of("queued", "running", "succeeded", "failed", "cancelled", "interrupted"),
    "stage": or_null(is_string),
    "startedAt": is_time,
    "endedAt": or_null(is_time),
    "duration": or_null(is_number),
    "stats": has(STATS),
    "error": or_null(is_string),
}
RUN_STATISTICS = {
    "totalRuns": is_number,
    "successRate": is_number,
    "averageDuration": or_null(is_number),
    "averageItemsPerRun": is_number,
    "averageDraftsPerRun": is_number,
    "topErrors": list_of(has({"category": is_string, "count": is_number})),
    "last30Days": has({"runs": is_number, "items": is_number, "drafts": is_number}),
}
VOICE = {
    "id": is_string,
    "style": is_string,
    "avoid": is_strings,
    "examples": is_strings,
    "formats": is_object,
    "createdAt": is_time,
    "updatedAt": is_time,
}
RECORD = {
    "id": is_string,
    "draftId": is_string,
    "platform": is_string,
    "postId": or_null(is_string),
    "status": one_of("pending", "posted", "failed", "abandoned"),
    "retryCount": is_number,
    "retryAfter": or_null(is_time),
    "errorMessage": or_null(is_string),
    "failedAt": or_null(is_time),
    **dict.fromkeys(("likes", "replies", "reposts", "impressions", "clicks"), or_null(is_number)),
    "engagementRate": or_null(is_number),
    "measuredAt": or_null(is_time),
    "createdAt": is_time,
}
TOP_POST = {
    **dict.fromkeys(("draftId", "draftText", "format", "platform"), is_string),
    **dict.fromkeys(("likes", "replies", "reposts", "impressions", "engagementRate"), or_null(is_number)),
    "postedAt": or_null(is_time),
}
SUMMARY = {
    **dict.fromkeys(("totalPosted", "totalWithMetrics", "avgEngagementRate", "totalLikes", "totalReplies"), is_number),
    **dict.fromkeys(("totalReposts", "totalImpressions"), is_number),
    "topPosts": list_of(has(TOP_POST)),
    "byFormat": list_of(has({"format": is_string, "count": is_number, "avgEngagementRate": is_number})),
    "byPlatform": list_of(has({"platform": is_string, "count": is_number, "avgEngagementRate": is_number})),
}
EXPERIMENT = {
    "id": is_string,
    "name": is_string,
    "parameter": is_string,
    "status": one_of("active", "concluded", "archived"),
    "variants": list_of(has({"id": is_string, "label": is_string, "config": is_object})),
    "results": is_object,
    "startedAt": is_time,
    "endedAt": or_null(is_time),
    "createdAt": is_time,
}
SHOWN_SOURCE = {
    "id": is_string,
    "type": one_of("rss", "twitter", "reddit", "hackernews", "google_news", "substack"),
    "name": is_string,
    "url": or_null(is_string),
    "config": or_null(is_object),
    "enabled": lambda value: isinstance(value, bool),
    "lastFetch": or_null(is_time),
    "health": one_of("healthy", "degraded", "stale", "error", "unknown"),
    "failCount": is_number,
    "lastError": or_null(is_string),
    "createdAt": is_time,
    "updatedAt": is_time,
    "itemCount": is_number,
}
SHOWN_SLOT = dict.fromkeys(("dayOfWeek", "hour", "minute"), is_number)
POST_RESULT = {"posted": is_strings, "failed": is_strings, "draft": has(DRAFT)}
BULK = {
    "action": is_string,
    "total": is_number,
    "succeeded": is_number,
    "failed": is_number,
    "results": has(
        {
            "succeeded": list_of(is_string),
            "failed": list_of(has({"id": is_string, "error": is_string, "type": is_string})),
        }
    ),
}
CONFLICTS = {"hasConflict": lambda value: value is True, "count": is_number, "conflicts": list_of(is_object)}
AUTO = {"scheduled": list_of(is_object), "skipped": is_number, "reason": is_string}
QUEUED = {"message": is_string, "status": one_of("queued")}
FETCH_TEST = {"ok": lambda value: value is True, "items": list_of(has({"title": is_string, "url": is_string}))}

# Each row has requests before it that give its response something to show; `{draft}` is an approved draft.
RESPONSES = [
    ("GET /drafts", None, 200, {"drafts": list_of(has(LISTED_DRAFT)), "nextCursor": or_null(is_string)}),
    ("POST /drafts", {"text": "New.", "images": [IMAGE]}, 201, CREATED),
    ("POST /drafts", {"prompt": "Ferries", "images": [IMAGE]}, 201, CREATED),
    ("GET /drafts/{draft}", None, 200, LISTED_DRAFT),
    ("PATCH /drafts/{draft}", {"text": "Edited."}, 200, DRAFT),
    ("PATCH /drafts/{draft}", {"action": "unapprove"}, 200, DRAFT),
    ("PATCH /drafts/{draft}", {"action": "post"}, 200, POST_RESULT),
    ("POST /drafts/bulk", {"action": "archive", "ids": ["{draft}", "unknown"]}, 200, BULK),
    ("POST /drafts/{draft}/undo", None, 200, DRAFT),
    ("GET /schedule/slots", None, 200, list_of(has(SHOWN_SLOT))),
    ("PUT /schedule/slots", [SLOT], 200, list_of(has(SHOWN_SLOT))),
    ("POST /schedule/next", {"draftId": "{draft}"}, 200, DRAFT),
    ("GET /schedule/conflicts?scheduledAt={scheduledAt}", None, 200, CONFLICTS),
    ("POST /schedule/auto", None, 200, AUTO),
    ("POST /schedule/auto", {"draftIds": ["{draft}"]}, 200, AUTO),
    ("POST /pipeline", None, 202, QUEUED),
    ("GET /pipeline/runs", None, 200, {"runs": list_of(has(RUN)), "nextCursor": or_null(is_string)}),
    ("GET /pipeline/stats", None, 200, RUN_STATISTICS),
    ("GET /voice", None, 200, VOICE),
    ("PUT /voice", {"style": "Dry."}, 200, VOICE),
    ("GET /engagement", None, 200, SUMMARY),
    ("POST /engagement", {"draftId": "{draft}", "platform": "linkedin", "likes": 1}, 200, RECORD),
    ("GET /experiments", None, 200, list_of(has(EXPERIMENT))),
    ("POST /experiments", {"name": "B", "parameter": "hashtags", "variants": VARIANTS[:2]}, 201, EXPERIMENT),
    ("PATCH /experiments/{experiment}", {"action": "conclude", "reason": "Enough seen."}, 200, EXPERIMENT),
    ("GET /sources", None, 200, list_of(has(SHOWN_SOURCE))),
    ("POST /sources", {**SOURCE, "url": URL_TWO}, 201, SHOWN_SOURCE),
    ("PATCH /sources/{source}", {"enabled": False}, 200, SHOWN_SOURCE),
    ("DELETE /sources/{source}", None, 200, {"ok": lambda value: value is True}),
    ("POST /sources/{source}/test", None, 200, FETCH_TEST),
]


async def prepare(service, client, tmp_path):
    """Return ids of a draft, a source and an experiment, after each list has something in it."""
    await call(client, "PUT /schedule/slots", [SLOT])
    source = (await call(client, "POST /sources", SOURCE))["id"]
    await call(client, "POST /pipeline")
    await finish_background_work(service)
    execute_sql(tmp_path, "UPDATE run SET status = 'failed', error_category = 'store' WHERE status = 'succeeded'")
    experiment = (
        await call(client, "POST /experiments", {"name": "A", "parameter": "cta", "variants": cta_variants()})
    )["id"]
    draft, other = await create_draft(client), await create_draft(client, "Other words.")
    for draft_id in (draft, other):
        await call(client, f"PATCH /drafts/{draft_id}", {"action": "approve"})
    measured = {"draftId": other, "platform": "mastodon", "likes": 3, "impressions": 60}
    await call(client, "POST /engagement", measured)
    return {"draft": draft, "other": other, "source": source, "experiment": experiment}


def cta_variants():
    return [{"id": name, "label": name, "config": {"cta": name}} for name in "ab"]


def fill(value, ids):
    """Return the request with ids in place of their names."""
    if isinstance(value, str):
        for name, text in ids.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {name: fill(inner, ids) for name, inner in value.items()}
    return [fill(inner, ids) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("request_line", "body", "status", "fields"), RESPONSES, ids=[f"{row[0]} {row[1]}" for row in RESPONSES]
)
async def test_response_has_its_fields(service, client, desk, tmp_path, request_line, body, status, fields):
    ids = await prepare(service, client, tmp_path)
    if "conflicts" in request_line:
        scheduled = await call(client, "POST /schedule/next", {"draftId": ids["other"]})
        ids["scheduledAt"] = scheduled["scheduledAt"]
    method, _, path = fill(request_line, ids).partition(" ")
    response = await client.request(method, path, json=fill(body, ids))
    await finish_background_work(service)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    value = response.json()
    assert fields(value) if callable(fields) else problems(value, fields) == [], value
    path = re.sub(r"\{\w+\}", "{id}", request_line.partition(" ")[2].partition("?")[0])
    validate_response(method, path, status, value)


async def test_changed_draft_has_no_item(client):
    path = f"/drafts/{await create_draft(client)}"
    assert "item" in await call(client, f"GET {path}")
    assert "item" not in await call(client, f"PATCH {path}", {"action": "approve"})


# Parts 4 and 8: limits, with both neighbours


def patch_experiments(**changes):
    return {"name": "A", "parameter": "hashtags", "variants": VARIANTS[:2], **changes}


def numbered(count):
    return [f"t{number}" for number in range(count)]


BODY_LIMITS = [
    ("POST /drafts", "text", 1, 50_000, lambda n: {"text": "a" * n}),
    ("POST /drafts", "prompt", 1, 5_000, lambda n: {"prompt": "a" * n}),
    ("POST /drafts", "formats", 1, 3, lambda n: {"prompt": "a", "formats": [*FORMATS, "SHORT"][:n]}),
    ("POST /drafts", "images", 0, 10, lambda n: {"text": "a", "images": [IMAGE] * n}),
    ("POST /drafts", "tags", 0, 20, lambda n: {"text": "a", "tags": numbered(n)}),
    ("POST /drafts", "tags[0]", 1, 50, lambda n: {"text": "a", "tags": ["a" * n]}),
    ("PATCH /drafts/{draft}", "text", 1, 50_000, lambda n: {"text": "a" * n}),
    ("POST /drafts/bulk", "ids", 1, 100, lambda n: {"action": "archive", "ids": numbered(n)}),
    ("POST /experiments", "name", 1, 100, lambda n: patch_experiments(name="a" * n)),
    ("POST /experiments", "variants", 2, 5, lambda n: patch_experiments(variants=VARIANTS[:n])),
    ("POST /sources", "name", 1, 200, lambda n: {**SOURCE, "url": URL_TWO, "name": "a" * n}),
    ("PATCH /sources/{source}", "name", 1, 200, lambda n: {"name": "a" * n}),
    ("PUT /schedule/slots", "slots[0].dayOfWeek", 0, 6, lambda n: [{**SLOT, "dayOfWeek": n}]),
    ("PUT /schedule/slots", "slots[0].hour", 0, 23, lambda n: [{**SLOT, "hour": n}]),
    ("PUT /schedule/slots", "slots[0].minute", 0, 59, lambda n: [{**SLOT, "minute": n}]),
    *(
        ("POST /engagement", name, 0, None, lambda n, name=name: {"draftId": "{draft}", "platform": "x", name: n})
        for name in ("likes", "replies", "reposts", "impressions", "clicks")
    ),
    ("POST /engagement", "draftId", 1, None, lambda n: {"draftId": "{draft}"[: n * 100], "platform": "x"}),
    ("POST /engagement", "platform", 1, None, lambda n: {"draftId": "{draft}", "platform": "x" * n}),
    ("GET /drafts?limit={n}", "limit", 1, 100, None),
    ("GET /pipeline/runs?limit={n}", "limit", 1, 100, None),
    ("GET /engagement?top={n}", "top", 1, 50, None),
]


@pytest.mark.parametrize(
    ("request_line", "field", "low", "high", "body"), BODY_LIMITS, ids=[f"{row[0]} {row[1]}" for row in BODY_LIMITS]
)
async def test_limit_with_its_neighbours(service, client, request_line, field, low, high, body):
    ids = {"draft": await create_draft(client), "source": (await call(client, "POST /sources", SOURCE))["id"]}
    cases = {low: True, low - 1: False, **({high: True, high + 1: False} if high is not None else {})}
    for size, accepted in cases.items():
        if size < 0 and body is not None and isinstance(body(0), dict) and not isinstance(body(0).get(field), int):
            continue  # nothing has a negative length
        method, _, path = fill(request_line, ids | {"n": str(size)}).partition(" ")
        response = await client.request(method, path, json=fill(body(size), ids) if body else None)
        if accepted and field == "name" and path == "/sources":
            await call(client, f"DELETE /sources/{response.json()['id']}")
        if accepted and path == "/experiments":
            # Only one at a time may vary a parameter.
            await call(client, f"PATCH /experiments/{response.json()['id']}", {"action": "conclude", "reason": "Done."})
        assert response.is_success is accepted, (size, response.text)
        if not accepted:
            assert response.status_code == 422
            assert [error["field"] for error in response.json()["errors"]] == [field], (size, response.text)
    await finish_background_work(service)


async def test_body_is_at_most_one_mebibyte(client):
    for size, status in ((2**20, 201), (2**20 + 1, 413)):
        body = b'{"text": "a"' + b" " * (size - 13) + b"}"
        assert len(body) == size
        response = await client.post("/drafts", content=body, headers={"Content-Type": "application/json"})
        assert response.status_code == status


@pytest.mark.parametrize(("minutes", "found"), [(-30.001, False), (-30, True), (0, True), (30, True), (30.001, False)])
async def test_conflicts_are_within_half_an_hour(client, minutes, found):
    path = f"/drafts/{await create_draft(client)}"
    await call(client, f"PATCH {path}", {"action": "approve"})
    await call(client, f"PATCH {path}", {"action": "schedule", "scheduledAt": format_iso(LATER)})
    at = format_iso(LATER + timedelta(minutes=minutes))
    conflicts = await call(client, f"GET /schedule/conflicts?scheduledAt={at}")
    assert (conflicts["hasConflict"], conflicts["count"]) == (found, int(found))
    excluded = await call(client, f"GET /schedule/conflicts?scheduledAt={at}&excludeDraftId={path[8:]}")
    assert excluded == {"hasConflict": False, "count": 0, "conflicts": []}


# Part 3: every action and the edit in every status


async def insert_in_all_states(desk, tmp_path, statuses):
    ids = await insert_drafts(desk, statuses)
    condition = f"status IN ({', '.join(repr(status) for status in sorted(TIMED_STATES))})"
    execute_sql(tmp_path, f"UPDATE draft SET scheduled_at = ? WHERE {condition}", round(LATER.timestamp() * 1e6))
    return ids


def expected_status(status, action):
    if action == "edit":
        return STATUS_AFTER_EDIT.get(status)
    if status not in ALLOWED_FROM[action]:
        return None
    return {"archive": status, "post": POSTED}.get(action) or STATUS_AFTER_ACTION[action]


def request_body(action):
    if action == "edit":
        return {"text": "Other words."}
    return {"action": action, **({"scheduledAt": format_iso(LATER)} if action in {"schedule", "reschedule"} else {})}


async def test_actions_and_edits_in_every_status(service, client, desk, tmp_path):
    cases = list(product(STATES, (*ACTIONS, "edit"), (False, True)))
    ids = await insert_in_all_states(desk, tmp_path, [status for status, *_ in cases])
    for draft_id, (status, action, archived) in zip(ids, cases, strict=True):
        if archived:
            execute_sql(tmp_path, "UPDATE draft SET archived_at = 1 WHERE id = ?", draft_id)
        response = await client.patch(f"/drafts/{draft_id}", json=request_body(action))
        body = response.json()
        expected = None if archived else expected_status(status, action)
        if expected is None:
            assert (response.status_code, body["currentStatus"]) == (409, status), (status, action, body)
            allowed = [] if archived else [name for name in ACTIONS if status in ALLOWED_FROM[name]]
            assert body["allowedActions"] == allowed, (status, action)
        else:
            assert response.status_code == 200, (status, action, body)
            draft = body["draft"] if action == "post" else body
            assert draft["status"] == expected, (status, action)
            assert (draft["archivedAt"] is not None) == (action == "archive")
    await finish_background_work(service)


@pytest.mark.parametrize("action", BULK_ACTIONS)
async def test_bulk_action_in_every_status(client, desk, tmp_path, action):
    ids = await insert_in_all_states(desk, tmp_path, STATES)
    outcome = await call(client, "POST /drafts/bulk", {**request_body(action), "ids": ids})
    done = [draft_id for draft_id, status in zip(ids, STATES, strict=True) if status in ALLOWED_FROM[action]]
    assert outcome["results"]["succeeded"] == done
    assert [failure["id"] for failure in outcome["results"]["failed"]] == [each for each in ids if each not in done]
    assert (outcome["action"], outcome["total"]) == (action, len(ids))
    assert (outcome["succeeded"], outcome["failed"]) == (len(done), len(ids) - len(done))


@pytest.mark.parametrize("action", sorted(set(ACTIONS) - set(BULK_ACTIONS)))
async def test_other_actions_are_not_for_bulk(client, action):
    response = await client.post("/drafts/bulk", json={"action": action, "ids": ["a"]})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "action")


async def test_unapprove_with_feedback_requests_changes(client):
    path = f"/drafts/{await create_draft(client)}"
    await call(client, f"PATCH {path}", {"action": "approve"})
    draft = await call(client, f"PATCH {path}", {"action": "unapprove", "feedback": "Shorter."})
    assert (draft["status"], draft["feedback"]) == (CHANGES, "Shorter.")


async def test_feedback_of_a_rejection(client):
    path = f"/drafts/{await create_draft(client)}"
    draft = await call(client, f"PATCH {path}", {"action": "reject", "feedback": "Dull."})
    assert (draft["status"], draft["rejectionFeedback"]) == ("rejected", "Dull.")


async def test_edit_and_action_together(client):
    path = f"/drafts/{await create_draft(client)}"
    draft = await call(client, f"PATCH {path}", {"text": "Edited.", "action": "approve"})
    assert (draft["status"], draft["text"]) == (APPROVED, "Edited.")
    refused = await client.patch(path, json={"text": "Again.", "action": "approve"})
    assert refused.status_code == 409
    assert (await call(client, f"GET {path}"))["text"] == "Edited."


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "action"),
        ({"action": "reschedule"}, "scheduledAt"),
        ({"action": "schedule", "scheduledAt": format_iso(NOW)}, "scheduledAt"),
        ({"action": "schedule", "scheduledAt": "2026-12-24T18:00:00"}, "scheduledAt"),
        ({"action": "fly"}, "action"),
        ({"action": "approve", "platforms": ["fake"]}, "platforms"),
        ({"action": "post", "platforms": []}, "platforms"),
    ],
)
async def test_invalid_change_is_refused(client, body, field):
    path = f"/drafts/{await create_draft(client)}"
    response = await client.patch(path, json=body)
    assert response.status_code == 422
    assert field in [error["field"] for error in response.json()["errors"]]


NULLABLE = [
    ("POST /drafts", {"text": "A."}, ("format", "url", "prompt", "formats", "images", "tags", "targetPlatforms")),
    ("POST /drafts", {"text": "A.", "images": [{**IMAGE, "alt": None, "position": None}]}, ()),
    ("PATCH /drafts/{draft}", {"text": "A."}, ("action", "feedback", "scheduledAt", "smartSchedule", "platforms")),
    ("POST /drafts/bulk", {"action": "archive", "ids": ["{draft}"]}, ("feedback", "scheduledAt", "smartSchedule")),
    ("POST /pipeline", {}, ("sourceIds", "formats", "maxDrafts")),
    ("POST /schedule/auto", {}, ("draftIds",)),
    ("PUT /voice", {}, ("style", "avoid", "examples", "formats", "hashtagList")),
    ("POST /engagement", {"draftId": "{draft}", "platform": "x"}, ("postId", "status", "errorMessage", "likes")),
    ("POST /sources", SOURCE, ("config",)),
]


@pytest.mark.parametrize(("request_line", "body", "names"), NULLABLE)
async def test_null_is_the_same_as_not_given(service, client, request_line, body, names):
    with_nulls = {**body, **dict.fromkeys(names)}
    responses = []
    for fields in (with_nulls, without_nulls(with_nulls)):
        ids = {"draft": await create_draft(client)}
        await call(
            client, "PUT /voice", {"style": "Dry.", "avoid": ["synergy"], "examples": ["A."], "hashtagList": ["web"]}
        )
        response = await call(client, fill(request_line, ids), fill(fields, ids))
        await finish_background_work(service)
        if "sources" in request_line:
            # An address can be added once.
            assert (await client.delete(f"/sources/{response['id']}")).is_success
        responses.append(without_ids(response))
    assert responses[0] == responses[1]


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(field) for name, field in value.items() if field is not None}
    return [without_nulls(entry) for entry in value] if isinstance(value, list) else value


def without_ids(value):
    """Return a response without what differs between two calls: ids and times."""
    if isinstance(value, dict):
        return {
            name: without_ids(field)
            for name, field in value.items()
            if not name.endswith(("id", "Id"))
            and name not in {"createdAt", "updatedAt", "scoredAt", "published", "succeeded"}
        }
    return [without_ids(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize("request_line", ["POST /drafts", "PATCH /drafts/{draft}", "PUT /voice", "POST /sources"])
async def test_unknown_fields_are_ignored(client, request_line):
    ids = {"draft": await create_draft(client)}
    body = {
        **(SOURCE if "sources" in request_line else {} if "voice" in request_line else {"text": "A."}),
        "mood": "dry",
    }
    assert "mood" not in await call(client, fill(request_line, ids), body)


# Scheduling


async def test_next_slot(client):
    await call(client, "PUT /schedule/slots", [SLOT])
    ids = [await create_draft(client, f"Number {number}.") for number in range(3)]
    for draft_id in ids:
        await call(client, f"PATCH /drafts/{draft_id}", {"action": "approve"})
    first = await call(client, "POST /schedule/next", {"draftId": ids[0]})
    second = await call(client, f"PATCH /drafts/{ids[1]}", {"action": "schedule"})
    third = await call(client, f"PATCH /drafts/{ids[2]}", {"action": "schedule", "smartSchedule": True})
    times = [datetime.fromisoformat(draft["scheduledAt"]) for draft in (first, second, third)]
    assert all(time.isoweekday() == 1 for time in times)
    assert (times[1] - times[0], times[2] - times[1]) == (timedelta(days=7), timedelta(days=7))


async def test_schedule_without_slots_is_a_conflict(client):
    draft_id = await create_draft(client)
    await call(client, f"PATCH /drafts/{draft_id}", {"action": "approve"})
    response = await client.post("/schedule/next", json={"draftId": draft_id})
    assert (response.status_code, response.json()["detail"]) == (409, "No weekly slots.")


async def test_slots_are_replaced(client):
    await call(client, "PUT /schedule/slots", [SLOT])
    other = {**SLOT, "hour": 17}
    assert await call(client, "PUT /schedule/slots", [other]) == [other]
    assert await call(client, "GET /schedule/slots") == [other]
    assert await call(client, "PUT /schedule/slots", []) == []


@pytest.mark.parametrize("missing", SLOT)
async def test_slot_needs_all_fields(client, missing):
    response = await client.put("/schedule/slots", json=[{name: SLOT[name] for name in SLOT if name != missing}])
    assert response.json()["errors"] == [{"field": f"slots[0].{missing}", "message": "is missing"}]


async def test_automatic_schedule(client, desk):
    await desk.schedule.set_slots(HOURLY_SLOTS[:2])
    approved, rejected = await create_draft(client), await create_draft(client, "Other words.")
    await call(client, f"PATCH /drafts/{approved}", {"action": "approve"})
    result = await call(client, "POST /schedule/auto", {"draftIds": [approved, rejected]})
    assert [entry["draftId"] for entry in result["scheduled"]] == [approved]
    assert (result["skipped"], bool(result["reason"])) == (1, True)
    nothing = {"scheduled": [], "skipped": 0, "reason": "", "bulkId": None, "withoutAccount": 0, "lackingApprovals": 0}
    assert await call(client, "POST /schedule/auto") == nothing


# Defaults and facts of part 4


async def test_direct_mode(client):
    created = await call(client, "POST /drafts", {"text": " As typed. \n", "images": [IMAGE, {**IMAGE, "position": 7}]})
    (draft,) = created["drafts"]
    assert (created["mode"], draft["format"], draft["status"]) == ("direct", "SHORT", "awaiting_review")
    assert draft["text"] == " As typed. \n"
    assert [(image["position"], image["alt"]) for image in draft["images"]] == [(0, None), (7, None)]
    assert (await call(client, f"GET /drafts/{draft['id']}"))["itemId"] == created["itemId"]


async def test_generate_mode(service, client):
    created = await call(
        client, "POST /drafts", {"prompt": "Ferries", "formats": ["SHORT", "THREAD"], "images": [IMAGE]}
    )
    assert (created["mode"], [draft["format"] for draft in created["drafts"]]) == ("generate", ["SHORT", "THREAD"])
    assert [len(draft["images"]) for draft in created["drafts"]] == [1, 0]
    assert {draft["status"] for draft in created["drafts"]} == {"pending_generation"}
    await finish_background_work(service)
    statuses = {draft["status"] for draft in (await call(client, "GET /drafts"))["drafts"]}
    assert statuses <= {"pending_review", "generation_failed"}


async def test_generate_mode_writes_a_short_draft_by_default(service, client):
    created = await call(client, "POST /drafts", {"prompt": "Ferries"})
    assert [draft["format"] for draft in created["drafts"]] == ["SHORT"]
    await finish_background_work(service)


@pytest.mark.parametrize("other", [{"url": "https://one.example/"}, {"prompt": "Ferries"}])
async def test_text_excludes_url_and_prompt(client, other):
    response = await client.post("/drafts", json={"text": "A", **other})
    assert [error["field"] for error in response.json()["errors"]] == list(other)


@pytest.mark.parametrize(("path", "size", "key"), [("/drafts", 25, "drafts"), ("/pipeline/runs", 10, "runs")])
async def test_pages_have_their_default_size_and_visit_everything(service, client, desk, path, size, key):
    count = size + 3
    if key == "drafts":
        await insert_drafts(desk, [APPROVED] * count)
    for _ in range(count if key == "runs" else 0):
        await desk.pipeline.queue()
    first = await call(client, f"GET {path}")
    assert len(first[key]) == size
    second = await call(client, f"GET {path}?cursor={first['nextCursor']}")
    assert second["nextCursor"] is None
    ids = [row["id"] for row in first[key] + second[key]]
    assert len(set(ids)) == count
    assert ids == sorted(ids, reverse=True)


FILTERS = [
    ("status=approved", {"approved"}),
    ("status=posted", set()),
    ("format=THREAD", {"thread"}),
    ("sourceType=manual", {"approved", "thread", "tagged", "archived"}),
    ("sourceId=unknown", set()),
    ("tags=sea", {"tagged"}),
    ("tags=sea,land", set()),
    ("archived=only", {"archived"}),
    ("archived=exclude", {"approved", "thread", "tagged"}),
    ("", {"approved", "thread", "tagged", "archived"}),
    (f"scheduledAfter={format_iso(LATER)}", set()),
    (f"scheduledBefore={format_iso(LATER)}", set()),
    ("status=approved&format=THREAD", set()),
]


@pytest.mark.parametrize(("query", "names"), FILTERS)
async def test_filters(client, query, names):
    ids = {
        "approved": await create_draft(client, "One."),
        "thread": await create_draft(client, "Two.", format="THREAD"),
        "tagged": await create_draft(client, "Three.", tags=["sea"]),
        "archived": await create_draft(client, "Four."),
    }
    await call(client, f"PATCH /drafts/{ids['approved']}", {"action": "approve"})
    await call(client, f"PATCH /drafts/{ids['archived']}", {"action": "archive"})
    listed = await call(client, f"GET /drafts?{query}")
    assert {draft["id"] for draft in listed["drafts"]} == {ids[name] for name in names}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=open", "status"),
        ("format=LONG", "format"),
        ("limit=ten", "limit"),
        ("archived=yes", "archived"),
        ("scheduledAfter=soon", "scheduledAfter"),
        ("limit=1&limit=2", "limit"),
    ],
)
async def test_invalid_parameter_is_refused(client, query, field):
    response = await client.get(f"/drafts?{query}")
    assert (response.status_code, [error["field"] for error in response.json()["errors"]]) == (422, [field])


async def test_top_posts_default_to_ten(client):
    for number in range(11):
        draft_id = await create_draft(client, f"Number {number}.")
        await call(client, "POST /engagement", {"draftId": draft_id, "platform": "x", "likes": number})
    assert len((await call(client, "GET /engagement"))["topPosts"]) == 10
    assert len((await call(client, "GET /engagement?top=11"))["topPosts"]) == 11


async def test_metrics_of_a_draft_on_a_platform_are_updated(client):
    draft_id = await create_draft(client)
    first = await call(client, "POST /engagement", {"draftId": draft_id, "platform": "x", "likes": 2, "impressions": 8})
    second = await call(client, "POST /engagement", {"draftId": draft_id, "platform": "x", "likes": 4})
    assert (first["engagementRate"], second["engagementRate"]) == (0.25, 0.5)
    assert (second["id"], second["impressions"]) == (first["id"], 8)


async def test_run_is_queued_and_found_in_the_list(service, client):
    await call(client, "POST /sources", SOURCE)
    queued = await call(client, "POST /pipeline", {"formats": ["SHORT"], "maxDrafts": 1})
    await finish_background_work(service)
    (run,) = (await call(client, "GET /pipeline/runs"))["runs"]
    assert (run["id"], run["status"], run["stage"]) == (queued["id"], "succeeded", None)
    assert (run["stats"]["itemsIngested"], run["stats"]["draftsCreated"]) == (2, 1)
    assert (await call(client, "GET /pipeline/stats"))["totalRuns"] == 1


async def test_voice_is_created_and_updated(client):
    assert (await call(client, "GET /voice"))["style"] == ""
    await call(client, "PUT /voice", {"style": "Dry.", "avoid": ["synergy"], "formats": {"SHORT": {"hashtags": 0}}})
    voice = await call(client, "PUT /voice", {"examples": ["One."]})
    assert (voice["style"], voice["avoid"], voice["examples"]) == ("Dry.", ["synergy"], ["One."])
    assert voice["formats"] == {"SHORT": {"hashtags": 0}}


async def test_experiments_by_status(client):
    created = await call(client, "POST /experiments", patch_experiments())
    assert created["status"] == "active"
    path = f"/experiments/{created['id']}"
    concluded = await call(client, f"PATCH {path}", {"action": "conclude", "winner": "b", "reason": "Enough seen."})
    assert (concluded["status"], concluded["endedAt"]) == ("concluded", format_iso(NOW))
    assert await call(client, "GET /experiments?status=active") == []
    assert [each["id"] for each in await call(client, "GET /experiments?status=concluded")] == [created["id"]]
    assert (await client.patch(path, json={"action": "conclude"})).status_code == 409
    assert (await call(client, f"PATCH {path}", {"action": "archive"}))["status"] == "archived"


@pytest.mark.parametrize("missing", ["name", "parameter", "variants"])
async def test_experiment_needs_its_fields(client, missing):
    fields = {name: value for name, value in patch_experiments().items() if name != missing}
    response = await client.post("/experiments", json=fields)
    assert response.json()["errors"] == [{"field": missing, "message": "is missing"}]


@pytest.mark.parametrize("missing", ["name", "type", "url"])
async def test_source_needs_its_fields(client, missing):
    response = await client.post("/sources", json={name: SOURCE[name] for name in SOURCE if name != missing})
    assert response.json()["errors"] == [{"field": missing, "message": "is missing"}]


async def test_source_is_fetched_before_it_is_created(client):
    response = await client.post("/sources", json={**SOURCE, "url": "https://one.example/nothing"})
    assert (response.status_code, response.json()["type"]) == (422, "/problems/fetch")
    assert await call(client, "GET /sources") == []
    created = await client.post("/sources", json=SOURCE)
    assert (created.json()["enabled"], created.json()["health"]) == (True, "unknown")
    assert created.headers["location"] == f"/sources/{created.json()['id']}"


async def test_source_keeps_what_is_not_given(client):
    source = await call(client, "POST /sources", {**SOURCE, "config": {"weight": 2}})
    changed = await call(client, f"PATCH /sources/{source['id']}", {"name": "Renamed"})
    assert (changed["name"], changed["url"], changed["config"]) == ("Renamed", source["url"], {"weight": 2.0})


async def test_failed_test_fetch_is_a_result(client, web):
    source = await call(client, "POST /sources", SOURCE)
    web.disconnect(URL_ONE)
    result = await call(client, f"POST /sources/{source['id']}/test")
    assert (result["ok"], bool(result["error"])) == (False, True)


async def test_deleting_a_source_deletes_its_drafts(service, client):
    source = await call(client, "POST /sources", SOURCE)
    await call(client, "POST /pipeline")
    await finish_background_work(service)
    kept = await create_draft(client)
    listed = partial(call, client, "GET /drafts")
    assert len((await listed())["drafts"]) > 1
    assert await call(client, f"DELETE /sources/{source['id']}") == {"ok": True}
    assert [draft["id"] for draft in (await listed())["drafts"]] == [kept]


async def test_post_goes_to_all_accounts_by_default(client, desk):
    await connect_account(desk, "you")
    draft_id = await create_draft(client)
    await call(client, f"PATCH /drafts/{draft_id}", {"action": "approve"})
    one = await call(client, f"PATCH /drafts/{draft_id}", {"action": "post", "platforms": ["fake:me"]})
    assert (one["posted"], one["failed"], one["draft"]["status"]) == (["fake:me"], [], "posted")
    rest = await call(client, f"PATCH /drafts/{draft_id}", {"action": "post"})
    assert (rest["posted"], rest["failed"]) == (["fake:you"], [])
