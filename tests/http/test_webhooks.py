"""Webhooks over HTTP: who may create them, what is returned, and that they belong to their user."""

import sqlite3
from contextlib import closing

import pytest

from copydesk.desk.webhooks.service import MAX_WEBHOOKS
from copydesk.model.role import Role
from copydesk.model.token import Scope

URL = "https://hooks.example/copydesk"


async def test_webhook_is_created_listed_and_deleted(service):
    client = await service.client()
    created = await client.post("/webhooks", json={"url": URL, "types": ["draft.created"]})
    assert created.status_code == 201
    webhook = created.json()
    assert webhook["secret"].startswith("whsec_")
    assert created.headers["location"] == f"/webhooks/{webhook['id']}"
    del webhook["secret"]
    assert (await client.get(created.headers["location"])).json() == webhook
    assert (await client.get("/webhooks")).json() == [webhook]

    await client.post("/drafts", json={"text": "A ferry."})
    log = (await client.get(f"/webhooks/{webhook['id']}/deliveries")).json()
    assert [(entry["eventId"], entry["type"], entry["attempts"]) for entry in log["deliveries"]] == [
        (1, "draft.created", 0)
    ]
    assert log["nextCursor"] is None

    assert (await client.delete(f"/webhooks/{webhook['id']}")).json() == {"ok": True}
    assert (await client.get("/webhooks")).json() == []


@pytest.mark.parametrize("scope", [Scope.READ, Scope.DRAFT, Scope.REVIEW])
async def test_scope_that_does_not_reach(service, scope):
    owner, client = await service.client(), await service.client(scope)
    created = (await owner.post("/webhooks", json={"url": URL})).json()
    assert (await client.post("/webhooks", json={"url": URL})).status_code == 403
    assert (await client.delete(f"/webhooks/{created['id']}")).status_code == 403
    assert (await client.get("/webhooks")).status_code == 403


async def test_invalid_webhook(service):
    client = await service.client()
    response = await client.post("/webhooks", json={"url": "http://127.0.0.1/", "types": ["x"]})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["url", "types[0]"]
    assert (await client.get("/webhooks/unknown")).status_code == 404


async def test_too_many_webhooks(service):
    client = await service.client()
    for number in range(MAX_WEBHOOKS):
        assert (await client.post("/webhooks", json={"url": f"{URL}/{number}"})).status_code == 201
    assert (await client.post("/webhooks", json={"url": URL})).status_code == 409


async def test_webhooks_of_another_user_do_not_exist(service):
    owner, anna = await service.client(), await service.client(user="anna")
    webhook_id = (await anna.post("/webhooks", json={"url": URL})).json()["id"]
    unknown_id = webhook_id[:-4] + "0000"
    assert (await owner.get("/webhooks")).json() == []
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/deliveries")):
        theirs = await owner.request(method, f"/webhooks/{webhook_id}{path}")
        nobodys = await owner.request(method, f"/webhooks/{unknown_id}{path}")
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.text.replace(webhook_id, unknown_id) == nobodys.text
    # Another user's URL is no secret to be found out by trying.
    assert (await owner.post("/webhooks", json={"url": URL})).status_code == 201


async def test_secret_is_not_kept_with_an_idempotency_key(service, tmp_path):
    client = await service.client()
    key = {"Idempotency-Key": "k-1"}
    body = {"url": "https://hooks.example/copydesk"}
    created, repeated = [await client.post("/webhooks", json=body, headers=key) for _ in range(2)]
    assert created.json() == repeated.json()
    assert created.headers["Location"] == repeated.headers["Location"]
    assert len((await client.get("/webhooks")).json()) == 1
    secret = created.json()["secret"].removeprefix("whsec_").encode()
    with closing(sqlite3.connect(tmp_path / "copydesk.db")) as connection:
        rows = connection.execute("SELECT response FROM idempotency_key").fetchall()
    assert rows
    assert not any(secret in row[0] for row in rows)
    await client.delete(f"/webhooks/{created.json()['id']}")
    removed = await client.post("/webhooks", json=body, headers=key)
    assert removed.json() == created.json() | {"secret": ""}


async def test_secret_is_not_repeated_for_a_writer(service):
    client, writer = await service.client(), await service.client()
    key, body = {"Idempotency-Key": "k-1"}, {"url": URL}
    assert (await client.post("/webhooks", json=body, headers=key)).status_code == 201
    desk = await service.desks.get(service.desks.owner)
    await desk.reviewers.set_role((await desk.tokens.list())[-1].name, Role.WRITER)
    repeated = await writer.post("/webhooks", json=body, headers=key)
    assert (repeated.status_code, repeated.json()["type"]) == (403, "/problems/insufficient-role")
