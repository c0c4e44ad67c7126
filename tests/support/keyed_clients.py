"""Clients of the HTTP service that repeat a request with its idempotency key until it is answered.

Each client works on its own drafts, one request after the other, so what the database must contain is known exactly:
the effects of all requests that were answered, each once, and of the one in progress all or nothing.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from desk_fixtures import query_db

STATUS_AFTER = {"approve": "approved", "reject": "rejected", "unapprove": "awaiting_review"}
ALLOWED_IN = {
    "edit": {"awaiting_review", "approved"},
    "approve": {"awaiting_review", "rejected"},
    "reject": {"awaiting_review", "approved"},
    "unapprove": {"approved"},
}
BULK_ACTIONS = {"approve", "reject"}
BULK, MAX_BULK = "/drafts/bulk", 8
LOST = "/problems/response-lost"
"""The answer to a repeated bulk action whose server was killed right after it. No other response can be lost."""
RETRY_DELAY = 0.02
REPEATED_SHARE = 0.1
"""Share of the answered requests after which an earlier one is sent again."""


class ModelDraft:
    """What a draft must be."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.status = "awaiting_review"
        self.actions: tuple[str, ...] = ()
        """Actions of its history."""

    def apply(self, action: str, text: str | None = None) -> "ModelDraft":
        """Return the draft after the action."""
        changed = ModelDraft(self.text if text is None else text)
        changed.status = STATUS_AFTER.get(action, self.status)
        changed.actions = (*self.actions, action)
        return changed

    @property
    def state(self) -> tuple[str, str, tuple[str, ...]]:
        """All that is compared."""
        return self.text, self.status, self.actions


class Request:
    """A request and its effect."""

    def __init__(self, key: str, method: str, path: str, body: dict[str, object]) -> None:
        self.key = key
        self.method = method
        self.path = path
        self.body = body
        self.changed: dict[str, ModelDraft] = {}
        """The drafts as they are afterwards, by id."""
        self.created_text: str | None = None
        """Text of the draft that it creates."""


class KeyedClient:
    """A client that creates, edits and decides on drafts of its own."""

    def __init__(self, number: int, token: str, http: httpx.AsyncClient, get_url: Callable[[], str | None]) -> None:
        self._number = number
        self._http = http
        self._get_url = get_url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._random = random.Random(number)
        self._count = 0
        self._answered: list[tuple[Request, bytes]] = []
        self.drafts: dict[str, ModelDraft] = {}
        self.requests = 0
        """Requests that were answered."""
        self.pending: Request | None = None
        """The request that has no answer yet."""
        self.lost = 0
        """Responses that were lost."""
        self.repeated = 0
        """Requests that were sent more than once."""

    @property
    def prefix(self) -> str:
        """The beginning of all its texts."""
        return f"Client {self._number}:"

    async def run(self, is_over: Callable[[], bool]) -> None:
        """Send requests until `is_over`, and then until the last one is answered."""
        while not is_over():
            self._count += 1
            self.pending = self._next_request()
            response = await self._send(self.pending)
            self._apply(self.pending, response)
            self.pending = None
            if self._answered and self._random.random() < REPEATED_SHARE:
                earlier, content = self._random.choice(self._answered)
                again = await self._send(earlier)
                assert (again.content, again.headers["idempotent-replayed"]) == (content, "true")

    async def _send(self, request: Request) -> httpx.Response:
        """Send the request until it is answered."""
        attempts = 0
        while True:
            url = self._get_url()
            if url is None:  # until it runs again
                await asyncio.sleep(RETRY_DELAY)
                continue
            attempts += 1
            if attempts == 2:
                self.repeated += 1
            headers = {**self._headers, "Idempotency-Key": request.key}
            with suppress(httpx.TransportError):
                response = await self._http.request(
                    request.method, url + request.path, json=request.body, headers=headers
                )
                if response.status_code not in {429, 503}:
                    return response
            await asyncio.sleep(RETRY_DELAY)

    def _next_request(self) -> Request:
        key, text = f"{self._number}-{self._count}", f"{self.prefix} text {self._count}"
        action = self._random.choice(["create", *ALLOWED_IN])
        ids = [id_ for id_, draft in self.drafts.items() if draft.status in ALLOWED_IN.get(action, ())]
        if not ids:
            request = Request(key, "POST", "/drafts", {"text": text})
            request.created_text = text
        elif action == "edit":
            draft_id = self._random.choice(ids)
            request = Request(key, "PATCH", f"/drafts/{draft_id}", {"text": text})
            request.changed = {draft_id: self.drafts[draft_id].apply(action, text)}
        elif action not in BULK_ACTIONS or self._random.random() < 0.5:
            draft_id = self._random.choice(ids)
            request = Request(key, "PATCH", f"/drafts/{draft_id}", {"action": action})
            request.changed = {draft_id: self.drafts[draft_id].apply(action)}
        else:
            ids = self._random.sample(ids, min(len(ids), MAX_BULK))
            request = Request(key, "POST", BULK, {"action": action, "ids": ids})
            request.changed = {draft_id: self.drafts[draft_id].apply(action) for draft_id in ids}
        return request

    def _apply(self, request: Request, response: httpx.Response) -> None:
        """Take the effect of an answered request over into the model. Raise AssertionError for a wrong answer."""
        answer: Any = response.json()
        if request.path == BULK and answer.get("type") == LOST:
            self.lost += 1
        else:
            assert response.status_code in {200, 201}, (request.key, response.status_code, answer)
            assert not answer.get("failed"), (request.key, answer)
            self._answered.append((request, response.content))
        if request.created_text is not None:
            self.drafts[answer["drafts"][0]["id"]] = ModelDraft(request.created_text)
        self.drafts |= request.changed
        self.requests += 1


def check_database(home: Path, clients: list[KeyedClient]) -> None:
    """Compare all drafts and their histories with what the clients were told. Raise AssertionError."""
    stored = _load_states(home)
    for client in clients:
        own = {id_: state for id_, state in stored.items() if state[0].startswith(client.prefix)}
        told = {id_: draft.state for id_, draft in client.drafts.items()}
        pending = client.pending
        if pending is not None and pending.created_text is not None:
            created = own.keys() - told.keys()
            assert len(created) <= 1, f"{pending.key} was carried out {len(created)} times."
            told |= {id_: ModelDraft(pending.created_text).state for id_ in created}
        if pending is not None and any(own.get(id_) != told[id_] for id_ in pending.changed):
            told |= {id_: draft.state for id_, draft in pending.changed.items()}
        differing = {
            id_: (told.get(id_), own.get(id_)) for id_ in own.keys() | told.keys() if told.get(id_) != own.get(id_)
        }
        assert not differing, f"Client {client.prefix} differs (told, stored): {differing}"


def _load_states(home: Path) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    actions: dict[object, tuple[str, ...]] = {}
    for draft_id, action in query_db(home, "SELECT draft_id, action FROM draft_event WHERE version > 1 ORDER BY rid"):
        actions[draft_id] = (*actions.get(draft_id, ()), str(action))
    rows = query_db(home, "SELECT id, text, status FROM draft")
    return {str(id_): (str(text), str(status), actions.get(id_, ())) for id_, text, status in rows}


def count_keys(home: Path) -> int:
    """Return the number of requests that were carried out."""
    ((count,),) = query_db(home, "SELECT count(*) FROM idempotency_key")
    assert isinstance(count, int)
    return count
