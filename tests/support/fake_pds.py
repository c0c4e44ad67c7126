"""A fake PDS with the part of the API that Copydesk uses. Faults on request; otherwise it responds as PDS 0.5.35."""

import hashlib
from base64 import b32decode
from collections import deque
from collections.abc import Mapping
from enum import Enum
from urllib.parse import parse_qs

import httpx
import msgspec
from libipld import encode_cid, encode_dag_cbor

DID = "did:plc:me"
PASSWORD = "abcd-efgh-ijkl-mnop"


class RequestLoss(Enum):
    """A request whose response is lost."""

    BEFORE = "before"
    AFTER = "after"
    LATE = "late"
    """Processed by `deliver_late`."""


Fault = RequestLoss | httpx.Response | Exception


class FakePds:
    """The server of one account. `faults` apply to the next applyWrites requests, one each."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, object]] = {}
        self.blobs: dict[str, int] = {}
        self.faults: deque[Fault | None] = deque()
        self.canned_responses: dict[str, httpx.Response] = {}
        """Method name -> response in place of the normal one."""
        self.calls: list[str] = []
        self.tokens: list[str] = []
        self.metrics: dict[str, dict[str, object]] = {}
        self.session: dict[str, object] = {"did": DID, "handle": "me.example"}
        self.access, self.refresh = "access-1", "refresh-1"
        self._late: list[httpx.Request] = []

    @property
    def transport(self) -> httpx.MockTransport:
        """An httpx transport to this server."""
        return httpx.MockTransport(self.respond)

    def expire_access(self) -> None:
        """Let the access token expire."""
        self.access = "access-none"

    def deliver_late(self) -> None:
        """Process the late requests."""
        late, self._late = self._late, []
        for request in late:
            self._store_writes(request)

    def respond(self, request: httpx.Request) -> httpx.Response:
        """Return the response; raise if the connection breaks."""
        name = request.url.path.removeprefix("/xrpc/").rsplit(".", 1)[1]
        self.calls.append(name)
        self.tokens.append(request.headers.get("authorization", "").removeprefix("Bearer "))
        if name in self.canned_responses:
            return self.canned_responses[name]
        public_methods = {
            "createSession": self._create_session,
            "getRecord": self._get_record,
            "listRecords": self._list_records,
            "refreshSession": self._refresh_session,
        }
        if name in public_methods:
            return public_methods[name](request)
        if self.tokens[-1] != self.access:
            return error_response(400, "ExpiredToken", "Token has expired")
        return {
            "getSession": lambda _: httpx.Response(200, json=self.session),
            "applyWrites": self._apply_writes,
            "uploadBlob": self._upload_blob,
            "deleteRecord": self._delete_record,
            "getPosts": self._get_posts,
        }[name](request)

    def _create_session(self, request: httpx.Request) -> httpx.Response:
        credentials = msgspec.json.decode(request.content)
        if credentials["identifier"] not in ("me.example", DID) or credentials["password"] != PASSWORD:
            return error_response(401, "AuthenticationRequired", "Invalid identifier or password")
        return self._start_session()

    def _refresh_session(self, request: httpx.Request) -> httpx.Response:
        return (
            self._start_session()
            if self.tokens[-1] == self.refresh
            else error_response(400, "ExpiredToken", "Token has expired")
        )

    def _start_session(self) -> httpx.Response:
        count = len(self.calls)
        self.access, self.refresh = f"access-{count}", f"refresh-{count}"
        return httpx.Response(200, json={**self.session, "accessJwt": self.access, "refreshJwt": self.refresh})

    def _apply_writes(self, request: httpx.Request) -> httpx.Response:
        fault = self.faults.popleft() if self.faults else None
        if fault is RequestLoss.AFTER:
            self._store_writes(request)
        if fault is RequestLoss.LATE:
            self._late.append(request)
        if isinstance(fault, RequestLoss):
            raise httpx.ReadError("cut")
        if isinstance(fault, Exception):
            raise fault
        return fault or self._store_writes(request)

    def _store_writes(self, request: httpx.Request) -> httpx.Response:
        writes = msgspec.json.decode(request.content)["writes"]
        uris = [f"at://{DID}/{write['collection']}/{write['rkey']}" for write in writes]
        if any(uri in self.records for uri in uris):
            return error_response(500, "InternalServerError", "Internal Server Error")
        for link in find_links(writes):
            if link not in self.blobs:
                return error_response(400, "BlobNotFound", f"Could not find blob: {link}")
        for uri, write in zip(uris, writes, strict=True):
            self.records[uri] = {"uri": uri, "cid": compute_cid(write["value"]), "value": write["value"]}
        results = [{name: self.records[uri][name] for name in ("uri", "cid")} for uri in uris]
        return httpx.Response(200, json={"results": results})

    def _get_record(self, request: httpx.Request) -> httpx.Response:
        params = request.url.params
        record = self.records.get(f"at://{params['repo']}/{params['collection']}/{params['rkey']}")
        return (
            httpx.Response(200, json=record)
            if record
            else error_response(400, "RecordNotFound", "Could not locate record")
        )

    def _list_records(self, request: httpx.Request) -> httpx.Response:
        params = request.url.params
        prefix = f"at://{params['repo']}/{params['collection']}/"
        newest_first = [self.records[uri] for uri in sorted(self.records, reverse=True) if uri.startswith(prefix)]
        return httpx.Response(200, json={"records": newest_first[: int(params["limit"])]})

    def _upload_blob(self, request: httpx.Request) -> httpx.Response:
        link = _encode_cid(b"\x55", request.content)
        self.blobs[link] = len(request.content)
        blob = {
            "$type": "blob",
            "ref": {"$link": link},
            "mimeType": request.headers["content-type"],
            "size": len(request.content),
        }
        return httpx.Response(200, json={"blob": blob})

    def _delete_record(self, request: httpx.Request) -> httpx.Response:
        body = msgspec.json.decode(request.content)
        self.records.pop(f"at://{body['repo']}/{body['collection']}/{body['rkey']}", None)
        return httpx.Response(200, json={})

    def _get_posts(self, request: httpx.Request) -> httpx.Response:
        uris = parse_qs(request.url.query.decode())["uris"]
        if len(uris) > 25:
            return error_response(400, "InvalidRequest", "uris must not have more than 25 elements")
        return httpx.Response(200, json={"posts": [{"uri": u, **self.metrics[u]} for u in uris if u in self.metrics]})


def error_response(status: int, error: str, message: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Return an error in the form of a PDS."""
    return httpx.Response(status, json={"error": error, "message": message}, headers=headers)


def compute_cid(value: object) -> str:
    """Return the content id of a record."""
    return _encode_cid(b"\x71", encode_dag_cbor(_with_bytes(value)))


def find_links(value: object) -> list[str]:
    """Return the CIDs of all blobs that `value` refers to."""
    if isinstance(value, dict):
        children = value.values()
        return [str(value["$link"])] if "$link" in value else [link for child in children for link in find_links(child)]
    return [link for child in value for link in find_links(child)] if isinstance(value, list) else []


def _with_bytes(value: object) -> object:
    if isinstance(value, dict):
        if "$link" in value:
            return b32decode(value["$link"][1:].upper() + "======")
        return {name: _with_bytes(child) for name, child in value.items()}
    return [_with_bytes(child) for child in value] if isinstance(value, list) else value


def _encode_cid(codec: bytes, content: bytes) -> str:
    return encode_cid(b"\x01" + codec + b"\x12\x20" + hashlib.sha256(content).digest())
