"""Posts to a server of the user's own making, by these rules:

POST to the account's address, with a JSON object as its body:

- `event`: `post`; `delete`, with the `id` that the receiver answered with, else the post's; or `check`, which has no
  other member and asks for nothing but a good answer;
- `id`: of the post, the same for every attempt; also in the header `Idempotency-Key`. A receiver that has taken an id
  in the last 30 days takes it no second time, and answers as it did the first time;
- `format` (`SHORT`, `THREAD`, `BLOG`), `title` (of an article), `parts` (the texts of a thread in order, of any other
  format the one text, of an article in Markdown), `tags`, `at` (when it was to go out, UTC);
- `pictures`, where there are any: `type`, `width`, `height`, `alt` and the file as base64 in `content`.

The header `Copydesk-Signature` is `t=<seconds since 1970>,v1=<hex>`: HMAC-SHA256 with the shared secret over those
seconds, a full stop and the bytes of the body. A repeated request is signed anew; receivers refuse old ones.

A status of 200 to 299 means that it was taken, and the body may be a JSON object with `id` and `url`. A status of 400,
404, 413, 415 or 422 refuses the post, 401 or 403 the signature, and 429 asks for a pause; each says that nothing was
done. Everything else is asked again under the same id.
"""

import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

import msgspec

from copydesk.model.draft import Format
from copydesk.model.wire import iso
from copydesk.posting import blog
from copydesk.posting.http import Answer, Caller, unread, wrong
from copydesk.posting.keys import uuid_key
from copydesk.posting.platform import (
    Account,
    Connected,
    Figures,
    Intent,
    Limits,
    Made,
    NotSentError,
    Picture,
    Post,
    Problem,
    RefusedPostError,
    Secrets,
    Step,
    Trust,
    UnknownOutcomeError,
    Wanted,
)
from copydesk.posting.site import explanation, own_server, shown

REMEMBERED = timedelta(days=30)
SHORTEST_SECRET = 16


class _Taken(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=500)] | None = None
    url: str = ""


class Webhook:
    """A Platform over any server that follows the rules above."""

    name: ClassVar[str] = "webhook"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset(Format),
        pictures=4,
        picture_bytes=2_000_000,
        picture_types=("image/jpeg", "image/png", "image/gif", "image/webp"),
        alt_characters=2000,
    )
    home: ClassVar[str] = ""
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="secret", question="The secret that requests are signed with", secret=True),
    )

    def __init__(self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime]) -> None:
        self._caller = caller
        self._secrets = secrets
        self._clock = clock

    def trust(self, account: Account) -> Trust:
        """By our own rules a request may be repeated; nothing can be read."""
        return Trust(repeat_within=REMEMBERED, can_look=False)

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Posts without a text; how long one may be is the receiver's to say."""
        if post.format is Format.BLOG:
            return blog.problems(post)
        empty = [place for place, part in enumerate(post.parts) if not part.strip()]
        return [Problem(message="There is no text.", part=place) for place in empty]

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """One request, however many posts the thread has."""
        key, title, parts = uuid_key(seed, 0), post.title, post.parts
        if post.format is Format.BLOG:
            written = blog.article(post, seed)
            title, parts = written.title, (written.text,)
        body: dict[str, object] = {
            "event": "post",
            "id": key,
            "format": post.format.value,
            "title": title,
            "parts": list(parts),
            "tags": list(post.tags),
            "at": iso(post.at),
        }
        return Intent(steps=(Step(keys=(key,), body=body),), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """The receiver at `server`, which has to know the secret."""
        address, secret = own_server(server), given["secret"].strip()
        if len(secret) < SHORTEST_SECRET:
            raise RefusedPostError(f"The secret is too short: it takes at least {SHORTEST_SECRET} characters.")
        parts = urlsplit(address)
        account = Account(platform=self.name, server=address, id=address, name=parts.netloc + parts.path)
        await self._ask_for_nothing(account, secret)
        return Connected(account=account, secrets={"secret": secret})

    async def check(self, account: Account) -> Account:
        """The account as it was, where the receiver still knows the secret."""
        await self._ask_for_nothing(account, await self._secret(account))
        return account

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Hand everything over at once."""
        step = intent.steps[0]
        body = {**step.body, "pictures": [_packed(one) for one in pictures]} if pictures else step.body
        answer = await self._post(account, body, await self._secret(account), key=step.keys[0])
        if not answer.good:
            raise wrong(answer, _host(account), self._clock(), says=explanation(answer))
        taken = _taken(answer)
        return Made(ids=(taken.id or step.keys[0],), urls=shown(taken.url))

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """Nothing can be read there."""
        raise UnknownOutcomeError(f"{_host(account)} cannot be asked what it has taken.", hint="Look there yourself.")

    async def delete(self, account: Account, made: Made) -> None:
        """Tell the receiver to take the post back; what it does not know any more is no error."""
        for post_id in made.ids:
            body: dict[str, object] = {"event": "delete", "id": post_id}
            answer = await self._post(account, body, await self._secret(account))
            if not answer.good and answer.status not in (404, 410):
                raise wrong(answer, _host(account), self._clock(), says=explanation(answer))

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """None are reported, and what is gone is not known."""
        return {each: Figures() for each in ids}

    async def _ask_for_nothing(self, account: Account, secret: str) -> None:
        try:
            answer = await self._post(account, {"event": "check"}, secret)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message, hint=error.hint) from None
        if not answer.good:
            raise unread(answer, _host(account), self._clock(), says=explanation(answer))

    async def _post(self, account: Account, body: dict[str, object], secret: str, *, key: str = "") -> Answer:
        content = msgspec.json.encode(body)
        headers = {
            "content-type": "application/json",
            "copydesk-signature": signature(secret, content, self._clock()),
        }
        if key:
            headers["idempotency-key"] = key
        return await self._caller.ask("POST", account.server, headers=headers, content=content)

    async def _secret(self, account: Account) -> str:
        return (await self._secrets.read(account))["secret"]


def signature(secret: str, body: bytes, now: datetime) -> str:
    """What the header `Copydesk-Signature` says of `body`, sent `now`."""
    seconds = int(now.timestamp())
    signed = hmac.digest(secret.encode(), f"{seconds}.".encode() + body, "sha256")
    return f"t={seconds},v1={signed.hex()}"


def _packed(picture: Picture) -> dict[str, object]:
    return {
        "type": picture.media_type,
        "width": picture.width,
        "height": picture.height,
        "alt": picture.alt,
        "content": b64encode(picture.content).decode(),
    }


def _taken(answer: Answer) -> _Taken:
    """What the receiver says of the post; it need not say anything."""
    try:
        return msgspec.json.decode(answer.body, type=_Taken)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Taken()


def _host(account: Account) -> str:
    return urlsplit(account.server).netloc
