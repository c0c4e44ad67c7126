"""Tests for what users are told while the server is stopped, and that all goes on once it is started again."""

import asyncio
from pathlib import Path

from cli_runner import run_command
from copydesk.model.draft import Status
from http_service import run_service
from postgresql_server import PostgresqlServer, stopped
from review_driver import open_review


async def test_service_says_that_the_database_cannot_be_used(tmp_path: Path, server: PostgresqlServer) -> None:
    async with run_service(tmp_path) as service:
        client = await service.client()
        assert (await client.post("/drafts", json={"text": "The ferry sails."})).status_code == 201
        async with stopped(server):
            responses = [
                await client.get("/drafts"),
                await client.post("/drafts", json={"text": "The ferry stays."}),
                await client.get("/readyz"),
            ]
        assert [response.status_code for response in responses] == [503, 503, 503]
        assert {response.json()["type"] for response in responses} == {"/problems/store"}
        assert [response.headers["Retry-After"] for response in responses] == ["5", "5", "5"]
        drafts = (await client.get("/drafts")).json()["drafts"]
        assert [draft["text"] for draft in drafts] == ["The ferry sails."]
        assert (await client.get("/readyz")).status_code == 200


async def test_command_says_that_the_server_cannot_be_reached(tmp_path: Path, server: PostgresqlServer) -> None:
    assert (await asyncio.to_thread(run_command, tmp_path, "draft", "new", "The ferry sails.")).code == 0
    async with stopped(server):
        result = await asyncio.to_thread(run_command, tmp_path, "draft", "new", "The ferry stays.")
        doctor = await asyncio.to_thread(run_command, tmp_path, "doctor")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("Error: Cannot reach postgresql://"), result.err
    assert "Check that PostgreSQL runs" in result.err
    assert doctor.code != 0
    assert "Cannot reach postgresql://" in doctor.out + doctor.err


async def test_console_goes_on_after_the_server_was_stopped(tmp_path: Path, server: PostgresqlServer) -> None:
    async with open_review(tmp_path) as review:
        draft = review.current
        async with stopped(server):
            await review.press("a")
            assert "Cannot reach postgresql://" in review.toasts[-1]
        assert await review.get_status(draft.id) is draft.status
        following = review.current
        await review.press("a")
        assert await review.get_status(following.id) is Status.APPROVED
