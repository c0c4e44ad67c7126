"""Tests for the model writer: the draft, its record and costs, previews, and falling back to other writers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from copydesk.drafting.fake_writer import FakeWriter
from copydesk.drafting.model_writer.client import ModelClient
from copydesk.drafting.model_writer.completion import BadAnswerError, ModelError
from copydesk.drafting.model_writer.endpoints import normalize_url, supports_parameter
from copydesk.drafting.model_writer.prices import Price
from copydesk.drafting.model_writer.writer import FallbackWriter, ModelWriter
from copydesk.drafting.offline_writer import OfflineWriter
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.errors import InvalidError, WriterError
from copydesk.model.draft import Format
from copydesk.model.writer import Endpoint, QuotedClaim, StructuredOutput, Usage, WireProtocol
from copydesk.text.thread import split_parts
from drafting_fixtures import NOW, make_brief
from fake_model_server import (
    FakeChatCompletions,
    FakeMessages,
    FakeModelServer,
    draft_answer,
    error_response,
    stream_response,
)

POST = "In Lyon you can borrow a drill. https://rivernews.example/library"
PRICES = {"test-model": Price(input=1.0, output=10.0, cached=0.1)}
PROTOCOLS = {FakeChatCompletions: WireProtocol.OPENAI, FakeMessages: WireProtocol.ANTHROPIC}


def make_writer(server: FakeModelServer, **changes: Any) -> ModelWriter:
    endpoint = Endpoint(
        name="test",
        protocol=PROTOCOLS[type(server)],
        base_url="https://api.example/v1",
        model="test-model",
        structured=changes.pop("structured", StructuredOutput.AUTO),
    )
    client = ModelClient(server, endpoint, clock=lambda: NOW, jitter=lambda: 0.0)
    return ModelWriter(client, clock=lambda: NOW, **changes)


@pytest.mark.parametrize("kind", [FakeChatCompletions, FakeMessages])
async def test_draft_is_the_post_of_the_answer(kind: type[FakeModelServer]) -> None:
    result = await make_writer(kind(draft_answer(POST))).write(make_brief())
    assert (result.text, result.model) == (POST, "test-model-2026-01-15")


async def test_draft_of_an_endpoint_without_schemas_is_read_from_tags() -> None:
    server = FakeChatCompletions(f"<report>R</report><post>{POST}</post>")
    result = await make_writer(server, structured=StructuredOutput.OFF).write(make_brief())
    assert result.text == POST
    assert result.requests[0].parameters["structured"] is False


async def test_refused_schema_changes_the_instructions_too() -> None:
    def respond(body: dict[str, Any]) -> Any:
        return error_response(400, "no") if "response_format" in body else f"<post>{POST}</post>"

    server = FakeChatCompletions(respond)
    result = await make_writer(server).write(make_brief())
    assert "<post>" in server.bodies[1]["messages"][0]["content"]
    assert result.requests[0].system == server.bodies[1]["messages"][0]["content"]
    assert result.requests[0].attempts == 2


async def test_thread_has_the_posts_as_parts() -> None:
    result = await make_writer(FakeChatCompletions(draft_answer("One.", "Two."))).write(make_brief(Format.THREAD))
    assert split_parts(result.text) == ["One.", "Two."]


async def test_request_is_recorded_with_prompt_model_tokens_and_cost() -> None:
    quote = "drills, sewing machines and projectors"
    server = FakeChatCompletions(draft_answer(POST, report="A library.", claims=[("It lends drills.", quote)]))
    brief = make_brief(text=f"The shelves hold {quote}.", parameters={"temperature": 0.3})
    [record] = (await make_writer(server, prices=PRICES).write(brief)).requests
    [body] = server.bodies
    assert [record.system, record.prompt] == [message["content"] for message in body["messages"]]
    assert body["temperature"] == record.parameters["temperature"] == 0.3
    assert (record.model, record.answered_by, record.writer) == ("test-model", "test-model-2026-01-15", "test")
    assert record.usage == Usage(input_tokens=120, cached_tokens=40, output_tokens=30)
    assert record.cost == pytest.approx((80 * 1.0 + 40 * 0.1 + 30 * 10.0) / 1e6)
    assert (record.report, record.finish_reason, record.error) == ("A library.", "stop", None)
    assert record.claims == (QuotedClaim(text="It lends drills.", source_quote=quote),)


@pytest.mark.parametrize("prices", [{}, {"other": Price(input=1, output=1)}])
async def test_cost_without_a_price_is_unknown(prices: dict[str, Price]) -> None:
    [record] = (await make_writer(FakeChatCompletions(draft_answer(POST)), prices=prices).write(make_brief())).requests
    assert record.cost is None


async def test_cost_of_another_model_is_not_that_of_the_one_asked_for() -> None:
    server = FakeChatCompletions(draft_answer(POST))
    server.model = "cheap-model"
    [record] = (await make_writer(server, prices=PRICES).write(make_brief())).requests
    assert (record.answered_by, record.cost) == ("cheap-model", None)


async def test_cost_without_tokens_is_unknown() -> None:
    message = {"choices": [{"message": {"content": draft_answer(POST)}, "finish_reason": "stop"}]}
    server = FakeChatCompletions(stream_response(f"data: {json.dumps(message)}\n\n"))
    [record] = (await make_writer(server, prices=PRICES).write(make_brief())).requests
    assert (record.usage, record.cost) == (Usage(), None)


async def test_rejected_answer_is_recorded_with_its_cost() -> None:
    server = FakeChatCompletions("No JSON.")
    with pytest.raises(BadAnswerError) as caught:
        await make_writer(server, prices=PRICES).write(make_brief())
    [record] = caught.value.requests
    assert record.cost is not None
    assert record.error is not None
    assert record.error.startswith("The model's answer does not have the form")


async def test_answer_that_was_cut_off_is_recorded_with_its_cost() -> None:
    server = FakeMessages()
    server.answers = [server.respond(draft_answer(POST), "max_tokens")]
    with pytest.raises(BadAnswerError) as caught:
        await make_writer(server, prices=PRICES).write(make_brief())
    assert caught.value.requests[0].cost is not None


async def test_invented_quotations_are_noted() -> None:
    server = FakeChatCompletions(draft_answer(POST, claims=[("It is old.", "a library of 1850")]))
    result = await make_writer(server).write(make_brief())
    assert result.notes == ("The model names 1 of 1 quotations that are not in the source.",)


async def test_budget_is_checked_before_anything_is_sent() -> None:
    async def refuse(_: Endpoint) -> None:
        raise ModelError("The budget is spent.")

    server = FakeChatCompletions(draft_answer(POST))
    with pytest.raises(ModelError, match="The budget is spent"):
        await make_writer(server, check_budget=refuse).write(make_brief())
    assert server.requests == []


async def test_unfinished_text_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.drafting.model_writer.writer.PREVIEW_SECONDS", 0)
    shown: list[str] = []
    result = await make_writer(FakeChatCompletions(draft_answer(POST), chunk_size=40)).stream(
        make_brief(), shown.append
    )
    assert result.text == POST
    assert len(shown) > 3
    assert all(POST.startswith(text) for text in shown)


async def test_next_writer_writes_what_the_first_could_not() -> None:
    server = FakeChatCompletions(error_response(400, "Unknown model."))
    result = await FallbackWriter([make_writer(server), OfflineWriter()]).write(make_brief())
    assert result.model == "offline"
    assert result.notes[0] == "test wrote no draft: api.example says: Unknown model."
    assert [request.error for request in result.requests] == ["api.example says: Unknown model."]


async def test_second_writer_is_not_asked_if_the_first_wrote() -> None:
    second = FakeWriter()
    result = await FallbackWriter([FakeWriter("First."), second]).write(make_brief())
    assert (result.text, result.notes, second.briefs) == ("First.", (), [])


async def test_all_reasons_are_reported_if_no_writer_wrote() -> None:
    writers = [FakeWriter(WriterError("It is broken.")), make_writer(FakeChatCompletions("No JSON."))]
    with pytest.raises(ModelError, match=r"fake wrote no draft: It is broken. test wrote no draft") as caught:
        await FallbackWriter(writers).write(make_brief())
    assert len(caught.value.requests) == 1


async def test_preview_is_cleared_before_the_next_writer() -> None:
    class Broken(FakeWriter):
        async def stream(self, brief: Brief, on_text: Callable[[str], None]) -> WriterResult:
            on_text("Half of a")
            raise WriterError("It is broken.")

    shown: list[str] = []
    await FallbackWriter([Broken(), FakeWriter("One two.")]).stream(make_brief(), shown.append)
    assert shown == ["Half of a", "", "One"]


@pytest.mark.parametrize(
    ("protocol", "model", "supported"),
    [
        ("anthropic", "claude-opus-4-6", True),
        ("anthropic", "claude-opus-4-7", False),
        ("anthropic", "claude-opus-4-20250514", True),
        ("anthropic", "claude-sonnet-4-5-20250929", True),
        ("anthropic", "claude-sonnet-5", False),
        ("openai", "anthropic/claude-sonnet-5", False),
        ("openai", "o3-mini", False),
        ("openai", "gpt-5.2", False),
        ("openai", "openai/gpt-5", False),
        ("openai", "gpt-4.1", True),
        ("openai", "llama3.3:70b", True),
    ],
)
def test_models_known_to_refuse_the_temperature(protocol: str, model: str, supported: bool) -> None:
    assert supports_parameter(WireProtocol(protocol), model, "temperature") is supported
    assert supports_parameter(WireProtocol(protocol), model, "hook")


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.openai.com/v1",
        "http://localhost:11434/v1",
        "http://127.0.0.1:8080/v1",
        "http://192.168.1.20:8000/v1",
        "http://gpu-box:8000/v1",
        "http://gpu.local/v1",
    ],
)
def test_addresses_that_can_be_used(base_url: str) -> None:
    assert normalize_url(f"{base_url}/", WireProtocol.OPENAI) == base_url


@pytest.mark.parametrize(
    "base_url",
    [
        *("http://api.example/v1", "ftp://a/v1", "https://user:key@a.example/v1", "https://a/v1?key=1", "x"),
        *("http://8.8.8.8/v1", "https://a.example/v1/chat/completions", "https://a.example/v1/messages"),
    ],
)
def test_addresses_that_cannot_be_used_are_refused(base_url: str) -> None:
    with pytest.raises(InvalidError) as caught:
        normalize_url(base_url, WireProtocol.OPENAI)
    assert [error.field for error in caught.value.errors] == ["baseUrl"]


def test_providers_have_their_own_addresses() -> None:
    assert normalize_url("", WireProtocol.ANTHROPIC) == "https://api.anthropic.com/v1"
