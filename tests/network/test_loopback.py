"""The end of the way through the browser: one good request is taken, and everything else turned away."""

import asyncio
import socket
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import SignInError
from copydesk.network.loopback import LARGEST_HEAD, MOST_CONNECTIONS, Loopback, code_from

STATE = "a-state-of-43-characters"
URL = f"http://127.0.0.1:8123/callback?code=c0de&state={STATE}"


@asynccontextmanager
async def waiting(state: str = STATE):
    """A loopback that waits for its code, and a browser."""
    async with Loopback() as back, httpx.AsyncClient(trust_env=False) as browser:
        task = asyncio.create_task(back.code(state, timeout=60))
        await asyncio.sleep(0)
        yield back, browser, task
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def raw(back: Loopback, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(back.redirect).port)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_the_code_comes_back_with_its_state():
    async with waiting() as (back, browser, task):
        answer = await browser.get(f"{back.redirect}?state={STATE}&code=c0%2Fde%3D")
        assert await task == "c0/de="
    assert answer.status_code == 200
    assert "You can close this window" in answer.text


async def test_the_page_has_no_script_and_repeats_nothing_that_was_sent():
    async with waiting() as (back, browser, _):
        answer = await browser.get(f"{back.redirect}?state={STATE}&code=c0de-planted")
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
async def test_what_is_not_meant_for_it_is_turned_away_and_it_keeps_waiting(path, status):
    async with waiting() as (back, browser, task):
        origin = back.redirect.removesuffix("/callback")
        assert (await browser.get(f"{origin}{path}")).status_code == status
        assert not task.done()
        await browser.get(f"{back.redirect}?code=c0de&state={STATE}")
        assert await task == "c0de"


async def test_a_page_elsewhere_whose_name_leads_here_is_turned_away():
    async with waiting() as (back, browser, task):
        url = f"{back.redirect}?code=c0de&state={STATE}"
        assert (await browser.get(url, headers={"host": "evil.example"})).status_code == 404
        assert (await browser.post(url)).status_code == 404
        assert not task.done()


async def test_one_good_request_is_taken_and_no_second_one():
    async with waiting() as (back, browser, task):
        assert (await browser.get(f"{back.redirect}?code=first&state={STATE}")).status_code == 200
        assert (await browser.get(f"{back.redirect}?code=second&state={STATE}")).status_code == 400
        assert await task == "first"


async def test_a_user_who_said_no_is_told_so():
    async with waiting() as (back, browser, task):
        answer = await browser.get(f"{back.redirect}?error=access_denied&state={STATE}")
        with pytest.raises(SignInError, match="you did not agree"):
            await task
    assert "Nothing was connected" in answer.text


async def test_what_the_server_says_of_an_error_is_shown_without_commands_to_the_terminal():
    async with waiting() as (back, browser, task):
        await browser.get(f"{back.redirect}?error=server_error&error_description=bad%1B%5B2J+day&state={STATE}")
        with pytest.raises(SignInError, match="did not let you in: bad day"):
            await task


async def test_a_server_that_sends_no_state_back_is_taken_without():
    async with waiting(state="") as (back, browser, task):
        await browser.get(f"{back.redirect}?code=c0de")
        assert await task == "c0de"


async def test_it_waits_for_so_long_and_no_longer():
    async with Loopback() as back:
        with pytest.raises(SignInError, match="did not come back"):
            await back.code(STATE, timeout=0.01)


async def test_it_listens_on_this_machine_alone():
    async with Loopback() as back:
        assert [bound.getsockname()[0] for bound in back._server.sockets] == ["127.0.0.1"]
        assert urlsplit(back.redirect).hostname == "127.0.0.1"


async def test_a_port_that_is_taken_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SignInError, match=f"Port {port} of 127.0.0.1 cannot be used"):
            async with Loopback(port):
                pass


async def test_the_port_that_was_registered_is_used():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with Loopback(port) as back:
        assert back.redirect == f"http://127.0.0.1:{port}/callback"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /callback?code=c0de&state=" + STATE.encode() + b"\r\n\r\n",
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET /callback?" + b"x" * (LARGEST_HEAD + 10) + b" HTTP/1.1\r\n\r\n",
        b"GET /callback?code=\xff%ff HTTP/1.1\r\nHost: \xff\r\n\r\n",
    ],
)
async def test_what_is_no_request_does_no_harm(request_):
    async with waiting() as (back, browser, task):
        assert b" 200 " not in await raw(back, request_)
        await browser.get(f"{back.redirect}?code=c0de&state={STATE}")
        assert await task == "c0de"


async def test_those_who_connect_and_say_nothing_do_not_pile_up():
    async with waiting() as (back, _, _):
        port = urlsplit(back.redirect).port
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_CONNECTIONS)]
        async with asyncio.timeout(60):
            while len(back._under_way) < MOST_CONNECTIONS:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.005)
        assert await raw(back, b"") == b""
        assert len(back._under_way) == MOST_CONNECTIONS
    for _, writer in silent:
        writer.close()


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
def test_the_code_is_found_in_what_is_pasted(pasted):
    assert code_from(pasted, STATE) == "c0de"


@pytest.mark.parametrize("pasted", ["", "http://127.0.0.1/callback", URL.replace(STATE, "another"), "http://[", "cödé"])
def test_what_holds_no_code_of_this_sign_in_is_refused(pasted):
    with pytest.raises(SignInError):
        code_from(pasted, STATE)


def test_a_pasted_no_is_a_no():
    with pytest.raises(SignInError, match="did not agree"):
        code_from(URL.replace("code=c0de", "error=access_denied"), STATE)


@given(pasted=st.text(), state=st.text())
def test_whatever_is_pasted_gives_a_code_or_an_error_of_ours(pasted, state):
    try:
        code = code_from(pasted, state)
    except SignInError:
        return
    assert code
    assert code.isascii()
