"""Tests for the account commands, as far as they go without a server."""

import asyncio
import getpass
import json
import sys
from threading import Thread
from types import SimpleNamespace

import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.cli import account
from copydesk.desk.context import _LazyTransport
from copydesk.posting.registry import PLATFORMS
from copydesk.tui import browser
from posting_fixtures import connect_account, fake_platforms, open_posting_desk
from x_sign_in import CLIENT_SECRETS, open_page, serve_x

UNREACHABLE_URL = "http://127.0.0.1:1"
PLAIN_CREDENTIALS = {"copydesk_secrets__keyring": "false", "copydesk_secrets__plain": "true"}


def connect_fake_account(home):
    """Connect an account of a platform that the command line does not know."""

    async def connect():
        async with open_posting_desk(home, fake_platforms()) as desk:
            await connect_account(desk)

    asyncio.run(connect())


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("bluesky",), "--set handle=…"),
        (("bluesky", "--set", "handle=me.example"), "COPYDESK_CONNECT_PASSWORD"),
        (("webhook", "--url", UNREACHABLE_URL), "COPYDESK_CONNECT_SECRET"),
    ],
)
def test_missing_credentials_are_listed_with_hint(tmp_path, args, hint):
    result = run_in_process(tmp_path, "account", "connect", *args)
    assert_one_line_error(result, 2)
    assert "standard input" in result.err
    assert hint in result.err


def test_missing_server_is_requested(tmp_path):
    result = run_in_process(tmp_path, "account", "connect", "mastodon", stdin="token\n")
    assert result.code == 2
    assert "--url https://" in result.err


def test_check_without_accounts_explains_connect(tmp_path):
    result = run_in_process(tmp_path, "account", "check")
    assert (result.code, result.out) == (0, "")
    assert "copydesk account connect" in result.err


def test_mistyped_account_is_not_asked_about(tmp_path):
    result = run_in_process(tmp_path, "account", "remove", "blusky")
    assert_one_line_error(result, 3)
    assert result.err.startswith("Error: No account 'blusky'.")


@pytest.mark.parametrize("client_secret", CLIENT_SECRETS)
@pytest.mark.parametrize("source", ["standard input", "environment"])
def test_x_is_connected_with_and_without_client_secret(tmp_path, monkeypatch, client_secret, source):
    fake, transport = serve_x(monkeypatch, client_secret)
    visits = []

    async def visit(page):
        visits.append(Thread(target=lambda: asyncio.run(open_page(fake, page))))
        visits[0].start()

    monkeypatch.setattr(
        _LazyTransport, "handle_async_request", lambda _, request: transport.handle_async_request(request)
    )
    monkeypatch.setattr(account, "is_interactive", lambda: True)
    monkeypatch.setattr(browser, "open_in_browser", visit)  # which keeps the secrets of the environment from it
    variables = {"copydesk_connect_client_secret": client_secret} if source == "environment" else {}
    stdin = "app\n" if variables else f"app\n{client_secret}\n"
    result = run_in_process(tmp_path, "account", "connect", "x", stdin=stdin, **PLAIN_CREDENTIALS, **variables)
    visits[0].join()
    assert (result.code, result.out) == (0, "Connected x:me.\n"), result
    assert client_secret == "" or client_secret not in result.err
    assert run_in_process(tmp_path, "account", "check", **PLAIN_CREDENTIALS).out == "x:me works.\n"


@pytest.mark.parametrize(("platform", "prompted"), [("x", ["client_id", "client_secret"]), ("mastodon", [])])
def test_only_what_replaces_the_sign_in_is_not_prompted(monkeypatch, platform, prompted):
    fields = PLATFORMS[platform].credential_fields
    names = {field.question: field.name for field in fields}
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(getpass, "getpass", lambda prompt: names[prompt.removesuffix(": ")])
    monkeypatch.setattr(account, "prompt_line", lambda question, *_, **__: names[question])
    method = SimpleNamespace(platform=platform, credential_fields=fields)
    assert account._collect_fields(method, {}, through_browser=True) == {name: name for name in prompted}


def test_account_asks_for_two_approvals(tmp_path):
    connect_fake_account(tmp_path)

    changed = run_in_process(tmp_path, "account", "approvals", "fake:me", "2")

    assert (changed.code, changed.out) == (0, "fake:me takes drafts with 2 approvals.\n")
    assert run_in_process(tmp_path, "account", "list").out.rstrip().endswith("2 approvals")
    run_in_process(tmp_path, "account", "approvals", "fake:me", "1")
    assert "approvals" not in run_in_process(tmp_path, "account", "list").out
    assert_one_line_error(run_in_process(tmp_path, "account", "approvals", "fake:me", "3"), 2)


def test_failed_check_is_printed_as_json(tmp_path):
    connect_fake_account(tmp_path)

    result = run_in_process(tmp_path, "account", "check", "fake", "--json")

    assert (result.code, result.err) == (1, "")
    (check,) = json.loads(result.out)
    assert (check["account"], check["ok"]) == ("fake", False)
    assert check["error"].startswith("platform: must be one of bluesky, ")


def test_account_with_two_names_is_checked_once(tmp_path):
    connect_fake_account(tmp_path)

    result = run_in_process(tmp_path, "account", "check", "fake", "fake:me", "--json")

    assert [check["account"] for check in json.loads(result.out)] == ["fake:me"]
