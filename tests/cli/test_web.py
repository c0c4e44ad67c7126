"""`copydesk --web`: what is served, to whom, and what is said where it cannot be."""

import shlex
import socket
import sys
from pathlib import Path

import pytest

from command_line import assert_one_line, call_here
from copydesk.cli import web, web_server
from copydesk.cli.context import Context
from copydesk.cli.web_door import HOST, Door
from copydesk.errors import SettingsError
from web_console import free_port


class Server:
    """A stub of the server, which says where it is and ends."""

    made: "list[Server]" = []

    def __init__(self, command: str, door: Door) -> None:
        self.command, self.door = command, door
        self.made.append(self)

    def serve(self) -> None:
        self.door.announce()


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch) -> "list[Server]":
    """The server is a stub; those that are made."""
    monkeypatch.setattr(Server, "made", [])
    monkeypatch.setattr(web_server, "ConsoleServer", Server)
    return Server.made


def test_the_same_desk_is_served_on_the_loopback_and_its_address_has_a_key(
    tmp_path: Path, stubs: list[Server], capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    web.serve(Context(home=tmp_path / "a desk; rm", sample=True, debug=False), port)
    (server,) = stubs
    home = str(tmp_path / "a desk; rm")
    assert shlex.split(server.command) == ["exec", sys.executable, "-m", "copydesk", "--home", home, "--sample"]
    said = capsys.readouterr().out
    assert f"http://127.0.0.1:{port}/?key=" in said
    assert len(said.partition("key=")[2].split()[0]) > 20


def test_each_start_has_a_key_of_its_own(stubs: list[Server], capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        web.serve(Context(home=None, sample=True, debug=False), free_port())
    first, second = [line.partition("key=")[2] for line in capsys.readouterr().out.split("\n") if "key=" in line]
    assert first != second


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "copydesk.cli.web_server")
    monkeypatch.setitem(sys.modules, "textual_serve.app_service", None)
    said = call_here(tmp_path, "--sample", "--web")
    assert_one_line(said, 2)
    assert "pip install 'copydesk[web]'" in said.err


def test_a_port_that_is_taken_is_said_before_any_address_is(
    stubs: list[Server], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
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
