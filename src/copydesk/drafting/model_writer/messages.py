"""Messages, the interface of Anthropic."""

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

VERSION = "2023-06-01"
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    """Without the cached ones, unlike everywhere else."""
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Message(msgspec.Struct):
    content: list[_Block] = []
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    message: _Message | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: _Error | None = None


class Messages:
    """The wire protocol of Anthropic's messages."""

    path = "messages"

    def headers(self, key: str) -> Mapping[str, str]:
        """Return the key and the version of the interface."""
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def body(self, endpoint: Endpoint, request: CompletionRequest, capabilities: Capabilities) -> dict[str, Any]:
        """Return the body of a request for a streamed answer."""
        body: dict[str, Any] = {
            "model": endpoint.model,
            "max_tokens": endpoint.max_tokens,
            "system": request.system,
            "messages": [{"role": "user", "content": request.prompt}],
            "stream": True,
            **request.parameters,
        }
        if request.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": request.schema}}
        return body

    def read(self, body: bytes) -> Completion:
        """Return the answer of a server that did not stream it."""
        try:
            message = msgspec.json.decode(body, type=_Message)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise unreadable_answer() from None
        reader = MessagesReader()
        reader.add_message(message)
        return reader.finish()

    def stream_reader(self) -> "MessagesReader":
        """Return a reader for one streamed answer."""
        return MessagesReader()


class MessagesReader:
    """Collects the events of one answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._model = ""
        self._stop_reason = ""
        self._usage = _Usage()
        self.is_complete = False

    def feed(self, event: ServerSentEvent) -> str:
        """Return the text that the event adds. Raise ModelError for an error sent as an event."""
        try:
            found = msgspec.json.decode(event.data, type=_Event)
        except (msgspec.MsgspecError, RecursionError):
            raise unreadable_answer() from None
        self.is_complete = found.type == "message_stop"
        if found.type == "error":
            error = found.error or _Error()
            raise reported_error(error.message or error.type, self._completion if any(self._text) else None)
        if found.message is not None:  # message_start
            self.add_message(found.message)
        self._add_usage(found.usage)  # message_delta: cumulative
        if found.delta is None:
            return ""
        self._stop_reason = found.delta.stop_reason or self._stop_reason
        added = found.delta.text or "" if found.delta.type == "text_delta" else ""
        self._text.append(added)
        return added

    def add_message(self, message: _Message) -> None:
        """Add a complete message, or the empty one that begins a stream."""
        self._text += [block.text or "" for block in message.content if block.type == "text"]
        self._model = message.model or self._model
        self._stop_reason = message.stop_reason or self._stop_reason
        self._add_usage(message.usage)

    def _add_usage(self, usage: _Usage | None) -> None:
        for name in _Usage.__struct_fields__ if usage else ():
            if (value := getattr(usage, name)) is not None:
                setattr(self._usage, name, value)

    @property
    def _completion(self) -> Completion:
        usage, cached = self._usage, self._usage.cache_read_input_tokens
        total = usage.input_tokens
        if total is not None:
            total += (cached or 0) + (usage.cache_creation_input_tokens or 0)
        return Completion(
            text="".join(self._text),
            model=clean(self._model),
            finish_reason=clean(self._stop_reason),
            usage=Usage(input_tokens=total, cached_tokens=cached, output_tokens=usage.output_tokens),
        )

    def finish(self) -> Completion:
        """Return the answer. Raise BadAnswerError as `check_finished` does."""
        return check_finished(
            self._completion, cut_off=self._stop_reason in _CUT_OFF, refused=self._stop_reason == "refusal"
        )
