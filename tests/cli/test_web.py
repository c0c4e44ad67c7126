"""Tests for `copydesk --web`."""

import shlex
import socket
import sys
from pathlib import Path

import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.cli import web, web_server
from copydesk.cli.context import Context
from copydesk.cli.web import HOST, BrowserAuth
from copydesk.errors import SettingsError
from web_server import find_free_port


class FakeServer:
    """A stub of the console server that announces its address and returns."""

    instances: "list[FakeServer]" = []

    def __init__(self, command: str, auth: BrowserAuth) -> None:
        self.command, self.auth = command, auth
        self.instances.append(self)

    def serve(self) -> None:
        self.auth.announce()


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> "list[FakeServer]":
    """Replace the console server with a stub; return the instances created."""
    monkeypatch.setattr(FakeServer, "instances", [])
    monkeypatch.setattr(web_server, "ConsoleServer", FakeServer)
    return FakeServer.instances


def test_desk_is_served_on_loopback_with_key(
    tmp_path: Path, servers: list[FakeServer], capsys: pytest.CaptureFixture[str]
) -> None:
    port = find_free_port()
    web.serve(Context(home=tmp_path / "a desk; rm", sample=True, debug=False), port)
    (server,) = servers
    home = str(tmp_path / "a desk; rm")
    assert shlex.split(server.command) == ["exec", sys.executable, "-m", "copydesk", "--home", home, "--sample"]
    output = capsys.readouterr().out
    assert f"http://127.0.0.1:{port}/#key=" in output
    assert len(output.partition("key=")[2].split()[0]) > 20


def test_start_creates_new_key(servers: list[FakeServer], capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        web.serve(Context(home=None, sample=True, debug=False), find_free_port())
    first, second = [line.partition("key=")[2] for line in capsys.readouterr().out.split("\n") if "key=" in line]
    assert first != second


def test_missing_extra_names_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "copydesk.cli.web_server")
    monkeypatch.setitem(sys.modules, "textual_serve.app_service", None)
    result = run_in_process(tmp_path, "--sample", "--web")
    assert_one_line_error(result, 2)
    assert "pip install '.[web]'" in result.err


def test_occupied_port_is_refused_without_address(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=f"Cannot listen on port {port}: Address already in use"):
            web.serve(Context(home=None, sample=True, debug=False), port)
    assert capsys.readouterr().out == ""


def test_invalid_key_bindings_are_refused_before_serving(tmp_path: Path, servers: list[FakeServer]) -> None:
    (tmp_path / "settings.toml").write_text('[keys]\nreview.approve = "r"\n')
    result = run_in_process(tmp_path, "--web")
    assert_one_line_error(result, 2)
    assert "r is both review.approve" in result.err
    assert servers == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--port", "8000"], "--port needs --web."),
        (["--web", "--port", "0"], "0 is not in the range"),
        (["--web", "--run-pipeline"], "--web and --run-pipeline cannot be used together."),
        (["--web", "doctor"], "--web cannot be used with `doctor`."),
        (["--web", "--json"], "need --run-pipeline."),
    ],
)
def test_usage_error_is_one_line(tmp_path: Path, args: list[str], message: str) -> None:
    result = run_in_process(tmp_path, *args)
    assert_one_line_error(result, 2)
    assert message in result.err
