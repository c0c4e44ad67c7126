"""An in-memory Mastodon for tests: stateful, with faults on request, and as strict as Mastodon.

It does what mastodon-mock does not: idempotency keys expire after an hour, a key whose post was deleted gets 404, an
image can be attached to one post only, replies to missing posts are rejected, and images take time to process.
`GOTOSOCIAL` is another server with the same API: it has no keys, and returns the source text of a post.

    server = FakeMastodon(clock)
    server.faults["POST /api/v1/statuses"].append(Fault.CUT_AFTER)
"""

import email
import html
import re
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from urllib.parse import parse_qs

import httpx
import msgspec

TOKEN = "cd-planted-token"
ME = "1090"
OTHER_ACCOUNT = "2000"
HOUR = timedelta(hours=1)


class Fault(Enum):
    """A fault of one request, in place of the normal response."""

    NO_CONNECTION = "no connection"
    CUT_BEFORE = "cut before"
    CUT_AFTER = "cut after"
    LATE = "late"
    """Processed by `deliver_late`."""
    GARBAGE_AFTER = "garbage after"
    NO_ID_AFTER = "no id after"
    BROKEN_BEFORE = "500 before"
    BROKEN_AFTER = "500 after"
    THROTTLED = "429"
    WALL = "403 of something before it"


_STATUS_INSTEAD = {Fault.WALL: 403, Fault.BROKEN_BEFORE: 500}
_RESPONSE_AFTER = {
    Fault.GARBAGE_AFTER: (200, b"<html>"),
    Fault.NO_ID_AFTER: (200, b"{}"),
    Fault.BROKEN_AFTER: (503, b'{"error": "Something went wrong"}'),
}


@dataclass(frozen=True)
class Software:
    """The behaviour of one kind of server."""

    name: str
    version: str
    supports_keys: bool = True
    includes_text: bool = False
    has_source: bool = True
    supports_ids: bool = True
    replay_fails: bool = False
    """As 4.6 before mastodon#40399 was fixed: a repeated key gets 500."""
    refusal_status: int = 422


MASTODON = Software("mastodon", "4.6.3")
MASTODON_46 = Software("mastodon", "4.6.0", replay_fails=True)
MASTODON_4 = Software("Mastodon", "4.2.10", supports_ids=False)
GOTOSOCIAL = Software(
    "gotosocial", "0.20.1", supports_keys=False, includes_text=True, supports_ids=False, refusal_status=400
)
PLEROMA = Software("pleroma", "2.7.0", supports_keys=False, has_source=False, supports_ids=False)


@dataclass
class Status:
    """A stored post."""

    id: str
    account: str
    text: str
    parent: str | None
    at: datetime
    visibility: str
    media: list[str]
    reblog_of: str | None = None
    favourites: int = 0


@dataclass
class Upload:
    """A stored image."""

    description: str
    content: bytes
    polls_left: int
    used: bool = False


class FakeMastodon(httpx.AsyncBaseTransport):
    """The server, on the time of `clock`. `faults` are by method and path, one per request."""

    def __init__(self, clock: Callable[[], datetime], software: Software = MASTODON) -> None:
        self.clock = clock
        self.software = software
        self.statuses: list[Status] = []
        self.uploads: dict[str, Upload] = {}
        self.tokens = {TOKEN: ME}
        self.apps: dict[str, str] = {}
        self.challenges: dict[str, str] = {}
        self.supports_pkce = True
        self.media_polls = 0
        """Requests for an image's state before it is ready."""
        self.max_length = 500
        self.faults: dict[str, deque[Fault | int | None]] = defaultdict(deque)
        self.received: list[httpx.Request] = []
        self._keys: dict[tuple[str, str], tuple[str, datetime]] = {}
        self._late: list[httpx.Request] = []
        self._count = 100

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Respond normally, or with the next fault for this path."""
        await request.aread()
        self.received.append(request)
        path_faults = self.faults[f"{request.method} {request.url.path}"]
        fault = path_faults.popleft() if path_faults else None
        return self._respond(request) if fault is None else self._respond_with_fault(request, fault)

    def deliver_late(self) -> None:
        """Process the late requests."""
        while self._late:
            self._respond(self._late.pop(0))

    def posted_texts(self, account: str = ME) -> list[tuple[str, str | None]]:
        """Return the account's texts in order, each with the text it replies to."""
        texts = {status.id: status.text for status in self.statuses}
        statuses = [status for status in self.statuses if status.account == account]
        return [(status.text, texts.get(status.parent or "")) for status in statuses]

    def add_status(self, text: str, *, at: datetime | None = None, account: str = ME, **more: object) -> Status:
        """Add a post as if made with another program."""
        status = Status(self._new_id(), account, text, None, at or self.clock(), "public", [])
        for name, value in more.items():
            setattr(status, name, value)
        self.statuses.append(status)
        return status

    def requests_to(self, method: str, path: str) -> list[httpx.Request]:
        """Return the requests received for a path."""
        return [request for request in self.received if (request.method, request.url.path) == (method, path)]

    def _respond_with_fault(self, request: httpx.Request, fault: Fault | int) -> httpx.Response:
        if isinstance(fault, int):
            return httpx.Response(fault, json={"error": "As told"})
        if fault is Fault.NO_CONNECTION:
            raise httpx.ConnectError("refused")
        if fault is Fault.THROTTLED:
            reset = (self.clock() + timedelta(minutes=4)).isoformat().replace("+00:00", "Z")
            headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
            return httpx.Response(429, headers=headers, json={"error": "Too many requests"})
        if fault in _STATUS_INSTEAD:
            return httpx.Response(_STATUS_INSTEAD[fault], content=b"<html>Blocked</html>")
        if fault is Fault.LATE:
            self._late.append(request)
        if fault in (Fault.CUT_BEFORE, Fault.LATE):
            raise httpx.ReadError("cut")
        self._respond(request)
        if fault not in _RESPONSE_AFTER:
            raise httpx.ReadError("cut")
        status, content = _RESPONSE_AFTER[fault]
        return httpx.Response(status, content=content)

    def _respond(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        for method, pattern, answer in _ROUTES:
            if request.method == method and (match := re.fullmatch(pattern, path)):
                return answer(self, request, *match.groups())
        return _error(404, "Record not found")

    def _account_of(self, request: httpx.Request) -> str | None:
        return self.tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._count:06d}"

    def _find(self, status_id: str) -> Status | None:
        return next((status for status in self.statuses if status.id == status_id), None)

    def post_status(self, request: httpx.Request) -> httpx.Response:
        """Create a post, or return the existing one with this key."""
        account = self._account_of(request)
        if account is None:
            return _error(401, "The access token is invalid")
        key = request.headers.get("idempotency-key", "")
        if self.software.supports_keys and (existing_id := self._find_by_key(account, key)):
            if self.software.replay_fails:
                return _error(500, "Something went wrong")
            status = self._find(existing_id)
            return _ok(self._to_json(status)) if status else _error(404, "Record not found")
        body = msgspec.json.decode(request.content)
        error = self._validate(body)
        if error is not None:
            return error
        status = self.add_status(
            body["status"].strip(),
            account=account,
            parent=body.get("in_reply_to_id"),
            media=body.get("media_ids", []),
            visibility=body.get("visibility", "unlisted"),
        )
        for media in status.media:
            self.uploads[media].used = True
        if key:
            self._keys[account, key] = (status.id, self.clock())
        return _ok(self._to_json(status))

    def _find_by_key(self, account: str, key: str) -> str | None:
        status_id, created_at = self._keys.get((account, key), ("", self.clock() - 2 * HOUR))
        return status_id if self.clock() < created_at + HOUR else None

    def _validate(self, body: dict[str, object]) -> httpx.Response | None:
        parent, media = body.get("in_reply_to_id"), body.get("media_ids", [])
        if parent is not None and self._find(str(parent)) is None:
            return _error(404, "Record not found")
        if len(str(body["status"])) > self.max_length:
            return _error(self.software.refusal_status, "Validation failed: Text character limit of 500 exceeded")
        uploads = [self.uploads.get(media_id) for media_id in media]
        if any(upload is None or upload.used for upload in uploads):
            return _error(self.software.refusal_status, "Validation failed: media not found")
        if any(upload and upload.polls_left for upload in uploads):
            return _error(self.software.refusal_status, "Cannot attach files that have not finished processing")
        return None

    def post_media(self, request: httpx.Request) -> httpx.Response:
        """Store an image."""
        if self._account_of(request) is None:
            return _error(401, "The access token is invalid")
        headers = b"content-type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
        parts = email.message_from_bytes(headers + request.content).get_payload()
        fields = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
        media = self._new_id()
        self.uploads[media] = Upload(fields["description"].decode(), fields["file"], self.media_polls)
        return httpx.Response(202 if self.media_polls else 200, json={"id": media})

    def get_media(self, request: httpx.Request, media: str) -> httpx.Response:
        """Return whether an image has been processed."""
        upload = self.uploads.get(media)
        if upload is None or upload.used:
            return _error(404, "Record not found")
        upload.polls_left = max(upload.polls_left - 1, 0)
        return httpx.Response(206 if upload.polls_left else 200, json={"id": media})

    def get_statuses(self, request: httpx.Request, account: str) -> httpx.Response:
        """Return an account's posts, newest first."""
        if self._account_of(request) is None:
            return _error(401, "The access token is invalid")
        query = parse_qs(request.url.query.decode())
        max_id, limit = query.get("max_id", ["999999"])[0], min(int(query.get("limit", ["20"])[0]), 40)
        statuses = [status for status in reversed(self.statuses) if status.account == account and status.id < max_id]
        if "exclude_reblogs" in query:
            statuses = [status for status in statuses if status.reblog_of is None]
        return _ok([self._to_json(status) for status in statuses[:limit]])

    def get_by_ids(self, request: httpx.Request) -> httpx.Response:
        """Return several posts, leaving out those deleted."""
        if not self.software.supports_ids:
            return _error(404, "Record not found")
        ids = parse_qs(request.url.query.decode())["id[]"]
        if len(ids) > 20:
            return _error(422, "Validation failed")
        return _ok([self._to_json(status) for status_id in ids if (status := self._find(status_id))])

    def get_status(self, request: httpx.Request, status_id: str) -> httpx.Response:
        """Return one post."""
        status = self._find(status_id)
        return _ok(self._to_json(status)) if status else _error(404, "Record not found")

    def get_source(self, request: httpx.Request, status_id: str) -> httpx.Response:
        """Return a post's source text."""
        status = self._find(status_id)
        if status is None or not self.software.has_source:
            return _error(404, "Record not found")
        return _ok({"id": status.id, "text": status.text, "spoiler_text": ""})

    def delete_status(self, request: httpx.Request, status_id: str) -> httpx.Response:
        """Delete a post."""
        status = self._find(status_id)
        if status is None:
            return _error(404, "Record not found")
        self.statuses.remove(status)
        return _ok(self._to_json(status))

    def _to_json(self, status: Status) -> dict[str, object]:
        result: dict[str, object] = {
            "id": status.id,
            "created_at": status.at.isoformat().replace("+00:00", "Z"),
            "in_reply_to_id": status.parent,
            "visibility": status.visibility,
            "content": render_html(status.text),
            "url": f"https://social.example/@me/{status.id}",
            "account": {"id": status.account},
            "reblog": {"id": status.reblog_of} if status.reblog_of else None,
            "favourites_count": status.favourites,
            "replies_count": sum(other.parent == status.id for other in self.statuses),
            "reblogs_count": sum(other.reblog_of == status.id for other in self.statuses),
        }
        return result | {"text": status.text} if self.software.includes_text else result

    def verify_credentials(self, request: httpx.Request) -> httpx.Response:
        """Return the account of the token."""
        account = self._account_of(request)
        if account is None:
            return _error(401, "The access token is invalid")
        return _ok({"id": account, "username": "me", "acct": "me", "display_name": "\x1b[31mMe"})

    def instance(self, request: httpx.Request, version: str) -> httpx.Response:
        """Return the server's configuration."""
        configuration = {"statuses": {"max_characters": self.max_length, "characters_reserved_per_url": 23}}
        return _ok({"domain": "social.example", "configuration": configuration})

    def nodeinfo_links(self, request: httpx.Request) -> httpx.Response:
        """Return the NodeInfo link, pointing to an internal host as behind some proxies."""
        rel = "http://nodeinfo.diaspora.software/ns/schema/2.0"
        return _ok({"links": [{"rel": rel, "href": "http://inside.example:3000/nodeinfo/2.0"}]})

    def nodeinfo(self, request: httpx.Request) -> httpx.Response:
        """Return the server's software."""
        return _ok({"version": "2.0", "software": {"name": self.software.name, "version": self.software.version}})

    def register(self, request: httpx.Request) -> httpx.Response:
        """Register an app."""
        form = _form(request)
        self.apps["an-app"] = form["redirect_uris"]
        return _ok({"client_id": "an-app", "client_secret": "cd-planted-app-secret", "redirect_uri": "x"})

    def oauth_metadata(self, request: httpx.Request) -> httpx.Response:
        """Return the OAuth metadata."""
        return (
            _ok({"code_challenge_methods_supported": ["S256"]})
            if self.supports_pkce
            else _error(404, "Record not found")
        )

    def token(self, request: httpx.Request) -> httpx.Response:
        """Exchange a code for a token. A code is valid once, and only with the verifier of its challenge."""
        form = _form(request)
        challenge = self.challenges.pop(form["code"], None)
        valid = challenge is not None and form["client_secret"] == "cd-planted-app-secret"
        if (
            not valid
            or form["redirect_uri"] != self.apps[form["client_id"]]
            or form.get("code_verifier", "") != challenge
        ):
            return httpx.Response(400, json={"error": "invalid_grant", "error_description": "The code is invalid."})
        self.tokens["cd-planted-new-token"] = ME
        return _ok({"access_token": "cd-planted-new-token", "token_type": "Bearer", "scope": "read:accounts"})

    def revoke(self, request: httpx.Request) -> httpx.Response:
        """Revoke a token."""
        form = _form(request)
        if form.get("client_secret") != "cd-planted-app-secret":
            return _error(403, "unauthorized_client")
        self.tokens.pop(form["token"], None)
        return _ok({})


@dataclass
class InMemorySecrets:
    """Secrets in memory."""

    secrets: dict[str, str] = field(default_factory=lambda: {"token": TOKEN})

    async def read(self, account: object) -> dict[str, str]:
        return self.secrets

    async def save(self, account: object, secrets: dict[str, str]) -> None:
        self.secrets = dict(secrets)


def render_html(text: str) -> str:
    """Return the text as Mastodon's HTML: links in pieces, mentions without their server."""
    content = html.escape(text, quote=False)
    content = re.sub(
        r"(https?://)(\S{1,30})(\S*)",
        r'<a href="\1\2\3"><span class="invisible">\1</span><span class="ellipsis">\2</span>'
        r'<span class="invisible">\3</span></a>',
        content,
    )
    content = re.sub(
        r"(?<!\S)@(\w+)@([\w.]+)", r'<a href="https://\2/@\1" class="mention">@<span>\1</span></a>', content
    )
    blocks = [block.replace("\n", "<br />") for block in re.split(r"\n{2,}", content.strip())]
    return "".join(f"<p>{block}</p>" for block in blocks)


def _form(request: httpx.Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.content.decode()).items()}


def _ok(content: object) -> httpx.Response:
    return httpx.Response(200, json=content)


def _error(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"error": message})


_ROUTES = (
    ("POST", "/api/v1/statuses", FakeMastodon.post_status),
    ("GET", "/api/v1/statuses", FakeMastodon.get_by_ids),
    ("GET", r"/api/v1/statuses/(\w+)", FakeMastodon.get_status),
    ("DELETE", r"/api/v1/statuses/(\w+)", FakeMastodon.delete_status),
    ("GET", r"/api/v1/statuses/(\w+)/source", FakeMastodon.get_source),
    ("POST", "/api/v2/media", FakeMastodon.post_media),
    ("GET", r"/api/v1/media/(\w+)", FakeMastodon.get_media),
    ("GET", "/api/v1/accounts/verify_credentials", FakeMastodon.verify_credentials),
    ("GET", r"/api/v1/accounts/(\w+)/statuses", FakeMastodon.get_statuses),
    ("GET", r"/api/(v[12])/instance", FakeMastodon.instance),
    ("GET", "/.well-known/nodeinfo", FakeMastodon.nodeinfo_links),
    ("GET", "/nodeinfo/2.0", FakeMastodon.nodeinfo),
    ("POST", "/api/v1/apps", FakeMastodon.register),
    ("GET", "/.well-known/oauth-authorization-server", FakeMastodon.oauth_metadata),
    ("POST", "/oauth/token", FakeMastodon.token),
    ("POST", "/oauth/revoke", FakeMastodon.revoke),
)
