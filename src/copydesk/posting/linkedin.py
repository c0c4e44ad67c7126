"""LinkedIn for members: one post, which no app may read back.

What the answer to a lost request was can only be found out by asking for the same post once more: LinkedIn refuses the
same text and names the first post. That is done where the user allows it, for an hour, and never with pictures.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import quote

import msgspec

from copydesk.model.draft import Format
from copydesk.posting import oauth
from copydesk.posting.http import Answer, Caller, unread
from copydesk.posting.keys import uuid_key
from copydesk.posting.linkedin_answers import HOST, VERSION, duplicated, made_of, not_again, refusal, says
from copydesk.posting.linkedin_text import SLACK, little, made_at, post_url
from copydesk.posting.oauth import Access, harmless
from copydesk.posting.platform import (
    CONNECT_AGAIN,
    Account,
    Connected,
    Evidence,
    Figures,
    Intent,
    Limits,
    LoginError,
    Made,
    NotSentError,
    Picture,
    Post,
    Problem,
    RefusedPostError,
    Secrets,
    SignIn,
    Step,
    Trust,
    UnknownOutcomeError,
    Wanted,
)
from copydesk.posting.site import own_server
from copydesk.text.length import LIMITS, length
from copydesk.text.links import host

WEB = "https://www.linkedin.com"
SCOPES = "openid profile w_member_social"
PORT = 8398
"""LinkedIn wants the address that the browser comes back to letter by letter as it was registered, and so the port."""
QUIET = timedelta(seconds=90)
PROBE_WITHIN = timedelta(hours=1)
"""How long after the first request the same one may be made again; LinkedIn does not say how long it knows a text."""


class _User(msgspec.Struct, frozen=True):
    sub: str
    name: str = ""


class _Upload(msgspec.Struct, frozen=True):
    uploadUrl: str  # noqa: N815 - LinkedIn's own name
    image: str


class _Begun(msgspec.Struct, frozen=True):
    value: _Upload


class LinkedIn:
    """LinkedIn, for one app of the user's own; `clock` gives aware times.

    `probe_by_repeating` is whether a lost post may be asked for once more to learn what became of it.
    """

    name: ClassVar[str] = "linkedin"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset({Format.SHORT}), pictures=20, picture_bytes=5_000_000, alt_characters=1000
    )
    home: ClassVar[str] = "https://api.linkedin.com"
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="client_id", question="Client ID of your app at linkedin.com/developers"),
        Wanted(name="client_secret", question="Its client secret", secret=True),
    )
    fixed_port: ClassVar[int | None] = PORT
    by_hand: ClassVar[str] = ""

    def __init__(
        self,
        caller: Caller,
        secrets: Secrets,
        *,
        clock: Callable[[], datetime],
        probe_by_repeating: bool = False,
    ) -> None:
        self._caller = caller
        self._clock = clock
        self._probe = probe_by_repeating
        self._access = Access(caller, secrets, clock, renew=None, early=timedelta(0))
        self._probed: set[str] = set()

    def trust(self, account: Account) -> Trust:
        """Nothing can be read back; the same request again tells, where the user allows it."""
        return Trust(can_look=self._probe, quiet=QUIET)

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """A thread, a text that is too long, too many pictures."""
        if post.format not in self.limits.formats:
            return [Problem(message="LinkedIn has no threads and takes no articles from apps: write one short post.")]
        text, found = post.parts[0], []
        if not text.strip() and not post.alts:
            found.append("It is empty.")
        if (long := length(text, "linkedin")) > LIMITS["linkedin"]:
            found.append(f"It is {long} characters long; {LIMITS['linkedin']} are allowed.")
        if len(post.alts) > self.limits.pictures:
            found.append(f"LinkedIn takes at most {self.limits.pictures} pictures.")
        if any(len(alt) > self.limits.alt_characters for alt in post.alts):
            found.append(f"The description of a picture may have {self.limits.alt_characters} characters.")
        return [Problem(message=message, part=0) for message in found]

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """One step. Only the ids of pictures are added later."""
        body: dict[str, object] = {
            "author": f"urn:li:person:{account.id}",
            "commentary": little(post.parts[0]),
            "visibility": "PUBLIC",
            "distribution": {
                "feedDistribution": "MAIN_FEED",
                "targetEntities": [],
                "thirdPartyDistributionChannels": [],
            },
            "lifecycleState": "PUBLISHED",
            "isReshareDisabledByAuthor": False,
        }
        if post.alts:
            body["content"] = _content([{"altText": alt} for alt in post.alts])
        return Intent(steps=(Step(keys=(uuid_key(seed, 0),), body=body),), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Not without a browser."""
        raise LoginError("An account on LinkedIn is connected in the browser.")

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Where the user says yes. LinkedIn knows PKCE only for apps that it has approved for it."""
        kept = {name: given.get(name, "") for name in ("client_id", "client_secret")}
        if not all(kept.values()):
            raise LoginError("LinkedIn wants the client ID and the client secret of an app.")
        url = f"{WEB}/oauth/v2/authorization"
        return oauth.begin(url, client_id=kept["client_id"], redirect=redirect, scope=SCOPES, pkce=False, kept=kept)

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Get in with the code. The token is good for 60 days and cannot be renewed."""
        server = own_server(server)
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": sign_in.redirect, **sign_in.kept}
        base = WEB if server == self.home else server
        tokens = await harmless(oauth.granted(self._caller, f"{base}/oauth/v2/accessToken", form, self._clock()))
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        answer = await harmless(self._caller.ask("GET", f"{server}/v2/userinfo", headers=bearer))
        return Connected(account=self._account(server, answer), secrets=oauth.as_secrets(tokens, self._clock()))

    async def check(self, account: Account) -> Account:
        """The account under the name that it has now."""
        answer = await harmless(self._access.ask(account, "GET", f"{account.server}/v2/userinfo"))
        found = self._account(account.server, answer)
        if found.id != account.id:
            raise LoginError("The key is another account's.", hint=CONNECT_AGAIN)
        return found

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Make the post, with its pictures."""
        body = dict(intent.steps[len(made)].body)
        if pictures:
            body["content"] = _content([await harmless(self._upload(account, picture)) for picture in pictures])
        elif "content" in body:
            raise RefusedPostError("The pictures of the post are missing.")
        began = self._clock()
        answer = await self._post(account, body)
        if answer.good:
            return made_of(answer)
        if (first := duplicated(answer)) is None:
            raise refusal(answer, self._clock())
        raise not_again(first, began)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """Ask for the same post once more, where that is allowed: refused, it names the first one; made, it is the only
        one, for the first would have been in its way.

        It is not done before a late request must have arrived, nor after an hour, nor again if its own answer is lost.
        """
        step, now = intent.steps[len(made)], self._clock()
        allowed = self._probe and "content" not in step.body and step.keys[0] not in self._probed
        if not allowed or not since <= now < since + PROBE_WITHIN:
            raise UnknownOutcomeError(
                "LinkedIn does not show apps what a member posted.", hint="Look at your profile on LinkedIn."
            )
        if now < since + QUIET:
            raise NotSentError("It is too early to ask LinkedIn again.", retry_after=since + QUIET)
        self._probed.add(step.keys[0])
        answer = await self._post(account, step.body)
        if answer.good:
            return made_of(answer)
        first = duplicated(answer)
        if first is None:
            self._probed.discard(step.keys[0])
            raise unread(answer, HOST, now, says=says(answer))
        at = made_at(first)
        if at is None or not since - SLACK <= at <= now + SLACK:
            raise UnknownOutcomeError(
                "LinkedIn has the same text in a post of another time.", hint="Look at your profile on LinkedIn."
            )
        return Made(ids=(first,), urls=(post_url(first),), evidence=Evidence.DUPLICATE_ANSWER)

    async def delete(self, account: Account, made: Made) -> None:
        """Take the post back."""
        for urn in made.ids:
            url = f"{account.server}/rest/posts/{quote(urn, safe='')}"
            headers = {**_HEADERS, "x-restli-method": "DELETE"}
            answer = await self._access.ask(account, "DELETE", url, headers=headers)
            if not answer.good and answer.status != 404:
                raise refusal(answer, self._clock())

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Nothing: LinkedIn reports on members' posts only to apps that it has approved."""
        return {each: Figures() for each in ids}

    async def _post(self, account: Account, body: Mapping[str, object]) -> Answer:
        return await self._access.ask(account, "POST", f"{account.server}/rest/posts", headers=_HEADERS, json=body)

    async def _upload(self, account: Account, picture: Picture) -> dict[str, str]:
        """A picture that nobody sees yet, as it stands in a post."""
        begin = {"initializeUploadRequest": {"owner": f"urn:li:person:{account.id}"}}
        url = f"{account.server}/rest/images?action=initializeUpload"
        answer = await self._access.ask(account, "POST", url, headers=_HEADERS, json=begin)
        if not answer.good:
            raise refusal(answer, self._clock())
        upload = answer.read(_Begun).value
        _check_upload(upload.uploadUrl, account.server)
        kind = {"content-type": picture.media_type}
        answer = await self._access.ask(account, "PUT", upload.uploadUrl, headers=kind, content=picture.content)
        if not answer.good:
            raise refusal(answer, self._clock())
        return {"id": upload.image, "altText": picture.alt}

    def _account(self, server: str, answer: Answer) -> Account:
        if not answer.good:
            raise unread(answer, HOST, self._clock(), says=says(answer))
        user = answer.read(_User)
        if not user.sub.isascii() or not user.sub.replace("-", "").replace("_", "").isalnum():
            raise LoginError("LinkedIn does not say whose account it is.")
        return Account(platform=self.name, server=server, id=user.sub, name=user.name or user.sub)


_HEADERS = {"linkedin-version": VERSION, "x-restli-protocol-version": "2.0.0"}


def _content(images: list[dict[str, str]]) -> dict[str, object]:
    return {"media": images[0]} if len(images) == 1 else {"multiImage": {"images": images}}


def _check_upload(url: str, server: str) -> None:
    """The token goes along with the picture, so it may only go to LinkedIn."""
    home = url.startswith("https://") and f".{host(url)}".endswith(".linkedin.com")
    if not home and not url.startswith(f"{server}/"):
        raise NotSentError("LinkedIn named an address for the picture that is not its own.")
