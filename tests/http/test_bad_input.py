"""Bad input over a real socket: always a problem or a closed connection, never a traceback, and never a hang."""

import asyncio
import json
import logging
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from copydesk.desk import open_desks
from copydesk.http import protocol, request_reading
from copydesk.model.token import Scope
from desk_fixtures import FakeWeb, settings_at
from http_service import run_server, run_service

# One server for all: it has to survive each of them.
pytestmark = pytest.mark.asyncio(loop_scope="module")
TIMEOUT = 20
"""Seconds after which a test fails: nothing takes as long."""
CLOSED = 0
"""In place of a status: the connection was closed without a response."""
DEEP = b"[" * 100_000 + b"]" * 100_000


class Server(NamedTuple):
    host: str
    port: int
    token: str

    def head(self, request: str, *lines: str, host: str = "", token: str | None = None) -> bytes:
        """Return the head of a request with a token."""
        authorization = f"Authorization: Bearer {self.token if token is None else token}"
        return "\r\n".join([f"{request} HTTP/1.1", f"Host: {host or self.host}", authorization, *lines, "", ""]).encode(
            "latin-1"
        )

    def post(self, path: str, body: bytes, *lines: str) -> bytes:
        """Return a request with a body of JSON."""
        return (
            self.head(f"POST {path}", "Content-Type: application/json", f"Content-Length: {len(body)}", *lines) + body
        )

    async def connect(self):
        return await asyncio.open_connection(self.host, self.port)

    async def send(self, *parts: bytes, end: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Send the parts of a request; return status, headers and body of the response."""
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await self.connect()
            try:
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                if end:
                    writer.write_eof()
                return await read_response(reader)
            except (ConnectionError, asyncio.IncompleteReadError):
                return CLOSED, {}, b""
            finally:
                writer.close()


async def read_response(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split(" ")[1]), headers, await reader.readexactly(int(headers.get("content-length", 0)))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory):
    async with open_desks(settings_at(tmp_path_factory.mktemp("desk")), transport=FakeWeb()) as desks:
        desk = await desks.get(desks.owner)
        token = await desk.tokens.create("test", Scope.PUBLISH)
        async with run_server(desks) as url:
            address = urlsplit(url)
            yield Server(address.hostname, address.port, token.secret)


def logged_requests(caplog):
    return [record.request for record in caplog.records if record.name == "copydesk.http.access"]


@pytest.fixture(autouse=True)
def _log(caplog, server):
    """Check that no error was unexpected, and that the log does not have the token."""
    caplog.set_level(logging.INFO, "copydesk")
    yield
    assert "Traceback" not in caplog.text
    assert server.token not in "".join(str(vars(record)) for record in caplog.records)


def check(response, *statuses):
    status, headers, body = response
    assert status in statuses, (status, body[:500])
    if status:
        assert headers["content-type"] == "application/problem+json"
        assert json.loads(body)["status"] == status
        assert "Traceback" not in body.decode()


def draft(text: bytes) -> bytes:
    return b'{"text": "' + text + b'"}'


BODIES = [
    ("empty", b"", 400),
    ("not JSON", b"text=a", 400),
    ("cut off", b'{"text": "a', 400),
    ("not UTF-8", draft(b"\xff\xfe"), 400),
    ("lone surrogate", draft(b"\\ud800"), 400),
    ("NUL", draft(b"\\u0000"), 422),
    ("nested deeply", DEEP, 400),
    ("nested deeply in a field", b'{"text": ' + DEEP + b"}", 400),
    ("two megabytes", draft(b"a" * 2**21), 413),
    ("a number", b"1", 422),
    ("a huge number", b'{"text": ' + b"9" * 5000 + b"}", 400),
    ("null", b"null", 422),
    ("a list", b'[{"text": "a"}]', 422),
    ("text that is an object", b'{"text": {"a": 1}}', 422),
    ("text that is true", b'{"text": true}', 422),
    ("tags that are a text", b'{"text": "a", "tags": "sea"}', 422),
    ("10,000 tags", b'{"text": "a", "tags": [' + b'"a",' * 9_999 + b'"a"]}', 422),
    ("images that are numbers", b'{"text": "a", "images": [1]}', 422),
    ("an image of a file", b'{"text": "a", "images": [{"url": "file:///etc/passwd", "source": "OG"}]}', 422),
    ("NaN", b'{"text": NaN}', 400),
    ("duplicate keys", b'{"text": "a", "text": "b"}', 400),
    ("duplicate keys in an unknown field", b'{"text": "a", "x": [{"y": {"b": 1, "b": 1}}]}', 400),
    ("two values", b'{"text": "a"} {"text": "b"}', 400),
]


@pytest.mark.parametrize(("body", "status"), [pytest.param(*row[1:], id=row[0]) for row in BODIES])
async def test_body(server, body, status):
    check(await server.send(server.post("/drafts", body)), status)


ODD_IDS = [
    "%20",
    "%00",
    "..%2F..%2Fetc%2Fpasswd",
    "%2e%2e",
    "..",
    "a%2Fb",
    "a" * 10_000,
    "%ff%fe",
    "%F0%9F%92%A5",
    "%7B%7D",
    "'; DROP TABLE draft; --".replace(" ", "%20"),
    "%0d%0aX-Injected:%20a",
    "%s%n",
    "null",
    "-1",
    "019A5B2E-6C1F-7D3A-9B47-3F0C2A91E5D8",
]
PATHS = ["GET /drafts/{}", "PATCH /drafts/{}", "POST /drafts/{}/undo", "DELETE /sources/{}", "POST /sources/{}/test"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("odd_id", ODD_IDS, ids=range(len(ODD_IDS)))
async def test_odd_id(server, path, odd_id):
    body = b'{"text": "a"}' if path.startswith("PATCH") else b""
    lines = ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
    response = await server.send(server.head(path.format(odd_id), *lines) + body)
    check(response, 404, *([405] if odd_id in {"..", "%2e%2e", "%20"} else []))
    assert "x-injected" not in response[1]


@pytest.mark.parametrize(
    "cursor", ["", "a" * 10_000, "%00", "%2F..%2F", "AAAA", "%ff", "gqFhoWI", "null", "%F0%9F%92%A5", "=" * 100]
)
@pytest.mark.parametrize("path", ["/drafts", "/pipeline/runs", "/engagement/posts"])
async def test_odd_cursor(server, path, cursor):
    check(await server.send(server.head(f"GET {path}?cursor={cursor}")), 400)


@pytest.mark.parametrize(
    "query",
    ["limit=%00", "limit=1e3", "limit=0x10", "limit=" + "9" * 5000, "limit=١", "limit=", "status=%ff", "tags=%00"],
)
async def test_odd_parameter(server, query):
    check(await server.send(server.head("GET /drafts?" + query.encode().decode("latin-1"))), 422, 400)


@pytest.mark.parametrize(
    "token",
    [
        "",
        " ",
        "cd_",
        "cd_" + "a" * 43,
        "cd_" + "a" * 10_000,
        "\xe9" * 43,
        "cd_" + "\u00b2" * 43,
        "a b c",
        "null",
        "' OR 1=1",
    ],
)
async def test_forged_token(server, token):
    check(await server.send(server.head("GET /drafts", token=token)), 401)


@pytest.mark.parametrize("scheme", ["Basic", "Digest", "bearer\tx", "BearerX"])
async def test_other_authorization(server, scheme):
    head = f"GET /drafts HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: {scheme} {server.token}\r\n\r\n"
    check(await server.send(head.encode()), 401)


MALFORMED = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
    b"hello\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /drafts HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
    b"GET /drafts HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
    b"POST /drafts HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST /drafts HTTP/1.1\r\nHost: a\r\nContent-Length: \xb2\r\n\r\n",
    b"POST /drafts HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
    b"POST /drafts HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /drafts HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: nonsense\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


@pytest.mark.parametrize("data", MALFORMED, ids=range(len(MALFORMED)))
async def test_malformed_request(server, data):
    check(await server.send(data, end=True), CLOSED, 400, 403)


@pytest.mark.parametrize(
    "chunks",
    [b"zz\r\n{}\r\n0\r\n\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"2\r\n{}nonsense", b"2;" + b"a" * 100_000],
    ids=range(5),
)
async def test_bad_chunked_encoding(server, chunks):
    head = server.head("POST /drafts", "Content-Type: application/json", "Transfer-Encoding: chunked")
    check(await server.send(head, chunks, end=True), CLOSED, 400, 422, 431)


async def test_chunked_body_of_any_length_is_limited(server):
    head = server.head("POST /drafts", "Content-Type: application/json", "Transfer-Encoding: chunked")
    check(await server.send(head, *[b"10000\r\n" + b" " * 2**16 + b"\r\n"] * 20), CLOSED, 413)


async def test_body_without_length_is_empty(server):
    request = server.head("POST /drafts", "Content-Type: application/json") + b'{"text": "a"}'
    check(await server.send(request), CLOSED, 400)


async def test_body_that_stops_is_refused(server, monkeypatch):
    monkeypatch.setattr(request_reading, "BODY_TIMEOUT", 0.1)
    head = server.head("POST /drafts", "Content-Type: application/json", "Content-Length: 100")
    check(await server.send(head, b'{"text": '), 408)


async def test_connection_that_ends_within_the_body(server):
    head = server.head("POST /drafts", "Content-Type: application/json", "Content-Length: 100")
    check(await server.send(head, b'{"text": ', end=True), CLOSED, 400)


async def test_headers_that_trickle_are_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", 0.2)
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await server.connect()
        closed = asyncio.ensure_future(reader.read())
        for byte in server.head("GET /drafts", f"X-Slow: {'a' * 10_000}"):
            if closed.done():
                break
            writer.write(bytes([byte]))
            await asyncio.wait([closed], timeout=0.01)
        # Reset if a byte arrived after the end.
        with suppress(ConnectionResetError):
            assert await closed == b""
        writer.close()


async def test_silent_connection_is_closed(server, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", 0.1)
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await server.connect()
        assert await reader.read() == b""
        writer.close()


async def test_second_request_that_trickles_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", 0.2)
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await server.connect()
        writer.write(server.head("GET /voice"))
        assert (await read_response(reader))[0] == 200
        writer.write(b"GET /voice HTTP/1.1\r\nHost:")
        assert await reader.read() == b""
        writer.close()


async def test_connection_is_kept_between_requests(server):
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await server.connect()
        for _ in range(3):
            writer.write(server.head("GET /voice"))
            assert (await read_response(reader))[0] == 200
        writer.write(server.head("GET /voice") * 3)  # pipelined
        assert [(await read_response(reader))[0] for _ in range(3)] == [200, 200, 200]
        writer.close()


async def test_rest_of_a_refused_body_is_skipped(server):
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await server.connect()
        size = 2**19
        writer.write(server.head("POST /drafts", f"Content-Length: {size}", token="cd_unknown"))
        assert (await read_response(reader))[0] == 401
        writer.write(b" " * size)
        writer.write(server.head("GET /voice"))
        assert (await read_response(reader))[0] == 200
        writer.close()


async def test_large_headers_are_refused(server):
    check(
        await server.send(server.head("GET /drafts", *[f"X-{number}: {'a' * 1000}" for number in range(200)])),
        431,
        400,
        CLOSED,
    )


async def test_endless_headers_are_refused(server):
    parts = [server.head("GET /drafts")[:-2], *[b"X-A: " + b"a" * 10_000 + b"\r\n"] * 100]
    check(await server.send(*parts), 431, 400, CLOSED)


async def test_other_clients_are_served_beside_stuck_ones(server):
    async with asyncio.timeout(TIMEOUT):
        stuck = [await server.connect() for _ in range(50)]
        for number, (_, writer) in enumerate(stuck):
            writer.write([b"GET", server.head("POST /drafts", "Content-Length: 9"), b""][number % 3])
        assert (await server.send(server.head("GET /voice")))[0] == 200
        for _, writer in stuck:
            writer.transport.abort()


async def test_connections_over_the_limit_are_refused(server, monkeypatch):
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await server.connect()
        writer.write(server.head("GET /voice"))
        assert (await read_response(reader))[0] == 200
        monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 1)
        check(await server.send(b""), 503)
        writer.write(server.head("GET /voice"))
        assert (await read_response(reader))[0] == 200
        writer.close()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8470", "127.0.0.1.evil.example", "[::1", "", "localhost@evil.example"]
)
async def test_host_of_dns_rebinding_is_refused(server, host):
    head = f"GET /drafts HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    check(await server.send(head.encode()), 403, 400)


@pytest.mark.parametrize("host", ["{}/drafts", "{}?x", "{}#x", "evil.example@{}", "@{}"])
async def test_host_is_a_name_and_a_port_only(server, host):
    check(await server.send(server.head("GET /drafts", host=host.format(server.host))), 403)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://[", "http://127.0.0.1:1", "file://", "x" * 5000]
)
async def test_other_origin_is_refused(server, origin):
    check(await server.send(server.head("GET /drafts", f"Origin: {origin}")), 403)


async def test_own_origin_is_allowed(server):
    host = f"{server.host}:{server.port}"
    status, _, _ = await server.send(server.head("GET /drafts", f"Origin: http://{host}", host=host))
    assert status == 200


async def test_forwarded_headers_of_strangers_are_ignored(server, caplog):
    lines = (
        "X-Forwarded-For: 203.0.113.7",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: evil.example",
        "Forwarded: for=203.0.113.7",
    )
    status, _, _ = await server.send(server.head("GET /drafts", *lines))
    assert status == 200
    assert [request["client"] for request in logged_requests(caplog)] == ["127.0.0.1"]


async def test_path_with_a_slash_at_its_end_is_no_redirect(server):
    for path in ("/drafts/", "/v1/drafts/", "//drafts"):
        check(await server.send(server.head(f"GET {path}")), 404, 403)


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "PROPFIND", "PUT", "QUERY"])
async def test_other_methods_are_refused(server, method):
    check(await server.send(server.head(f"{method} /drafts")), 405, 400, CLOSED)


async def test_access_log_has_neither_token_nor_body(server, caplog):
    secret = "unpublished words"
    await server.send(server.post("/drafts", draft(secret.encode()), "X-Request-Id: request-1"))
    await server.send(server.head(f"GET /drafts?tags={secret.replace(' ', '+')}"))
    records = logged_requests(caplog)
    assert [(record["method"], record["path"], record["status"]) for record in records] == [
        ("POST", "/drafts", 201),
        ("GET", "/drafts", 200),
    ]
    assert (records[0]["requestId"], records[0]["token"]) == ("request-1", "test")
    text = str(records)
    assert server.token not in text
    assert "unpublished" not in text


async def test_version_guessed_during_an_approval_is_refused(tmp_path):
    async with run_service(tmp_path) as service:
        reviewer, agent = await service.client(), await service.client(Scope.DRAFT)
        path = f"/drafts/{(await agent.post('/drafts', json={'text': 'One.'})).json()['drafts'][0]['id']}"
        desk = await service.desks.get(service.desks.owner)
        get = desk.drafts.get

        async def get_and_approve(draft_id):
            """Approve the draft after the service has read it, and before it edits it."""
            found = await get(draft_id)
            desk.drafts.get = get
            await reviewer.patch(path, json={"action": "approve"})
            return found

        desk.drafts.get = get_and_approve
        response = await agent.patch(path, json={"text": "Two."}, headers={"If-Match": '"2"'})
        assert response.status_code == 412
        assert (await agent.get(path)).json()["text"] == "One."
