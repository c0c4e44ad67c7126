"""Health and metrics: the text format, what is counted, who may read it."""

import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from copydesk.http.metrics import BUCKETS, RequestMetrics
from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import Status
from copydesk.model.run import RunStatus
from copydesk.model.token import Scope
from copydesk.model.totals import QueueTotals, StandbyTotals, Totals
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import NOW, Watch, execute_sql
from desks_fixtures import open_desks_at
from draft_consistency import insert_drafts
from event_streams import open_stream
from http_service import run_service
from posting_fixtures import create_approved_draft

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)*)\})? (\S+)')


def parse(text):
    """Return the samples, by name with labels. Every line must be a sample, or the help or type of one."""
    samples, described = {}, set()
    for line in text.splitlines():
        if line.startswith("# "):
            described.add(line.split(" ")[2])
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        assert {name, re.sub("_(bucket|sum|count)$", "", name)} & described
        samples[f"{name}{{{labels}}}" if labels else name] = float(value)
    assert text.endswith("\n")
    return samples


async def read(client):
    response = await client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(response.text)


async def test_requests_are_counted_by_operation_and_status(service):
    client = await service.client()
    await client.get("/drafts")
    await client.get("/v1/drafts")
    await client.get("/drafts/unknown")
    await client.get("/no-such-path-of-a-client")
    metrics = await read(client)
    assert metrics['copydesk_requests_total{operation="list_drafts",status="200"}'] == 2
    assert metrics['copydesk_requests_total{operation="get_draft",status="404"}'] == 1
    assert metrics['copydesk_requests_total{operation="other",status="404"}'] == 1
    assert metrics['copydesk_request_seconds_count{operation="list_drafts"}'] == 2
    assert metrics['copydesk_request_seconds_bucket{operation="list_drafts",le="+Inf"}'] == 2
    assert not any("client" in name for name in metrics)


def test_histogram_is_cumulative():
    metrics = RequestMetrics()
    for seconds in (BUCKETS[0], BUCKETS[0] + 0.001, 100.0):
        metrics.observe("a", 200, seconds)
    totals = Totals(drafts={}, deliveries={}, oldest_due=0.0, runs={}, webhook_deliveries=0)
    samples = parse(metrics.render(totals, open_streams=0))
    buckets = [samples[f'copydesk_request_seconds_bucket{{operation="a",le="{bound:g}"}}'] for bound in BUCKETS]
    assert buckets == [1.0] + [2.0] * (len(BUCKETS) - 1)
    assert samples['copydesk_request_seconds_bucket{operation="a",le="+Inf"}'] == 3
    assert samples['copydesk_request_seconds_sum{operation="a"}'] == pytest.approx(100.011)


def test_queue_is_counted_if_there_is_one():
    totals = Totals(drafts={}, deliveries={}, oldest_due=0.0, runs={}, webhook_deliveries=0)
    assert not [name for name in parse(RequestMetrics().render(totals, open_streams=0)) if "queue" in name]
    totals = replace(totals, queue=QueueTotals(waiting=5, running=3, stuck=1, oldest=2.5, workers=2))
    metrics = parse(RequestMetrics().render(totals, open_streams=0))
    assert metrics['copydesk_queue_jobs{state="waiting"}'] == 5
    assert metrics['copydesk_queue_jobs{state="stuck"}'] == 1
    assert metrics["copydesk_queue_oldest_seconds"] == 2.5
    assert metrics["copydesk_workers"] == 2


@pytest.mark.parametrize(
    ("bytes_behind", "seconds_behind", "samples"),
    [
        (0, 0.0, {"s": 2, "_lag_bytes": 0, "_lag_seconds": 0}),
        (8192, None, {"s": 2, "_lag_bytes": 8192}),
        (None, None, {"s": 2}),
    ],
)
def test_lag_of_standbys_is_given_as_far_as_it_is_known(bytes_behind, seconds_behind, samples):
    standbys = StandbyTotals(count=2, bytes_behind=bytes_behind, seconds_behind=seconds_behind)
    totals = Totals(
        drafts={}, deliveries={}, oldest_due=0.0, runs={}, webhook_deliveries=0, queue=None, standbys=standbys
    )
    metrics = parse(RequestMetrics().render(totals, open_streams=0))
    prefix = "copydesk_standby"
    found = {name.removeprefix(prefix): value for name, value in metrics.items() if name.startswith(prefix)}
    assert found == samples


async def test_database_is_counted(tmp_path):
    watch = Watch()
    async with run_service(tmp_path, clock=watch) as service:
        desk = await service.desks.get(service.desks.owner)
        await insert_drafts(desk, ["pending_review"] * 3 + ["rejected"])
        draft_id = await create_approved_draft(desk)
        await desk.drafts.change(draft_id, {"action": "schedule", "scheduledAt": NOW + timedelta(hours=1)})
        client = await service.client()
        async with open_stream(client):
            metrics = await read(client)
            assert metrics["copydesk_event_streams"] == 1
        assert metrics['copydesk_drafts{status="pending_review"}'] == 3
        assert metrics['copydesk_drafts{status="scheduled"}'] == 1
        assert metrics["copydesk_oldest_due_seconds"] == 0
        watch.now += timedelta(hours=1, seconds=90)
        metrics = await read(client)
        assert metrics["copydesk_oldest_due_seconds"] == 90
        assert metrics["copydesk_event_streams"] == 0
        names = {re.sub("{.*", "", name) for name in metrics}
        assert len([name for name in metrics if name.startswith("copydesk_deliveries{")]) == len(DeliveryState)
        assert len([name for name in metrics if name.startswith("copydesk_runs{")]) == len(RunStatus)
        assert len([name for name in metrics if name.startswith("copydesk_drafts{")]) == len(Status)
        assert "copydesk_webhook_deliveries_pending" in names


async def test_totals_are_those_of_all_users(tmp_path):
    platforms = {"fake": FakePlatform(FakeServer())}
    options = {"secrets__plain": "true", "secrets__keyring": "false"}
    async with open_desks_at(tmp_path, platforms=platforms, **options) as desks:
        for user in (desks.owner, await desks.users.add("anna")):
            desk = await desks.get(user)
            await desk.webhooks.create({"url": "https://hooks.example/", "types": ["delivery.ended"]})
            await desk.accounts.connect("fake", {"name": user.name})
            await desk.posting.post(await create_approved_draft(desk))
            await desk.pipeline.run()
        totals = await desks.totals()
        assert (totals.deliveries[DeliveryState.SENT], totals.runs[RunStatus.SUCCEEDED]) == (2, 2)
        assert (totals.drafts[Status.POSTED], totals.webhook_deliveries) == (2, 2)
        for state in ("planned", "unknown", "needs_user"):
            execute_sql(tmp_path, "UPDATE engagement SET status = 'pending'")
            execute_sql(tmp_path, "UPDATE delivery SET state = ?, due_at = due_at - 5000000", state)
            totals = await desks.totals()
            assert totals.deliveries == dict.fromkeys(DeliveryState, 0) | {state: 2}
            assert (totals.oldest_due > 0) == (state != "needs_user")


async def test_only_the_owner_reads_metrics(service):
    assert (await service.anonymous_client().get("/metrics")).status_code == 401
    assert (await (await service.client(Scope.PUBLISH, user="anna")).get("/metrics")).status_code == 403
    assert (await (await service.client(Scope.READ)).get("/metrics")).status_code == 200


async def test_health(service):
    client = service.anonymous_client()
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json() == {"status": "ready"}
    service.service.stopping.set()
    stopping = await client.get("/readyz")
    assert (stopping.status_code, stopping.headers["retry-after"]) == (503, "5")
    assert (await client.get("/healthz")).status_code == 200


async def test_database_of_a_newer_version_is_not_ready(tmp_path):
    async with run_service(tmp_path) as service:
        execute_sql(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
        response = await service.anonymous_client().get("/readyz")
        assert response.status_code == 503
