"""LinkedIn for members: single posts in its "little" text format, which apps cannot read back.

After a lost request the user is asked: its outcome could only be found by sending the same post once more.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import quote

import msgspec

from copydesk.model.platform import PlatformInfo
from copydesk.posting import oauth
from copydesk.posting.client import PlatformClient, Response, as_repeatable, error_for_read, error_for_write
from copydesk.posting.oauth import AuthorizedClient
from copydesk.posting.platform import (
    Account,
    ConnectResult,
    CredentialStore,
    DeliveryGuarantees,
    DeliveryStep,
    Intent,
    LoginError,
    NotSentError,
    Post,
    PostImage,
    PostingError,
    PostMetrics,
    Problem,
    RefusedPostError,
    SignIn,
    StepResult,
    UnknownOutcomeError,
    uuid_key,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.posting.site import parse_server_url
from copydesk.text.links import hashtag_spans, host, mask_links

_RESERVED = re.compile(r"[\\|{}@\[\]()<>#*_~]")
_EARLIEST, _LATEST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2012, 2100))
_URN = re.compile(r"urn:li:(?:share|ugcPost):[0-9]{1,20}", re.ASCII)

HOST = "LinkedIn"
API_VERSION = "202605"
"""API version. LinkedIn retires each version about a year after its month."""

WEB = "https://www.linkedin.com"
SCOPES = "openid profile w_member_social"
CLOCK_TOLERANCE = timedelta(minutes=2)
"""Difference allowed between the clock of LinkedIn and ours."""

_HEADERS = {"linkedin-version": API_VERSION, "x-restli-protocol-version": "2.0.0"}


def to_little_text(text: str) -> str:
    """Return `text` in LinkedIn's "little" format (Microsoft Learn, "little Text Format").

    Hashtags are marked up and every other reserved character is escaped with a backslash. LinkedIn silently cuts the
    post off at an unescaped one.
    """
    pieces: list[str] = []
    position = 0
    for start, end in hashtag_spans(mask_links(text)):
        tag = text[start + 1 : end]
        # A tag with a reserved character cannot be marked up; it is escaped like other text.
        if text[start] == "#" and not _RESERVED.search(tag):
            pieces += [_escape(text[position:start]), "{hashtag|\\#|", tag, "}"]
            position = end
    return "".join([*pieces, _escape(text[position:])])


def _escape(text: str) -> str:
    return _RESERVED.sub(lambda match: "\\" + match[0], text)


def is_urn(value: str) -> bool:
    """Return True if `value` can be the URN of a post."""
    return _URN.fullmatch(value) is not None


def find_urn(text: str) -> str:
    """Return the first post URN in `text`; empty if there is none."""
    match = _URN.search(text)
    return match[0] if match else ""


def post_url(urn: str) -> str:
    """Return the public URL of a post."""
    return f"https://www.linkedin.com/feed/update/{urn}/"


def creation_time(urn: str) -> datetime | None:
    """Return the creation time encoded in a post's URN; None if that is no plausible time.

    All but the last 22 bits appear to be milliseconds since 1970. LinkedIn does not document this, so it only serves to
    tell another post from ours after LinkedIn itself has named one.
    """
    seconds = (int(urn.rsplit(":", 1)[1]) >> 22) / 1000
    return datetime.fromtimestamp(seconds, UTC) if _EARLIEST <= seconds < _LATEST else None


class _ErrorBody(msgspec.Struct, frozen=True):
    message: str = ""
    code: str = ""


def created_post(response: Response) -> StepResult:
    """Return the created post, by its URN in the response header. Raise `UnknownOutcomeError` if there is none."""
    urn = response.headers.get("x-restli-id", "")
    if not is_urn(urn):
        raise UnknownOutcomeError("LinkedIn did not return the id of the post.")
    return StepResult(ids=(urn,), urls=(post_url(urn),))


def error_text(response: Response) -> str:
    """Return LinkedIn's error message; empty if there is none that can be decoded."""
    return response.decode_or(_ErrorBody()).message


def error_for_response(response: Response, now: datetime) -> PostingError:
    """Return the error that an unsuccessful response to a write request means."""
    if response.status == 426:  # sent before the request is processed (Microsoft Learn, "Versioning")
        return RefusedPostError(f"LinkedIn has retired API version {API_VERSION}.", hint="Update Copydesk.")
    return error_for_write(response, HOST, now, explanation=error_text(response))


def duplicate_of(response: Response) -> str | None:
    """Return the URN of the existing post with the same text; None if the response is no duplicate error.

    The URN is empty if LinkedIn does not name it.
    """
    problem = response.decode_or(_ErrorBody())
    if response.status != 422 or (problem.code != "DUPLICATE_POST" and "duplicate" not in problem.message.lower()):
        return None
    return find_urn(problem.message)


def duplicate_error(first: str, started_at: datetime) -> PostingError:
    """Return the error for a post that LinkedIn rejected as a duplicate of `first`.

    If `first` is older than this request, it is another post. Otherwise it may be the very one that was sent.
    """
    created_at = creation_time(first) if first else None
    link = f" {post_url(first)}" if first else ""
    if created_at is not None and created_at < started_at - CLOCK_TOLERANCE:
        return RefusedPostError(
            f"LinkedIn already has this text in an earlier post:{link}",
            hint="If that is another post, change the text.",
        )
    return UnknownOutcomeError(f"LinkedIn reports a duplicate text.{link}", hint="Check whether it is this post.")


class _User(msgspec.Struct, frozen=True):
    sub: str
    name: str = ""


class _Upload(msgspec.Struct, frozen=True):
    uploadUrl: str  # noqa: N815 - LinkedIn's own name
    image: str


class _InitializedUpload(msgspec.Struct, frozen=True):
    value: _Upload


class LinkedIn:
    """LinkedIn, with an app that the user registered. `clock` returns aware datetimes."""

    info: ClassVar[PlatformInfo] = PLATFORMS["linkedin"]

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, *, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._clock = clock
        self._access = AuthorizedClient(client, credential_store, clock, refresh=None, refresh_before=timedelta(0))

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return guarantees without idempotency and without a way to read posts back."""
        return DeliveryGuarantees(can_read_back=False)

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return problems: threads, articles, text empty or too long, too many images, alt texts too long."""
        if post.format not in self.info.limits.formats:
            return [Problem(message="LinkedIn accepts single short posts only, no threads or articles.")]
        text, messages = post.parts[0], []
        if not text.strip() and not post.alts:
            messages.append("The text is empty.")
        if self.info.is_too_long(text):
            size, limit = self.info.count(text), self.info.limits.max_length
            messages.append(f"{size} characters; the limit is {limit}.")
        if len(post.alts) > self.info.limits.max_images:
            messages.append(f"LinkedIn accepts at most {self.info.limits.max_images} images.")
        if any(len(alt) > self.info.limits.max_alt_length for alt in post.alts):
            messages.append(f"Alt texts on LinkedIn are limited to {self.info.limits.max_alt_length} characters.")
        return [Problem(message=message, part=0) for message in messages]

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step. Only the ids of images are added when it is sent."""
        body: dict[str, object] = {
            "author": f"urn:li:person:{account.id}",
            "commentary": to_little_text(post.parts[0]),
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
        return Intent(steps=(DeliveryStep(keys=(uuid_key(seed, 0),), body=body),), at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Raise `LoginError`: connecting needs a browser."""
        raise LoginError("LinkedIn accounts are connected with the browser.")

    async def start_sign_in(self, server: str, credentials: Mapping[str, str], redirect_uri: str) -> SignIn:
        """Return the sign-in with its authorization page.

        LinkedIn supports PKCE only for apps it has approved for that.
        """
        app = {name: credentials.get(name, "") for name in ("client_id", "client_secret")}
        if not all(app.values()):
            raise LoginError("LinkedIn needs the client ID and client secret of an app.")
        url = f"{WEB}/oauth/v2/authorization"
        return oauth.start_sign_in(
            url, client_id=app["client_id"], redirect_uri=redirect_uri, scope=SCOPES, pkce=False, context=app
        )

    async def finish_sign_in(self, server: str, sign_in: SignIn, code: str) -> ConnectResult:
        """Exchange the returned code for credentials. The token lasts 60 days and cannot be refreshed."""
        server = parse_server_url(server)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": sign_in.redirect_uri,
            **sign_in.context,
        }
        # LinkedIn's token endpoint is on another host than its API; a test server has both.
        base = WEB if server == self.info.default_server else server
        tokens = await as_repeatable(
            oauth.request_tokens(self._client, f"{base}/oauth/v2/accessToken", form, self._clock())
        )
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        response = await as_repeatable(self._client.request("GET", f"{server}/v2/userinfo", headers=bearer))
        return ConnectResult(
            account=self._decode_account(server, response), credentials=oauth.to_credentials(tokens, self._clock())
        )

    async def check(self, account: Account) -> Account:
        """Return the account with its current name."""
        response = await as_repeatable(self._access.request(account, "GET", f"{account.server}/v2/userinfo"))
        current = self._decode_account(account.server, response)
        oauth.require_same_account(current, account)
        return current

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Create the post with its images."""
        body = dict(intent.steps[len(completed)].body)
        if images:
            body["content"] = _content([await as_repeatable(self._upload_image(account, image)) for image in images])
        elif "content" in body:
            raise RefusedPostError("The images of the post are missing.")
        started_at = self._clock()
        response = await self._create_post(account, body)
        if response.is_success:
            return created_post(response)
        # A duplicate error may be caused by this very post, if an earlier request was lost.
        if (first := duplicate_of(response)) is None:
            raise error_for_response(response, self._clock())
        raise duplicate_error(first, started_at)

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Raise `UnknownOutcomeError`: apps cannot read members' posts."""
        raise UnknownOutcomeError("LinkedIn does not let apps read posts.", hint="Check your profile on LinkedIn.")

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete the post."""
        for urn in result.ids:
            url = f"{account.server}/rest/posts/{quote(urn, safe='')}"
            headers = {**_HEADERS, "x-restli-method": "DELETE"}
            response = await self._access.request(account, "DELETE", url, headers=headers)
            if not response.is_success and response.status != 404:
                raise error_for_response(response, self._clock())

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return empty metrics: LinkedIn reports on members' posts only to apps it has approved for that."""
        return {post_id: PostMetrics() for post_id in ids}

    async def _create_post(self, account: Account, body: Mapping[str, object]) -> Response:
        return await self._access.request(account, "POST", f"{account.server}/rest/posts", headers=_HEADERS, json=body)

    async def _upload_image(self, account: Account, image: PostImage) -> dict[str, str]:
        """Upload an image, which stays invisible until a post uses it, and return its entry in a post."""
        upload_request = {"initializeUploadRequest": {"owner": f"urn:li:person:{account.id}"}}
        url = f"{account.server}/rest/images?action=initializeUpload"
        response = await self._access.request(account, "POST", url, headers=_HEADERS, json=upload_request)
        if not response.is_success:
            raise error_for_response(response, self._clock())
        upload = response.decode(_InitializedUpload).value
        _validate_upload_url(upload.uploadUrl, account.server)
        headers = {"content-type": image.media_type}
        response = await self._access.request(account, "PUT", upload.uploadUrl, headers=headers, content=image.content)
        if not response.is_success:
            raise error_for_response(response, self._clock())
        return {"id": upload.image, "altText": image.alt}

    def _decode_account(self, server: str, response: Response) -> Account:
        if not response.is_success:
            raise error_for_read(response, HOST, self._clock(), explanation=error_text(response))
        user = response.decode(_User)
        # The id becomes part of URNs and must not contain separators.
        if not user.sub.isascii() or not user.sub.replace("-", "").replace("_", "").isalnum():
            raise LoginError("LinkedIn did not identify the account.")
        return Account(platform=self.info.name, server=server, id=user.sub, name=user.name or user.sub)


def _content(images: list[dict[str, str]]) -> dict[str, object]:
    # LinkedIn has different schemas for one image and for several.
    return {"media": images[0]} if len(images) == 1 else {"multiImage": {"images": images}}


def _validate_upload_url(url: str, server: str) -> None:
    """Raise `NotSentError` unless `url` belongs to LinkedIn: the token is sent along with the image."""
    is_linkedin = url.startswith("https://") and f".{host(url)}".endswith(".linkedin.com")
    if not is_linkedin and not url.startswith(f"{server}/"):
        raise NotSentError("LinkedIn returned an image upload address of another host.")
