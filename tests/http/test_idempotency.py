"""The header Idempotency-Key: which requests are carried out once, and what a repeated one gets."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from copydesk.desk.idempotency import is_key
from copydesk.http.errors import RefusedError
from copydesk.http.idempotency import read_key
from copydesk.http.rate_limit import Quota, RateLimiter
from copydesk.model.token import Scope
from desk_fixtures import query_db
from image_samples import drawing

KEY = {"Idempotency-Key": "0f3c9a52"}
PROBLEM = "application/problem+json"
BODY = {"text": "The harbour is open."}


def draft_count(home) -> object:
    ((count,),) = query_db(home, "SELECT count(*) FROM draft")
    return count


async def test_repeated_request_gets_the_first_response(service, tmp_path):
    client = await service.client()
    first = await client.post("/drafts", json=BODY, headers=KEY)
    again = await client.post("/drafts", json=BODY, headers=KEY)

    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    assert ("idempotent-replayed" in first.headers, again.headers["idempotent-replayed"]) == (False, "true")
    assert again.headers["content-type"] == first.headers["content-type"] == "application/json"
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert draft_count(tmp_path) == 1


async def test_paths_with_and_without_version_are_one_resource(service, tmp_path):
    client = await service.client()
    first = await client.post("/drafts", json=BODY, headers=KEY)
    again = await client.post("/v1/drafts", json=BODY, headers=KEY)
    assert (again.status_code, again.content, draft_count(tmp_path)) == (201, first.content, 1)


async def test_requests_without_key_are_separate(service, tmp_path):
    client = await service.client()
    for _ in range(2):
        await client.post("/drafts", json=BODY)
    assert draft_count(tmp_path) == 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/drafts", {"text": "Another"}),
        ("POST", "/drafts?x=1", BODY),
        ("POST", "/drafts/bulk", BODY),
        ("PUT", "/voice", BODY),
    ],
)
async def test_key_of_another_request_is_refused(service, tmp_path, method, path, body):
    client = await service.client()
    await client.post("/drafts", json=BODY, headers=KEY)
    response = await client.request(method, path, json=body, headers=KEY)
    assert (response.status_code, response.headers["content-type"]) == (422, PROBLEM)
    assert response.json()["type"] == "/problems/idempotency-key-reused"
    assert draft_count(tmp_path) == 1


async def test_users_have_keys_of_their_own(service, tmp_path):
    anna, ben = await service.client(), await service.client(user="ben")
    first = await anna.post("/drafts", json=BODY, headers=KEY)
    other = await ben.post("/drafts", json=BODY, headers=KEY)
    assert first.json()["drafts"][0]["id"] != other.json()["drafts"][0]["id"]
    assert draft_count(tmp_path) == 2


async def test_simultaneous_replays_create_one_draft(service, tmp_path, monkeypatch):
    monkeypatch.setattr(RateLimiter, "take", lambda *_: Quota(allowed=True, remaining=1, reset=0))
    client = await service.client()
    responses = await asyncio.gather(*(client.post("/drafts", json=BODY, headers=KEY) for _ in range(1000)))
    assert {(response.status_code, response.content) for response in responses} == {(201, responses[0].content)}
    assert draft_count(tmp_path) == 1


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256, '"open', '"a"; b', '"' + "x" * 256 + '"', '""'])
async def test_malformed_key_is_refused(service, tmp_path, key):
    client = await service.client()
    response = await client.post("/drafts", json=BODY, headers={"Idempotency-Key": key.encode("latin-1")})
    assert (response.status_code, response.headers["content-type"]) == (400, PROBLEM)
    assert draft_count(tmp_path) == 0


async def test_two_keys_are_refused(service, tmp_path):
    client = await service.client()
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    assert (await client.post("/drafts", json=BODY, headers=headers)).status_code == 400
    assert draft_count(tmp_path) == 0


async def test_quotes_do_not_belong_to_the_key(service, tmp_path):
    client = await service.client()
    for key in ("!~" + "x" * 253, '"!~' + "x" * 253 + '"'):
        assert (await client.post("/drafts", json=BODY, headers={"Idempotency-Key": key})).status_code == 201
    assert draft_count(tmp_path) == 1


async def test_refusal_is_repeated_although_the_state_has_changed(service):
    client = await service.client()
    draft_id = (await client.post("/drafts", json=BODY)).json()["drafts"][0]["id"]
    first = await client.patch(f"/drafts/{draft_id}", json={"action": "unapprove"}, headers=KEY)
    await client.patch(f"/drafts/{draft_id}", json={"action": "approve"})
    again = await client.patch(f"/drafts/{draft_id}", json={"action": "unapprove"}, headers=KEY)
    assert (first.status_code, again.status_code, again.content) == (409, 409, first.content)
    assert again.headers["content-type"] == PROBLEM


async def test_version_belongs_to_the_repeated_response(service):
    client = await service.client()
    draft_id = (await client.post("/drafts", json=BODY)).json()["drafts"][0]["id"]
    first = await client.patch(f"/drafts/{draft_id}", json={"action": "approve"}, headers=KEY)
    await client.patch(f"/drafts/{draft_id}", json={"action": "unapprove"})
    again = await client.patch(f"/drafts/{draft_id}", json={"action": "approve"}, headers=KEY)
    assert (again.status_code, again.headers["etag"], again.content) == (200, first.headers["etag"], first.content)
    assert (await client.get(f"/drafts/{draft_id}")).json()["status"] == "awaiting_review"


@pytest.mark.parametrize(("content", "status"), [(b"{", 400), (b'{"text": "' + b"a" * 2**20 + b'"}', 413)])
async def test_unreadable_request_leaves_the_key_free(service, content, status):
    client = await service.client()
    assert (await client.post("/drafts", content=content, headers=KEY)).status_code == status
    assert (await client.post("/drafts", json=BODY, headers=KEY)).status_code == 201


async def test_refused_scope_leaves_the_key_free(service):
    agent, reviewer = await service.client(Scope.DRAFT), await service.client(Scope.REVIEW)
    draft_id = (await agent.post("/drafts", json=BODY)).json()["drafts"][0]["id"]
    statuses = [
        (await client.patch(f"/drafts/{draft_id}", json={"action": "approve"}, headers=KEY)).status_code
        for client in (agent, reviewer)
    ]
    assert statuses == [403, 200]


async def test_stale_version_leaves_the_key_free(service):
    client = await service.client()
    draft_id = (await client.post("/drafts", json=BODY)).json()["drafts"][0]["id"]
    version = (await client.patch(f"/drafts/{draft_id}", json={"text": "The ferry is late."})).headers["etag"]
    statuses = [
        (await client.patch(f"/drafts/{draft_id}", json=BODY, headers=KEY | {"If-Match": tag})).status_code
        for tag in ('"1"', version)
    ]
    assert statuses == [412, 200]


async def test_unexpected_error_leaves_the_key_free(service, monkeypatch):
    client = await service.client()
    desk = await service.desks.get(service.desks.owner)

    async def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(desk.drafts, "create", fail)
        assert (await client.post("/drafts", json=BODY, headers=KEY)).status_code == 500
    assert (await client.post("/drafts", json=BODY, headers=KEY)).status_code == 201


async def test_lost_response_is_told(service, monkeypatch):
    client = await service.client()
    draft_id = (await client.post("/drafts", json=BODY)).json()["drafts"][0]["id"]
    request = {"action": "approve", "ids": [draft_id]}
    desk = await service.desks.get(service.desks.owner)
    bulk = desk.drafts.bulk

    async def fail_afterwards(*args: object) -> None:
        await bulk(*args)
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(desk.drafts, "bulk", fail_afterwards)
        assert (await client.post("/drafts/bulk", json=request, headers=KEY)).status_code == 500
    again = await client.post("/drafts/bulk", json=request, headers=KEY)
    assert (again.status_code, again.json()["type"]) == (409, "/problems/response-lost")


@given(st.text(st.characters(max_codepoint=255), max_size=300))
def test_any_header_is_a_key_or_refused(text):
    scope = {"type": "http", "headers": [(b"idempotency-key", text.encode("latin-1"))]}
    try:
        key = read_key(Request(scope))
    except RefusedError:
        assert not is_key(text) or text.startswith('"')
    else:
        assert key is not None
        assert is_key(key)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255))
def test_quoted_key_is_read_back(key):
    quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert read_key(Request({"type": "http", "headers": [(b"idempotency-key", quoted.encode())]})) == key


async def test_upload_is_compared_by_its_file(service):
    client = await service.client()
    # httpx separates the parts of each by another boundary.
    first, again = [await client.post("/images", files={"file": ("a.png", drawing())}, headers=KEY) for _ in range(2)]
    other = await client.post("/images", files={"file": ("a.png", drawing()[:-1])}, headers=KEY)
    assert (first.status_code, again.content, other.status_code) == (201, first.content, 422)


async def test_background_work_goes_on_after_the_response(service, tmp_path):
    client = await service.client()
    request = {"prompt": "Write about the harbour", "formats": ["SHORT"]}
    for _ in range(2):
        assert (await client.post("/drafts", json=request, headers=KEY)).status_code == 201
    await asyncio.gather(*service.service._tasks)
    (draft,) = (await client.get("/drafts")).json()["drafts"]
    assert draft["status"] == "pending_review"


async def test_token_of_a_lesser_scope_does_not_get_the_response(service):
    client, agent = await service.client(), await service.client(Scope.DRAFT)
    created = await client.post("/drafts", json=BODY)
    path = f"/drafts/{created.json()['drafts'][0]['id']}"
    assert (await client.patch(path, json={"text": "Other words."}, headers=KEY)).status_code == 200

    response = await agent.patch(path, json={"text": "Other words."}, headers=KEY)

    assert (response.status_code, response.json()["type"]) == (422, "/problems/idempotency-key-reused")
