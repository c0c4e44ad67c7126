"""A PDS that is all here, as far as Copydesk asks it, and misbehaves as it is told; it answers as PDS 0.5.35 does."""

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


class Lost(Enum):
    """What happens to a request."""

    BEFORE = "before"
    AFTER = "after"
    LATE = "late"
    """It arrives later: with `arrive`."""


Fault = Lost | httpx.Response | Exception


class FakePds:
    """The server of one account. `faults` are what happens to the next requests to applyWrites, one each."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, object]] = {}
        self.blobs: dict[str, int] = {}
        self.faults: deque[Fault | None] = deque()
        self.answers: dict[str, httpx.Response] = {}
        """What is answered to a request by its name, instead of the proper answer."""
        self.asked: list[str] = []
        self.bearers: list[str] = []
        self.figures: dict[str, dict[str, object]] = {}
        self.session: dict[str, object] = {"did": DID, "handle": "me.example"}
        self.access, self.refresh = "access-1", "refresh-1"
        self._late: list[httpx.Request] = []

    @property
    def transport(self) -> httpx.MockTransport:
        """The way to it."""
        return httpx.MockTransport(self.answer)

    def expire(self) -> None:
        """The token for access counts no more."""
        self.access = "access-none"

    def arrive(self) -> None:
        """What was on its way is there now."""
        late, self._late = self._late, []
        for request in late:
            self._apply(request)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """What the server says; raises where the connection breaks."""
        name = request.url.path.removeprefix("/xrpc/").rsplit(".", 1)[1]
        self.asked.append(name)
        self.bearers.append(request.headers.get("authorization", "").removeprefix("Bearer "))
        if name in self.answers:
            return self.answers[name]
        open_to_all = {"createSession": self._create_session, "getRecord": self._get, "refreshSession": self._refresh}
        if name in open_to_all:
            return open_to_all[name](request)
        if self.bearers[-1] != self.access:
            return fault(400, "ExpiredToken", "Token has expired")
        return {
            "getSession": lambda _: httpx.Response(200, json=self.session),
            "applyWrites": self._meet_fault,
            "uploadBlob": self._upload,
            "deleteRecord": self._delete,
            "getPosts": self._posts,
        }[name](request)

    def _create_session(self, request: httpx.Request) -> httpx.Response:
        given = msgspec.json.decode(request.content)
        if given["identifier"] not in ("me.example", DID) or given["password"] != PASSWORD:
            return fault(401, "AuthenticationRequired", "Invalid identifier or password")
        return self._begin()

    def _refresh(self, request: httpx.Request) -> httpx.Response:
        return self._begin() if self.bearers[-1] == self.refresh else fault(400, "ExpiredToken", "Token has expired")

    def _begin(self) -> httpx.Response:
        count = len(self.asked)
        self.access, self.refresh = f"access-{count}", f"refresh-{count}"
        return httpx.Response(200, json={**self.session, "accessJwt": self.access, "refreshJwt": self.refresh})

    def _meet_fault(self, request: httpx.Request) -> httpx.Response:
        met = self.faults.popleft() if self.faults else None
        if met is Lost.AFTER:
            self._apply(request)
        if met is Lost.LATE:
            self._late.append(request)
        if isinstance(met, Lost):
            raise httpx.ReadError("cut")
        if isinstance(met, Exception):
            raise met
        return met or self._apply(request)

    def _apply(self, request: httpx.Request) -> httpx.Response:
        writes = msgspec.json.decode(request.content)["writes"]
        places = [f"at://{DID}/{each['collection']}/{each['rkey']}" for each in writes]
        if any(place in self.records for place in places):
            return fault(500, "InternalServerError", "Internal Server Error")
        for link in links(writes):
            if link not in self.blobs:
                return fault(400, "BlobNotFound", f"Could not find blob: {link}")
        for place, each in zip(places, writes, strict=True):
            self.records[place] = {"uri": place, "cid": cid(each["value"]), "value": each["value"]}
        made = [{name: self.records[place][name] for name in ("uri", "cid")} for place in places]
        return httpx.Response(200, json={"results": made})

    def _get(self, request: httpx.Request) -> httpx.Response:
        asked = request.url.params
        found = self.records.get(f"at://{asked['repo']}/{asked['collection']}/{asked['rkey']}")
        return httpx.Response(200, json=found) if found else fault(400, "RecordNotFound", "Could not locate record")

    def _upload(self, request: httpx.Request) -> httpx.Response:
        link = _cid(b"\x55", request.content)
        self.blobs[link] = len(request.content)
        blob = {
            "$type": "blob",
            "ref": {"$link": link},
            "mimeType": request.headers["content-type"],
            "size": len(request.content),
        }
        return httpx.Response(200, json={"blob": blob})

    def _delete(self, request: httpx.Request) -> httpx.Response:
        asked = msgspec.json.decode(request.content)
        self.records.pop(f"at://{asked['repo']}/{asked['collection']}/{asked['rkey']}", None)
        return httpx.Response(200, json={})

    def _posts(self, request: httpx.Request) -> httpx.Response:
        uris = parse_qs(request.url.query.decode())["uris"]
        if len(uris) > 25:
            return fault(400, "InvalidRequest", "uris must not have more than 25 elements")
        return httpx.Response(200, json={"posts": [{"uri": u, **self.figures[u]} for u in uris if u in self.figures]})


def fault(status: int, error: str, message: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """An error as a PDS says it."""
    return httpx.Response(status, json={"error": error, "message": message}, headers=headers)


def cid(value: object) -> str:
    """The content id of a record."""
    return _cid(b"\x71", encode_dag_cbor(_with_bytes(value)))


def links(value: object) -> list[str]:
    """Every file that `value` names."""
    if isinstance(value, dict):
        inner = value.values()
        return [str(value["$link"])] if "$link" in value else [link for each in inner for link in links(each)]
    return [link for each in value for link in links(each)] if isinstance(value, list) else []


def _with_bytes(value: object) -> object:
    if isinstance(value, dict):
        if "$link" in value:
            return b32decode(value["$link"][1:].upper() + "======")
        return {name: _with_bytes(each) for name, each in value.items()}
    return [_with_bytes(each) for each in value] if isinstance(value, list) else value


def _cid(codec: bytes, content: bytes) -> str:
    return encode_cid(b"\x01" + codec + b"\x12\x20" + hashlib.sha256(content).digest())
