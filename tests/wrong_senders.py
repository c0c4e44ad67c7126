"""Ways of sending that are wrong. The proof of sending has to see each of them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from copydesk.desk import sending as desk_sending
from copydesk.model.delivery import Made
from copydesk.posting import delivery as may
from copydesk.posting.platform import Platform
from copydesk.store.ids import new_id
from desk_fixtures import NOW


def _new_keys(platform: Platform) -> None:
    """A new key for each attempt: what was settled before is forgotten."""

    def forgetting(do: Any) -> Any:
        async def done(errand: Any, kept: Any) -> Any:
            material = await desk_sending.material_of(errand._ground, kept, platform.limits)
            fresh = platform.render(material.post, errand._account.details, new_id(NOW))
            return await do(errand, replace(kept, intent=fresh))

        return done

    errand: Any = desk_sending._Errand
    errand._send, errand._look = forgetting(errand._send), forgetting(errand._look)


def _no_read_back(platform: Any) -> None:
    """What nobody looked for is taken as absent."""

    async def nothing(*_: object) -> None:
        return None

    platform.look_up = nothing


def _no_quiet_period(platform: Any) -> None:
    """What is not there yet is taken as absent."""
    trust = platform.trust
    platform.trust = lambda account: replace(trust(account), quiet=timedelta(0))
    may.BETWEEN_LOOKS = timedelta(0)


def _done_before_sent(platform: Any) -> None:
    """That it is sent is kept before it is, and what comes of it is nobody's business."""

    async def send_later(errand: Any, kept: Any) -> Any:
        material = await desk_sending.material_of(errand._ground, kept, platform.limits)
        intent = kept.intent or await errand._settled(kept, material)
        begun = may.sent_now(kept.progress, errand._ground.clock(), steps=len(intent.steps))
        made = Made(ids=intent.steps[len(begun.made)].expects or ("?",), urls=("https://fake.example/?",))
        after = await errand._keep(kept, may.made_step(begun, made), "made")
        with suppress(Exception):
            await platform.send(errand._account.details, intent, begun.made, material.pictures)
        return after

    wrong: Any = desk_sending._Errand
    wrong._send = send_later


MUTANTS: Mapping[str, Callable[[Any], None]] = {
    "new keys": _new_keys,
    "no read-back": _no_read_back,
    "no quiet period": _no_quiet_period,
    "done before sent": _done_before_sent,
}
