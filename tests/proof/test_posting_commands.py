"""Tests of account and posting commands against a real Bluesky PDS."""

import json
import subprocess
from pathlib import Path

import pytest

from cli_runner import COMMAND, CommandResult, make_environment, run_command
from pds_server import Pds, PdsAccount

pytestmark = pytest.mark.xdist_group("pds")
KEYS = {"copydesk_secrets__keyring": "false", "copydesk_passphrase": "four words are good"}


def connect(home: Path, pds: Pds, writer: PdsAccount, **variables: str) -> CommandResult:
    args = ("account", "connect", "bluesky", "--url", pds.url, "--set", f"handle={writer.handle}")
    return run_command(home, *args, stdin=f"{writer.app_password}\n", **(KEYS | variables))


def create_approved(home: Path, text: str, *options: str) -> str:
    created = json.loads(run_command(home, "draft", "new", text, "--json", *options, **KEYS).out)
    draft_id = created["drafts"][0]["id"]
    assert run_command(home, "draft", "approve", draft_id, **KEYS).code == 0
    return str(draft_id)


def test_connect_approve_and_post(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    result = connect(tmp_path, pds, writer)
    assert (result.code, result.out) == (0, f"Connected bluesky:{writer.handle}.\n")
    assert run_command(tmp_path, "account", "check", **KEYS).out == f"bluesky:{writer.handle} works.\n"
    draft = create_approved(tmp_path, "Said from a terminal: https://example.com/page")
    result = run_command(tmp_path, "draft", "post", draft, **KEYS)
    assert result.code == 0
    (post,) = pds.list_posts(writer.did)
    key = post["uri"].rsplit("/", 1)[1]
    url = f"https://bsky.app/profile/{writer.handle}/post/{key}"
    assert result.out == f"bluesky:{writer.handle}: Posted: {url}\n"
    assert url in run_command(tmp_path, "draft", "show", draft, **KEYS).out
    repeated = run_command(tmp_path, "draft", "post", draft, **KEYS)
    assert (repeated.code, repeated.err) == (
        4,
        f"Error: Already posted to bluesky:{writer.handle}; nothing was sent.\n",
    )
    assert len(pds.list_posts(writer.did)) == 1


def test_invalid_password_connects_nothing(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    result = connect(tmp_path, pds, writer._replace(app_password="wrong-wrong-wrong"))
    assert result.code == 1
    assert "Invalid identifier or password." in result.err
    assert run_command(tmp_path, "account", "list", **KEYS).out == ""


def test_approval_warns_of_posting_problem(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    connect(tmp_path, pds, writer)
    created = json.loads(run_command(tmp_path, "draft", "new", "x" * 310, "--json", **KEYS).out)
    result = run_command(tmp_path, "draft", "approve", created["drafts"][0]["id"], **KEYS)
    assert result.code == 0
    assert f"cannot be posted to bluesky:{writer.handle}: 310 characters; the Bluesky limit is 300." in result.err


def test_secrets_are_in_no_file_or_output(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    home = tmp_path / "home"
    results = [connect(home, pds, writer)]
    draft = create_approved(home, "Nothing secret in here.")
    results += [
        run_command(home, "--debug", *args, **KEYS)
        for args in (("draft", "post", draft), ("account", "list", "--json"))
    ]
    results.append(run_command(home, "draft", "post", draft, **KEYS))
    (home / "copydesk.log").write_text("".join(result.out + result.err for result in results), encoding="utf-8")
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"copydesk.db", "secrets.sealed"}
    for path in files:
        content = path.read_bytes()
        assert writer.app_password.encode() not in content, path
        assert b"eyJ" not in content, f"a token in {path}"


def test_secret_argument_is_refused_and_stdin_is_invisible(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    """An argument would be visible in the process list."""
    args = ("account", "connect", "bluesky", "--url", pds.url, "--set", f"handle={writer.handle}")
    result = run_command(tmp_path, *args, "--set", f"password={writer.app_password}", **KEYS)
    assert result.code == 2
    assert "other users of this machine can see arguments" in result.err
    assert writer.app_password not in result.err
    process = subprocess.Popen(
        [*COMMAND, *args],
        env=make_environment(tmp_path, **KEYS),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    out, _ = process.communicate(f"{writer.app_password}\n", timeout=60)
    assert writer.app_password.encode() not in command
    assert out == f"Connected bluesky:{writer.handle}.\n"


def test_account_that_cannot_be_checked_is_reported(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    connect(tmp_path, pds, writer)
    result = run_command(tmp_path, "account", "check", copydesk_secrets__keyring="false")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"bluesky:{writer.handle}: Your credentials are encrypted")


def test_removed_account_posts_nothing_and_keys_are_deleted(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    connect(tmp_path, pds, writer)
    draft = create_approved(tmp_path, "Too late for this one.")
    assert run_command(tmp_path, "account", "remove", "bluesky", "--yes", **KEYS).code == 0
    assert run_command(tmp_path, "account", "list", **KEYS).out == ""
    result = run_command(tmp_path, "draft", "post", draft, **KEYS)
    assert (result.code, "No accounts connected; nothing was posted." in result.err) == (4, True)
    assert not (tmp_path / "secrets" / "secrets.sealed").exists()


def test_environment_variable_holds_key(tmp_path: Path, pds: Pds, writer: PdsAccount) -> None:
    keys = {"copydesk_secrets__keyring": "false", "copydesk_secret_bluesky": writer.app_password}
    args = ("account", "connect", "bluesky", "--url", pds.url, "--set", f"handle={writer.handle}")
    assert run_command(tmp_path, *args, stdin=f"{writer.app_password}\n", **keys).code == 0
    assert run_command(tmp_path, "account", "check", **keys).out == f"bluesky:{writer.handle} works.\n"
    assert run_command(tmp_path, "draft", "post", create_approved(tmp_path, "From a server"), **keys).code == 0
    assert len(pds.list_posts(writer.did)) == 1
    assert not (tmp_path / "secrets").exists()
