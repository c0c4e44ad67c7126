"""Deliberately broken ways of sending. The sending proof must detect each of them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from desk_fixtures import NOW
from msgspec.structs import replace

from copydesk.desk.publishing import sender as desk_sending
from copydesk.model.delivery import StepResult
from copydesk.posting import delivery_states as may
from copydesk.posting.platform import Platform
from copydesk.store.ids import new_id


def _use_new_keys(platform: Platform) -> None:
    """Render a new idempotency key for every attempt, ignoring the stored one."""

    def with_new_key(original: Any) -> Any:
        async def attempt(errand: Any, row: Any) -> Any:
            payload = await desk_sending.load_payload(errand._ctx, row, platform.limits)
            intent = platform.render(payload.post, errand._account.details, new_id(NOW))
            return await original(errand, replace(row, intent=intent))

        return attempt

    errand: Any = desk_sending._DeliveryAttempt
    errand._send, errand._look = with_new_key(errand._send), with_new_key(errand._look)


def _skip_lookup(platform: Any) -> None:
    """Take a post nobody looked up as absent."""

    async def not_found(*_: object) -> None:
        return None

    platform.look_up = not_found


def _skip_quiet_period(platform: Any) -> None:
    """Take a post that is not visible yet as absent."""
    guarantees = platform.trust
    platform.trust = lambda account: replace(guarantees(account), settle_time=timedelta(0))
    may.LOOKUP_INTERVAL = timedelta(0)


def _record_before_sending(platform: Any) -> None:
    """Record the post as sent before the request, and ignore the request's outcome."""

    async def send_later(errand: Any, row: Any) -> Any:
        payload = await desk_sending.load_payload(errand._ctx, row, platform.limits)
        intent = row.intent or await errand._prepare(row, payload)
        sending = may.send_started(row.progress, errand._ctx.clock(), steps=len(intent.steps))
        result = StepResult(ids=intent.steps[len(sending.made)].expects or ("?",), urls=("https://fake.example/?",))
        saved = await errand._save(row, may.step_succeeded(sending, result), "made")
        with suppress(Exception):
            await platform.send(errand._account.details, intent, sending.made, payload.images)
        return saved

    attempt_class: Any = desk_sending._DeliveryAttempt
    attempt_class._send = send_later


MUTANTS: Mapping[str, Callable[[Any], None]] = {
    "new keys": _use_new_keys,
    "no read-back": _skip_lookup,
    "no quiet period": _skip_quiet_period,
    "done before sent": _record_before_sending,
}
