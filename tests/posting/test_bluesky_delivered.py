"""Tests for complete Bluesky deliveries under faults and crashes."""

import httpx
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.delivery import (
    Delivery,
    Move,
    State,
    absent,
    broken_off,
    lost,
    made_step,
    next_move,
    not_sent,
    sent_now,
)
from copydesk.posting.http import Caller
from copydesk.posting.platform import Account, NotSentError, Picture, Post, UnknownOutcomeError
from fake_pds import DID, PASSWORD, FakePds, Lost, fault
from faulty_server import NOW, SEED, KeptSecrets

ME = Account(platform="bluesky", server="https://pds.example", id=DID, name="me.example")
PICTURE = Picture(content=b"\x89PNG...", media_type="image/png", width=30, height=20, alt="Red")
THREAD = Post(format=Format.THREAD, parts=("One.", "Two.", "Three."), at=NOW, alts=("Red",))
MISHAPS = {
    "none": None,
    "cut before": Lost.BEFORE,
    "cut after": Lost.AFTER,
    "late": Lost.LATE,
    "no connection": httpx.ConnectError("refused"),
    "500": fault(500, "InternalServerError", "Internal Server Error"),
    "429": fault(429, "RateLimitExceeded", "Rate Limit Exceeded"),
}


class Sender:
    """Delivers a thread to a server; the sending process may be killed and replaced."""

    def __init__(self, server: FakePds) -> None:
        self.server = server
        self.secrets = KeptSecrets(password=PASSWORD, refresh="refresh-1")
        self.delivery = Delivery()
        self.now = NOW
        self.start()

    def start(self) -> None:
        """Replace the sending process; only stored state survives."""
        self.bluesky = Bluesky(Caller(self.server.transport, asking=1), self.secrets, clock=lambda: self.now)
        self.intent = self.bluesky.render(THREAD, ME, SEED)
        if self.delivery.state is State.SENDING:
            self.delivery = broken_off(self.delivery)

    async def deliver(self, kills: set[int]) -> None:
        """Run until nothing is left to do.

        In the steps `kills` the process dies before it stores the request's outcome.
        """
        for count in range(200):
            move = next_move(self.delivery, self.bluesky.trust(ME), self.now)
            if move is Move.WAIT and self.delivery.not_before is None:
                return
            if move is Move.WAIT:
                self.now = self.delivery.not_before
            elif move is Move.LOOK:
                self.delivery = await self.looked()
            else:
                self.delivery = sent_now(self.delivery, self.now)
                after = await self.sent()
                self.delivery = self.delivery if count in kills else after
                self.start()
        raise AssertionError("it never ends")

    async def sent(self) -> Delivery:
        """Send; return the delivery in the state that follows."""
        try:
            return made_step(self.delivery, await self.bluesky.send(ME, self.intent, (), [PICTURE]))
        except NotSentError as error:
            return not_sent(self.delivery, str(error), self.now, jitter=0.5, retry_after=error.retry_after)
        except UnknownOutcomeError as error:
            return lost(self.delivery, str(error))

    async def looked(self) -> Delivery:
        """Look the thread up, then let late requests arrive; return the delivery in the state that follows."""
        found = await self.bluesky.look_up(ME, self.intent, (), NOW)
        self.server.arrive()
        trust = self.bluesky.trust(ME)
        return made_step(self.delivery, found) if found else absent(self.delivery, trust, self.now, jitter=0.5)


@given(
    mishaps=st.lists(st.sampled_from(sorted(MISHAPS)), max_size=6),
    kills=st.sets(st.integers(0, 12), max_size=4),
    expired=st.booleans(),
)
async def test_thread_is_posted_completely_or_not_at_all(mishaps, kills, expired):
    server = FakePds()
    server.faults.extend(MISHAPS[fault_name] for fault_name in mishaps)
    sender = Sender(server)
    if expired:
        server.refresh = "another"
    await sender.deliver(kills)
    server.arrive()
    texts = [record["value"]["text"] for record in server.records.values()]
    assert sender.delivery.state in (State.SENT, State.ABANDONED)
    if sender.delivery.state is State.SENT:
        assert sender.delivery.made[0].ids == tuple(server.records)
    assert texts in ([], list(THREAD.parts))
    if len(mishaps) + len(kills) < 5:
        assert sender.delivery.state is State.SENT
