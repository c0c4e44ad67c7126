"""LinkedIn for members: single posts, which apps cannot read back.

The outcome of a lost request can only be found by sending the same post once more: LinkedIn rejects the same text and
names the first post. This is done if the user allows it, within an hour, and never with images.
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
"""LinkedIn compares the redirect URI literally with the registered one, including the port."""
QUIET = timedelta(seconds=90)
"""Wait this long after a lost request before probing: it may still arrive."""
PROBE_WITHIN = timedelta(hours=1)
"""Probe within this time after the first request; LinkedIn does not document how long it recognizes a text."""


class _User(msgspec.Struct, frozen=True):
    sub: str
    name: str = ""


class _Upload(msgspec.Struct, frozen=True):
    uploadUrl: str  # noqa: N815 - LinkedIn's own name
    image: str


class _InitializedUpload(msgspec.Struct, frozen=True):
    value: _Upload


class LinkedIn:
    """LinkedIn, with an app that the user registered. `clock` returns aware datetimes.

    `probe_by_repeating` allows sending a lost post once more to learn its outcome.
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
        self._client = caller
        self._clock = clock
        self._probe = probe_by_repeating
        self._access = Access(caller, secrets, clock, renew=None, early=timedelta(0))
        self._probed: set[str] = set()

    def trust(self, account: Account) -> Trust:
        """Return guarantees that depend on `probe_by_repeating`; nothing can be read back otherwise."""
        return Trust(can_look=self._probe, quiet=QUIET)

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: threads, articles, text empty or too long, too many images, alt texts too long."""
        if post.format not in self.limits.formats:
            return [Problem(message="LinkedIn has no threads and takes no articles from apps: write one short post.")]
        text, messages = post.parts[0], []
        if not text.strip() and not post.alts:
            messages.append("It is empty.")
        if (size := length(text, "linkedin")) > LIMITS["linkedin"]:
            messages.append(f"It is {size} characters long; {LIMITS['linkedin']} are allowed.")
        if len(post.alts) > self.limits.pictures:
            messages.append(f"LinkedIn takes at most {self.limits.pictures} pictures.")
        if any(len(alt) > self.limits.alt_characters for alt in post.alts):
            messages.append(f"The description of a picture may have {self.limits.alt_characters} characters.")
        return [Problem(message=message, part=0) for message in messages]

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step. Only the ids of images are added when it is sent."""
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
        """Raise `LoginError`: connecting needs a browser."""
        raise LoginError("An account on LinkedIn is connected in the browser.")

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Return the sign-in with its authorization page.

        LinkedIn supports PKCE only for apps it has approved for that.
        """
        app = {name: given.get(name, "") for name in ("client_id", "client_secret")}
        if not all(app.values()):
            raise LoginError("LinkedIn wants the client ID and the client secret of an app.")
        url = f"{WEB}/oauth/v2/authorization"
        return oauth.begin(url, client_id=app["client_id"], redirect=redirect, scope=SCOPES, pkce=False, kept=app)

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Exchange the returned code for credentials. The token lasts 60 days and cannot be refreshed."""
        server = own_server(server)
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": sign_in.redirect, **sign_in.kept}
        # LinkedIn's token endpoint is on another host than its API; a test server has both.
        base = WEB if server == self.home else server
        tokens = await harmless(oauth.granted(self._client, f"{base}/oauth/v2/accessToken", form, self._clock()))
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        answer = await harmless(self._client.ask("GET", f"{server}/v2/userinfo", headers=bearer))
        return Connected(account=self._decode_account(server, answer), secrets=oauth.as_secrets(tokens, self._clock()))

    async def check(self, account: Account) -> Account:
        """Return the account with its current name."""
        answer = await harmless(self._access.ask(account, "GET", f"{account.server}/v2/userinfo"))
        current = self._decode_account(account.server, answer)
        if current.id != account.id:
            raise LoginError("The key is another account's.", hint=CONNECT_AGAIN)
        return current

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Create the post with its images."""
        body = dict(intent.steps[len(made)].body)
        if pictures:
            body["content"] = _content([await harmless(self._upload_image(account, image)) for image in pictures])
        elif "content" in body:
            raise RefusedPostError("The pictures of the post are missing.")
        started_at = self._clock()
        answer = await self._create_post(account, body)
        if answer.good:
            return made_of(answer)
        # A duplicate error may be caused by this very post, if an earlier request was lost.
        if (first := duplicated(answer)) is None:
            raise refusal(answer, self._clock())
        raise not_again(first, started_at)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """Send the same post once more, if that is allowed, and return the post that then exists.

        A rejection names the first post. A success is the only post, because the first one would have blocked it. Raise
        `NotSentError` while the first request may still arrive, and `UnknownOutcomeError` after an hour or if an
        earlier probe got no response.
        """
        step, now = intent.steps[len(made)], self._clock()
        allowed = self._probe and "content" not in step.body and step.keys[0] not in self._probed
        if not allowed or not since <= now < since + PROBE_WITHIN:
            raise UnknownOutcomeError(
                "LinkedIn does not show apps what a member posted.", hint="Look at your profile on LinkedIn."
            )
        if now < since + QUIET:
            raise NotSentError("It is too early to ask LinkedIn again.", retry_after=since + QUIET)
        # Mark it before sending: a probe whose response is lost must not be repeated.
        self._probed.add(step.keys[0])
        answer = await self._create_post(account, step.body)
        if answer.good:
            return made_of(answer)
        first = duplicated(answer)
        if first is None:
            # An error response created nothing, so the probe may be repeated.
            self._probed.discard(step.keys[0])
            raise unread(answer, HOST, now, says=says(answer))
        created_at = made_at(first)
        if created_at is None or not since - SLACK <= created_at <= now + SLACK:
            raise UnknownOutcomeError(
                "LinkedIn has the same text in a post of another time.", hint="Look at your profile on LinkedIn."
            )
        return Made(ids=(first,), urls=(post_url(first),), evidence=Evidence.DUPLICATE_ANSWER)

    async def delete(self, account: Account, made: Made) -> None:
        """Delete the post."""
        for urn in made.ids:
            url = f"{account.server}/rest/posts/{quote(urn, safe='')}"
            headers = {**_HEADERS, "x-restli-method": "DELETE"}
            answer = await self._access.ask(account, "DELETE", url, headers=headers)
            if not answer.good and answer.status != 404:
                raise refusal(answer, self._clock())

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Return empty metrics: LinkedIn reports on members' posts only to apps it has approved for that."""
        return {post_id: Figures() for post_id in ids}

    async def _create_post(self, account: Account, body: Mapping[str, object]) -> Answer:
        return await self._access.ask(account, "POST", f"{account.server}/rest/posts", headers=_HEADERS, json=body)

    async def _upload_image(self, account: Account, image: Picture) -> dict[str, str]:
        """Upload an image, which stays invisible until a post uses it, and return its entry in a post."""
        upload_request = {"initializeUploadRequest": {"owner": f"urn:li:person:{account.id}"}}
        url = f"{account.server}/rest/images?action=initializeUpload"
        answer = await self._access.ask(account, "POST", url, headers=_HEADERS, json=upload_request)
        if not answer.good:
            raise refusal(answer, self._clock())
        upload = answer.read(_InitializedUpload).value
        _validate_upload_url(upload.uploadUrl, account.server)
        headers = {"content-type": image.media_type}
        answer = await self._access.ask(account, "PUT", upload.uploadUrl, headers=headers, content=image.content)
        if not answer.good:
            raise refusal(answer, self._clock())
        return {"id": upload.image, "altText": image.alt}

    def _decode_account(self, server: str, answer: Answer) -> Account:
        if not answer.good:
            raise unread(answer, HOST, self._clock(), says=says(answer))
        user = answer.read(_User)
        # The id becomes part of URNs and must not contain separators.
        if not user.sub.isascii() or not user.sub.replace("-", "").replace("_", "").isalnum():
            raise LoginError("LinkedIn does not say whose account it is.")
        return Account(platform=self.name, server=server, id=user.sub, name=user.name or user.sub)


_HEADERS = {"linkedin-version": VERSION, "x-restli-protocol-version": "2.0.0"}


def _content(images: list[dict[str, str]]) -> dict[str, object]:
    # LinkedIn has different schemas for one image and for several.
    return {"media": images[0]} if len(images) == 1 else {"multiImage": {"images": images}}


def _validate_upload_url(url: str, server: str) -> None:
    """Raise `NotSentError` unless `url` belongs to LinkedIn: the token is sent along with the image."""
    is_linkedin = url.startswith("https://") and f".{host(url)}".endswith(".linkedin.com")
    if not is_linkedin and not url.startswith(f"{server}/"):
        raise NotSentError("LinkedIn named an address for the picture that is not its own.")
