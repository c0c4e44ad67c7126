"""Every error that the OpenAPI document lists for an operation occurs, as a problem, and nothing changes."""

import msgspec
import pytest

from copydesk.errors import StoreError
from copydesk.http.openapi import error_statuses
from copydesk.http.operations import MAX_BODY
from copydesk.http.rate_limit import LIMIT
from copydesk.http.table import OPERATIONS
from copydesk.model.activity import MAX_COMMENTS
from copydesk.model.token import Scope
from desk_fixtures import URL_ONE, FakeWeb, Watch, entry, execute_sql, feed
from draft_consistency import dump_tables, insert_drafts
from http_service import run_service

PROBLEM = "application/problem+json"
USED_KEY = "used"
UNKNOWN = "019a5b2e-6c1f-7d3a-9b47-3f0c2a91e5d8"
NOT_PROVOKED = {408, 500}
"""A body that does not arrive is in test_bad_input.py, an unexpected error below."""
TITLES = {
    400: {"Bad request", "Invalid cursor"},
    401: {"Unauthorized"},
    403: {"Insufficient scope", "Forbidden"},
    404: {"Not found"},
    409: {"Not allowed in the current state"},
    412: {"The draft changed in the meantime"},
    413: {"Body too large"},
    415: {"Unsupported media type"},
    422: {"Invalid field", "Idempotency key reused"},
    429: {"Rate limit exceeded"},
    503: {"Shutting down"},
}
ACCEPTED = {
    "record_engagement": {"draftId": UNKNOWN, "platform": "x"},
    "start_run": {"sourceIds": [UNKNOWN]},
    "schedule_next": {"draftId": UNKNOWN},
    "create_rule": {"kind": "avoid", "term": "one", "draftId": UNKNOWN},
    "preview_ranking": {"sourceId": UNKNOWN, "sourceConfig": {}},
    "change_draft": {"text": "Other words."},
    "change_experiment": {"action": "archive"},
    "update_source": {"name": "Other"},
}
"""Valid bodies of the operations whose error is about something else."""


@pytest.fixture
async def service(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with run_service(tmp_path, clock=Watch(), transport=web) as running:
        yield running


async def conflicting_request(operation, desk):  # noqa: PLR0911 - one for each kind of conflict
    """Return path and body of a request that the current state refuses."""
    (draft_id,) = await insert_drafts(desk, ["posting"])
    if operation.id == "change_experiment":
        variants = [{"id": name, "label": name, "config": {"hashtags": number}} for number, name in enumerate("ab")]
        created = await desk.experiments.create({"name": "A", "parameter": "hashtags", "variants": variants})
        return operation.path.format(id=created.id), {"action": "archive"}
    if operation.id == "delete_source":
        source = await desk.sources.create({"type": "rss", "url": URL_ONE, "name": "One"})
        await desk.pipeline.run()
        (draft,) = [draft for draft in (await desk.drafts.list()).items if draft.item.source_type == "rss"]
        await desk.drafts.approve(draft.id)
        execute_sql(desk.settings.database_file.parent, "UPDATE draft SET status = 'posting' WHERE id = ?", draft.id)
        return operation.path.format(id=source.id), None
    if operation.id in {"create_rule", "change_rule"}:
        first, second = [await desk.rules.add({"kind": "avoid", "term": term}) for term in ("one", "two")]
        body = {"kind": "avoid", "term": "one"}
        return operation.path.format(id=second.id), body if operation.id == "create_rule" else {"term": first.term}
    if operation.id == "renew_edit":
        return operation.path.format(id=draft_id), {"leaseId": UNKNOWN}
    if operation.id == "add_comment":
        for _ in range(MAX_COMMENTS):
            await desk.drafts.comments.add(draft_id, "Why?")
        return operation.path.format(id=draft_id), {"text": "Why?"}
    if operation.id == "create_webhook":
        await desk.webhooks.create(operation.example)
        return operation.path, operation.example
    return operation.path.format(id=draft_id), {"draftId": draft_id} if operation.id == "schedule_next" else {
        "text": "B"
    }


def malformed_request(operation, status):
    """Return the parameters and options of a request that cannot be read, or has an invalid field."""
    if operation.body is None and operation.upload is None and operation.query is None:
        return "", {"headers": {"Idempotency-Key": "a" * 256 if status == 400 else USED_KEY}}
    media_type = "multipart/form-data; boundary=x" if operation.upload else "application/json"
    if operation.query is not None:
        # A parameter that is given twice.
        name = msgspec.structs.fields(operation.query)[0].encode_name
        return {400: "?cursor=unknown", 422: f"?{name}=1&{name}=2"}[status], {}
    options = {
        400: {"content": b"{", "headers": {"Content-Type": media_type}},
        413: {"content": b" " * (operation.max_body + 1), "headers": {"Content-Type": media_type}},
        415: {"content": b"a", "headers": {"Content-Type": "text/plain"}},
        422: {"files": {"other": b""}} if operation.upload else {"json": 1},
    }
    return "", options[status]


async def exhaust(service, desk, status):
    """Use up the newest token's requests, or let the server stop."""
    if status == 503:
        service.service.stopping.set()
        return
    newest = (await desk.tokens.list())[-1]
    service.service._monotonic = lambda: 0.0
    for _ in range(LIMIT):
        service.service._rate_limiter.take(newest.id, 0.0)


async def provoke(operation, status, service):
    """Return the response to a request that gets the status."""
    scope = Scope.READ if status == 403 else Scope.PUBLISH
    client = service.anonymous_client() if status == 401 else await service.client(scope)
    desk = await service.desks.get(service.desks.owner)
    path, options = operation.path.format(id=UNKNOWN), {}
    if operation.id == "list_webhook_deliveries" and status == 400:
        created = await desk.webhooks.create({"url": "https://hooks.example/copydesk"})
        path = operation.path.format(id=created.id)
    if operation.id == "list_own_posts" and status == 404:
        path += f"?account={UNKNOWN}"
    if operation.body is not None:
        options["json"] = ACCEPTED.get(operation.id, operation.example)
    if operation.upload is not None:
        options["files"] = {operation.upload: b"no image"}
    if status in {400, 413, 415, 422}:
        # The key is then used for another request.
        await client.post("/schedule/auto", headers={"Idempotency-Key": USED_KEY})
        parameters, options = malformed_request(operation, status)
        path += parameters
    elif status == 403 and operation.scope is Scope.READ:
        options["headers"] = {"Origin": "https://evil.example"}
    elif status == 409:
        path, body = await conflicting_request(operation, desk)
        options = {"json": body} if operation.body is not None else {}
    elif status == 412:
        (draft_id,) = await insert_drafts(desk, ["pending_review"])
        path, options["headers"] = operation.path.format(id=draft_id), {"If-Match": '"99"'}
    elif status in {429, 503}:
        await exhaust(service, desk, status)
    return await client.request(operation.method, path, **options)


@pytest.mark.parametrize("operation", OPERATIONS, ids=[f"{each.method} {each.path}" for each in OPERATIONS])
async def test_documented_errors_occur(service, tmp_path, operation):
    # In this order, because the last two stay. Conflicts of idempotency keys are in test_idempotency.py.
    for status in error_statuses(operation):
        if status not in NOT_PROVOKED and (status != 409 or 409 in operation.errors):
            before = dump_resources(tmp_path)
            response = await provoke(operation, status, service)
            check_problem(response, status)
            if status in {401, 403, 404, 413, 415, 422, 429, 503}:  # the others need something to exist
                assert dump_resources(tmp_path) == before


def dump_resources(home):
    # The test itself adds these.
    return dump_tables(home) | {"token": None, "idempotency_key": None}


def check_problem(response, status):
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM), response.text
    problem = response.json()
    assert (problem["status"], problem["title"] in TITLES[status]) == (status, True), problem
    assert problem["type"].startswith("/problems/")
    assert problem["detail"]
    assert "hint" not in problem
    if status == 422:
        assert problem["errors"]
        assert all(error["field"] and error["message"] for error in problem["errors"])
    if status in {429, 503}:
        assert int(response.headers["retry-after"]) > 0
    if status == 401:
        assert response.headers["www-authenticate"].startswith("Bearer ")


async def test_unexpected_error_is_a_problem(service, monkeypatch, caplog):
    async def fail(*_):
        raise ZeroDivisionError

    client = await service.client()
    monkeypatch.setattr(type(service.desks), "get", fail)
    response = await client.get("/drafts")
    assert (response.status_code, response.headers["content-type"]) == (500, PROBLEM)
    assert response.headers["x-request-id"] in response.json()["detail"]
    assert "ZeroDivisionError" not in response.text
    assert "ZeroDivisionError" in caplog.text


def test_body_limit_is_that_of_the_interface():
    assert MAX_BODY == 1_048_576


async def test_files_of_the_machine_are_named_in_the_log_only(service, tmp_path, monkeypatch, caplog):
    async def fail(*_):
        raise StoreError(f"Cannot open or write {tmp_path}.")

    client = service.anonymous_client()
    monkeypatch.setattr(service.desks, "check", fail)
    response = await client.get("/readyz")

    assert (response.status_code, response.json()["type"]) == (503, "/problems/store")
    assert str(tmp_path) not in response.text
    assert str(tmp_path) in caplog.text


async def test_bulk_action_names_no_file(service, tmp_path, caplog):
    client = await service.client()
    desk = await service.desks.get(service.desks.owner)
    ids = await insert_drafts(desk, ["pending_review"] * 2)
    database = desk._context.database
    await database.write(lambda connection: connection.exec_driver_sql("PRAGMA query_only = ON"))
    response = await client.post("/drafts/bulk", json={"action": "approve", "ids": [*ids, UNKNOWN]})
    assert response.status_code == 200
    outcome = response.json()
    assert [failure["id"] for failure in outcome["results"]["failed"]] == [*ids, UNKNOWN]
    assert {failure["error"] for failure in outcome["results"]["failed"]} == {outcome["stoppedBy"]}
    assert "in the server's log" in outcome["stoppedBy"]
    assert str(tmp_path) not in response.text
    assert str(database.path) in caplog.text
