"""Tests for `--json FIELDS`, `--jq`, `--all`, `--bulk`, errors as problem details, and exit codes."""

import json
import re
import signal
import sys
from types import SimpleNamespace

import click
import jq
import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.cli import FORMATS, RUN_FIELDS, copydesk
from copydesk.cli.commands import COMMANDS
from copydesk.cli.json_output import print_json
from copydesk.desk.drafts.versions import Difference
from copydesk.desk.sources.service import FetchTest
from copydesk.model.draft import Format
from copydesk.model.run import Run
from copydesk.sample.prove import ProofResult
from copydesk.text import HIDDEN_CHARACTERS

UNKNOWN_ID = "019c4a5e-0000-7000-8000-000000000000"
OTHER_UNKNOWN_ID = "019c4a5e-0000-7000-8000-000000000001"
TEXTS = ("The ferry sails.", "The harbour opens.", "A line\nand \x9banother.")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A desk with three drafts to review."""
    home = tmp_path_factory.mktemp("home")
    for text in TEXTS:
        assert run_in_process(home, "draft", "new", text).code == 0
    return home


def run_ok(home, *args):
    result = run_in_process(home, *args)
    assert (result.code, result.err) == (0, ""), result
    return result.out


def ids(home):
    return run_ok(home, "draft", "list", "--jq", ".drafts[].id").split()


def walk_commands():
    """Yield the words of each command, and the command."""
    for name in COMMANDS:
        command = copydesk.get_command(click.Context(copydesk), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from (((name, sub), entry) for sub, entry in command.commands.items())
        else:
            yield (name,), command


def test_every_command_that_prints_offers_json_and_jq():
    # Files, a script and a help text are no output for jq, and servers print nothing but messages.
    without = {words for words, command in walk_commands() if not {"--json", "--jq"} <= option_names(command)}
    exports = {("source", "export"), ("engagement", "export")}
    assert without == {*exports, ("serve",), ("worker",), ("mcp",), ("completion",), ("help",)}


def option_names(command):
    return {name for parameter in command.params for name in parameter.opts}


def test_every_command_with_pages_offers_all():
    paged = {words: option_names(command) for words, command in walk_commands() if "--cursor" in option_names(command)}
    assert set(paged) == {("draft", "list"), ("draft", "search"), ("run", "list"), ("webhook", "log")}
    assert all("--all" in names for names in paged.values())


def test_selected_fields_are_printed_in_their_order(home):
    page = json.loads(run_ok(home, "draft", "list", "--json", "status,id"))
    assert [list(draft) for draft in page["drafts"]] == [["status", "id"]] * 3
    assert page["nextCursor"] is None
    shown = json.loads(run_ok(home, "draft", "show", ids(home)[0], "--json=text, format"))
    assert shown == {"text": TEXTS[-1], "format": "SHORT"}
    assert json.loads(run_ok(home, "doctor", "--json", "verdict"))[0] == {"verdict": "ok"}


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["draft", "list", "--json", "id,idd"], "there is no field 'idd'. There are: id, text, format, "),
        (["draft", "new", "A text.", "--json", "text"], "there is no field 'text'. There are: mode, itemId, drafts. "),
        (["draft", "approve", "--json", "ID"], "Without fields, put --json last."),
        (["draft", "approve", "ID", "--json", "succeeded"], "there is no field 'succeeded'. There are: id, "),
        (["draft", "approve", "ID", "--bulk", "--json", "status"], "There are: action, total, succeeded, "),
        (["draft", "undo", "--bulk", "--json", "status"], "There are: action, total, succeeded, "),
        (["backup", "--json", "automatic"], "There are: path, size, revision, "),
        (["--run-pipeline", "--json", "text"], "There are: id, status, stage, "),
        (["draft", "list", "--json="], "there is no field ''."),
    ],
)
def test_unknown_field_is_refused_before_anything_happens(home, args, named):
    before = run_ok(home, "draft", "list", "--json")
    result = run_in_process(home, *(ids(home)[0] if arg == "ID" else arg for arg in args))
    assert_one_line_error(result, 2)
    assert named in json.loads(result.err)["detail"]
    assert run_ok(home, "draft", "list", "--json") == before


def test_declared_names_are_those_of_the_classes():
    commands = dict(walk_commands())
    assert Run.__struct_encode_fields__ == RUN_FIELDS
    assert tuple(Format) == FORMATS
    for words, shape in {
        ("draft", "diff"): Difference,
        ("source", "test"): FetchTest,
        ("prove",): ProofResult,
    }.items():
        context = click.Context(commands[words])
        (option,) = (parameter for parameter in context.command.params if parameter.name == "as_json")
        assert option.process_value(context, ",".join(shape.__struct_encode_fields__)) is True


def test_jq_filters_the_whole_shape(home):
    assert run_ok(home, "draft", "list", "--jq", ".drafts | length") == "3\n"
    assert run_ok(home, "draft", "list", "--jq", ".drafts[] | {format, item: .item.sourceType}").count("\n") == 3
    assert run_ok(home, "draft", "list", "--jq", ".drafts[0] | {format}, .scheduledAt") == '{"format":"SHORT"}\nnull\n'
    assert run_ok(home, "draft", "list", "--json", "id", "--jq", "[.drafts[0] | keys[]]") == '["id"]\n'


def test_jq_prints_strings_as_they_are_and_codes_on_a_terminal(home, monkeypatch):
    newest = ids(home)[0]
    assert run_ok(home, "draft", "show", newest, "--jq", ".text") == f"{TEXTS[-1]}\n"
    assert "\\u009banother" in run_ok(home, "draft", "show", newest, "--jq", "{text}")
    with click.Context(copydesk) as context:
        printed: list[str] = []
        monkeypatch.setattr(click, "echo", printed.append)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        (option,) = (parameter for parameter in copydesk.params if "--jq" in parameter.opts)
        option.process_value(context, ".text")
        print_json({"text": TEXTS[-1]})
    assert printed == ["A line\nand ⟨U+009B⟩another."]


@pytest.mark.parametrize(("expression", "named"), [(".[", "syntax error"), ("nothing", "nothing/0 is not defined")])
def test_invalid_jq_expression_is_refused_before_anything_happens(home, expression, named):
    count = len(ids(home))
    result = run_in_process(home, "draft", "new", "A text.", "--jq", expression)
    assert_one_line_error(result, 2)
    assert named in result.err
    assert len(ids(home)) == count


def test_jq_expression_that_does_not_suit_the_output_is_wrong_usage(home):
    result = run_in_process(home, "draft", "list", "--jq", ".drafts.id")
    assert_one_line_error(result, 2)
    problem = json.loads(result.err)
    assert problem["status"] == 400
    assert (
        """Invalid value for '--jq': Cannot index array with string ("id"). The command itself succeeded."""
        in problem["detail"]
    )


def test_interrupt_ends_an_endless_jq_program(home, monkeypatch):
    """jq runs outside of Python, whose own handler would run after its end."""
    handlers = []

    class Program:
        def input_text(self, _text):
            handlers.append(signal.getsignal(signal.SIGINT))
            return SimpleNamespace(all=lambda: ["end"])

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(jq, "compile", lambda _expression: Program())
    assert run_ok(home, "draft", "list", "--jq", ".") == "end\n"
    assert handlers == [signal.SIG_DFL]
    assert signal.getsignal(signal.SIGINT) is before


def test_jq_is_loaded_on_first_use(home, monkeypatch):
    monkeypatch.delitem(sys.modules, "jq", raising=False)
    run_ok(home, "draft", "list", "--json")
    assert "jq" not in sys.modules


def test_all_lists_every_page(tmp_path, monkeypatch):
    monkeypatch.setattr("copydesk.cli.paging.MAX_LIMIT", 2)
    for number in range(5):
        run_ok(tmp_path, "draft", "new", f"Text {number} of five.")
    whole = json.loads(run_ok(tmp_path, "draft", "list", "--limit", "5", "--json"))
    assert json.loads(run_ok(tmp_path, "draft", "list", "--all", "--json")) == whole
    first = json.loads(run_ok(tmp_path, "draft", "list", "--limit", "1", "--json"))
    rest = json.loads(run_ok(tmp_path, "draft", "list", "--all", "--cursor", first["nextCursor"], "--json"))
    assert first["drafts"] + rest["drafts"] == whole["drafts"]
    assert run_ok(tmp_path, "draft", "search", "five", "--all").count("\n") == 5
    assert run_ok(tmp_path, "draft", "search", "five", "--all", "--jq", ".drafts | length") == "5\n"


def test_all_lists_every_run(tmp_path, monkeypatch):
    monkeypatch.setattr("copydesk.cli.paging.MAX_LIMIT", 1)
    for _ in range(3):
        run_in_process(tmp_path, "--run-pipeline", "--json")
    assert run_ok(tmp_path, "run", "list", "--all", "--jq", ".runs | length") == "3\n"


def test_error_is_a_problem_with_json(home):
    newest = ids(home)[0]
    refused = run_in_process(home, "draft", "unapprove", newest, "--json")
    assert_one_line_error(refused, 4)
    assert json.loads(refused.err) == {
        "type": "/problems/conflict",
        "title": "Not allowed in the current state",
        "status": 409,
        "detail": "Cannot unapprove a draft with the status “needs review”.",
        "hint": "Use approve, reject, regenerate or archive instead.",
        "currentStatus": "awaiting_review",
        "allowedActions": ["approve", "reject", "regenerate", "archive"],
    }
    invalid = run_in_process(home, "engagement", "show", "--top", "99", "--json")
    assert_one_line_error(invalid, 2)
    assert json.loads(invalid.err)["errors"] == [{"field": "top", "message": "takes a whole number from 1 to 50"}]


def test_hint_of_a_problem_keeps_desk_options(home):
    result = run_in_process(home, "--home", str(home), "draft", "show", UNKNOWN_ID, "--json")
    assert json.loads(result.err)["hint"] == f"List all drafts: `copydesk --home {home} draft list`."


@pytest.mark.parametrize(
    ("args", "code", "name"),
    [
        (["draft", "show", UNKNOWN_ID], 3, "not-found"),
        (["draft", "undo", UNKNOWN_ID], 3, "not-found"),
        (["draft", "resume"], 4, "conflict"),
        (["draft", "list", "--cursor", "x"], 2, "invalid-cursor"),
        (["draft", "lisst"], 2, "usage"),
        (["draft", "list", "--limit", "many"], 2, "usage"),
        (["source", "add", "rss", "https://127.0.0.1:1/feed"], 1, "fetch"),
        (["source", "remove", UNKNOWN_ID], 3, "not-found"),
    ],
)
def test_exit_code_and_problem_type(home, args, code, name):
    assert_one_line_error(run_in_process(home, *args), code)
    result = run_in_process(home, *args, "--json")
    assert_one_line_error(result, code)
    assert json.loads(result.err)["type"] == f"/problems/{name}"


def test_declined_question_is_a_problem(home):
    result = run_in_process(home, "draft", "reject", "--all-matching", "--json", stdin="n\n")
    assert (result.code, result.out) == (1, "")
    problem = json.loads(result.err.splitlines()[-1].rpartition("? [y/N]: ")[2])
    assert (problem["type"], problem["detail"]) == ("/problems/not-confirmed", "Nothing changed.")


def test_problem_escapes_hidden_characters(home):
    result = run_in_process(home, "draft", "list", "--status", "\x9b31m", "--json")
    assert re.findall(HIDDEN_CHARACTERS, result.err.rstrip("\n")) == []
    assert "\\x9b31m" in json.loads(result.err)["detail"]


def test_bulk_prints_one_shape_for_one_and_many(tmp_path):
    for text in TEXTS[:2]:
        run_ok(tmp_path, "draft", "new", text)
    one, two = ids(tmp_path)
    several = json.loads(run_ok(tmp_path, "draft", "approve", one, two, "--bulk", "--json"))
    run_ok(tmp_path, "draft", "undo")
    single = json.loads(run_ok(tmp_path, "draft", "approve", one, "--bulk", "--json"))
    assert list(single) == list(several) == ["action", "total", "succeeded", "failed", "results"]
    assert single["results"] == {"succeeded": [one], "failed": []}
    undone = json.loads(run_ok(tmp_path, "draft", "undo", one, "--bulk", "--json"))
    assert undone == {**single, "action": "approve"}
    assert run_ok(tmp_path, "draft", "redo", one, "--bulk", "--json", "succeeded") == '{"succeeded":1}\n'
    assert json.loads(run_ok(tmp_path, "draft", "unapprove", one, "--json"))["id"] == one

    refused = run_in_process(tmp_path, "draft", "unapprove", one, "--bulk", "--json")
    assert (refused.code, refused.err) == (4, "")
    (failure,) = json.loads(refused.out)["results"]["failed"]
    assert (failure["id"], failure["type"]) == (one, "/problems/conflict")


def test_several_refused_drafts_exit_like_one(tmp_path):
    for text in TEXTS[:2]:
        run_ok(tmp_path, "draft", "new", text)
    one, two = ids(tmp_path)
    assert run_in_process(tmp_path, "draft", "restore", one).code == 4
    assert run_in_process(tmp_path, "draft", "restore", one, two).code == 4
    assert run_in_process(tmp_path, "draft", "approve", UNKNOWN_ID).code == 3
    assert run_in_process(tmp_path, "draft", "approve", UNKNOWN_ID, OTHER_UNKNOWN_ID).code == 3
    # For more than one cause there is no common code, nor if some succeeded.
    assert run_in_process(tmp_path, "draft", "unapprove", one, UNKNOWN_ID).code == 1
    assert run_in_process(tmp_path, "draft", "approve", one, UNKNOWN_ID).code == 1


def test_account_commands_print_json(tmp_path):
    assert run_ok(tmp_path, "--sample", "account", "check", "--json") == (
        '[{"account":"fake:you","ok":true,"error":null}]\n'
    )
    unknown = run_in_process(tmp_path, "--sample", "account", "check", "fake:you", "nobody", "--json", "ok,error")
    assert_one_line_error(unknown, 3)
    assert json.loads(unknown.err)["type"] == "/problems/not-found"
    removed = json.loads(run_ok(tmp_path, "--sample", "account", "remove", "fake:you", "--yes", "--json"))
    assert removed["details"]["platform"] == "fake"
