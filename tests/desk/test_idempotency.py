"""Requests under idempotency keys: one effect and one response, however often and whenever they are sent."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, nullcontext
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.desk import Desk, leases, open_desk
from copydesk.desk import idempotency as idempotency_module
from copydesk.desk.idempotency import KEY_LIFETIME, MAX_DURATION, Idempotency, Outcome
from copydesk.errors import (
    ConflictError,
    CopydeskError,
    InvalidError,
    KeyReusedError,
    RequestInProgressError,
    ResponseLostError,
    StoreFullError,
)
from copydesk.model.requests import CreatedDrafts
from copydesk.model.serialization import to_json
from desk_fixtures import Watch, open_desk_at, query_db, settings_at
from sampling import sample_size

KEY, FINGERPRINT = "key-1", b"create"
DEAD, ALIVE = "host/1/1", "host/2/2"


class ProcessKilledError(BaseException):
    """The process ends here, as far as this request is concerned."""


def encode(value: object) -> bytes:
    return to_json(value).encode()


def create(desk: Desk, text: str = "One") -> Callable[[], Awaitable[Outcome]]:
    """Return work that creates a draft; its response has the draft's id."""

    async def work() -> Outcome:
        return Outcome(response=encode(await desk.drafts.create({"text": text})))

    return work


def encode_created(result: object) -> bytes | None:
    return encode(result) if isinstance(result, CreatedDrafts) else None


def draft_count(home: Path) -> int:
    ((count,),) = query_db(home, "SELECT count(*) FROM draft")
    assert isinstance(count, int)
    return count


async def kill_after_effect(desk: Desk) -> None:
    """Carry out a request and end before its response is stored."""

    async def work() -> Outcome:
        await desk.drafts.create({"text": "One"})
        raise ProcessKilledError

    with pytest.raises(ProcessKilledError):
        await desk.idempotency.run(KEY, FINGERPRINT, work)


async def test_repeated_request_gets_the_first_response(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        first = await desk.idempotency.run(KEY, FINGERPRINT, create(desk))
        again = await desk.idempotency.run(KEY, FINGERPRINT, create(desk))

    assert (first.is_replay, again.is_replay, again.response) == (False, True, first.response)
    assert draft_count(tmp_path) == 1


async def test_response_survives_a_restart(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        first = await desk.idempotency.run(KEY, FINGERPRINT, create(desk))

    async with open_desk_at(tmp_path) as desk:
        assert (await desk.idempotency.run(KEY, FINGERPRINT, create(desk))).response == first.response
    assert draft_count(tmp_path) == 1


async def test_key_of_another_request_is_refused(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        await desk.idempotency.run(KEY, FINGERPRINT, create(desk))
        with pytest.raises(KeyReusedError):
            await desk.idempotency.run(KEY, b"other", create(desk))
    assert draft_count(tmp_path) == 1


async def test_key_of_a_request_in_progress_is_refused_for_another(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        may_end = asyncio.Event()

        async def wait() -> Outcome:
            await may_end.wait()
            return Outcome(response=b"done")

        first = asyncio.create_task(desk.idempotency.run(KEY, FINGERPRINT, wait))
        await asyncio.sleep(0)
        with pytest.raises(KeyReusedError):
            await desk.idempotency.run(KEY, b"other", create(desk))
        may_end.set()
        await first


async def test_users_have_keys_of_their_own(tmp_path):
    async with open_desk(settings_at(tmp_path)) as owner, open_desk(settings_at(tmp_path), user="ben") as ben:
        await owner.idempotency.run(KEY, FINGERPRINT, create(owner))
        await ben.idempotency.run(KEY, b"other", create(ben))
    assert draft_count(tmp_path) == 2


@pytest.mark.parametrize("key", ["", "a b", "a\n", "é", "x" * 256, "\x7f"])
async def test_malformed_key_is_refused(tmp_path, key):
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match="1 to 255 visible"):
            await desk.idempotency.run(key, FINGERPRINT, create(desk))
    assert draft_count(tmp_path) == 0


async def test_simultaneous_attempts_share_one_effect(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        attempts = [desk.idempotency.run(KEY, FINGERPRINT, create(desk)) for _ in range(1000)]
        outcomes = await asyncio.gather(*attempts)

    assert len({outcome.response for outcome in outcomes}) == 1
    assert sum(not outcome.is_replay for outcome in outcomes) == 1
    assert draft_count(tmp_path) == 1


async def test_cancelled_attempt_hands_over_to_the_next(tmp_path):
    async with open_desk_at(tmp_path) as desk:

        async def never() -> Outcome:
            await asyncio.Event().wait()
            raise AssertionError

        first = asyncio.create_task(desk.idempotency.run(KEY, FINGERPRINT, never))
        await asyncio.sleep(0)
        others = [asyncio.create_task(desk.idempotency.run(KEY, FINGERPRINT, create(desk))) for _ in range(5)]
        await asyncio.sleep(0)
        first.cancel()
        outcomes = await asyncio.gather(*others)

    assert len({outcome.response for outcome in outcomes}) == 1
    assert draft_count(tmp_path) == 1


@pytest.mark.parametrize("encode_result", [encode_created, None])
async def test_attempt_that_is_cancelled_while_it_commits_is_not_repeated(tmp_path, monkeypatch, encode_result):
    """The client that had lost its connection sent the request again, and got a second draft."""
    async with open_desk_at(tmp_path) as desk:
        database, loop, has_ended = desk._context.database, asyncio.get_running_loop(), threading.Event()
        write = database.write_durable

        async def cancel_and_write(work, *args, **kwargs):
            def run_when_ended(*values, **options):
                loop.call_soon_threadsafe(first.cancel)
                assert has_ended.wait(60)
                return work(*values, **options)

            return await write(run_when_ended, *args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(database, "write_durable", cancel_and_write)
            first = asyncio.create_task(desk.idempotency.run(KEY, FINGERPRINT, create(desk), encode_result))
            await asyncio.wait([first])
            has_ended.set()
        assert first.cancelled()
        with nullcontext() if encode_result is not None else pytest.raises(ResponseLostError):
            assert (await desk.idempotency.run(KEY, FINGERPRINT, create(desk), encode_result)).is_replay
    assert draft_count(tmp_path) == 1


async def test_request_is_not_repeated_when_its_response_is_lost(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        await kill_after_effect(desk)
        with pytest.raises(ResponseLostError):
            await desk.idempotency.run(KEY, FINGERPRINT, create(desk))
    assert draft_count(tmp_path) == 1


async def test_response_that_a_transaction_returns_cannot_be_lost(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        responses = []

        async def work() -> Outcome:
            responses.append(encode(await desk.drafts.create({"text": "One"})))
            raise ProcessKilledError

        with pytest.raises(ProcessKilledError):
            await desk.idempotency.run(KEY, FINGERPRINT, work, encode_created)
        again = await desk.idempotency.run(KEY, FINGERPRINT, create(desk), encode_created)

    assert [again.response] == responses
    assert draft_count(tmp_path) == 1


async def test_response_of_a_transaction_is_stored_once(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk:

        async def fail(*_: object) -> None:
            raise AssertionError("stored twice")

        monkeypatch.setattr(Idempotency, "_store", fail)
        await desk.idempotency.run(KEY, FINGERPRINT, create(desk), encode_created)


async def test_request_that_wrote_nothing_may_be_repeated(tmp_path):
    async with open_desk_at(tmp_path) as desk:

        async def fail() -> Outcome:
            await desk.drafts.counts()
            raise ProcessKilledError

        with pytest.raises(ProcessKilledError):
            await desk.idempotency.run(KEY, FINGERPRINT, fail)
        assert not (await desk.idempotency.run(KEY, FINGERPRINT, create(desk))).is_replay
    assert draft_count(tmp_path) == 1


async def test_outcome_that_is_not_final_is_not_stored(tmp_path):
    async with open_desk_at(tmp_path) as desk:

        async def fail() -> Outcome:
            return Outcome(response=b"busy", is_final=False)

        assert (await desk.idempotency.run(KEY, FINGERPRINT, fail)).response == b"busy"
        assert not (await desk.idempotency.run(KEY, FINGERPRINT, create(desk))).is_replay


async def test_background_work_is_not_guarded(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        other = await desk.drafts.create({"text": "Other"})
        may_start, tasks = asyncio.Event(), []

        async def go_on() -> None:
            await may_start.wait()
            await desk.drafts.approve(other.drafts[0].id)

        async def work() -> Outcome:
            tasks.append(asyncio.create_task(go_on()))
            return Outcome(response=b"", is_final=False)

        await desk.idempotency.run(KEY, FINGERPRINT, work)
        may_start.set()
        await asyncio.gather(*tasks)
        assert query_db(tmp_path, "SELECT count(*) FROM idempotency_key") == [(0,)]


async def test_response_that_cannot_be_stored_is_returned(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk:

        async def fail(*_: object) -> None:
            raise StoreFullError

        created = create(desk)

        async def work() -> Outcome:
            outcome = await created()
            monkeypatch.setattr(desk._context.database, "write", fail)
            return outcome

        outcome = await desk.idempotency.run(KEY, FINGERPRINT, work)
        monkeypatch.undo()
        assert b"drafts" in outcome.response
        with pytest.raises(ResponseLostError):
            await desk.idempotency.run(KEY, FINGERPRINT, create(desk))


async def test_refused_unit_of_a_batch_does_not_count_as_a_write(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        ids = [(await desk.drafts.create({"text": text})).drafts[0].id for text in ("One", "Two")]
        await desk.drafts.approve(ids[0])

        async def approve() -> Outcome:
            outcome = await desk.drafts.bulk({"action": "approve", "ids": ids})
            return Outcome(response=encode(outcome))

        first = await desk.idempotency.run(KEY, FINGERPRINT, approve)
        again = await desk.idempotency.run(KEY, FINGERPRINT, approve)
        assert (again.response, b'"succeeded":1' in again.response) == (first.response, True)


async def other_process(home: Path, monkeypatch: pytest.MonkeyPatch, owner: str) -> None:
    """Let the following requests be those of the process `owner`; DEAD is dead, ALIVE alive."""
    monkeypatch.setattr(idempotency_module, "current_owner", lambda: owner)
    monkeypatch.setattr(leases, "is_alive", lambda name, **_: {DEAD: False, ALIVE: True}.get(name))


async def test_request_in_progress_in_another_process_is_refused(tmp_path, monkeypatch):
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await other_process(tmp_path, monkeypatch, ALIVE)
        await kill_after_effect(desk)
        await other_process(tmp_path, monkeypatch, "here/3/3")
        with pytest.raises(RequestInProgressError):
            await desk.idempotency.run(KEY, FINGERPRINT, create(desk))
        watch.now += MAX_DURATION + timedelta(seconds=1)
        with pytest.raises(ResponseLostError):
            await desk.idempotency.run(KEY, FINGERPRINT, create(desk))
    assert draft_count(tmp_path) == 1


async def test_process_that_has_ended_is_not_waited_for(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk:
        await other_process(tmp_path, monkeypatch, DEAD)
        await kill_after_effect(desk)
        await other_process(tmp_path, monkeypatch, "here/3/3")
        with pytest.raises(ResponseLostError):
            await desk.idempotency.run(KEY, FINGERPRINT, create(desk))


async def test_machine_whose_clock_was_ahead_is_not_waited_for(tmp_path, monkeypatch):
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await other_process(tmp_path, monkeypatch, "elsewhere/1/1")
        watch.now += timedelta(days=1)
        await kill_after_effect(desk)
        watch.now -= timedelta(days=1)
        await other_process(tmp_path, monkeypatch, "here/3/3")
        with pytest.raises(ResponseLostError):
            await desk.idempotency.run(KEY, FINGERPRINT, create(desk))


async def test_slower_of_two_processes_is_rolled_back(tmp_path):
    async with open_desk_at(tmp_path) as here, open_desk_at(tmp_path) as there:

        async def work() -> Outcome:
            # The key was free when this attempt began.
            await there.idempotency.run(KEY, FINGERPRINT, create(there))
            return await create(here)()

        outcome = await here.idempotency.run(KEY, FINGERPRINT, work)
    assert outcome.is_replay
    assert draft_count(tmp_path) == 1


async def test_refusal_by_the_effect_of_another_process_is_not_the_response(tmp_path):
    async with open_desk_at(tmp_path) as here, open_desk_at(tmp_path) as there:
        draft_id = (await here.drafts.create({"text": "One"})).drafts[0].id

        def approve(desk: Desk) -> Callable[[], Awaitable[Outcome]]:
            async def work() -> Outcome:
                try:
                    return Outcome(response=encode(await desk.drafts.approve(draft_id)))
                except ConflictError:
                    return Outcome(response=b"conflict")

            return work

        async def work() -> Outcome:
            await there.idempotency.run(KEY, FINGERPRINT, approve(there))
            return await approve(here)()

        outcome = await here.idempotency.run(KEY, FINGERPRINT, work)
    assert outcome.is_replay
    assert b"approved" in outcome.response


async def test_expired_key_is_free_again(tmp_path):
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await desk.idempotency.run(KEY, FINGERPRINT, create(desk))
        watch.now += KEY_LIFETIME
        assert (await desk.idempotency.run(KEY, FINGERPRINT, create(desk))).is_replay
        watch.now += timedelta(seconds=1)
        assert not (await desk.idempotency.run(KEY, b"other", create(desk))).is_replay
    assert query_db(tmp_path, "SELECT count(*) FROM idempotency_key") == [(1,)]


async def test_expired_keys_are_deleted(tmp_path):
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await desk.idempotency.run("old", FINGERPRINT, create(desk))
        watch.now += KEY_LIFETIME
        await desk.idempotency.run("new", FINGERPRINT, create(desk))
        assert (await desk.retention.prune()).idempotency_keys == 0
        watch.now += timedelta(seconds=1)
        assert (await desk.retention.prune()).idempotency_keys == 1
    assert query_db(tmp_path, "SELECT key FROM idempotency_key") == [("new",)]


class End(StrEnum):
    """How an attempt ends."""

    OK = "ok"
    REFUSED = "refused"
    """A final error; nothing is written."""
    BUSY = "busy"
    """An error that is not final; nothing is written."""
    BUSY_AFTER_EFFECT = "busy after effect"
    KILLED_BEFORE_EFFECT = "killed before effect"
    KILLED_AFTER_EFFECT = "killed after effect"


class Attempt(NamedTuple):
    """A request."""

    key: str
    content: str
    end: End
    in_transaction: bool
    """Its transaction returns the response."""
    restart: bool
    """The desk is opened again before."""


ATTEMPTS = st.builds(
    Attempt, st.sampled_from("ab"), st.sampled_from(["One", "Two"]), st.sampled_from(End), st.booleans(), st.booleans()
)


class Model:
    """What the guard has to do."""

    def __init__(self) -> None:
        self.keys: dict[str, tuple[str, str | None]] = {}
        """Key -> content, and the response, None if it was lost."""
        self.texts: list[str] = []
        """Texts of the drafts, oldest first."""

    def apply(self, attempt: Attempt) -> str | type[BaseException]:
        """Return the response or the error of the attempt, the effect included."""
        content, known = self.keys.get(attempt.key, (None, None))
        if content is not None:
            return KeyReusedError if content != attempt.content else known or ResponseLostError
        if attempt.end in {End.BUSY, End.KILLED_BEFORE_EFFECT}:
            return ProcessKilledError if attempt.end is End.KILLED_BEFORE_EFFECT else "busy"
        if attempt.end is End.REFUSED:
            self.keys[attempt.key] = attempt.content, "refused"
            return "refused"
        self.texts.append(attempt.content)
        response = f"created {len(self.texts)}"
        stored = attempt.end is End.OK or attempt.in_transaction
        self.keys[attempt.key] = attempt.content, response if stored else None
        results: dict[End, str | type[BaseException]] = {
            End.OK: response,
            End.BUSY_AFTER_EFFECT: "busy",
            End.KILLED_AFTER_EFFECT: ProcessKilledError,
        }
        return results[attempt.end]


async def carry_out(desk: Desk, attempt: Attempt, number: int) -> str | type[BaseException]:
    """Make the attempt; return the response or the error. `number` is that of the draft if it creates one."""

    async def work() -> Outcome:
        if attempt.end is End.KILLED_BEFORE_EFFECT:
            raise ProcessKilledError
        if attempt.end is End.BUSY:
            return Outcome(response=b"busy", is_final=False)
        if attempt.end is End.REFUSED:
            return Outcome(response=b"refused")
        await desk.drafts.create({"text": attempt.content})
        if attempt.end is End.KILLED_AFTER_EFFECT:
            raise ProcessKilledError
        if attempt.end is End.BUSY_AFTER_EFFECT:
            return Outcome(response=b"busy", is_final=False)
        return Outcome(response=response)

    response = f"created {number}".encode()

    def encode_result(result: object) -> bytes | None:
        return response if attempt.in_transaction and isinstance(result, CreatedDrafts) else None

    try:
        return (
            await desk.idempotency.run(attempt.key, attempt.content.encode(), work, encode_result)
        ).response.decode()
    except (CopydeskError, ProcessKilledError) as error:
        return type(error)


async def check_attempts(home: Path, attempts: Sequence[Attempt]) -> None:
    model, stack = Model(), AsyncExitStack()
    async with stack:
        desk = await stack.enter_async_context(open_desk_at(home))
        for attempt in attempts:
            if attempt.restart:
                await stack.aclose()
                desk = await stack.enter_async_context(open_desk_at(home))
            number = len(model.texts) + 1
            assert await carry_out(desk, attempt, number) == model.apply(attempt)
            assert query_db(home, "SELECT text FROM draft ORDER BY id") == [(text,) for text in model.texts]


@settings(max_examples=sample_size(200), deadline=None)
@given(st.lists(ATTEMPTS, min_size=2, max_size=12))
def test_any_sequence_of_attempts(attempts):
    with TemporaryDirectory() as folder:
        asyncio.run(check_attempts(Path(folder), attempts))
