"""Tests for the account commands, as far as they go without a server."""

import pytest

from cli_runner import assert_one_line_error, run_in_process

UNREACHABLE_URL = "http://127.0.0.1:1"


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
