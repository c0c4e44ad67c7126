"""Tests that docs/events.md is true: its table names every event with its data, and its example verifies signatures."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from copydesk.desk.webhooks.sender import RETRY_DELAYS
from copydesk.desk.webhooks.service import MAX_WEBHOOKS
from copydesk.desk.webhooks.signature import new_secret, signed_headers
from copydesk.http.metrics import RequestMetrics
from copydesk.model.event import EventType
from copydesk.model.totals import QueueTotals, StandbyTotals, Totals
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import NOW, URL_ONE, FakeWeb, Watch, create_source, entry, execute_sql, feed
from desks_fixtures import open_desks_at
from draft_consistency import insert_drafts
from posting_fixtures import create_approved_draft

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")


def rows(heading):
    """Return the cells of the first table below a heading."""
    section = PAGE.split(f"## {heading}\n")[1]
    table = re.search(r"(^\|.*\n)+", section, re.MULTILINE)[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


async def one_of_each_type(home):
    """Return an event of each type."""
    web, watch = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    options = {"secrets__plain": "true", "secrets__keyring": "false"}
    async with open_desks_at(home, web, watch, {"fake": FakePlatform(FakeServer())}, **options) as desks:
        desk = await desks.get(desks.owner)
        await desk.accounts.connect("fake", {"name": "me"})
        await create_source(desk)
        await desk.pipeline.run()
        execute_sql(home, "UPDATE run SET stage = 'rank'")
        await desk.posting.post(await create_approved_draft(desk))
        for state in ("sending", "unknown", "needs_user"):
            execute_sql(home, "UPDATE delivery SET state = ?", state)
        (scheduled,) = await insert_drafts(desk, ["approved"])
        await desk.drafts.change(scheduled, {"action": "schedule", "scheduledAt": NOW + timedelta(hours=1)})
        watch.now += timedelta(days=2)
        await desk.schedule.accept_clock()
        await desk.schedule.due_drafts.mark_missed()
        await desk.webhooks.create({"url": "https://hooks.example/"})
        execute_sql(home, "UPDATE webhook SET disabled_at = 1")
        return {event.type: event.data for event in await desk.events.list()}


async def test_every_event_is_described_with_its_data(tmp_path):
    documented = {code(type_)[0]: set(code(data)) for type_, _, data in rows("Events")}
    events = await one_of_each_type(tmp_path)
    assert {type_: set(data) for type_, data in events.items()} == documented
    assert set(documented) == set(EventType)


def test_example_of_an_event_is_complete():
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    event = json.loads(block)
    (data,) = [data for type_, _, data in rows("Events") if code(type_) == [event["type"]]]
    assert list(event["data"]) == code(data)


@pytest.fixture
def is_signed(monkeypatch):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    namespace = {}
    exec(block, namespace)
    monkeypatch.setattr(namespace["time"], "time", lambda: 1_800_000_000.0)
    return namespace["is_signed"]


def test_example_verifies_signatures(is_signed):
    secret, body = new_secret(), b'{"id": 1}'
    headers = signed_headers(secret, "msg_1", body, datetime.fromtimestamp(1_800_000_000, UTC))
    assert is_signed(secret, headers, body)
    assert is_signed(secret, {**headers, "webhook-signature": f"v1,old {headers['webhook-signature']}"}, body)
    assert not is_signed(secret, headers, body + b" ")
    assert not is_signed(new_secret(), headers, body)
    assert not is_signed(secret, {**headers, "webhook-id": "msg_2"}, body)
    late = signed_headers(secret, "msg_1", body, datetime.fromtimestamp(1_800_000_000 - 600, UTC))
    assert not is_signed(secret, late, body)


QUEUE = QueueTotals(waiting=0, running=0, stuck=0, oldest=0.0, workers=0)
STANDBYS = StandbyTotals(count=1, bytes_behind=0, seconds_behind=0.0)


def test_every_metric_is_described():
    totals = Totals(
        drafts={}, deliveries={}, oldest_due=0.0, runs={}, webhook_deliveries=0, queue=QUEUE, standbys=STANDBYS
    )
    names = re.findall("# TYPE (\\w+)", RequestMetrics().render(totals, open_streams=0))
    assert re.findall(r"^\| `(copydesk_\w+)`", PAGE, re.MULTILINE) == names


def test_numbers_are_those_of_the_code():
    assert f"Up to {MAX_WEBHOOKS}" in PAGE
    units = {"s": 1, "min": 60, "h": 3600}
    (listed,) = re.findall(r"tries again after (.*?), or later", PAGE)
    delays = [int(number) * units[unit] for number, unit in re.findall(r"(\d+) (min|s|h)", listed)]
    assert delays == [delay.total_seconds() for delay in RETRY_DELAYS]
