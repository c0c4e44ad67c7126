"""Tests for the OAuth loopback server: one valid redirect is accepted, everything else is refused."""

import asyncio
import socket
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import SignInError
from copydesk.network.loopback import MAX_CONNECTIONS, MAX_REQUEST_HEAD, LoopbackServer, parse_pasted_code

STATE = "a-state-of-43-characters"
URL = f"http://127.0.0.1:8123/callback?code=c0de&state={STATE}"


@asynccontextmanager
async def waiting_loopback(state: str = STATE):
    """Yield a loopback that waits for its code, a browser, and the waiting task."""
    async with LoopbackServer() as loopback, httpx.AsyncClient(trust_env=False) as browser:
        task = asyncio.create_task(loopback.wait_for_code(state, timeout=60))
        await asyncio.sleep(0)
        yield loopback, browser, task
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def send_raw(loopback: LoopbackServer, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(loopback.redirect_uri).port)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_code_is_returned_for_matching_state():
    async with waiting_loopback() as (loopback, browser, task):
        answer = await browser.get(f"{loopback.redirect_uri}?state={STATE}&code=c0%2Fde%3D")
        assert await task == "c0/de="
    assert answer.status_code == 200
    assert "You can close this window" in answer.text


async def test_page_has_no_script_and_no_echo():
    async with waiting_loopback() as (loopback, browser, _):
        answer = await browser.get(f"{loopback.redirect_uri}?state={STATE}&code=c0de-planted")
    assert "script" not in answer.text
    assert "planted" not in answer.text
    assert STATE not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/favicon.ico", 404),
        ("/", 404),
        ("/callback", 400),
        (f"/callback/?code=c0de&state={STATE}", 404),
        ("/callback?code=c0de&state=another", 400),
        ("/callback?code=c0de", 400),
        (f"/callback?code=c0de&state={STATE}&state={STATE}", 400),
        (f"/callback?state={STATE}", 400),
        (f"/callback?code=&state={STATE}", 400),
        (f"/callback?code=one&code=two&state={STATE}", 400),
        (f"/callback?code=c%0Ade&state={STATE}", 400),
        (f"/callback?code={'x' * 5000}&state={STATE}", 400),
        (f"/callback?{'a=b&' * 60}code=c0de&state={STATE}", 400),
        ("/callback?error=access_denied&state=another", 400),
    ],
)
async def test_invalid_request_is_refused_and_waiting_continues(path, status):
    async with waiting_loopback() as (loopback, browser, task):
        origin = loopback.redirect_uri.removesuffix("/callback")
        assert (await browser.get(f"{origin}{path}")).status_code == status
        assert not task.done()
        await browser.get(f"{loopback.redirect_uri}?code=c0de&state={STATE}")
        assert await task == "c0de"


async def test_foreign_host_and_post_are_refused():
    """A web page elsewhere can point its host name at 127.0.0.1."""
    async with waiting_loopback() as (loopback, browser, task):
        url = f"{loopback.redirect_uri}?code=c0de&state={STATE}"
        assert (await browser.get(url, headers={"host": "evil.example"})).status_code == 404
        assert (await browser.post(url)).status_code == 404
        assert not task.done()


async def test_second_code_is_refused():
    async with waiting_loopback() as (loopback, browser, task):
        assert (await browser.get(f"{loopback.redirect_uri}?code=first&state={STATE}")).status_code == 200
        assert (await browser.get(f"{loopback.redirect_uri}?code=second&state={STATE}")).status_code == 400
        assert await task == "first"


async def test_denied_consent_is_reported():
    async with waiting_loopback() as (loopback, browser, task):
        answer = await browser.get(f"{loopback.redirect_uri}?error=access_denied&state={STATE}")
        with pytest.raises(SignInError, match="Access was denied in the browser"):
            await task
    assert "Sign-in failed" in answer.text


async def test_server_error_description_is_sanitized():
    async with waiting_loopback() as (loopback, browser, task):
        await browser.get(f"{loopback.redirect_uri}?error=server_error&error_description=bad%1B%5B2J+day&state={STATE}")
        with pytest.raises(SignInError, match="denied access: bad day"):
            await task


async def test_server_without_state_is_accepted():
    async with waiting_loopback(state="") as (loopback, browser, task):
        await browser.get(f"{loopback.redirect_uri}?code=c0de")
        assert await task == "c0de"


async def test_wait_times_out():
    async with LoopbackServer() as loopback:
        with pytest.raises(SignInError, match="did not return within 1 second"):
            await loopback.wait_for_code(STATE, timeout=0.01)


async def test_listens_on_localhost_only():
    async with LoopbackServer() as loopback:
        assert [bound.getsockname()[0] for bound in loopback._server.sockets] == ["127.0.0.1"]
        assert urlsplit(loopback.redirect_uri).hostname == "127.0.0.1"


async def test_port_in_use_is_reported():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SignInError, match=f"Cannot use port {port} of 127.0.0.1: "):
            async with LoopbackServer(port):
                pass


async def test_registered_port_is_used():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with LoopbackServer(port) as loopback:
        assert loopback.redirect_uri == f"http://127.0.0.1:{port}/callback"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /callback?code=c0de&state=" + STATE.encode() + b"\r\n\r\n",
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET /callback?" + b"x" * (MAX_REQUEST_HEAD + 10) + b" HTTP/1.1\r\n\r\n",
        b"GET /callback?code=\xff%ff HTTP/1.1\r\nHost: \xff\r\n\r\n",
    ],
)
async def test_malformed_request_is_ignored(request_):
    async with waiting_loopback() as (loopback, browser, task):
        assert b" 200 " not in await send_raw(loopback, request_)
        await browser.get(f"{loopback.redirect_uri}?code=c0de&state={STATE}")
        assert await task == "c0de"


async def test_browser_replaces_oldest_silent_connection():
    async with waiting_loopback() as (loopback, browser, task):
        port = urlsplit(loopback.redirect_uri).port
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_CONNECTIONS)]
        async with asyncio.timeout(60):
            while len(loopback._tasks) < MAX_CONNECTIONS:  # noqa: ASYNC110 - no event signals it
                await asyncio.sleep(0.005)
        await browser.get(f"{loopback.redirect_uri}?code=c0de&state={STATE}")
        assert await task == "c0de"
        assert await silent[0][0].read() == b""
        assert not silent[1][0].at_eof()
        assert len(loopback._tasks) < MAX_CONNECTIONS
    for _, writer in silent:
        writer.close()


@pytest.mark.parametrize("query", [f"code=c0de&state={STATE}", f"state={STATE}&code=c0de"])
async def test_http_1_0_redirect_is_read(query):
    async with waiting_loopback() as (loopback, _, task):
        host = urlsplit(loopback.redirect_uri).netloc
        answer = await send_raw(loopback, f"GET /callback?{query} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        assert b" 200 OK" in answer
        assert await task == "c0de"


@pytest.mark.parametrize("version", ["", " HTTP/2.0", " HTTP/1.1 HTTP/1.1", " http/1.1", " HTTP/0.9"])
async def test_other_http_version_is_refused(version):
    async with waiting_loopback() as (loopback, _, task):
        host = urlsplit(loopback.redirect_uri).netloc
        request = f"GET /callback?state={STATE}&code=c0de{version}\r\nHost: {host}\r\n\r\n"
        assert b" 404 Not Found" in await send_raw(loopback, request.encode())
        assert not task.done()


@pytest.mark.parametrize(
    "pasted",
    [
        URL,
        f"  {URL[:30]}\n{URL[30:]}  ",
        f"{URL}#_",
        URL.removeprefix("http://"),
        f"?code=c0de&state={STATE}",
        f"code=c0de&state={STATE}",
        f"https://example.com/registered?state={STATE}&code=c0de",
        "c0de",
        " c0de\n",
        "c0de#_",
    ],
)
def test_code_is_found_in_pasted_text(pasted):
    assert parse_pasted_code(pasted, STATE) == "c0de"


@pytest.mark.parametrize("pasted", ["", "http://127.0.0.1/callback", URL.replace(STATE, "another"), "http://[", "cödé"])
def test_pasted_text_without_code_is_refused(pasted):
    with pytest.raises(SignInError):
        parse_pasted_code(pasted, STATE)


def test_pasted_denial_is_reported():
    with pytest.raises(SignInError, match="Access was denied"):
        parse_pasted_code(URL.replace("code=c0de", "error=access_denied"), STATE)


@given(pasted=st.text(), state=st.text())
def test_any_pasted_text_gives_code_or_error(pasted, state):
    try:
        code = parse_pasted_code(pasted, state)
    except SignInError:
        return
    assert code
    assert code.isascii()
