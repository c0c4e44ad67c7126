"""Tests for `copydesk writer` and `copydesk draft prompt`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runner import CommandResult, assert_one_line_error, run_in_process
from copydesk.desk.context import _LazyTransport
from copydesk.errors import StoreBusyError
from copydesk.store import writers as stored
from fake_model_server import FakeChatCompletions, draft_answer, error_response

ENVIRONMENT = {"copydesk_secrets__keyring": "false", "copydesk_secrets__plain": "true"}
ADD = ("writer", "add", "gpt", "--model", "test-model", "--url", "https://models.example/v1")
POST = "We open at eight from Monday on."
Run = Callable[..., CommandResult]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeChatCompletions:
    server = FakeChatCompletions(draft_answer(POST))
    monkeypatch.setattr(_LazyTransport, "handle_async_request", lambda _, request: server.handle_async_request(request))
    return server


@pytest.fixture
def run(tmp_path: Path, server: FakeChatCompletions) -> Run:
    def call(*args: str, stdin: str = "", **variables: str) -> CommandResult:
        return run_in_process(tmp_path, *args, stdin=stdin, **ENVIRONMENT, **variables)

    return call


def test_added_writer_is_tested_used_and_removed(run: Run, server: FakeChatCompletions) -> None:
    added = run(*ADD, stdin="sk-0123456789\n")
    assert (added.code, added.out) == (0, "Added gpt.\n")
    assert "copydesk writer use gpt offline" in added.err
    tested = run("writer", "test", "gpt")
    assert "test-model-2026-01-15 answered in" in tested.out
    assert POST in tested.out
    assert server.requests[0].headers["authorization"] == "Bearer sk-0123456789"
    used = run("writer", "use", "gpt", "offline")
    assert [line.split()[:2] for line in used.out.splitlines()] == [["1.", "gpt"], ["2.", "offline"]]
    assert run("writer", "remove", "gpt", "--yes").out == "Removed gpt.\n"
    assert run("writer", "list").out.split()[:2] == ["1.", "offline"]


def test_server_without_key_does_not_get_that_of_the_environment(run: Run, server: FakeChatCompletions) -> None:
    run(*ADD, "--no-key", COPYDESK_WRITER_KEY="sk-0123456789")
    run("writer", "test", "gpt")
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("protocol", "url"), [("openai", "https://api.openai.com/v1"), ("anthropic", "https://api.anthropic.com/v1")]
)
def test_address_is_that_of_the_provider_unless_given(run: Run, protocol: str, url: str) -> None:
    added = run("writer", "add", "gpt", "--model", "m", "--protocol", protocol, "--no-key", "--json")
    assert json.loads(added.out)["endpoint"]["baseUrl"] == url


def test_error_names_the_option(run: Run) -> None:
    refused = run("writer", "add", "gpt", "--model", "m", "--url", "models.example", "--max-tokens", "0", "--no-key")
    assert_one_line_error(refused, 2)
    assert "--max-tokens takes" in refused.err
    refused = run("writer", "add", "gpt", "--model", "m", "--url", "models.example", "--no-key")
    assert refused.err == "Error: --url must be an address such as https://api.example.com/v1.\n"


@pytest.mark.parametrize(("name", "code"), [("gtp", 3), ("offline", 4)])
def test_nothing_is_asked_about_a_writer_that_cannot_be_removed(run: Run, name: str, code: int) -> None:
    assert_one_line_error(run("writer", "remove", name), code)


def test_key_without_a_writer_is_deleted_without_a_question(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreBusyError

    with monkeypatch.context() as patch:
        patch.setattr(stored, "save", fail)
        run(*ADD, stdin="sk-0123456789\n")
    removed = run("writer", "remove", "gpt")
    assert_one_line_error(removed, 3)
    assert "The key that an interrupted call had left is deleted." in removed.err
    assert [file for file in (tmp_path / "secrets").iterdir() if "sk-0123456789" in file.read_text()] == []


def test_mistyped_writer_is_not_found_without_the_passphrase(tmp_path: Path) -> None:
    encrypted = {"copydesk_secrets__keyring": "false"}
    run_in_process(tmp_path, *ADD, stdin="sk-0123456789\n", **encrypted, copydesk_passphrase="one two three four")
    assert (tmp_path / "secrets" / "secrets.sealed").exists()
    mistyped = run_in_process(tmp_path, "writer", "remove", "gtp", "--yes", **encrypted)
    assert_one_line_error(mistyped, 3)
    assert mistyped.err.startswith("Error: No writer 'gtp'.")


def test_key_may_come_from_the_environment(run: Run, server: FakeChatCompletions) -> None:
    run(*ADD, copydesk_writer_key="sk-environment")
    run("writer", "test", "gpt")
    assert server.requests[0].headers["authorization"] == "Bearer sk-environment"


def test_key_is_not_printed(run: Run) -> None:
    results = [run(*ADD, "--json", stdin="sk-0123456789\n"), run("writer", "list", "--json")]
    assert "sk-0123456789" not in "".join(result.out + result.err for result in results)
    assert json.loads(results[1].out)["writers"][1]["endpoint"]["hasKey"] is True


def test_failed_test_says_why(run: Run, server: FakeChatCompletions) -> None:
    run(*ADD, "--no-key")
    server.answers = [error_response(404, "No such model.")]
    assert_one_line_error(result := run("writer", "test", "gpt"), 1)
    assert "models.example says: No such model." in result.err


@pytest.mark.parametrize("args", [("test", "gtp"), ("use", "gtp", "offline"), ("remove", "gtp", "--yes")])
def test_unknown_writer_is_not_found(run: Run, args: tuple[str, ...]) -> None:
    result = run("writer", *args)
    assert_one_line_error(result, 3)
    assert result.err == "Error: No writer 'gtp'. List all writers: `copydesk writer list`.\n"


def test_prompt_of_a_draft_is_shown(run: Run) -> None:
    run(*ADD, "--no-key")
    run("writer", "use", "gpt")
    created = run("draft", "new", "--prompt", "We open at eight from Monday on.", "--json")
    draft_id = json.loads(created.out)["drafts"][0]["id"]
    shown = run("draft", "prompt", draft_id)
    assert "answered by" in shown.out
    assert "The author asks for this post: We open at eight from Monday on." in shown.out
    [request] = json.loads(run("draft", "prompt", draft_id, "--json").out)
    assert (request["model"], request["answeredBy"]) == ("test-model", "test-model-2026-01-15")
    assert request["usage"] == {"inputTokens": 120, "cachedTokens": 40, "outputTokens": 30}
