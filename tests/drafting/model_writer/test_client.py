"""Tests for requests to language models: both protocols, streams cut anywhere, retries, refusals, deadlines."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from copydesk.drafting.model_writer.client import Answer, ModelClient, declared_capabilities
from copydesk.drafting.model_writer.completion import (
    BadAnswerError,
    BusyError,
    Capabilities,
    CompletionRequest,
    ModelError,
    RejectedError,
)
from copydesk.drafting.model_writer.server_sent_events import MAX_LINE_BYTES, EventParser, ServerSentEvent
from copydesk.model.writer import Endpoint, StructuredOutput, Usage, WireProtocol
from copydesk.text.redaction import MASK
from drafting_fixtures import NOW
from fake_model_server import (
    Chunks,
    FakeChatCompletions,
    FakeMessages,
    FakeModelServer,
    error_response,
    stream_response,
)

KEY = "sk-test-0123456789abcdef"
TEXT = "Grüße, “quoted” text — and 🙂 a\nsecond line."
SERVERS: dict[WireProtocol, type[FakeModelServer]] = {
    WireProtocol.OPENAI: FakeChatCompletions,
    WireProtocol.ANTHROPIC: FakeMessages,
}
both = pytest.mark.parametrize("protocol", WireProtocol)


class RecordedSleep:
    """Returns at once and records the delays."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.delays.append(seconds)


def make_client(
    server: FakeModelServer,
    protocol: WireProtocol = WireProtocol.OPENAI,
    *,
    sleep: RecordedSleep | None = None,
    structured: StructuredOutput = StructuredOutput.AUTO,
) -> ModelClient:
    endpoint = Endpoint(
        name="test", protocol=protocol, base_url="https://api.example/v1", model="test-model", structured=structured
    )
    return ModelClient(server, endpoint, KEY, clock=lambda: NOW, jitter=lambda: 0.0, sleep=sleep or RecordedSleep())


def build_request(capabilities: Capabilities) -> CompletionRequest:
    return CompletionRequest(system="S", prompt="P", schema={"type": "object"} if capabilities.structured else None)


async def complete(client: ModelClient, on_text: Callable[[str], None] | None = None, seconds: float = 60) -> Answer:
    return await client.complete(build_request, seconds=seconds, on_text=on_text)


@both
async def test_streamed_answer_is_read_with_model_and_usage(protocol: WireProtocol) -> None:
    server, received = SERVERS[protocol](TEXT), list[str]()
    answer = await complete(make_client(server, protocol), received.append)
    assert answer.completion.text == TEXT == "".join(received)
    assert len(received) > 3
    assert answer.completion.model == server.model
    assert answer.completion.usage == Usage(input_tokens=120, cached_tokens=40, output_tokens=30)


@both
async def test_answer_in_one_piece_is_read(protocol: WireProtocol) -> None:
    server, received = SERVERS[protocol](TEXT, streams=False), list[str]()
    answer = await complete(make_client(server, protocol), received.append)
    assert (answer.completion.text, received) == (TEXT, [TEXT])
    assert answer.completion.usage.input_tokens == 120


@both
@pytest.mark.parametrize("size", [1, 2, 3, 5, 17])
async def test_stream_may_be_cut_at_any_byte(protocol: WireProtocol, size: int) -> None:
    answer = await complete(make_client(SERVERS[protocol](TEXT, chunk_size=size), protocol))
    assert answer.completion.text == TEXT


async def test_chat_completions_request_has_documented_fields() -> None:
    server = FakeChatCompletions(TEXT)
    await complete(make_client(server))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.bodies[0] == {
        "model": "test-model",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "P"}],
        "max_tokens": 8000,
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "draft", "strict": True, "schema": {"type": "object"}},
        },
    }


async def test_name_with_emoji_is_requested() -> None:
    server = FakeChatCompletions(TEXT)
    client = make_client(server)
    client.endpoint = replace(client.endpoint, base_url="https://☃.example/v1")
    await complete(client)
    assert str(server.requests[0].url) == "https://xn--n3h.example/v1/chat/completions"


async def test_messages_request_has_documented_fields() -> None:
    server = FakeMessages(TEXT)
    await complete(make_client(server, WireProtocol.ANTHROPIC))
    assert server.requests[0].headers["x-api-key"] == KEY
    assert server.requests[0].headers["anthropic-version"] == "2023-06-01"
    assert server.bodies[0] == {
        "model": "test-model",
        "max_tokens": 8000,
        "system": "S",
        "messages": [{"role": "user", "content": "P"}],
        "stream": True,
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    }


def test_openai_gets_the_new_name_of_the_maximum() -> None:
    endpoint = Endpoint(name="a", protocol=WireProtocol.OPENAI, base_url="https://api.openai.com/v1", model="m")
    assert declared_capabilities(endpoint).length_field == "max_completion_tokens"


@both
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_busy_server_is_asked_again(protocol: WireProtocol, status: int) -> None:
    sleep = RecordedSleep()
    server = SERVERS[protocol](error_response(status, "Busy."), TEXT)
    answer = await complete(make_client(server, protocol, sleep=sleep))
    assert (answer.completion.text, answer.attempts) == (TEXT, 2)
    assert sleep.delays == [1.0]


async def test_server_is_asked_three_times_at_most() -> None:
    server = FakeChatCompletions(*(error_response(503, "Busy.") for _ in range(4)))
    with pytest.raises(BusyError, match=r"api.example says: Busy") as caught:
        await complete(make_client(server))
    assert len(server.requests) == caught.value.attempts == 3


async def test_retry_after_is_kept() -> None:
    sleep = RecordedSleep()
    server = FakeChatCompletions(error_response(429, "Slow down.", {"retry-after": "7"}), TEXT)
    await complete(make_client(server, sleep=sleep))
    assert sleep.delays == [7.0]


async def test_wait_beyond_the_deadline_is_not_begun() -> None:
    sleep = RecordedSleep()
    server = FakeChatCompletions(error_response(429, "Slow down.", {"retry-after": "700"}), TEXT)
    with pytest.raises(BusyError, match="Slow down"):
        await complete(make_client(server, sleep=sleep))
    assert sleep.delays == []


async def test_failed_connection_is_repeated() -> None:
    sleep = RecordedSleep()
    answer = await complete(make_client(FakeChatCompletions(httpx.ConnectError("refused"), TEXT), sleep=sleep))
    assert (answer.completion.text, answer.attempts, sleep.delays) == (TEXT, 1, [1.0])


@pytest.mark.parametrize("error", [httpx.ReadError("reset"), httpx.RemoteProtocolError("garbage")])
async def test_request_that_may_have_been_processed_is_not_repeated(error: Exception) -> None:
    server = FakeChatCompletions(error, TEXT)
    with pytest.raises(ModelError):
        await complete(make_client(server))
    assert len(server.requests) == 1


async def test_exhausted_quota_is_not_repeated() -> None:
    server = FakeChatCompletions(error_response(429, "You exceeded your quota.", code="insufficient_quota"), TEXT)
    with pytest.raises(RejectedError, match="exceeded your quota"):
        await complete(make_client(server))
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_rejected_key_is_not_quoted(status: int) -> None:
    with pytest.raises(RejectedError) as caught:
        await complete(make_client(FakeChatCompletions(error_response(status, f"Bad key {KEY}"))))
    assert "rejected the key" in str(caught.value)
    assert KEY not in str(caught.value)


async def test_key_in_an_error_is_masked() -> None:
    with pytest.raises(RejectedError) as caught:
        await complete(make_client(FakeChatCompletions(error_response(402, f"No credit for {KEY}"))))
    assert MASK in str(caught.value)
    assert KEY not in repr(caught.value)


@pytest.mark.parametrize("status", [301, 307])
async def test_redirects_are_not_followed(status: int) -> None:
    elsewhere = httpx.Response(status, headers={"location": "http://169.254.169.254/"}, stream=Chunks(b""))
    server = FakeChatCompletions(elsewhere)
    with pytest.raises(RejectedError, match=str(status)):
        await complete(make_client(server))
    assert [str(request.url) for request in server.requests] == ["https://api.example/v1/chat/completions"]


@both
async def test_refused_schema_is_left_out(protocol: WireProtocol) -> None:
    def respond(body: dict[str, Any]) -> str | httpx.Response:
        is_structured = "response_format" in body or "output_config" in body
        return error_response(400, "This model does not support json_schema.") if is_structured else TEXT

    server = SERVERS[protocol](respond)
    client = make_client(server, protocol)
    assert (await complete(client)).attempts == 2
    await complete(client)
    assert len(server.requests) == 3


async def test_required_schema_is_not_left_out() -> None:
    server = FakeChatCompletions(error_response(400, "No json_schema."), TEXT)
    with pytest.raises(RejectedError, match="No json_schema"):
        await complete(make_client(server, structured=StructuredOutput.ON))


async def test_schema_can_be_turned_off() -> None:
    server = FakeChatCompletions(TEXT)
    await complete(make_client(server, structured=StructuredOutput.OFF))
    assert "response_format" not in server.bodies[0]


async def test_new_name_of_the_maximum_is_learned() -> None:
    message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    server = FakeChatCompletions(error_response(400, message), TEXT)
    await complete(make_client(server))
    assert (server.bodies[1]["max_completion_tokens"], "max_tokens" in server.bodies[1]) == (8000, False)


async def test_refused_temperature_is_not_left_out() -> None:
    server = FakeChatCompletions(error_response(400, "Unsupported value: 'temperature'"), TEXT)
    with pytest.raises(RejectedError, match="temperature"):
        await complete(make_client(server))


@pytest.mark.parametrize(("protocol", "finish"), [("openai", "length"), ("anthropic", "max_tokens")])
async def test_answer_cut_off_at_the_maximum_is_no_draft(protocol: str, finish: str) -> None:
    server = SERVERS[WireProtocol(protocol)]()
    server.answers = [server.respond(TEXT, finish)]
    with pytest.raises(BadAnswerError, match="cut off") as caught:
        await complete(make_client(server, WireProtocol(protocol)))
    assert caught.value.completion is not None
    assert caught.value.completion.usage.output_tokens == 30


@pytest.mark.parametrize(("protocol", "finish"), [("openai", "content_filter"), ("anthropic", "refusal")])
async def test_refusal_is_no_draft(protocol: str, finish: str) -> None:
    server = SERVERS[WireProtocol(protocol)]()
    server.answers = [server.respond(TEXT, finish)]
    with pytest.raises(BadAnswerError, match="refused"):
        await complete(make_client(server, WireProtocol(protocol)))


async def test_refusal_in_its_own_field_is_no_draft() -> None:
    message = {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    response = httpx.Response(200, stream=Chunks(json.dumps(message).encode()))
    with pytest.raises(BadAnswerError, match=r"refused to write it: I cannot"):
        await complete(make_client(FakeChatCompletions(response)))


@both
async def test_stream_without_an_end_is_no_draft(protocol: WireProtocol) -> None:
    server = SERVERS[protocol]()
    events = server.stream(TEXT).split("\n\n")
    server.answers = [stream_response("\n\n".join([*events[:6], ""]))]
    with pytest.raises(BadAnswerError, match="without an end"):
        await complete(make_client(server, protocol))


@both
async def test_connection_lost_in_the_answer_is_not_repeated(protocol: WireProtocol) -> None:
    server = SERVERS[protocol]()
    server.answers = [stream_response(server.stream(TEXT), size=100, cut_after=600), TEXT]
    with pytest.raises(ModelError, match="interrupted"):
        await complete(make_client(server, protocol))
    assert len(server.requests) == 1


async def test_error_in_a_chat_completions_stream_is_reported() -> None:
    begun = FakeChatCompletions().stream(TEXT).split("\n\n")[:3]
    stream = "\n\n".join([*begun, 'data: {"error": {"message": "The model crashed.", "code": 500}}', ""])
    with pytest.raises(BadAnswerError, match="The model crashed"):
        await complete(make_client(FakeChatCompletions(stream_response(stream))))


async def test_overload_before_the_first_word_is_repeated() -> None:
    stream = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    server = FakeMessages(stream_response(stream), TEXT)
    answer = await complete(make_client(server, WireProtocol.ANTHROPIC))
    assert (answer.completion.text, answer.attempts) == (TEXT, 2)


async def test_overload_in_the_answer_is_not_repeated() -> None:
    begun = FakeMessages().stream(TEXT).split("\n\n")[:5]
    error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    server = FakeMessages(stream_response("\n\n".join([*begun, error])), TEXT)
    with pytest.raises(BadAnswerError, match="Overloaded"):
        await complete(make_client(server, WireProtocol.ANTHROPIC))
    assert len(server.requests) == 1


async def test_server_that_keeps_the_connection_open_after_the_end_is_left() -> None:
    stream = FakeChatCompletions().stream(TEXT)
    body = Chunks(stream.encode() + b": waiting\n\n" * 1000, 50)
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body)
    await complete(make_client(FakeChatCompletions(response)))
    assert body.sent < len(stream) + 100
    assert body.is_closed


async def test_slow_answer_ends_at_the_deadline() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    server = FakeChatCompletions()
    server.answers = [stream_response(server.stream(TEXT), size=50, wait=wait)]
    with pytest.raises(ModelError, match="test-model did not finish within"):
        await complete(make_client(server), seconds=0.02)


async def test_oversize_answer_is_refused() -> None:
    endless = b'data: {"choices":[{"delta":{"content":"' + b"x" * 9000 + b'"}}]}\n\n'
    with pytest.raises(ModelError, match="larger than 8 MB"):
        await complete(make_client(FakeChatCompletions(stream_response(endless * 1000))))


async def test_oversize_error_is_refused() -> None:
    response = httpx.Response(400, stream=Chunks(b"x" * 2**20))
    with pytest.raises(ModelError, match="larger than 64 KB"):
        await complete(make_client(FakeChatCompletions(response)))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b"data", b"\xff\xfe", b'{"choices":3}', b"[" * 20000])
@both
async def test_unreadable_response_is_an_error(protocol: WireProtocol, body: bytes) -> None:
    with pytest.raises(ModelError):
        await complete(make_client(SERVERS[protocol](httpx.Response(200, stream=Chunks(body))), protocol))
    with pytest.raises(ModelError):
        await complete(make_client(SERVERS[protocol](stream_response(b"data: " + body + b"\n\n")), protocol))


@given(st.binary(max_size=300), st.integers(1, 40))
def test_event_parser_gives_the_same_events_however_the_stream_is_cut(body: bytes, size: int) -> None:
    body = b"data: first\n\n" + body + b"\n\nevent: e\r\ndata: last\r\r"
    parser = EventParser()
    cut = [event for start in range(0, len(body), size) for event in parser.feed(body[start : start + size])]
    assert cut == list(EventParser().feed(body))
    assert cut[0] == ServerSentEvent("message", "first")


def test_event_parser_joins_lines_and_skips_comments() -> None:
    stream = b"\xef\xbb\xbf: ping\nid: 7\nevent: a\ndata: one\ndata:two\n\ndata\n\n"
    assert list(EventParser().feed(stream)) == [ServerSentEvent("a", "one\ntwo"), ServerSentEvent("message", "")]


def test_event_parser_refuses_a_line_without_end() -> None:
    with pytest.raises(ValueError, match="too long"):
        list(EventParser().feed(b"x" * (MAX_LINE_BYTES + 1)))
