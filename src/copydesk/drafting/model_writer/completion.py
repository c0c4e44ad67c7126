"""The request to a language model and its answer, without any provider's names; the interface of a wire protocol."""

from collections.abc import Mapping
from typing import Any, Protocol

from copydesk.drafting.model_writer.server_sent_events import ServerSentEvent
from copydesk.errors import WriterError
from copydesk.model.serialization import Json, Struct
from copydesk.model.writer import Endpoint, ModelRequest, Usage
from copydesk.text import clean


class ModelError(WriterError):
    """The language model wrote no draft."""

    is_sent = True
    """False if the request did not reach the server, and cost nothing."""

    def __init__(self, message: str, *, hint: str = "", requests: tuple[ModelRequest, ...] = ()) -> None:
        self.requests = requests  # those that were sent, which may have cost money
        self.attempts = 1
        super().__init__(message, hint=hint)


class UnavailableError(ModelError):
    """The model cannot be asked now: no time or no money is left."""

    is_temporary = True


class BusyError(UnavailableError):
    """The endpoint could not be reached or could not answer now: no answer has begun, the request may be repeated."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        self.retry_after = retry_after  # seconds, as the server asks for
        super().__init__(message, hint=hint)


class RejectedError(ModelError):
    """The endpoint refused the request: key, model, quota or a field of the request."""

    def __init__(self, message: str, *, hint: str = "", detail: str = "", status: int = 0) -> None:
        self.detail = detail  # the server's own message
        self.status = status
        # Key, credit or model: what the user has to put right once, for all items.
        self.is_temporary = status in (401, 402, 403, 404, 429)
        super().__init__(message, hint=hint)


class BadAnswerError(ModelError):
    """The model's answer is no draft: it was cut off, refused, or has another form."""

    def __init__(self, message: str, *, hint: str = "", completion: "Completion | None" = None) -> None:
        self.completion = completion  # what arrived, for its costs
        super().__init__(message, hint=hint)


class Capabilities(Struct, frozen=True):
    """Fields that an endpoint takes, as declared or learned from its refusals."""

    structured: bool = True
    length_field: str = "max_tokens"
    stream_usage: bool = True


class CompletionRequest(Struct, frozen=True):
    """The instructions and material, and the form of the answer."""

    system: str
    prompt: str
    schema: dict[str, Any] | None = None
    """JSON schema of the answer, None for plain text."""
    parameters: dict[str, Json] = {}
    """Sampling parameters, by their names on the wire."""


class Completion(Struct, frozen=True):
    """A model's complete answer."""

    text: str
    model: str = ""
    """The model that answered, as the server names it."""
    finish_reason: str = ""
    usage: Usage = Usage()


class StreamReader(Protocol):
    """Collects the events of one answer."""

    is_complete: bool
    """True once the server has said that no event follows; some keep the connection open all the same."""

    def feed(self, event: ServerSentEvent) -> str:
        """Return the text that the event adds to the answer. Raise ModelError for an error sent as an event."""
        ...

    def finish(self) -> Completion:
        """Return the answer. Raise BadAnswerError if its end is missing, or it is no complete text."""
        ...


class Wire(Protocol):
    """Encoding of requests and decoding of responses in one provider's protocol. Pure."""

    path: str
    """Appended to the base URL."""

    def headers(self, key: str) -> Mapping[str, str]:
        """Return the headers with the credentials; `key` may be empty."""
        ...

    def body(self, endpoint: Endpoint, request: CompletionRequest, capabilities: Capabilities) -> dict[str, Any]:
        """Return the body of a request for a streamed answer."""
        ...

    def read(self, body: bytes) -> Completion:
        """Return the answer of a server that did not stream it. Raise ModelError as `StreamReader` does."""
        ...

    def stream_reader(self) -> StreamReader:
        """Return a reader for one streamed answer."""
        ...


def check_finished(completion: Completion, *, cut_off: bool, refused: bool, refusal: str = "") -> Completion:
    """Return `completion`. Raise BadAnswerError if the model did not say why it stopped, or stopped too early."""
    if not completion.finish_reason:
        # A connection that is closed in time looks like a complete response.
        raise BadAnswerError("The endpoint ended its answer without an end.", completion=completion)
    if refused:
        reason = f": {refusal}" if refusal else ""
        raise BadAnswerError(f"The model refused to write it{reason}.", completion=completion)
    if cut_off:
        hint = "Raise the maximum of tokens of this writer, or use a shorter source."
        raise BadAnswerError("The model's answer was cut off at its maximum length.", hint=hint, completion=completion)
    if not completion.text.strip():
        raise BadAnswerError("The model's answer is empty.", completion=completion)
    return completion


def reported_error(detail: str, begun: Completion | None) -> BusyError | BadAnswerError:
    """Return the error that the endpoint reports as an event, after the text `begun` if there is any."""
    detail = clean(detail)[:300]
    message = f"The endpoint reports: {detail}" if detail else "The endpoint reports an error."
    return BadAnswerError(message, completion=begun) if begun else BusyError(message)


def unreadable_answer() -> BadAnswerError:
    """Return the error for a response that does not follow the protocol."""
    return BadAnswerError(
        "The endpoint's response is not readable.", hint="Check the base URL and the protocol of this writer."
    )
