"""`copydesk --web`: what is served, to whom, and what is said where it cannot be."""

import asyncio
import shlex
import socket
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from command_line import assert_one_line, call_here
from copydesk.cli import web
from copydesk.cli.context import Context
from copydesk.errors import SettingsError


class ForbiddenError(Exception):
    """What the stub of aiohttp answers nobody with."""

    def __init__(self, text: str) -> None:
        super().__init__(text)


class Response:
    """A page, and the cookies that come with it."""

    def __init__(self) -> None:
        self.cookies: dict[str, tuple[str, dict[str, object]]] = {}

    def set_cookie(self, name: str, value: str, **how: object) -> None:
        self.cookies[name] = (value, how)


class Server:
    """A stub of textual-serve's."""

    made: "list[Server]" = []

    def __init__(self, command: str, host: str, port: int, title: str) -> None:
        self.command, self.host, self.port, self.title = command, host, port, title
        self.public_url = f"http://{host}:{port}"
        self.served = False
        self.made.append(self)

    async def handle_index(self, request: object) -> Response:
        return Response()

    handle_websocket = handle_download = handle_index

    def serve(self) -> None:
        self.served = True
        asyncio.run(self.on_startup(None))  # type: ignore[attr-defined]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((web.HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch) -> "list[Server]":
    """textual-serve and aiohttp as if they were installed; the servers that are made."""
    monkeypatch.setattr(Server, "made", [])
    for name, values in (
        ("textual_serve.server", {"Server": Server}),
        ("aiohttp.web", {"HTTPForbidden": ForbiddenError}),
    ):
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name.partition(".")[0], ModuleType(name.partition(".")[0]))
        monkeypatch.setitem(sys.modules, name, module)
    return Server.made


def request(port: int, *, key: str = "", cookie: str = "", origin: str | None = None, host: str = web.HOST) -> Any:
    """As aiohttp gives it to a handler."""
    return SimpleNamespace(
        host=f"{host}:{port}",
        headers={"Origin": origin} if origin else {},
        query={"key": key} if key else {},
        cookies={web.COOKIE: cookie} if cookie else {},
    )


def served(port: int = 8399) -> Server:
    """A guarded server whose key is `key`."""
    server = Server("copydesk", web.HOST, port, "Copydesk")
    web.guard(server, "key")
    return server


def test_the_same_desk_is_served_on_the_loopback_and_its_address_has_a_key(
    tmp_path: Path, stubs: list[Server], capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    web.serve(Context(home=tmp_path / "a desk; rm", sample=True, debug=False), port)
    (server,) = stubs
    assert (server.host, server.port, server.title, server.served) == ("127.0.0.1", port, "Copydesk", True)
    home = str(tmp_path / "a desk; rm")
    assert shlex.split(server.command) == [sys.executable, "-m", "copydesk", "--home", home, "--sample"]
    said = capsys.readouterr().out
    assert f"http://127.0.0.1:{port}/?key=" in said
    assert len(said.partition("key=")[2].split()[0]) > 20


def test_each_start_has_a_key_of_its_own(stubs: list[Server], capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        web.serve(Context(home=None, sample=True, debug=False), free_port())
    first, second = [line.partition("key=")[2] for line in capsys.readouterr().out.split("\n") if "key=" in line]
    assert first != second


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    said = call_here(tmp_path, "--sample", "--web")
    assert_one_line(said, 2)
    assert "pip install 'copydesk[web]'" in said.err


def test_a_port_that_is_taken_is_said_before_any_address_is(
    stubs: list[Server], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.bind((web.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=f"Port {port} cannot be listened on: Address already in use"):
            web.serve(Context(home=None, sample=True, debug=False), port)
    assert capsys.readouterr().out == ""


def test_keys_that_cannot_be_meant_are_refused_before_anything_is_served(tmp_path: Path, stubs: list[Server]) -> None:
    (tmp_path / "settings.toml").write_text('[keys]\nreview.approve = "r"\n')
    said = call_here(tmp_path, "--web")
    assert_one_line(said, 2)
    assert "r is both review.approve" in said.err
    assert stubs == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--port", "8000"], "--port goes with --web."),
        (["--web", "--port", "0"], "0 is not in the range"),
        (["--web", "--run-pipeline"], "--web and --run-pipeline do not go together."),
        (["--web", "doctor"], "--web does not go with `doctor`."),
        (["--web", "--json"], "go with --run-pipeline."),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, args: list[str], says: str) -> None:
    said = call_here(tmp_path, *args)
    assert_one_line(said, 2)
    assert says in said.err


# Who is let in.


async def test_the_key_is_turned_into_a_cookie_that_no_other_page_sends(stubs: list[Server]) -> None:
    page: Any = await served().handle_index(request(8399, key="key"))
    assert page.cookies == {web.COOKIE: ("key", {"httponly": True, "samesite": "Strict"})}


async def test_with_the_cookie_the_page_and_its_socket_are_open(stubs: list[Server]) -> None:
    server = served()
    for host in (web.HOST, "localhost"):
        await server.handle_index(request(8399, cookie="key", host=host))
        await server.handle_websocket(request(8399, cookie="key", origin=f"http://{host}:8399", host=host))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cookie": "wrong"},
        {"cookie": "kéy"},
        {"key": "key"},
        {"cookie": "key", "origin": "https://elsewhere.example"},
        {"cookie": "key", "origin": "http://127.0.0.1:9000"},
        {"cookie": "key", "origin": "null"},
        {"cookie": "key", "host": "elsewhere.example"},
    ],
    ids=str,
)
async def test_nobody_else_gets_to_the_socket(stubs: list[Server], how: dict[str, str]) -> None:
    with pytest.raises(ForbiddenError):
        await served().handle_websocket(request(8399, **how))


async def test_a_wrong_key_gets_no_page(stubs: list[Server]) -> None:
    with pytest.raises(ForbiddenError, match="the address that `copydesk --web` printed"):
        await served().handle_index(request(8399, key="guess"))
