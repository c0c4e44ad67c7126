"""Tests for all commands: examples, whole sentences, topics, and suggestions for what is mistyped."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.cli import copydesk
from copydesk.cli.command import Command, Group, first_sentence
from copydesk.cli.commands import COMMANDS, CONFLICT, FAILED, INTERRUPTED, NOT_FOUND, TERMINATED, USAGE
from copydesk.cli.help_topics import TOPICS

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 80
FILES = ("posts.txt", "outbox.json", "feeds.opml", "post.md", "photo.jpg")
"""Files that the examples name."""


class NamedCommand(NamedTuple):
    """A command and the words that call it."""

    path: tuple[str, ...]
    command: click.Command

    @property
    def examples(self) -> tuple[str, ...]:
        """The examples in its help."""
        assert isinstance(self.command, Command | Group), f"{self.path} is not made by `command` or `group`"
        return self.command.examples

    @property
    def creates_desk(self) -> bool:
        """True if it creates a desk where there is none, at least with some arguments."""
        assert isinstance(self.command, Command | Group)
        return bool(self.command.creates_desk)


def walk(command: click.Command, path: tuple[str, ...] = ("copydesk",)) -> Iterator[NamedCommand]:
    """Yield the command and all below it."""
    yield NamedCommand(path, command)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, (*path, name))


ALL = list(walk(copydesk))
GROUPS = [found for found in ALL if isinstance(found.command, click.Group)]
SINGLE = [found for found in ALL if not isinstance(found.command, click.Group)]
WITHOUT_DESK = {"completion", "doctor", "help", "migrate", "prove"}
"""Commands that tell something on a machine without a desk, too."""
NEEDING_DESK = [found for found in SINGLE if not found.creates_desk and found.path[-1] not in WITHOUT_DESK]
IN_TOPICS = [
    call
    for _, page in TOPICS.values()
    for call in re.findall(r"(?:^  (?:\$ )?|`)(copydesk(?: [^`\n]+)?)(?:`|$)", page, re.MULTILINE)
    # A command, or its options only.
    if not call.split()[1:2] or call.split()[1] in COMMANDS
]


def find_command(call: str) -> click.Command:
    """Parse a call as the shell passes it; return the command that is called."""
    program, *args = shlex.split(call.partition(" > ~")[0])
    assert program == "copydesk"
    context = copydesk.make_context(program, args)
    while isinstance(context.command, click.Group) and (rest := [*context._protected_args, *context.args]):
        name, command, args = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, args, parent=context)
    context.close()  # files that are open
    return context.command


@pytest.fixture
def named_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that examples name, in the working directory."""
    for name in FILES:
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)


def test_examples_are_found_in_topics() -> None:
    assert len(IN_TOPICS) > 10


@pytest.mark.parametrize("found", [*SINGLE, ALL[0]], ids=lambda found: " ".join(found.path))
def test_help_has_an_example(tmp_path: Path, found: NamedCommand) -> None:
    assert found.examples

    out = run_in_process(tmp_path, *found.path[1:], "--help", COLUMNS=str(WIDTH)).out

    for example in found.examples:
        assert f"\n  {example}\n" in out
        assert len(example) <= WIDTH - 2
    assert not re.search("INTEGER|FLOAT|RANGE", out)


@pytest.mark.usefixtures("named_files")
@pytest.mark.parametrize(
    ("found", "example"),
    [pytest.param(found, example, id=example) for found in SINGLE for example in found.examples],
)
def test_example_is_a_call_of_its_command(found: NamedCommand, example: str) -> None:
    assert find_command(example) is found.command


@pytest.mark.sqlite("a database of its own")
@pytest.mark.usefixtures("named_files")
@pytest.mark.parametrize("found", NEEDING_DESK, ids=lambda found: " ".join(found.path))
def test_example_creates_no_desk_in_a_mistyped_home(tmp_path: Path, found: NamedCommand) -> None:
    home = tmp_path / "typo"
    _, *args = shlex.split(found.examples[0])
    yes = ["--yes"] if any("--yes" in parameter.opts for parameter in found.command.params) else []

    assert_one_line_error(run_in_process(tmp_path, "--home", str(home), *args, *yes), NOT_FOUND)
    assert not home.exists()


@pytest.mark.usefixtures("named_files")
@pytest.mark.parametrize("call", [*copydesk.examples, *IN_TOPICS])
def test_calls_in_topics_are_valid(call: str) -> None:
    with suppress(click.MissingParameter):  # a command that is only named
        find_command(call)


@pytest.mark.parametrize("found", GROUPS, ids=lambda found: " ".join(found.path))
def test_commands_are_listed_with_whole_sentences(tmp_path: Path, found: NamedCommand) -> None:
    out = run_in_process(tmp_path, *found.path[1:], "--help", COLUMNS=str(WIDTH)).out

    assert all(len(line) <= WIDTH for line in out.partition("Commands:")[2].splitlines())
    listed = " ".join(out.partition("Commands:")[2].split())
    commands = [other for other in ALL if other.path[:-1] == found.path]
    for name, command in [(other.path[-1], other.command) for other in commands]:
        summary = COMMANDS[name][1] if len(found.path) == 1 else first_sentence(command.help or "")
        assert summary.endswith(".")
        assert f"{name} {summary}" in listed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Approve drafts.\n\n    More.", "Approve drafts."),
        ("\n    Back up to FILE, by\n    default in a folder. More.\n", "Back up to FILE, by default in a folder."),
        ("No stop", "No stop"),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize("topic", TOPICS)
def test_topic_is_printed(tmp_path: Path, topic: str) -> None:
    result = run_in_process(tmp_path, "help", topic)

    assert (result.code, result.err) == (0, "")
    assert result.out == TOPICS[topic][1].lstrip("\n")
    assert all(len(line) <= WIDTH for line in result.out.splitlines())
    assert f"  {topic} " in run_in_process(tmp_path, "--help").out


def test_exit_codes_are_explained() -> None:
    explained = {int(line.split()[0]) for line in TOPICS["exit-codes"][1].splitlines() if line[:1].isdecimal()}
    assert explained == {0, FAILED, USAGE, NOT_FOUND, CONFLICT, INTERRUPTED, TERMINATED}


def test_environment_variables_exist() -> None:
    named = re.findall(r"^([A-Z_]+)(?:, ([A-Z_]+))?  ", TOPICS["environment"][1], re.MULTILINE)
    prefixes = {re.sub("(SECTION__NAME|PLATFORM|FIELD)$", "", name) for pair in named for name in pair if name}
    code = "".join(path.read_text() for path in (ROOT / "src" / "copydesk").rglob("*.py") if "help" not in path.name)
    # Python's webbrowser reads the last one.
    assert {prefix for prefix in prefixes if f'"{prefix}' not in code} == {"BROWSER"}
    assert len(prefixes) == 13


@pytest.mark.parametrize("found", ALL, ids=lambda found: " ".join(found.path))
def test_help_command_prints_the_help(tmp_path: Path, found: NamedCommand) -> None:
    assert run_in_process(tmp_path, "help", *found.path[1:]) == run_in_process(tmp_path, *found.path[1:], "--help")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["draf"], "There is no command 'draf'. Did you mean 'draft'? See `copydesk --help`."),
        (["approve", "1f9c2a"], "There is no command 'approve'. Did you mean 'draft approve'?"),
        (["list"], "There is no command 'list'. See `copydesk --help`."),
        (["draft", "aprove"], "There is no command 'aprove'. Did you mean 'approve' or"),
        (
            ["source", "zzz"],
            "There is no command 'zzz'. There are: add, edit, export, import, list, remove, show, test.",
        ),
        (["--smple"], "No such option '--smple'. Did you mean '--sample'? See `copydesk --help`."),
        (["draft", "--hlp"], "No such option '--hlp'. Did you mean '--help'?"),
        (["draft", "list", "--statu", "approved"], "Did you mean '--status'? See `copydesk draft list --help`."),
        (["doctor", "--ful"], "No such option '--ful'. Did you mean '--full'? See `copydesk doctor --help`."),
        (["draft", "list", "--sample"], "--sample goes before the command: `copydesk --sample`."),
        (["draft", "--home", "x", "list"], "--home goes before the command: `copydesk --home`."),
        (["help", "enviroment"], "There is no command or topic 'enviroment'. Did you mean 'environment'?"),
        (["help", "draft", "aprove"], "There is no command 'aprove'. Did you mean 'approve' or"),
        (["help", "draft", "approve", "x"], "`copydesk draft approve` has no commands."),
        (["help", "ids", "draft"], "'ids' is a topic: pass it alone."),
        (["completion", "bsh"], "'bsh' is not one of 'bash', 'zsh', 'fish'."),
    ],
)
def test_mistyped_name_gets_a_suggestion(tmp_path: Path, args: list[str], message: str) -> None:
    result = run_in_process(tmp_path, *args)

    assert_one_line_error(result, 2)
    assert message in result.err


@pytest.mark.parametrize("found", ALL, ids=lambda found: " ".join(found.path))
def test_every_option_gets_a_suggestion(tmp_path: Path, found: NamedCommand) -> None:
    options = [option for parameter in found.command.params for option in parameter.opts if option.startswith("--")]
    for option in [*options, "--help"]:
        result = run_in_process(tmp_path, *found.path[1:], f"{option[:-1]}{option[-1]}x")
        assert_one_line_error(result, 2)
        assert f"'{option}'" in result.err


@pytest.mark.parametrize("found", SINGLE, ids=lambda found: " ".join(found.path))
def test_every_command_gets_a_suggestion(tmp_path: Path, found: NamedCommand) -> None:
    *parents, name = found.path[1:]
    result = run_in_process(tmp_path, *parents, f"{name}x")

    assert_one_line_error(result, 2)
    assert f"Did you mean '{name}'" in result.err
