"""Fake servers of language models, byte for byte as their documents describe: chat completions and messages."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx

Answer = str | httpx.Response | Exception | Callable[[dict[str, Any]], "str | httpx.Response"]


class Chunks(httpx.AsyncByteStream):
    """A body that arrives in chunks of `size` bytes, ends early after `cut_after`, or waits before each chunk."""

    def __init__(
        self,
        body: bytes,
        size: int = 2**16,
        *,
        cut_after: int | None = None,
        wait: Callable[[], Any] | None = None,
    ) -> None:
        self.body = body
        self.size = size
        self.cut_after = cut_after
        self.wait = wait
        self.sent = 0
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.body), self.size):
            if self.wait is not None:
                await self.wait()
            if self.cut_after is not None and start >= self.cut_after:
                raise httpx.ReadError("connection reset")
            self.sent = min(len(self.body), start + self.size)
            yield self.body[start : start + self.size]

    async def aclose(self) -> None:
        self.is_closed = True


def draft_answer(*posts: str, report: str = "A report.", claims: Sequence[tuple[str, str]] = ()) -> str:
    """Return the JSON that the schema of drafts asks for."""
    listed = [{"text": text, "source_quote": quote} for text, quote in claims]
    return json.dumps({"report": report, "posts": list(posts), "claims": listed}, ensure_ascii=False)


def pieces(text: str, size: int = 7) -> list[str]:
    """Return the text as a model would write it, a few characters at a time."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def error_response(status: int, message: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    """Return an error as OpenAI and those who follow it send it."""
    content = json.dumps({"error": {"message": message, "type": "error", "param": None, "code": None, **fields}})
    headers = {"content-type": "application/json", **(headers or {})}
    return httpx.Response(status, headers=headers, stream=Chunks(content.encode()))


def stream_response(body: str | bytes, **chunks: Any) -> httpx.Response:
    """Return a response with a stream of events."""
    content = body.encode() if isinstance(body, str) else body
    headers = {"content-type": "text/event-stream; charset=utf-8"}
    return httpx.Response(200, headers=headers, stream=Chunks(content, **chunks))


class FakeModelServer:
    """A server that answers with `answers` one after the other, the last one again and again."""

    path: str
    model = "test-model-2026-01-15"
    usage = (120, 40, 30)
    """Tokens of the prompt, those of it that were cached, and of the answer."""

    def __init__(self, *answers: Answer, chunk_size: int = 2**16, streams: bool = True) -> None:
        self.answers = list(answers)
        self.chunk_size = chunk_size
        self.streams = streams
        self.requests: list[httpx.Request] = []

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests."""
        return [json.loads(request.content) for request in self.requests]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert request.method == "POST"
        assert request.url.path.endswith(self.path)
        self.requests.append(request)
        body = json.loads(request.content)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer = answer(body)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        return self.respond(answer) if body.get("stream") and self.streams else self.respond_whole(answer)

    def respond(self, text: str, finish: str | None = None) -> httpx.Response:
        """Return `text` as a stream of events."""
        return stream_response(self.stream(text, finish), size=self.chunk_size)

    def respond_whole(self, text: str, finish: str | None = None) -> httpx.Response:
        """Return `text` in one piece."""
        content = json.dumps(self.message(text, finish)).encode()
        return httpx.Response(200, headers={"content-type": "application/json"}, stream=Chunks(content))

    def stream(self, text: str, finish: str | None = None) -> str:
        """Return the events that carry `text`."""
        raise NotImplementedError

    def message(self, text: str, finish: str | None = None) -> dict[str, Any]:
        """Return the response that carries `text`."""
        raise NotImplementedError


class FakeChatCompletions(FakeModelServer):
    """Chat completions as OpenAI documents them: https://platform.openai.com/docs/api-reference/chat-streaming."""

    path = "/chat/completions"

    def stream(self, text: str, finish: str | None = None) -> str:
        deltas = [
            {"role": "assistant", "content": "", "refusal": None},
            *({"content": piece} for piece in pieces(text)),
        ]
        choices = [[{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}] for delta in deltas]
        choices.append([{"index": 0, "delta": {}, "logprobs": None, "finish_reason": finish or "stop"}])
        events = [self._chunk(choice, None) for choice in choices]
        events.append(self._chunk([], self._usage()))
        return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"

    def message(self, text: str, finish: str | None = None) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish or "stop"}
        return {**self._chunk([choice], self._usage()), "object": "chat.completion"}

    def _chunk(self, choices: list[Any], usage: Any) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1768500000,
            "model": self.model,
            "service_tier": "default",
            "system_fingerprint": "fp_1",
            "choices": choices,
            "usage": usage,
        }

    def _usage(self) -> dict[str, Any]:
        prompt, cached, completion = self.usage
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }


class FakeMessages(FakeModelServer):
    """Messages as Anthropic documents them: https://docs.anthropic.com/en/docs/build-with-claude/streaming."""

    path = "/messages"

    def stream(self, text: str, finish: str | None = None) -> str:
        start = {**self.message("", None), "content": [], "stop_reason": None}
        start["usage"] = {**start["usage"], "output_tokens": 1}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
                for piece in pieces(text)
            ),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": finish or "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": self.usage[2]},
            },
            {"type": "message_stop"},
        ]
        return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)

    def message(self, text: str, finish: str | None = None) -> dict[str, Any]:
        prompt, cached, completion = self.usage
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": finish or "end_turn",
            "stop_sequence": None,
            "usage": {
                # Without the cached ones, as documented.
                "input_tokens": prompt - cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": completion,
            },
        }
