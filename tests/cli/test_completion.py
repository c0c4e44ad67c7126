"""Tests for completion in the shell: the scripts in real shells, and what they offer."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import make_environment, run_in_process
from copydesk.cli.commands import COMMANDS
from copydesk.cli.help_topics import TOPICS

COMPLETE_ALL = """
import sys
from click.shell_completion import ShellComplete
from copydesk.cli import copydesk
from copydesk.cli.commands import COMMANDS

completion = ShellComplete(copydesk, {}, "copydesk", "_COPYDESK_COMPLETE")
assert len(completion.get_completions([], "")) == len(COMMANDS)
assert not [name for name in sys.modules if name.startswith("copydesk.desk")]
for name in COMMANDS:
    assert "--help" in [item.value for item in completion.get_completions([name], "--")]
    commands = [item.value for item in completion.get_completions([name], "") if item.type == "plain"]
    for command in commands if name not in ("help", "completion") else ():
        completion.get_completions([name, command], "--")
imported = {name.partition(".")[0] for name, module in sys.modules.items() if module}
print(sorted(imported & {"sqlalchemy", "textual", "httpx", "rich", "psycopg"}))
"""


def complete(home: Path, *words: str, **variables: str) -> list[tuple[str, str]]:
    """Return what is offered for the last word, with its description, as zsh gets it."""
    options = {"comp_words": " ".join(["copydesk", *words]), "comp_cword": str(len(words)), **variables}
    result = run_in_process(home, _copydesk_complete="zsh_complete", **options)
    assert (result.code, result.err) == (0, ""), result
    lines = result.out.splitlines()
    fields = (lines[start::3] for start in range(3)) if any(lines) else ((), (), ())
    return [(value, text) for kind, value, text in zip(*fields, strict=True) if kind == "plain"]


def create_draft(home: Path, text: str) -> str:
    """Create a draft; return its id."""
    return run_in_process(home, "draft", "new", text).out.split()[1]


@pytest.fixture
def executable(tmp_path: Path) -> dict[str, str]:
    """An environment in which `copydesk` is this version."""
    script = tmp_path / "bin" / "copydesk"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m copydesk "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    environment = make_environment(tmp_path / "home")
    return environment | {"PATH": f"{script.parent}{os.pathsep}{environment['PATH']}"}


def run_shell(executable: dict[str, str], *command: str) -> str:
    completed = subprocess.run(command, env=executable, capture_output=True, text=True, timeout=60, check=False)
    assert completed.stderr == ""
    return completed.stdout


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("draft unap", ["unapprove"]),
        ("draft list --for", ["--format"]),
        ("draft list --archived ", ["exclude", "only", "include"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("help environ", ["environment"]),
        ("source add red", ["reddit"]),
        ("draft show --nonsense", []),
    ],
)
def test_bash_completes(executable: dict[str, str], words: str, expected: list[str]) -> None:
    completed = ["copydesk", *words.split(" ")]
    script = f"""
        source <(copydesk completion bash)
        [[ $(complete -p copydesk) == *' -F _copydesk_completion copydesk' ]] || echo "not registered"
        COMP_WORDS=({" ".join(word or '""' for word in completed)}) COMP_CWORD={len(completed) - 1}
        _copydesk_completion copydesk
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert run_shell(executable, "bash", "--norc", "-c", script).split() == expected


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_ids(executable: dict[str, str], tmp_path: Path) -> None:
    draft_id = create_draft(tmp_path / "home", "Ferries run again.")
    script = f"""
        source <(copydesk completion bash)
        COMP_WORDS=(copydesk draft show {draft_id[-6:-4]}) COMP_CWORD=3
        _copydesk_completion copydesk
        copydesk draft show "${{COMPREPLY[0]}}"
    """
    assert "Ferries run again." in run_shell(executable, "bash", "--norc", "-c", script)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_script_has_no_syntax_error(executable: dict[str, str], tmp_path: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    script = tmp_path / "script"
    script.write_text(run_shell(executable, "copydesk", "completion", shell))
    run_shell(executable, shell, "-n", str(script))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_calls_copydesk(tmp_path: Path, shell: str) -> None:
    result = run_in_process(tmp_path, "completion", shell)

    assert (result.code, result.err) == (0, "")
    assert f"_COPYDESK_COMPLETE={shell}_complete" in result.out
    assert list(tmp_path.iterdir()) == []


def test_completion_imports_little(tmp_path: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", COMPLETE_ALL],
        env=make_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (completed.stdout, completed.stderr) == ("[]\n", "")


def test_commands_are_offered_with_their_summaries(tmp_path: Path) -> None:
    assert complete(tmp_path, "") == [(name, text) for name, (_, text) in COMMANDS.items()]
    assert complete(tmp_path, "draft", "appr") == [("approve", "Approve drafts.")]
    assert complete(tmp_path, "help", "draft", "appr") == [("approve", "Approve drafts.")]
    assert complete(tmp_path, "help", "for") == [("formatting", TOPICS["formatting"][0])]


def test_ids_are_offered_newest_first(tmp_path: Path) -> None:
    first, second = create_draft(tmp_path, "First."), create_draft(tmp_path, "Second \x1b[31m, line\nof: text.")
    run_in_process(tmp_path, "draft", "approve", first)
    offered = [(second[-6:], "needs review: Second , line of: text."), (first[-6:], "approved: First.")]

    assert complete(tmp_path, "draft", "show", "") == offered
    assert complete(tmp_path, "draft", "approve", first, "") == offered
    assert complete(tmp_path, "draft", "show", first[-6:-1]) == [(first[-6:], "approved: First.")]
    assert complete(tmp_path, "schedule", "conflicts", "--exclude", "") == offered
    assert complete(tmp_path, "draft", "list", "--source", "") == []
    assert complete(tmp_path, "--home", str(tmp_path / "other"), "draft", "show", "") == []


def test_ids_are_those_of_the_desk_in_the_environment(tmp_path: Path) -> None:
    create_draft(tmp_path, "The owner's.")
    run_in_process(tmp_path, "user", "add", "anna")
    run_in_process(tmp_path, "--user", "anna", "draft", "new", "Anna's.")
    run_in_process(tmp_path, "--sample", "draft", "list")

    of_anna = complete(tmp_path, "draft", "show", "", copydesk_user="anna")
    of_sample = complete(tmp_path, "source", "show", "", copydesk_sample="1")

    assert [text for _, text in of_anna] == ["needs review: Anna's."]
    assert of_sample == complete(tmp_path, "--sample", "source", "show", "")


def test_sources_are_offered_for_a_run(tmp_path: Path) -> None:
    run_in_process(tmp_path, "--sample", "draft", "list")

    offered = complete(tmp_path, "--sample", "--run-pipeline", "--source", "")

    assert offered == complete(tmp_path, "--sample", "source", "show", "")
    assert len(offered) > 3


def test_completion_creates_no_desk(tmp_path: Path) -> None:
    assert complete(tmp_path / "none", "draft", "show", "") == []
    assert list(tmp_path.iterdir()) == []


def test_completion_is_silent_about_errors(tmp_path: Path) -> None:
    create_draft(tmp_path, "First.")
    (tmp_path / "settings.toml").write_text("nonsense")
    assert complete(tmp_path, "draft", "show", "") == []

    (tmp_path / "settings.toml").unlink()
    (tmp_path / "copydesk.db").write_bytes(b"no database")
    assert complete(tmp_path, "draft", "show", "") == []


def test_users_are_offered(tmp_path: Path) -> None:
    assert complete(tmp_path, "--user", "") == []
    assert not list(tmp_path.iterdir())
    for name in ("anna", "ben"):
        run_in_process(tmp_path, "user", "add", name)
    for words in (["--user"], ["user", "remove"], ["token", "list", "--user"], ["--home", str(tmp_path), "--user"]):
        assert [name for name, _ in complete(tmp_path, *words, "")] == ["owner", "anna", "ben"]
        assert [name for name, _ in complete(tmp_path, *words, "a")] == ["anna"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "list", "--json", "st"), ["status", "stage", "startedAt", "stats"]),
        (("run", "list", "--json", "id,stat"), ["id,status", "id,stats"]),
        (("run", "list", "--json", "status,stat"), ["status,stats"]),
        (("slot", "zone", "Europe/Zag"), ["Europe/Zagreb"]),
    ],
    ids=" ".join,
)
def test_fields_and_zones_are_offered(tmp_path: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert [value for value, _ in complete(tmp_path, *words)] == expected
    assert not list(tmp_path.iterdir())


def test_names_are_offered(tmp_path: Path) -> None:
    for name in ("phone", "agent"):
        run_in_process(tmp_path, "token", "create", "--name", name, "--scope", "read")
    run_in_process(tmp_path, "token", "revoke", "agent", "--yes")
    run_in_process(tmp_path, "rule", "add", "exclude", "giveaway")
    run_in_process(tmp_path, "writer", "add", "local", "--url", "http://localhost:1/v1", "--model", "m", "--no-key")

    assert complete(tmp_path, "token", "revoke", "") == [("phone", "_")]
    assert complete(tmp_path, "rule", "remove", "give") == [("giveaway", "_")]
    assert complete(tmp_path, "rule", "add", "exclude", "give") == []
    assert complete(tmp_path, "writer", "remove", "") == [("local", "_")]
    assert [name for name, _ in complete(tmp_path, "writer", "use", "")] == ["offline", "local"]


@pytest.mark.parametrize("words", [("--user", "anna", "token", "revoke"), ("token", "revoke", "--user", "anna")])
def test_names_of_the_named_user_are_offered(tmp_path: Path, words: tuple[str, ...]) -> None:
    run_in_process(tmp_path, "user", "add", "anna")
    for user in ("owner", "anna"):
        run_in_process(tmp_path, "token", "create", "--user", user, "--name", f"phone of {user}", "--scope", "read")

    assert complete(tmp_path, *words, "") == [("phone of anna", "_")]
