"""What a token may do, by its scope: over the whole table of operations, and over random sequences of requests."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from copydesk.http.table import OPERATIONS
from copydesk.model.role import Role
from copydesk.model.serialization import format_iso
from copydesk.model.token import Scope
from desk_fixtures import NOW, URL_ONE, FakeWeb, Watch, entry, execute_sql, feed, query_db
from draft_consistency import HOURLY_SLOTS, dump_tables, insert_drafts
from http_service import run_service
from posting_fixtures import connect_account, create_approved_draft, fake_platforms
from reference_tables import APPROVED, MISSED, POSTED, POSTING, SCHEDULED, STATES
from sampling import sample_size

UNKNOWN = "019a5b2e-6c1f-7d3a-9b47-3f0c2a91e5d8"
LATER = format_iso(NOW + timedelta(days=3))
# Written out a second time: whoever adds an operation or an action decides here, too.
OPERATION_SCOPES = {
    "GET /drafts": "read",
    "POST /drafts": "draft",
    "GET /needs-you": "read",
    "GET /drafts/{id}": "read",
    "PATCH /drafts/{id}": "draft",
    "POST /drafts/{id}/images": "review",
    "POST /drafts/bulk": "review",
    "POST /drafts/{id}/undo": "publish",
    "POST /drafts/{id}/checks": "read",
    "GET /drafts/{id}/activity": "read",
    "PUT /drafts/{id}/viewer": "draft",
    "DELETE /drafts/{id}/viewer": "draft",
    "POST /drafts/{id}/edit": "draft",
    "PUT /drafts/{id}/edit": "draft",
    "DELETE /drafts/{id}/edit": "draft",
    "DELETE /unsaved-edits/{id}": "review",
    "POST /drafts/{id}/approvals": "review",
    "GET /drafts/{id}/comments": "read",
    "POST /drafts/{id}/comments": "draft",
    "PATCH /comments/{id}": "review",
    "DELETE /comments/{id}": "review",
    "GET /schedule/slots": "read",
    "PUT /schedule/slots": "publish",
    "POST /schedule/next": "publish",
    "GET /schedule/conflicts": "read",
    "POST /schedule/auto": "publish",
    "POST /pipeline": "draft",
    "GET /pipeline/runs": "read",
    "GET /pipeline/stats": "read",
    "GET /ranking": "read",
    "PUT /ranking": "review",
    "DELETE /ranking": "review",
    "GET /ranking/why": "read",
    "POST /ranking/preview": "read",
    "GET /writers": "read",
    "PUT /writers": "review",
    "GET /drafts/{id}/requests": "read",
    "GET /rules": "read",
    "GET /drafts/{id}/rules": "read",
    "POST /rules": "review",
    "PATCH /rules/{id}": "review",
    "DELETE /rules/{id}": "review",
    "GET /voice": "read",
    "PUT /voice": "review",
    "POST /voice/preview": "draft",
    "GET /voice/examples": "read",
    "GET /voice/posts": "read",
    "POST /voice/examples": "review",
    "GET /voice/report": "read",
    "POST /voice/reset": "review",
    "DELETE /voice/reset": "review",
    "GET /engagement": "read",
    "GET /engagement/trends": "read",
    "GET /engagement/posts": "read",
    "POST /engagement": "review",
    "GET /experiments": "read",
    "GET /experiments/plan": "read",
    "POST /experiments": "review",
    "PATCH /experiments/{id}": "review",
    "GET /sources": "read",
    "POST /sources": "review",
    "PATCH /sources/{id}": "review",
    "DELETE /sources/{id}": "review",
    "POST /sources/{id}/test": "draft",
    "POST /images": "draft",
    "GET /events": "read",
    "GET /webhooks": "publish",
    "POST /webhooks": "publish",
    "GET /webhooks/{id}": "publish",
    "DELETE /webhooks/{id}": "publish",
    "GET /webhooks/{id}/deliveries": "publish",
}
ACTION_SCOPES = {
    "approve": "review",
    "reject": "review",
    "regenerate": "draft",
    "schedule": "publish",
    "archive": "review",
    "unapprove": "review",
    "reschedule": "publish",
    "cancel_schedule": "publish",
    "post": "publish",
}
SCOPES = [scope.value for scope in Scope]
DECIDED = (APPROVED, SCHEDULED, POSTING, MISSED, POSTED)
"""Statuses that a draft has only after somebody approved it."""
BY_NAME = {f"{operation.method} {operation.path}": operation for operation in OPERATIONS}


@pytest.fixture
async def service(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with run_service(tmp_path, clock=Watch(), transport=web, platforms=fake_platforms()) as running:
        desk = await running.desks.get(running.desks.owner)
        await connect_account(desk)
        await desk.schedule.set_slots(HOURLY_SLOTS)
        yield running


def test_every_operation_has_its_scope():
    assert {name: operation.scope.value for name, operation in BY_NAME.items()} == OPERATION_SCOPES


def scopes_below(scope):
    return SCOPES[: SCOPES.index(scope)]


@pytest.mark.parametrize("name", [name for name, scope in OPERATION_SCOPES.items() if scope != "read"])
async def test_token_below_the_scope_changes_nothing(service, tmp_path, name):
    operation = BY_NAME[name]
    clients = [await service.client(Scope(scope)) for scope in scopes_below(OPERATION_SCOPES[name])]
    before = dump_tables(tmp_path)
    for client in clients:
        # Refused before anything is read, so it does not matter whether the id exists.
        options = {"json": operation.example} if operation.example is not None else {}
        response = await client.request(operation.method, operation.path.format(id=UNKNOWN), **options)
        assert (response.status_code, response.json()["type"]) == (403, "/problems/insufficient-scope")
    assert dump_tables(tmp_path) == before


DECISIONS = [
    name for name, scope in OPERATION_SCOPES.items() if scope in {"review", "publish"} and not name.startswith("GET ")
]


@pytest.mark.parametrize("name", DECISIONS)
async def test_role_limits_a_token_below_its_scope(service, tmp_path, name):
    """What the scopes say of tokens, the desk says of reviewers: no operation is left out."""
    operation, client = BY_NAME[name], await service.client(Scope.PUBLISH)
    desk = await service.desks.get(service.desks.owner)
    await desk.reviewers.set_role("test 0", Role.WRITER)
    draft_id = await create_approved_draft(desk)
    before = dump_tables(tmp_path)
    options = {"json": operation.example} if operation.example is not None else {}
    if name == "POST /schedule/next":
        options = {"json": {"draftId": draft_id}}
    response = await client.request(operation.method, operation.path.format(id=draft_id), **options)
    assert (response.status_code, response.json().get("type")) == (403, "/problems/insufficient-role"), response.text
    assert dump_tables(tmp_path) == before


@pytest.mark.parametrize("action", ACTION_SCOPES)
async def test_action_below_its_scope_changes_nothing(service, tmp_path, action):
    desk = await service.desks.get(service.desks.owner)
    ids = await insert_drafts(desk, STATES)
    clients = [await service.client(Scope(scope)) for scope in scopes_below(ACTION_SCOPES[action])]
    before = dump_tables(tmp_path)
    for client in clients:
        for body in ({"action": action}, {"action": action, "text": "Other words.", "scheduledAt": LATER}):
            responses = [await client.patch(f"/drafts/{draft_id}", json=body) for draft_id in (*ids, UNKNOWN)]
            responses.append(await client.post("/drafts/bulk", json={"action": action, "ids": ids}))
            assert {response.status_code for response in responses} == {403}
    assert dump_tables(tmp_path) == before


async def test_response_is_not_repeated_below_its_scope(service):
    reviewer, agent = await service.client(), await service.client(Scope.DRAFT)
    desk = await service.desks.get(service.desks.owner)
    (draft_id,) = await insert_drafts(desk, ["pending_review"])
    request = {"json": {"action": "approve"}, "headers": {"Idempotency-Key": "one"}}
    assert (await reviewer.patch(f"/drafts/{draft_id}", **request)).status_code == 200
    assert (await agent.patch(f"/drafts/{draft_id}", **request)).status_code == 403


@pytest.mark.parametrize("action", ACTION_SCOPES)
async def test_action_with_its_scope_is_possible(service, action):
    desk = await service.desks.get(service.desks.owner)
    client = await service.client(Scope(ACTION_SCOPES[action]))
    body = {"action": action, **({"scheduledAt": LATER} if action == "reschedule" else {})}
    statuses = {
        (await client.patch(f"/drafts/{draft_id}", json=body)).status_code
        for draft_id in await insert_drafts(desk, STATES)
    }
    assert statuses == {200, 409}


# A draft token beside a reviewer.


def fields(**strategies):
    return st.fixed_dictionaries({}, optional=strategies)


TEXTS = st.sampled_from(["One.", "Two words.", "Three more words."])
CHANGES = fields(
    action=st.sampled_from([*ACTION_SCOPES, "Approve", None]),
    text=TEXTS,
    feedback=TEXTS,
    scheduledAt=st.just(LATER),
    smartSchedule=st.booleans(),
    platforms=st.just(["fake:me"]),
    status=st.just("approved"),
)
BODIES = {
    "PATCH /drafts/{id}": CHANGES,
    "POST /drafts": fields(text=TEXTS, prompt=TEXTS, status=st.just("approved"), targetPlatforms=st.just(["fake:me"])),
    "PUT /schedule/slots": st.just([]),
    "POST /pipeline": fields(maxDrafts=st.integers(0, 2)),
}
AGENT_REQUESTS = sorted(BY_NAME.keys() - {"GET /events", "POST /images"})
REVIEWER_ACTIONS = st.sampled_from(
    ["approve", "approve", "reject", "unapprove", "schedule", "cancel_schedule", "archive"]
)


class DraftTokenMachine(RuleBasedStateMachine):
    """An agent with a draft token sends any request, and a reviewer decides about drafts."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()

    @initialize()
    def begin(self):
        self.runner.run(self._begin())

    async def _begin(self):
        web = FakeWeb()
        web.put(URL_ONE, feed(entry(1), entry(2)))
        running = run_service(self.home, clock=Watch(), transport=web, platforms=fake_platforms())
        self.service = await self.stack.enter_async_context(running)
        desk = await self.service.desks.get(self.service.desks.owner)
        await connect_account(desk)
        await desk.schedule.set_slots(HOURLY_SLOTS)
        await desk.sources.create({"type": "rss", "url": URL_ONE, "name": "One"})
        await insert_drafts(desk, ["pending_review", "awaiting_review", "rejected", "approved", "scheduled", "missed"])
        self.agent = await self.service.client(Scope.DRAFT)
        self.reviewer = await self.service.client(Scope.PUBLISH)
        self.service.service._monotonic = iter(range(10**9)).__next__

    def teardown(self):
        self.runner.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    def decided(self):
        """Return the drafts that somebody approved, with what was approved."""
        marks = ", ".join("?" for _ in DECIDED)
        query = f"SELECT id, status, text, scheduled_at, archived_at FROM draft WHERE status IN ({marks})"
        return {row[0]: row[1:] for row in query_db(self.home, query, *DECIDED)}

    def any_id(self, data):
        return data.draw(st.sampled_from([row[0] for row in query_db(self.home, "SELECT id FROM draft ORDER BY id")]))

    async def _agent_request(self, name, draft_id, body):
        operation = BY_NAME[name]
        path = operation.path.format(id=draft_id)
        response = await self.agent.request(operation.method, path, **({} if body is None else {"json": body}))
        assert response.status_code < 500, (name, body, response.text)
        while self.service.service._tasks:
            await asyncio.gather(*self.service.service._tasks)

    @rule(name=st.sampled_from([*AGENT_REQUESTS, *["PATCH /drafts/{id}"] * 8]), data=st.data())
    def agent_request(self, name, data):
        draft_id = self.any_id(data)
        example = BY_NAME[name].example
        body = data.draw(BODIES[name]) if name in BODIES else with_ids(example, draft_id)
        before = self.decided()
        self.runner.run(self._agent_request(name, draft_id, body))
        assert self.decided() == before

    @rule(action=st.sampled_from(list(ACTION_SCOPES)), data=st.data())
    def agent_bulk(self, action, data):
        before = self.decided()
        self.runner.run(
            self._agent_request("POST /drafts/bulk", UNKNOWN, {"action": action, "ids": [self.any_id(data), UNKNOWN]})
        )
        assert self.decided() == before

    @rule(action=REVIEWER_ACTIONS, data=st.data())
    def review(self, action, data):
        path = f"/drafts/{self.any_id(data)}"
        response = self.runner.run(self.reviewer.patch(path, json={"action": action}))
        assert response.status_code in {200, 409}

    @rule(data=st.data())
    def source_changes(self, data):
        """Hold an approved draft."""
        draft_id = self.any_id(data)
        statement = (
            "UPDATE draft SET status = 'awaiting_review', last_error = 'The source changed.', version = version"
            " WHERE id = ? AND status IN ('approved', 'scheduled') AND archived_at IS NULL"
        )
        execute_sql(self.home, statement, draft_id)

    @rule(text=TEXTS, data=st.data())
    def edit_during_approval(self, text, data):
        """The reviewer approves what they saw, while the agent edits it."""
        path = f"/drafts/{self.any_id(data)}"
        before = self.decided()
        approved = self.runner.run(self._approve_seen(path, text))
        after = self.decided()
        for draft_id, decided in after.items():
            assert decided == before.get(draft_id) or (f"/drafts/{draft_id}" == path and approved in {None, decided[1]})

    async def _approve_seen(self, path, text):
        seen = await self.reviewer.get(path)
        approval = self.reviewer.patch(path, json={"action": "approve"}, headers={"If-Match": seen.headers["etag"]})
        _, approved = await asyncio.gather(self.agent.patch(path, json={"text": text}), approval)
        # If the approval was refused, nothing may be decided that was not before.
        return seen.json()["text"] if approved.status_code == 200 else ""


def with_ids(value, draft_id):
    """Return an example request about an existing draft."""
    if isinstance(value, dict):
        return {name: with_ids(inner, draft_id) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_ids(inner, draft_id) for inner in value]
    return draft_id if value == UNKNOWN else value


TestDraftToken = DraftTokenMachine.TestCase
TestDraftToken.settings = settings(max_examples=sample_size(80), stateful_step_count=25)
