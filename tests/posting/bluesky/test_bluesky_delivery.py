"""Tests for complete Bluesky deliveries under faults and crashes."""

import httpx
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.client import PlatformClient
from copydesk.posting.delivery_states import (
    Delivery,
    DeliveryState,
    NextAction,
    interrupted,
    next_action,
    not_found,
    outcome_unknown,
    retry_later,
    send_started,
    step_succeeded,
)
from copydesk.posting.platform import Account, NotSentError, Post, PostImage, UnknownOutcomeError
from fake_pds import DID, PASSWORD, FakePds, RequestLoss, error_response
from faulty_server import NOW, SEED, RecordingSecrets

ME = Account(platform="bluesky", server="https://pds.example", id=DID, name="me.example")
PICTURE = PostImage(content=b"\x89PNG...", media_type="image/png", width=30, height=20, alt="Red")
THREAD = Post(format=Format.THREAD, parts=("One.", "Two.", "Three."), at=NOW, alts=("Red",))
FAULTS = {
    "none": None,
    "cut before": RequestLoss.BEFORE,
    "cut after": RequestLoss.AFTER,
    "late": RequestLoss.LATE,
    "no connection": httpx.ConnectError("refused"),
    "500": error_response(500, "InternalServerError", "Internal Server Error"),
    "429": error_response(429, "RateLimitExceeded", "Rate Limit Exceeded"),
}


class Sender:
    """Delivers a thread to a server; the sending process may be killed and replaced."""

    def __init__(self, server: FakePds) -> None:
        self.server = server
        self.secrets = RecordingSecrets(password=PASSWORD, refresh="refresh-1")
        self.delivery = Delivery()
        self.now = NOW
        self.restart()

    def restart(self) -> None:
        """Replace the sending process; only stored state survives."""
        self.bluesky = Bluesky(PlatformClient(self.server.transport, timeout=1), self.secrets, clock=lambda: self.now)
        self.intent = self.bluesky.render(THREAD, ME, SEED)
        if self.delivery.state is DeliveryState.SENDING:
            self.delivery = interrupted(self.delivery)

    async def deliver(self, kills: set[int]) -> None:
        """Run until nothing is left to do.

        In the steps `kills` the process dies before it stores the request's outcome.
        """
        for count in range(200):
            move = next_action(self.delivery, self.bluesky.guarantees(ME), self.now)
            if move is NextAction.WAIT and self.delivery.not_before is None:
                return
            if move is NextAction.WAIT:
                self.now = self.delivery.not_before
            elif move is NextAction.FIND:
                self.delivery = await self.find()
            else:
                self.delivery = send_started(self.delivery, self.now)
                after = await self.send()
                self.delivery = self.delivery if count in kills else after
                self.restart()
        raise AssertionError("it never ends")

    async def send(self) -> Delivery:
        """Send; return the delivery in the state that follows."""
        try:
            return step_succeeded(self.delivery, await self.bluesky.send(ME, self.intent, (), [PICTURE]))
        except NotSentError as error:
            return retry_later(self.delivery, str(error), self.now, jitter=0.5, retry_after=error.retry_after)
        except UnknownOutcomeError as error:
            return outcome_unknown(self.delivery, str(error))

    async def find(self) -> Delivery:
        """Look the thread up, then let late requests arrive; return the delivery in the state that follows."""
        found = await self.bluesky.find_post(ME, self.intent, (), NOW)
        self.server.deliver_late()
        trust = self.bluesky.guarantees(ME)
        return step_succeeded(self.delivery, found) if found else not_found(self.delivery, trust, self.now, jitter=0.5)


@given(
    faults=st.lists(st.sampled_from(sorted(FAULTS)), max_size=6),
    kills=st.sets(st.integers(0, 12), max_size=4),
    expired=st.booleans(),
)
async def test_thread_is_posted_completely_or_not_at_all(faults, kills, expired):
    server = FakePds()
    server.faults.extend(FAULTS[fault_name] for fault_name in faults)
    sender = Sender(server)
    if expired:
        server.refresh = "another"
    await sender.deliver(kills)
    server.deliver_late()
    texts = [record["value"]["text"] for record in server.records.values()]
    assert sender.delivery.state in (DeliveryState.SENT, DeliveryState.ABANDONED)
    if sender.delivery.state is DeliveryState.SENT:
        assert sender.delivery.results[0].ids == tuple(server.records)
    assert texts in ([], list(THREAD.parts))
    if len(faults) + len(kills) < 5:
        assert sender.delivery.state is DeliveryState.SENT
