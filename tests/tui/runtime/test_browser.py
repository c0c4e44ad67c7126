"""Tests for opening links in the web browser."""

import sys
from pathlib import Path

import pytest

from copydesk.tui import browser
from copydesk.tui.browser import open_in_browser


@pytest.mark.parametrize("url", ["https://example.org", "http://example.org/a?b=c#d", "https://münchen.example/ä"])
def test_web_address_is_link(url: str) -> None:
    assert browser.is_link(url)


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "example.org",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "--new-window",
        "https://",
        "https:///path",
        "http://[::1",
        "https://example.org/\nx",
        "https://example.org/ x",
        "https://example.org/\x1b[2J",
        "https://example.org/\u202e",
    ],
)
def test_other_text_is_not_link(url: str | None) -> None:
    assert not browser.is_link(url)


@pytest.fixture
def fake_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set BROWSER to a script that stores its argument in the file `opened`; return the folder."""
    program = tmp_path / "browser.py"
    program.write_text(
        f"import sys, pathlib\npathlib.Path({str(tmp_path / 'opened')!r}).write_text(sys.argv[1])\n"
        "print('noise')\nsys.exit(len(sys.argv) - 2)\n"
    )
    monkeypatch.setenv("BROWSER", f"{sys.executable} {program} %s")
    return tmp_path


async def test_browser_opens_link(fake_browser: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert await open_in_browser("https://example.org/?a=b&c=$(id)")
    assert (fake_browser / "opened").read_text() == "https://example.org/?a=b&c=$(id)"
    assert capfd.readouterr().out == ""


async def test_browser_environment_has_no_secrets(fake_browser: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser's whole process tree would inherit the tokens of X and Reddit."""
    monkeypatch.setenv("COPYDESK_TWITTER__BEARER_TOKEN", "s3cret")
    monkeypatch.setenv("DISPLAY", ":7")
    program = fake_browser / "browser.py"
    program.write_text(program.read_text().replace("sys.argv[1])", "' '.join(__import__('os').environ))"))
    assert await open_in_browser("https://example.org/")
    variables = (fake_browser / "opened").read_text().split()
    assert "DISPLAY" in variables
    assert not [variable for variable in variables if variable.startswith("COPYDESK_")]


async def test_failing_browser_returns_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "false %s")
    assert await open_in_browser("https://example.org/") is False
