"""Routing, authorization, rate limit, versions and the reading of requests."""

import logging
import socket

import httpx
import pytest

from copydesk.desk import open_desks
from copydesk.http.rate_limit import LIMIT, RateLimiter
from copydesk.http.request_reading import without_unknown_fields
from copydesk.http.server import _listen
from copydesk.model.requests import CreateDraft
from copydesk.model.token import Scope
from desk_fixtures import execute_sql, settings_at
from http_service import run_server
from image_samples import drawing

PROBLEM = "application/problem+json"


async def test_paths_are_served_below_v1(service):
    client = await service.client()
    assert (await client.get("/v1/drafts")).json() == (await client.get("/drafts")).json()


async def test_draft_is_created_and_listed(service):
    client = await service.client()
    created = await client.post("/drafts", json={"text": "The harbour is open."})
    assert created.status_code == 201
    (listed,) = (await client.get("/drafts")).json()["drafts"]
    assert listed["id"] == created.json()["drafts"][0]["id"]
    assert listed["item"]["sourceType"] == "manual"


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer cd_unknown", "Basic Y2Q6Y2Q=", "Bearer \u00e9"])
async def test_request_without_valid_token_is_refused(service, header):
    client = service.anonymous_client({"Authorization": header.encode("latin-1")} if header else None)
    response = await client.get("/drafts")
    assert (response.status_code, response.headers["content-type"]) == (401, PROBLEM)
    assert response.headers["www-authenticate"].startswith("Bearer ")


async def test_scope_that_does_not_reach_is_refused(service):
    client = await service.client(Scope.READ)
    response = await client.post("/drafts", json={"text": "No"})
    assert response.status_code == 403
    assert response.json()["detail"] == "This token has the scope read; the request needs draft."


async def test_every_invalid_field_is_named(service):
    client = await service.client()
    response = await client.post("/drafts", json={"text": "", "tags": [1], "format": "LONG"})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["text", "format", "tags[0]"]


async def test_content_without_posts_is_named(service):
    client = await service.client()
    response = await client.post("/voice/examples", json={"content": "short"})
    assert [problem["field"] for problem in response.json()["errors"]] == ["content"]


async def test_unknown_fields_are_ignored(service):
    client = await service.client()
    images = [{"url": "https://example.org/a.png", "source": "OG", "width": 3}]
    response = await client.post("/drafts", json={"text": "Yes", "mood": 1, "images": images})
    assert response.status_code == 201


@pytest.mark.parametrize("take_over", ["false", 1, [], {}])
async def test_takeover_is_true_or_false(service, take_over):
    writer, other = await service.client(), await service.client()
    draft_id = (await writer.post("/drafts", json={"text": "Mine."})).json()["drafts"][0]["id"]
    await writer.post(f"/drafts/{draft_id}/edit")
    response = await other.post(f"/drafts/{draft_id}/edit", json={"takeOver": take_over})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "takeOver")


def test_unknown_fields_are_removed_at_every_depth():
    body = {"text": "a", "x": 1, "images": [{"url": "u", "y": 2}, 3], "tags": "sea"}
    assert without_unknown_fields(body, CreateDraft) == {"text": "a", "images": [{"url": "u"}, 3], "tags": "sea"}


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"text": "\\ud800"}', 400),
        (b"[" * 100_000, 400),
        (b'{"text": "' + b"a" * 2**20 + b'"}', 413),
        (b"[]", 422),
        (b"null", 422),
    ],
)
async def test_unreadable_body_is_refused(service, content, status):
    client = await service.client()
    response = await client.post("/drafts", content=content, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM)


async def test_other_media_type_is_refused(service):
    client = await service.client()
    response = await client.post("/drafts", content=b"text=a", headers={"Content-Type": "text/plain"})
    assert response.status_code == 415


async def test_body_of_curl_is_read(service):
    client = await service.client()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await client.post("/drafts", content=b'{"text": "a"}', headers=headers)).status_code == 201
    assert (await client.post("/drafts", content=b"text=a", headers=headers)).status_code == 400


async def test_cursor_of_another_list_is_refused(service):
    client = await service.client()
    assert (await client.get("/drafts", params={"cursor": "AAAA"})).status_code == 400


async def test_stale_version_is_refused(service):
    client = await service.client()
    draft_id = (await client.post("/drafts", json={"text": "One"})).json()["drafts"][0]["id"]
    tag = (await client.get(f"/drafts/{draft_id}")).headers["etag"]
    assert (
        await client.patch(f"/drafts/{draft_id}", json={"text": "Two"}, headers={"If-Match": tag})
    ).status_code == 200
    stale = await client.patch(f"/drafts/{draft_id}", json={"text": "Three"}, headers={"If-Match": tag})
    assert stale.status_code == 412
    assert (await client.get(f"/drafts/{draft_id}")).json()["text"] == "Two"


async def test_undo_of_a_stale_version_is_refused(service):
    client = await service.client()
    draft_id = (await client.post("/drafts", json={"text": "One"})).json()["drafts"][0]["id"]
    path = f"/drafts/{draft_id}"
    tag = (await client.patch(path, json={"text": "Two"})).headers["etag"]
    await client.patch(path, json={"text": "Three"})
    assert (await client.post(f"{path}/undo", headers={"If-Match": tag})).status_code == 412
    assert (await client.get(path)).json()["text"] == "Three"


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        ('"1"', 200),
        ('"7", "1"', 200),
        ('"other" , "1"', 200),
        ("*", 200),
        ('"7", "8"', 412),
        ('W/"1"', 412),
        ('"1x"', 412),
        ("1", 412),
        ("", 412),
    ],
)
async def test_any_of_several_tags_may_match(service, tags, status):
    client = await service.client()
    draft_id = (await client.post("/drafts", json={"text": "One"})).json()["drafts"][0]["id"]
    assert (await client.get(f"/drafts/{draft_id}")).headers["etag"] == '"1"'
    changed = await client.patch(f"/drafts/{draft_id}", json={"text": "Two"}, headers={"If-Match": tags})
    assert changed.status_code == status


async def test_unknown_path_and_method_are_problems(service):
    client = await service.client()
    missing, wrong = await client.get("/nothing"), await client.delete("/drafts")
    assert (missing.status_code, missing.headers["content-type"]) == (404, PROBLEM)
    assert (wrong.status_code, wrong.headers["content-type"], wrong.headers["allow"]) == (
        405,
        PROBLEM,
        "GET, HEAD, POST",
    )


async def test_request_id_is_returned(service):
    client = await service.client()
    assert (await client.get("/drafts", headers={"X-Request-Id": "abc-1"})).headers["x-request-id"] == "abc-1"
    assert (await client.get("/drafts", headers={"X-Request-Id": "a b"})).headers["x-request-id"] != "a b"


async def test_page_of_another_origin_is_refused(service):
    client = await service.client()
    assert (await client.get("/drafts", headers={"Origin": "https://evil.example"})).status_code == 403


async def test_draft_token_cannot_edit_approved_text(service):
    reviewer, agent = await service.client(), await service.client(Scope.DRAFT)
    draft_id = (await agent.post("/drafts", json={"text": "One"})).json()["drafts"][0]["id"]
    assert (await agent.patch(f"/drafts/{draft_id}", json={"text": "Two"})).status_code == 200
    await reviewer.patch(f"/drafts/{draft_id}", json={"action": "approve"})
    assert (await agent.patch(f"/drafts/{draft_id}", json={"text": "Three"})).status_code == 403


async def test_requests_over_the_limit_are_refused(service):
    client = await service.client()
    service.service._monotonic = lambda: 0.0
    statuses = [(await client.get("/voice")).status_code for _ in range(LIMIT + 1)]
    assert statuses == [200] * LIMIT + [429]


def test_bucket_fills_up_again():
    limiter = RateLimiter()
    for _ in range(LIMIT):
        assert limiter.take("a", 0.0).allowed
    refused = limiter.take("a", 0.0)
    assert (refused.allowed, refused.reset) == (False, 1)
    assert limiter.take("a", 0.1).allowed
    assert limiter.take("b", 0.1).remaining == LIMIT - 1


async def test_uploaded_image_can_be_attached(service):
    client = await service.client(Scope.DRAFT)
    uploaded = await client.post("/images", files={"file": ("a.png", drawing())})
    assert uploaded.status_code == 201
    image = {"url": uploaded.json()["url"], "source": "UPLOAD", "alt": "A square"}
    created = await client.post("/drafts", json={"text": "Look", "images": [image]})
    assert created.json()["drafts"][0]["images"][0]["url"] == image["url"]


@pytest.mark.parametrize(
    ("request_body", "status"),
    [
        ({"files": {"file": ("a.png", b"<svg></svg>")}}, 422),
        ({"files": {"other": ("a.png", b"")}}, 422),
        ({"data": {"file": "text"}, "files": {"x": b""}}, 422),
        ({"content": b"--x\r\nnonsense", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, 422),
        ({"content": b"", "headers": {"Content-Type": "multipart/form-data"}}, 400),
        ({"content": b"{}", "headers": {"Content-Type": "application/json"}}, 415),
    ],
)
async def test_unusable_upload_is_refused(service, request_body, status):
    client = await service.client(Scope.DRAFT)
    response = await client.post("/images", **request_body)
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM)


async def test_reason_why_an_upload_cannot_be_read_ends_with_one_full_stop(service):
    client = await service.client(Scope.DRAFT)
    response = await client.post("/images", content=b"", headers={"Content-Type": "multipart/form-data"})
    assert response.json()["detail"] == "The body is not multipart/form-data: Missing boundary in multipart."


@pytest.mark.parametrize("body", [b"null", b"[]", b"1", b'"a"'])
@pytest.mark.parametrize(
    "path", ["/drafts", "/drafts/bulk", "/pipeline", "/schedule/next", "/schedule/auto", "/sources", "/experiments"]
)
async def test_body_that_is_no_object_is_refused(service, path, body):
    client = await service.client()
    response = await client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert response.json()["errors"] == [{"field": "body", "message": "takes an object with named fields"}]


async def test_draft_token_cannot_confirm_an_approval_by_an_edit(service, tmp_path):
    reviewer, agent = await service.client(), await service.client(Scope.DRAFT)
    path = f"/drafts/{(await agent.post('/drafts', json={'text': 'One'})).json()['drafts'][0]['id']}"
    await reviewer.patch(path, json={"action": "approve"})
    # As when its source changes.
    execute_sql(tmp_path, "UPDATE draft SET status = 'awaiting_review', last_error = 'The source changed.'")
    assert (await agent.patch(path, json={"text": "Two"})).status_code == 403
    assert (await reviewer.patch(path, json={"text": "Two"})).json()["status"] == "approved"


async def test_problems_name_no_commands(service):
    client = await service.client()
    missing = await client.get("/drafts/unknown")
    assert missing.json()["detail"] == "No draft 'unknown'."
    assert "hint" not in missing.json()
    bulk = await client.post("/drafts/bulk", json={"action": "approve", "ids": ["unknown"]})
    assert bulk.json()["results"]["failed"] == [
        {"id": "unknown", "error": "No draft 'unknown'.", "type": "/problems/not-found"}
    ]


@pytest.mark.parametrize(("trusted_proxies", "client"), [((), "127.0.0.1"), (("127.0.0.1",), "203.0.113.7")])
async def test_forwarded_address_counts_from_trusted_proxies_only(tmp_path, caplog, trusted_proxies, client):
    caplog.set_level(logging.INFO, "copydesk.http.access")
    async with (
        open_desks(settings_at(tmp_path)) as desks,
        run_server(desks, trusted_proxies=trusted_proxies) as url,
        httpx.AsyncClient(base_url=url) as stranger,
    ):
        await stranger.get("/healthz", headers={"X-Forwarded-For": "203.0.113.7"})
    assert [record.request["client"] for record in caplog.records] == [client]


@pytest.mark.parametrize("host", ["desk.example", "Desk.Example:443"])
async def test_allowed_host_is_compared_without_case(tmp_path, host):
    async with (
        open_desks(settings_at(tmp_path)) as desks,
        run_server(desks, allowed_hosts=("Desk.Example",)) as url,
        httpx.AsyncClient(base_url=url) as client,
    ):
        assert (await client.get("/healthz", headers={"Host": host})).status_code == 200
        assert (await client.get("/healthz", headers={"Host": "evil.example"})).status_code == 403


def test_listener_names_its_protocol():
    """asyncio sets TCP_NODELAY for its connections only then."""
    with _listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
