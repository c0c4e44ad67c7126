"""Accounts and posts from the command line, against a real Bluesky PDS, as a user calls it."""

import json
import subprocess
from pathlib import Path

import pytest

from command_line import COMMAND, Said, call, environment
from pds_server import Pds, Writer

pytestmark = pytest.mark.xdist_group("pds")
KEYS = {"copydesk_secrets__keyring": "false", "copydesk_passphrase": "four words are good"}


def connect(home: Path, pds: Pds, writer: Writer, **named: str) -> Said:
    args = ("account", "connect", "bluesky", "--url", pds.url, "--set", f"handle={writer.handle}")
    return call(home, *args, stdin=f"{writer.app_password}\n", **(KEYS | named))


def approved(home: Path, text: str, *more: str) -> str:
    made = json.loads(call(home, "draft", "new", text, "--json", *more, **KEYS).out)
    draft_id = made["drafts"][0]["id"]
    assert call(home, "draft", "approve", draft_id, **KEYS).code == 0
    return str(draft_id)


def test_from_the_first_account_to_the_first_post(tmp_path: Path, pds: Pds, writer: Writer) -> None:
    said = connect(tmp_path, pds, writer)
    assert (said.code, said.out) == (0, f"bluesky:{writer.handle} is connected.\n")
    assert call(tmp_path, "account", "check", **KEYS).out == f"bluesky:{writer.handle} works.\n"
    draft = approved(tmp_path, "Said from a terminal: https://example.com/page")
    said = call(tmp_path, "draft", "post", draft, **KEYS)
    assert said.code == 0
    (post,) = pds.posts(writer.did)
    key = post["uri"].rsplit("/", 1)[1]
    url = f"https://bsky.app/profile/{writer.handle}/post/{key}"
    assert said.out == f"bluesky:{writer.handle}: Posted: {url}\n"
    assert url in call(tmp_path, "draft", "show", draft, **KEYS).out
    again = call(tmp_path, "draft", "post", draft, **KEYS)
    assert (again.code, again.err) == (1, "Error: It is live there already; nothing was posted.\n")
    assert len(pds.posts(writer.did)) == 1


def test_a_wrong_password_connects_nothing(tmp_path: Path, pds: Pds, writer: Writer) -> None:
    said = connect(tmp_path, pds, writer._replace(app_password="wrong-wrong-wrong"))
    assert said.code == 1
    assert "Invalid identifier or password." in said.err
    assert call(tmp_path, "account", "list", **KEYS).out == ""


def test_what_would_stop_a_draft_is_said_at_its_approval(tmp_path: Path, pds: Pds, writer: Writer) -> None:
    connect(tmp_path, pds, writer)
    made = json.loads(call(tmp_path, "draft", "new", "x" * 310, "--json", **KEYS).out)
    said = call(tmp_path, "draft", "approve", made["drafts"][0]["id"], **KEYS)
    assert said.code == 0
    assert f"would not go to bluesky:{writer.handle}: It has 310 characters; Bluesky takes 300." in said.err


def test_secrets_are_in_nothing_that_is_written_or_said(tmp_path: Path, pds: Pds, writer: Writer) -> None:
    home = tmp_path / "home"
    said = [connect(home, pds, writer)]
    draft = approved(home, "Nothing secret in here.")
    said += [call(home, "--debug", *args, **KEYS) for args in (("draft", "post", draft), ("account", "list", "--json"))]
    said.append(call(home, "draft", "post", draft, **KEYS))
    (home / "copydesk.log").write_text("".join(each.out + each.err for each in said), encoding="utf-8")
    written = [path for path in home.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"copydesk.db", "secrets.sealed"}
    for path in written:
        content = path.read_bytes()
        assert writer.app_password.encode() not in content, path
        assert b"eyJ" not in content, f"a token in {path}"


def test_a_secret_is_never_taken_from_the_command_and_shows_in_no_list_of_processes(
    tmp_path: Path, pds: Pds, writer: Writer
) -> None:
    args = ("account", "connect", "bluesky", "--url", pds.url, "--set", f"handle={writer.handle}")
    said = call(tmp_path, *args, "--set", f"password={writer.app_password}", **KEYS)
    assert said.code == 2
    assert "every user of this machine could read it" in said.err
    assert writer.app_password not in said.err
    process = subprocess.Popen(
        [*COMMAND, *args], env=environment(tmp_path, **KEYS), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    out, _ = process.communicate(f"{writer.app_password}\n", timeout=60)
    assert writer.app_password.encode() not in command
    assert out == f"bluesky:{writer.handle} is connected.\n"


def test_an_account_that_cannot_be_checked_is_named(tmp_path: Path, pds: Pds, writer: Writer) -> None:
    connect(tmp_path, pds, writer)
    said = call(tmp_path, "account", "check", copydesk_secrets__keyring="false")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"bluesky:{writer.handle}: The keys to your accounts are encrypted")


def test_a_forgotten_account_takes_nothing_and_its_keys_are_gone(tmp_path: Path, pds: Pds, writer: Writer) -> None:
    connect(tmp_path, pds, writer)
    draft = approved(tmp_path, "Too late for this one.")
    assert call(tmp_path, "account", "remove", "bluesky", "--yes", **KEYS).code == 0
    assert call(tmp_path, "account", "list", **KEYS).out == ""
    said = call(tmp_path, "draft", "post", draft, **KEYS)
    assert (said.code, "No account is connected; nothing was posted." in said.err) == (1, True)
    assert not (tmp_path / "secrets" / "secrets.sealed").exists()


def test_on_a_server_the_environment_holds_the_key(tmp_path: Path, pds: Pds, writer: Writer) -> None:
    keys = {"copydesk_secrets__keyring": "false", "copydesk_secret_bluesky": writer.app_password}
    args = ("account", "connect", "bluesky", "--url", pds.url, "--set", f"handle={writer.handle}")
    assert call(tmp_path, *args, stdin=f"{writer.app_password}\n", **keys).code == 0
    assert call(tmp_path, "account", "check", **keys).out == f"bluesky:{writer.handle} works.\n"
    assert call(tmp_path, "draft", "post", approved(tmp_path, "From a server"), **keys).code == 0
    assert len(pds.posts(writer.did)) == 1
    assert not (tmp_path / "secrets").exists()
