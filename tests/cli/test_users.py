"""Tests for `copydesk user`, `copydesk --user` and `copydesk token`."""

import asyncio
import json
import re
from datetime import datetime, timedelta

import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.desk import load_first_page
from copydesk.settings import QueueTab
from copydesk.tui.custom_tabs import CustomTabs, tabs_file
from desk_fixtures import settings_at
from desks_fixtures import open_desks_at


def create_token(home, *args):
    result = run_in_process(home, "token", "create", *args)
    assert result.code == 0, result
    return result


def authenticate(home, secret):
    async def work():
        async with open_desks_at(home) as desks:
            return await desks.authenticate(secret)

    return asyncio.run(work())


def test_users_are_added_listed_and_removed(tmp_path):
    added = run_in_process(tmp_path, "user", "add", "anna")
    assert (added.code, added.out) == (0, "Added anna.\n")
    assert added.err == "Open their desk: copydesk --user anna\n"
    listed = run_in_process(tmp_path, "user", "list").out.splitlines()
    assert [line.split()[0] for line in listed] == ["owner", "anna"]
    as_json = json.loads(run_in_process(tmp_path, "user", "list", "--json").out)
    assert [(user["name"], user["isOwner"]) for user in as_json] == [("owner", True), ("anna", False)]

    removed = run_in_process(tmp_path, "user", "remove", "anna", "--yes")
    assert (removed.code, removed.out, removed.err) == (0, "Removed anna.\n", "")
    assert run_in_process(tmp_path, "user", "list").out.startswith("owner")


def test_removing_a_user_is_confirmed(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    declined = run_in_process(tmp_path, "user", "remove", "anna", stdin="n\n")
    assert declined.code == 1
    assert "Delete anna with all their drafts" in declined.err
    accepted = run_in_process(tmp_path, "user", "remove", "anna", stdin="y\n")
    assert (accepted.code, accepted.out) == (0, "Removed anna.\n")


def test_mistyped_user_is_refused_before_the_question(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    result = run_in_process(tmp_path, "user", "remove", "ana", stdin="y\n")
    assert_one_line_error(result, 3)
    assert result.err == "Error: No user 'ana'. Did you mean anna?\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("user", "remove", "--yes", "owner"), 4, "The owner cannot be removed"),
        (("user", "add", "Owner"), 4, "There is already a user “Owner”"),
        (("user", "add", " "), 2, "NAME takes 1 to 100 characters"),
        (("--user", "anna", "draft", "list"), 3, "No user 'anna'. List all users: `copydesk user list`."),
        (("--user", "", "draft", "list"), 3, "No user ''. List all users: `copydesk user list`."),
        (("--user", "ownr", "--run-pipeline"), 3, "No user 'ownr'. Did you mean owner?"),
        (("token", "list", "--user", "anna"), 3, "No user 'anna'"),
        (("token", "revoke", "agent"), 3, "No token 'agent'"),
        (("token", "create", "--name", "agent"), 2, "Missing option '--scope'"),
        (("token", "create", "--scope", "read"), 2, "Missing option '--name'"),
        (("token", "create", "--name", "agent", "--scope", "admin"), 2, "'admin' is not one of 'read', 'draft'"),
        (("token", "create", "--name", "agent", "--scope", "read", "--expires", "90"), 2, "'90' is not a duration"),
        (("token", "create", "--name", "agent", "--scope", "read", "--expires", "0d"), 2, "'0d' is not a duration"),
        (
            ("token", "create", "--name", "agent", "--scope", "read", "--expires", "99999w"),
            2,
            "--expires is more than ten years",
        ),
    ],
)
def test_wrong_calls_are_refused(tmp_path, arguments, code, message):
    result = run_in_process(tmp_path, *arguments)
    assert_one_line_error(result, code)
    assert message in result.err
    assert [line.split()[0] for line in run_in_process(tmp_path, "user", "list").out.splitlines()] == ["owner"]


@pytest.mark.parametrize("options", [(), ("--web",)])
def test_unknown_user_is_refused_before_the_console_starts(tmp_path, monkeypatch, options):
    monkeypatch.setattr("copydesk.cli._is_terminal", lambda: True)
    run_in_process(tmp_path, "user", "add", "anna")
    result = run_in_process(tmp_path, "--user", "ana", *options)
    assert_one_line_error(result, 3)
    assert result.err == "Error: No user 'ana'. Did you mean anna?\n"


def test_commands_work_as_the_named_user(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    assert run_in_process(tmp_path, "--user", "anna", "draft", "new", "By Anna.").code == 0
    assert run_in_process(tmp_path, "draft", "new", "By the owner.").code == 0
    for user, text in (("anna", "By Anna."), ("owner", "By the owner.")):
        listed = json.loads(run_in_process(tmp_path, "--user", user, "draft", "list", "--json").out)
        assert [draft["text"] for draft in listed["drafts"]] == [text]


def test_variables_name_the_desk_as_options_do(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    assert run_in_process(tmp_path, "draft", "new", "By Anna.", copydesk_user="anna").code == 0
    shown = run_in_process(tmp_path, "draft", "list", copydesk_user="anna")
    assert "By Anna." in shown.out
    # An option is stronger, and another folder is another desk.
    assert "By Anna." not in run_in_process(tmp_path, "--user", "owner", "draft", "list", copydesk_user="anna").out
    other = ("--home", str(tmp_path / "other"))
    assert (
        run_in_process(tmp_path, *other, "draft", "new", "Mine.", copydesk_user="anna", copydesk_sample="1").code == 0
    )
    assert not (tmp_path / "other" / "sample").exists()
    assert run_in_process(tmp_path, "source", "list", copydesk_sample="1").out.count("\n") > 5


def test_saved_tabs_are_removed_with_their_user(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    settings = settings_at(tmp_path)
    for user in (None, "anna"):
        CustomTabs(file=tabs_file(settings, user)).save("Brief", QueueTab(format="SHORT"))
    assert run_in_process(tmp_path, "user", "remove", "anna", "--yes").code == 0
    assert not tabs_file(settings, "anna").exists()
    assert tabs_file(settings, None).exists()


def test_pipeline_runs_for_the_named_user(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    result = run_in_process(tmp_path, "--user", "anna", "--run-pipeline", "--json")
    assert json.loads(result.out)["status"] == "succeeded"
    assert len(json.loads(run_in_process(tmp_path, "--user", "anna", "run", "list", "--json").out)["runs"]) == 1
    assert json.loads(run_in_process(tmp_path, "run", "list", "--json").out)["runs"] == []


def test_hints_name_the_user(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna b")
    result = run_in_process(tmp_path, "--home", str(tmp_path), "--user", "anna b", "draft", "list")
    assert f"copydesk --home {tmp_path} --user 'anna b' --run-pipeline" in result.err


def test_sample_desk_of_another_user_is_filled(tmp_path):
    assert run_in_process(tmp_path, "--sample", "user", "add", "anna").code == 0
    sources = json.loads(run_in_process(tmp_path, "--sample", "--user", "anna", "source", "list", "--json").out)
    assert len(sources) == len(json.loads(run_in_process(tmp_path, "--sample", "source", "list", "--json").out)) > 3
    assert "Added" in run_in_process(tmp_path, "user", "add", "anna").out


def test_first_page_is_that_of_the_user(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    for user, text in (("anna", "By Anna."), ("owner", "By the owner.")):
        run_in_process(tmp_path, "--user", user, "draft", "new", text)
    settings = settings_at(tmp_path)
    pages = [load_first_page(settings, 10, user) for user in (None, "anna", "ben")]
    assert [[draft.text for draft in page] for page in pages] == [["By the owner."], ["By Anna."], []]


def test_token_is_printed_once_and_works(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    result = create_token(tmp_path, "--name", "agent", "--scope", "draft", "--user", "anna")
    assert re.fullmatch(r"cd_[A-Za-z0-9]{43}\n", result.out)
    assert "Created token agent for anna, scope draft, never expires." in result.err
    access = authenticate(tmp_path, result.out.strip())
    assert (access.user.name, access.token_name, access.scope) == ("anna", "agent", "draft")
    listed = run_in_process(tmp_path, "--user", "anna", "token", "list")
    assert listed.out.startswith(f"agent  draft  {result.out[:7]}…  created just now  never expires")
    assert result.out.strip() not in listed.out
    assert "No tokens yet" in run_in_process(tmp_path, "token", "list").err


@pytest.mark.parametrize(("text", "hours"), [("12h", 12), ("90d", 2160), ("2w", 336)])
def test_token_as_json(tmp_path, text, hours):
    result = create_token(tmp_path, "--name", "agent", "--scope", "publish", "--expires", text, "--json")
    created = json.loads(result.out)
    assert set(created) == {"token", "id", "name", "scope", "user", "expiresAt"}
    assert (created["name"], created["scope"], created["user"]) == ("agent", "publish", "owner")
    (listed,) = json.loads(run_in_process(tmp_path, "token", "list", "--json").out)
    assert listed["expiresAt"] == created["expiresAt"]
    created_at, expires_at = (datetime.fromisoformat(listed[name]) for name in ("createdAt", "expiresAt"))
    assert abs(expires_at - created_at - timedelta(hours=hours)) < timedelta(seconds=1)
    assert created["token"] not in json.dumps(listed)
    assert result.err == ""


def test_token_is_revoked_by_name_or_id(tmp_path):
    first, second = (
        json.loads(create_token(tmp_path, "--name", name, "--scope", "read", "--json").out) for name in ("one", "two")
    )
    assert run_in_process(tmp_path, "token", "revoke", "one", "--yes").out == "Revoked one.\n"
    assert run_in_process(tmp_path, "token", "revoke", second["id"][-6:], "--yes").out == "Revoked two.\n"
    assert [authenticate(tmp_path, created["token"]) for created in (first, second)] == [None, None]
    states = [line.split("  ")[-1] for line in run_in_process(tmp_path, "token", "list").out.splitlines()]
    assert states == ["revoked just now", "revoked just now"]


def test_revoking_a_token_is_confirmed(tmp_path):
    created = json.loads(create_token(tmp_path, "--name", "agent", "--scope", "read", "--json").out)
    declined = run_in_process(tmp_path, "token", "revoke", created["id"], stdin="n\n")
    assert (declined.code, declined.out) == (1, "")
    assert "Revoke agent? This cannot be undone. [y/N]" in declined.err
    unanswered = run_in_process(tmp_path, "token", "revoke", "agent")
    assert (unanswered.code, unanswered.out) == (1, "")
    assert unanswered.err.endswith("Error: Nothing changed. Use --yes to skip the confirmation.\n")
    assert authenticate(tmp_path, created["token"])
    accepted = run_in_process(tmp_path, "token", "revoke", "agent", stdin="y\n")
    assert (accepted.code, accepted.out) == (0, "Revoked agent.\n")


def test_token_of_another_user_is_not_found(tmp_path):
    run_in_process(tmp_path, "user", "add", "anna")
    created = json.loads(create_token(tmp_path, "--name", "agent", "--scope", "read", "--json").out)
    for name in ("agent", created["id"]):
        assert_one_line_error(run_in_process(tmp_path, "--user", "anna", "token", "revoke", name), 3)
    assert authenticate(tmp_path, created["token"]).user.is_owner
