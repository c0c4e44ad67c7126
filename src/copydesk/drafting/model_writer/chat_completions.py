"""Chat completions, the interface of OpenAI that Ollama, llama.cpp, vLLM, OpenRouter and others share."""

from collections.abc import Mapping
from typing import Any

import msgspec

from copydesk.drafting.model_writer.completion import (
    Capabilities,
    Completion,
    CompletionRequest,
    check_finished,
    reported_error,
    unreadable_answer,
)
from copydesk.drafting.model_writer.server_sent_events import ServerSentEvent
from copydesk.model.writer import Endpoint, Usage
from copydesk.text import clean

DONE = "[DONE]"


class _Cached(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None

    def convert(self) -> Usage:
        details = self.prompt_tokens_details
        return Usage(
            input_tokens=self.prompt_tokens,
            cached_tokens=details.cached_tokens if details else None,
            output_tokens=self.completion_tokens,
        )


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None


class _Error(msgspec.Struct):
    message: str = ""


class _Response(msgspec.Struct):
    """A complete response, or one event of a stream."""

    choices: list[_Choice] = []
    model: str | None = None
    usage: _Usage | None = None
    error: _Error | str | None = None


class ChatCompletions:
    """The wire protocol of chat completions."""

    path = "chat/completions"

    def headers(self, key: str) -> Mapping[str, str]:
        """Return the Authorization header; local servers need none."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, endpoint: Endpoint, request: CompletionRequest, capabilities: Capabilities) -> dict[str, Any]:
        """Return the body of a request for a streamed answer."""
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            capabilities.length_field: endpoint.max_tokens,
            "stream": True,
            **request.parameters,
        }
        if capabilities.stream_usage:
            body["stream_options"] = {"include_usage": True}
        if request.schema is not None:
            json_schema = {"name": "draft", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        return body

    def read(self, body: bytes) -> Completion:
        """Return the answer of a server that did not stream it."""
        reader = ChatCompletionsReader()
        reader.add(_decode(body))
        return reader.finish()

    def stream_reader(self) -> "ChatCompletionsReader":
        """Return a reader for one streamed answer."""
        return ChatCompletionsReader()


class ChatCompletionsReader:
    """Collects the events of one answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._model = ""
        self._finish_reason = ""
        self._usage = Usage()
        self.is_complete = False

    def feed(self, event: ServerSentEvent) -> str:
        """Return the text that the event adds. Raise ModelError for an error sent as an event."""
        self.is_complete = event.data.strip() == DONE
        return "" if self.is_complete else self.add(_decode(event.data))

    def add(self, response: _Response) -> str:
        """Return the text that a response or an event adds."""
        if response.error:
            detail = response.error if isinstance(response.error, str) else response.error.message
            raise reported_error(detail, self._completion if self._text else None)
        self._model = response.model or self._model
        if response.usage is not None:
            self._usage = response.usage.convert()
        added = ""
        for choice in response.choices[:1]:
            message = choice.delta or choice.message or _Message()
            added = message.content or ""
            self._text.append(added)
            self._refusal.append(message.refusal or "")
            self._finish_reason = choice.finish_reason or self._finish_reason
        return added

    @property
    def _completion(self) -> Completion:
        return Completion(
            text="".join(self._text),
            model=clean(self._model),
            finish_reason=clean(self._finish_reason),
            usage=self._usage,
        )

    def finish(self) -> Completion:
        """Return the answer. Raise BadAnswerError as `check_finished` does."""
        refusal = clean("".join(self._refusal))[:200]
        return check_finished(
            self._completion,
            cut_off=self._finish_reason == "length",
            refused=bool(refusal) or self._finish_reason in ("content_filter", "refusal"),
            refusal=refusal,
        )


def _decode(data: bytes | str) -> _Response:
    try:
        return msgspec.json.decode(data, type=_Response)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise unreadable_answer() from None
