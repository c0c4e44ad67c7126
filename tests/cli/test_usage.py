"""Tests for wrong usage and unknown ids: one line on stderr and a distinct exit code."""

import atexit
import gc
import re

import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.cli.commands import COMMANDS
from copydesk.cli.context import Context
from feed_server import FeedServer


@pytest.mark.parametrize(
    "args",
    [
        ["source", "show", "nobody"],
        ["source", "test", "nobody"],
        ["source", "edit", "nobody", "--name", "x"],
        ["source", "remove", "nobody", "--yes"],
        ["draft", "show", "nobody"],
        ["draft", "show", "../../etc/passwd"],
        ["draft", "show", "\x1b[31m"],
        ["--run-pipeline", "--source", "nobody"],
    ],
)
@pytest.mark.parametrize(("options", "start"), [([], "Error: No "), (["--json"], '{"type":"/problems/not-found",')])
def test_unknown_id_is_one_line(tmp_path, args, options, start):
    result = run_in_process(tmp_path, *args, *options)

    assert_one_line_error(result, 3)
    assert result.err.startswith(start)
    assert "\x1b" not in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nonsense"], "There is no command 'nonsense'. See `copydesk --help`."),
        (["--home", "", "draft", "list"], "Invalid value for '--home': it is empty."),
        (["web"], "There is no command 'web'. Did you mean '--web'? See"),
        (["login"], "There is no command 'login'. Did you mean 'account connect'? See"),
        (["draft", "create"], "There is no command 'create'. Did you mean 'new'? See `copydesk draft --help`."),
        (["source", "rm"], "There is no command 'rm'. Did you mean 'remove'? See"),
        (["doctr"], "There is no command 'doctr'. Did you mean 'doctor'? See `copydesk --help`."),
        (["run-pipeline"], "There is no command 'run-pipeline'. Did you mean '--run-pipeline'? See"),
        (["source", "nonsense"], "There is no command 'nonsense'. There are: add, edit, export, import, list,"),
        (["--smple"], "No such option '--smple'. Did you mean '--sample'? See `copydesk --help`."),
        (["--nonsense"], "--nonsense"),
        (["source", "add", "rss"], "Missing argument 'URL'."),
        (["source", "add"], "Missing argument 'URL'. See `copydesk source add --help`."),
        (["source", "add", "rss", "a.example", "b.example"], "Got unexpected extra argument (b.example)."),
        (["source", "add", "gopher", "x"], "Invalid value for 'TYPE': 'gopher' is not one of 'rss'"),
        (["draft", "list", "--limit", "0"], "Invalid value for '--limit': 0 is not in the range 1<=x<=100."),
        (["draft", "list", "--cursor", "x"], "cursor is invalid; leave it out"),
        (["draft", "list", "--cursor", ""], "cursor is invalid; leave it out"),
        (["run", "list", "--cursor", ""], "cursor is invalid; leave it out"),
        (["account", "connect", "mastodon"], "url is missing. Pass the address of your Mastodon server: --url https"),
        (
            ["source", "add", "https://news.ycombinator.com/", "--config", '{"qery": "x"}'],
            "--config: qery is not a setting of hackernews; it has list, query, exclude, images, include,",
        ),
        (["draft", "list", "--status", "lost"], "'lost' is not one of 'pending_generation'"),
        (["run", "list", "--limit", "many"], "'many' is not a valid whole number."),
        (["prove", "--seconds", "long"], "'long' is not a valid number."),
        (["--run-pipeline", "--max-drafts", "-1"], "Invalid value for '--max-drafts'"),
        (["--format", "BLOG"], "--source, --format, --max-drafts, --due and --json need --run-pipeline."),
        (["--max-drafts", "3"], "--source, --format, --max-drafts, --due and --json need --run-pipeline."),
        (["--json"], "--source, --format, --max-drafts, --due and --json need --run-pipeline."),
        (["--user", "anna", "serve"], "The service is for all users; a token says which. Leave out --user."),
        (["--user", "anna", "restore", "desk.db"], "A backup has the desks of all users. Leave out --user."),
        (["--user", "anna", "backup"], "A backup has the desks of all users. Leave out --user."),
        (["--user", "anna", "backup", "--list"], "A backup has the desks of all users. Leave out --user."),
        (["--user", "anna", "migrate", "--to", "desk.db"], "The desks of all users are copied. Leave out --user."),
        (["--run-pipeline", "doctor"], "cannot be used with `doctor`."),
        ([], "The console needs a terminal. Use --run-pipeline or a command instead."),
        (["source", "import", "/nonexistent/file"], "No such file or directory."),
        (["--home", "/dev/null", "run", "list"], "Cannot read /dev/null/settings.toml: Not a directory."),
    ],
)
def test_usage_error_is_one_line(tmp_path, args, message):
    result = run_in_process(tmp_path, *args)

    assert_one_line_error(result, 2)
    assert message in result.err
    assert result.out == ""


def test_private_address_is_refused_by_default(tmp_path):
    with FeedServer() as server:
        address = server.url("/feed")
        result = run_in_process(tmp_path, "source", "add", "rss", address, copydesk_network__allow_private="false")
        assert server.requests == []

    assert_one_line_error(result, 1)
    assert "127.0.0.1 is not a public address." in result.err
    assert "COPYDESK_NETWORK__ALLOW_PRIVATE=true" in result.err


def test_group_without_command_prints_help(tmp_path):
    """The whole help was once printed as one long error line."""
    result = run_in_process(tmp_path, "source")

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("Usage: copydesk source [OPTIONS] COMMAND [ARGS]...\n")
    assert "\n  add " in result.err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_whole_summaries(tmp_path, name):
    assert "...\n" not in run_in_process(tmp_path, name, "--help").out.partition("Commands:")[2]


def test_help_and_version_succeed(tmp_path):
    usage, add, version = (
        run_in_process(tmp_path, *args) for args in (["--help"], ["source", "add", "-h"], ["--version"])
    )

    assert [(result.code, result.err) for result in (usage, add, version)] == [(0, "")] * 3
    assert usage.out.startswith("Usage: copydesk [OPTIONS]")
    assert add.out.startswith("Usage: copydesk source add [OPTIONS] [TYPE] URL")
    assert "google_news" in add.out
    assert re.fullmatch(r"copydesk, version \d+\.\d+\.\d+\n", version.out)
    assert list(tmp_path.iterdir()) == []


def test_usage_error_names_command_help(tmp_path):
    assert run_in_process(tmp_path, "draft", "list", "--limit", "0").err.endswith("See `copydesk draft list --help`.\n")
    assert run_in_process(tmp_path, "draft", "list", "--tag").err == (
        "Error: Option '--tag' requires an argument. See `copydesk draft list --help`.\n"
    )


@pytest.mark.parametrize(
    ("args", "advice"),
    [
        (("experiment", "list"), "copydesk --sample experiment new"),
        (("slot", "list"), "copydesk --sample slot set"),
        (("run", "list"), "copydesk --sample --run-pipeline"),
        (("draft", "list"), "copydesk --sample --run-pipeline"),
        (("draft", "show", "x"), "`copydesk --sample draft list`"),
    ],
)
def test_advice_keeps_desk_options(tmp_path, args, advice):
    """Advice given for the sample desk must not lead to the user's own desk."""
    assert advice in run_in_process(tmp_path, "--sample", *args).err
    assert advice.replace(" --sample", "") in run_in_process(tmp_path, *args).err
    other_home = tmp_path / "my desk"
    run_in_process(tmp_path, "--home", str(other_home), "user", "add", "anna")
    assert (
        advice.replace("--sample", f"--home '{other_home}'")
        in run_in_process(tmp_path, "--home", str(other_home), *args).err
    )


def test_only_commands_are_extended_in_advice():
    """Errors also contain the names of feeds, which must not be changed."""
    advice = Context(home=None, sample=True, debug=False).with_desk_options
    assert advice("copydesk daily: `copydesk run list`") == "copydesk daily: `copydesk --sample run list`"
    assert advice("copydesk --run-pipeline") == "copydesk --sample --run-pipeline"


def test_advice_keeps_user_that_it_names():
    advice = Context(home=None, user="anna", sample=True, debug=False).with_desk_options
    assert advice("copydesk draft list") == "copydesk --sample --user anna draft list"
    assert advice("copydesk --user bert draft list") == "copydesk --sample --user bert draft list"


@pytest.mark.parametrize("command", ["worker", "restore FILE", "serve --port 8471", "backup", "migrate --to FILE"])
def test_advice_names_no_user_where_that_is_refused(command):
    advice = Context(home=None, user="anna", sample=True, debug=False).with_desk_options
    assert advice(f"copydesk {command}") == f"copydesk --sample {command}"


@pytest.mark.parametrize("command", [("worker",), ("restore", "desk.db"), ("serve",)])
def test_user_of_the_environment_is_named_where_it_is_refused(tmp_path, command):
    assert "Unset COPYDESK_USER." in run_in_process(tmp_path, *command, copydesk_user="anna").err


def test_backup_ignores_the_user_of_the_environment(tmp_path):
    """The console sets it for the user's own commands."""
    run_in_process(tmp_path, "user", "add", "anna")
    assert run_in_process(tmp_path, "backup", "--list", copydesk_user="anna").code == 0
    assert "Leave out --user." in run_in_process(tmp_path, "--user", "anna", "backup").err


def test_process_ends_without_collecting_garbage(tmp_path, monkeypatch):
    at_exit = []
    monkeypatch.setattr(atexit, "register", at_exit.append)

    run_in_process(tmp_path, "--version")

    assert gc.freeze in at_exit
