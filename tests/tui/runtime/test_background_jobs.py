"""Tests for the background jobs that run while the console is open."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.posting.fake import FakeServer, Fault
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import load
from copydesk.tui import desk_app
from copydesk.tui.app import Console
from desk_fixtures import Watch, query_db
from posting_fixtures import connect_account, create_approved_draft, fake_platforms, open_posting_desk
from schedule_fixtures import insert_scheduled

NOW = datetime(2026, 2, 11, 9, 30, tzinfo=UTC)


async def test_missed_draft_is_announced_without_fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_app, "JOBS_START_DELAY", 0.0)
    settings = sample_settings(load({}, tmp_path))
    async with open_sample(settings, clock=lambda: NOW) as desk:
        await insert_scheduled(desk, NOW - timedelta(hours=1))
    app = Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW, jobs=True)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        ui = ConsoleDriver(app, pilot)
        async with asyncio.timeout(60):
            while not ui.toasts:
                await wait_until_idle(pilot)
        assert ui.toasts == ["1 draft missed: nothing was sent"]
    assert query_db(tmp_path, "SELECT status FROM draft") == [("missed",)]
    assert query_db(tmp_path, "SELECT count(*) FROM run") == [(0,)]
    assert query_db(tmp_path, "SELECT count(*) FROM job WHERE owner IS NOT NULL") == [(0,)]


async def test_delivery_that_is_given_up_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_app, "JOBS_START_DELAY", 0.0)
    server, watch = FakeServer(), Watch()
    server.faults.append(Fault.LOGIN)
    async with open_posting_desk(tmp_path, fake_platforms(server), clock=watch) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk))
    watch.now += timedelta(minutes=31)
    app = Console(
        lambda: open_posting_desk(tmp_path, fake_platforms(server), clock=watch), clock=lambda: watch.now, jobs=True
    )
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        ui = ConsoleDriver(app, pilot)
        async with asyncio.timeout(60):
            while not ui.toasts:
                await wait_until_idle(pilot)
        (toast,) = ui.toasts
        assert "to fake:me: Given up: Missed: more than 30 minutes late. Nothing was posted." in toast
        assert app.read_log()[-1].text == toast


async def test_drafts_of_automatic_run_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_app, "JOBS_START_DELAY", 0.0)
    settings = sample_settings(load({"COPYDESK_JOBS__PIPELINE": "always"}, tmp_path))
    app = Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW, jobs=True)
    async with app.run_test(size=(120, 40)) as pilot:
        ui = ConsoleDriver(app, pilot)
        async with asyncio.timeout(60):
            while "Queue · 10" not in ui.text:
                await wait_until_idle(pilot)
    assert query_db(tmp_path, "SELECT status FROM run") == [("succeeded",)]


async def test_quitting_at_once_starts_no_job(tmp_path: Path) -> None:
    settings = sample_settings(load({}, tmp_path))
    app = Console(lambda: open_sample(settings, clock=lambda: NOW), clock=lambda: NOW, jobs=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        app.simulate_key("q")
    assert query_db(tmp_path, "SELECT * FROM job") == []
