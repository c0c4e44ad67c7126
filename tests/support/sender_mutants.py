"""Deliberately broken ways of sending. The sending proof must detect each of them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from copydesk.desk.publishing import sender as desk_sender
from copydesk.model.delivery import StepResult
from copydesk.posting import delivery_states
from copydesk.posting.platform import Platform
from copydesk.store.ids import new_id
from desk_fixtures import NOW


def _use_new_keys(platform: Platform) -> None:
    """Render a new idempotency key for every attempt, ignoring the stored one."""

    def with_new_key(original: Any) -> Any:
        async def send(attempt: Any, row: Any) -> Any:
            payload = await desk_sender.load_payload(attempt._ctx, row, platform.info.limits)
            intent = platform.render(payload.post, attempt._account.details, new_id(NOW))
            return await original(attempt, replace(row, intent=intent))

        return send

    attempt_class: Any = desk_sender._DeliveryAttempt
    attempt_class._send = with_new_key(attempt_class._send)
    attempt_class._look_up = with_new_key(attempt_class._look_up)


def _skip_lookup(platform: Any) -> None:
    """Take a post nobody looked up as absent."""

    async def not_found(*_: object) -> None:
        return None

    platform.find_post = not_found


def _skip_quiet_period(platform: Any) -> None:
    """Take a post that is not visible yet as absent."""
    guarantees = platform.guarantees
    platform.guarantees = lambda account: replace(guarantees(account), settle_time=timedelta(0))
    delivery_states.LOOKUP_INTERVAL = timedelta(0)


def _record_before_sending(platform: Any) -> None:
    """Record the post as sent before the request, and ignore the request's outcome."""

    async def send_later(attempt: Any, row: Any) -> Any:
        payload = await desk_sender.load_payload(attempt._ctx, row, platform.info.limits)
        intent = row.intent or await attempt._prepare(row, payload)
        sending = delivery_states.send_started(row.progress, attempt._ctx.clock(), steps=len(intent.steps))
        result = StepResult(ids=intent.steps[len(sending.results)].expects or ("?",), urls=("https://fake.example/?",))
        saved = await attempt._save(row, delivery_states.step_succeeded(sending, result), "made")
        with suppress(Exception):
            await platform.send(attempt._account.details, intent, sending.results, payload.images)
        return saved

    attempt_class: Any = desk_sender._DeliveryAttempt
    attempt_class._send = send_later


MUTANTS: Mapping[str, Callable[[Any], None]] = {
    "new keys": _use_new_keys,
    "no read-back": _skip_lookup,
    "no quiet period": _skip_quiet_period,
    "done before sent": _record_before_sending,
}
