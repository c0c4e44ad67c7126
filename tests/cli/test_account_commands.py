"""Accounts on the command line, as far as it goes without a server."""

import pytest

from command_line import assert_one_line, call_here

PLACE = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("args", "way"),
    [
        (("bluesky",), "--set handle=…"),
        (("bluesky", "--set", "handle=me.example"), "COPYDESK_CONNECT_PASSWORD"),
        (("webhook", "--url", PLACE), "COPYDESK_CONNECT_SECRET"),
    ],
)
def test_what_is_not_answered_is_named_with_the_way_to_answer_it(tmp_path, args, way):
    said = call_here(tmp_path, "account", "connect", *args)
    assert_one_line(said, 2)
    assert "standard input" in said.err
    assert way in said.err


def test_a_server_that_is_not_named_is_asked_for(tmp_path):
    said = call_here(tmp_path, "account", "connect", "mastodon", stdin="token\n")
    assert said.code == 2
    assert "--url https://" in said.err


def test_where_there_are_no_accounts_a_check_says_so(tmp_path):
    said = call_here(tmp_path, "account", "check")
    assert (said.code, said.out) == (0, "")
    assert "copydesk account connect" in said.err
