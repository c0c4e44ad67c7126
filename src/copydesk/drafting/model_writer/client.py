"""Send a request to a language model and read its answer as it arrives.

A request is repeated only if no answer can have begun: the connection failed, or the server said that it was busy. It
is also repeated without a field that the server does not know. One deadline covers all of it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime

import httpx
import msgspec
from msgspec.structs import replace

from copydesk.drafting.model_writer.chat_completions import ChatCompletions
from copydesk.drafting.model_writer.completion import (
    BadAnswerError,
    BusyError,
    Capabilities,
    Completion,
    CompletionRequest,
    ModelError,
    RejectedError,
    UnavailableError,
    Wire,
)
from copydesk.drafting.model_writer.messages import Messages
from copydesk.drafting.model_writer.server_sent_events import EventParser
from copydesk.errors import FetchError, FetchTimeoutError, PrivateAddressError
from copydesk.model.serialization import Struct
from copydesk.model.writer import Endpoint, StructuredOutput, WireProtocol
from copydesk.network import user_agent
from copydesk.network.client import (
    OpenResponse,
    Transport,
    UnusableUrlError,
    exchange,
    host_name,
    new_request,
    parse_url,
)
from copydesk.network.response import retry_after, status_phrase
from copydesk.text import clean
from copydesk.text.redaction import DEFAULT_REDACTION

MAX_ATTEMPTS = 3
BACKOFF = (1.0, 4.0)
"""Seconds before the second and the third attempt if the server names no time; up to a half more at random."""
CONNECT_SECONDS = 10.0
MAX_ANSWER_BYTES = 8 * 2**20
"""Bytes of a response; the longest answers have some hundred thousand."""
MAX_ERROR_BYTES = 64 * 2**10
MAX_SERVER_MESSAGE = 300
"""Characters of the server's own message in an error."""
OPENAI_HOSTS = ("api.openai.com", ".openai.azure.com")

OnText = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]
WIRES: dict[WireProtocol, Wire] = {WireProtocol.OPENAI: ChatCompletions(), WireProtocol.ANTHROPIC: Messages()}


class _ErrorDetail(msgspec.Struct):
    message: str = ""
    code: str | int | None = None


class _ErrorResponse(msgspec.Struct):
    error: _ErrorDetail | str = ""
    # As FastAPI servers, vLLM among them, report invalid fields.
    detail: msgspec.Raw = msgspec.Raw()
    message: str = ""


class Answer(Struct, frozen=True):
    """A complete answer, and what it took."""

    completion: Completion
    attempts: int
    """Requests sent."""


def declared_capabilities(endpoint: Endpoint) -> Capabilities:
    """Return what is known of an endpoint before the first request."""
    host = host_name(parse_url(endpoint.base_url))
    # OpenAI's own models refuse the old name; all other servers know it, and some only it.
    is_openai = any(host == name or (name[0] == "." and host.endswith(name)) for name in OPENAI_HOSTS)
    return Capabilities(
        structured=endpoint.structured is not StructuredOutput.OFF,
        length_field="max_completion_tokens" if is_openai else "max_tokens",
    )


class ModelClient:
    """The client of one endpoint. It learns what its server does not take."""

    def __init__(
        self,
        transport: Transport,
        endpoint: Endpoint,
        key: str = "",
        *,
        clock: Callable[[], datetime],
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = endpoint
        self.capabilities = declared_capabilities(endpoint)
        self._transport = transport
        self._key = key
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._wire = WIRES[endpoint.protocol]
        self._host = parse_url(endpoint.base_url).netloc.decode("ascii")

    def __repr__(self) -> str:
        return f"ModelClient({self.endpoint.name})"

    async def complete(
        self, build: Callable[[Capabilities], CompletionRequest], *, seconds: float, on_text: OnText | None = None
    ) -> Answer:
        """Return the answer to the request that `build` makes, within `seconds` in total.

        `build` is called again with what was learned from a refusal. `on_text` is called with each piece of the answer
        as it arrives. Raise ModelError.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        attempts = sent = 0
        while True:
            attempts += 1
            request = build(self.capabilities)
            try:
                completion = await self._send(request, deadline, seconds, on_text)
                return Answer(completion=completion, attempts=sent + 1)
            except ModelError as error:
                sent += error.is_sent
                error.attempts = sent
                if not await self._may_repeat(error, attempts, deadline):
                    raise

    async def _may_repeat(self, error: ModelError, attempts: int, deadline: float) -> bool:
        """Return True when the request may be sent again: after a wait, or at once with what was learned."""
        if isinstance(error, BusyError):
            return attempts < MAX_ATTEMPTS and await self._wait(error, attempts, deadline)
        learned = (
            learn(self.capabilities, error, self.endpoint.structured) if isinstance(error, RejectedError) else None
        )
        if learned is None:
            return False
        # Each field is given up once, so this ends.
        self.capabilities = learned
        return True

    async def _wait(self, error: BusyError, attempts: int, deadline: float) -> bool:
        """Wait before the next attempt. Return False at once if the deadline would pass meanwhile."""
        backoff = BACKOFF[min(attempts, len(BACKOFF)) - 1] * (1 + self._jitter() / 2)
        delay = backoff if error.retry_after is None else error.retry_after
        # Waiting until the deadline would only tell the user later that it failed.
        if asyncio.get_running_loop().time() + delay >= deadline:
            return False
        await self._sleep(delay)
        return True

    async def _send(
        self, request: CompletionRequest, deadline: float, seconds: float, on_text: OnText | None
    ) -> Completion:
        remaining = deadline - asyncio.get_running_loop().time()
        if remaining <= 0:
            raise _unsent(self._too_slow(seconds))

        async def read(response: OpenResponse) -> Completion:
            return await self._read(response, on_text)

        # Raise outside of the handlers: otherwise `__context__` would keep the request, and the key in it.
        try:
            http_request = self._build_http_request(request)
            return await exchange(self._transport, http_request, read, timeout_seconds=remaining)
        except FetchTimeoutError as error:
            failure = self._too_slow(seconds) if not error.not_sent else self._unreachable(error)
        except PrivateAddressError as error:
            failure = _unsent(UnavailableError(_message(error), hint="Check the base URL of this writer."))
        except FetchError as error:
            failure = self._unreachable(error) if error.not_sent else ModelError(_message(error))
        raise failure

    def _build_http_request(self, request: CompletionRequest) -> httpx.Request:
        # Before the key leaves: a server may repeat it in an error, which is stored and shown.
        DEFAULT_REDACTION.add(self._key)
        headers = {
            "user-agent": user_agent(),
            "accept": "text/event-stream, application/json",
            # A compressed stream arrives in blocks, not as it is written.
            "accept-encoding": "identity",
            "content-type": "application/json",
            **self._wire.headers(self._key),
        }
        content = msgspec.json.encode(self._wire.body(self.endpoint, request, self.capabilities))
        url = f"{self.endpoint.base_url}/{self._wire.path}"
        extensions = {"timeout": {"connect": CONNECT_SECONDS}}
        try:
            return new_request("POST", parse_url(url), headers=headers, content=content, extensions=extensions)
        except (UnicodeEncodeError, UnusableUrlError):
            pass
        raise _unsent(
            RejectedError(
                "The request cannot be sent: its address or key has an invalid character.",
                hint="Add the writer again with a valid key.",
            )
        )

    async def _read(self, response: OpenResponse, on_text: OnText | None) -> Completion:
        if response.status != 200:
            body = await response.read(max_wire=MAX_ERROR_BYTES, max_body=MAX_ERROR_BYTES)
            raise self._status_error(response, body)
        # Some servers do not know `stream` and answer in one piece.
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            body = await response.read(max_wire=MAX_ANSWER_BYTES, max_body=MAX_ANSWER_BYTES)
            completion = self._wire.read(body)
            if on_text is not None:
                on_text(completion.text)
            return completion
        return await self._read_stream(response, on_text)

    async def _read_stream(self, response: OpenResponse, on_text: OnText | None) -> Completion:
        parser, reader = EventParser(), self._wire.stream_reader()
        try:
            async for chunk in response.pieces(max_body=MAX_ANSWER_BYTES):
                for event in parser.feed(chunk):
                    added = reader.feed(event)
                    if added and on_text is not None:
                        on_text(added)
                # Some servers keep the connection open after the last event.
                if reader.is_complete:
                    break
        except ValueError:
            raise BadAnswerError("The endpoint's stream is not readable.") from None
        return reader.finish()

    def _status_error(self, response: OpenResponse, body: bytes) -> ModelError:
        """Return the error for a status other than 200.

        On 401 and 403 the server's own message is left out, because it may quote the key.
        """
        status, (detail, code) = response.status, _server_message(body)
        if status in (401, 403):
            return RejectedError(
                f"{self._host} rejected the key ({status_phrase(status)}).",
                hint="Add the writer again with a valid key.",
                status=status,
            )
        message = f"{self._host} says: {detail}" if detail else f"{self._host} returned {status_phrase(status)}."
        is_busy = status in (408, 409, 425, 429) or status >= 500
        # OpenAI answers an exhausted account with 429 as well, and no wait helps against that.
        if is_busy and code != "insufficient_quota" and status != 501:
            wait = retry_after(response.headers, self._clock())
            return BusyError(message, hint="Try again later.", retry_after=wait)
        hint = "Check the base URL and the model of this writer." if status in (301, 302, 307, 308, 404) else ""
        return RejectedError(message, hint=hint, detail=detail, status=status)

    def _unreachable(self, error: FetchError) -> ModelError:
        hint = error.hint if "network." not in error.hint else "Check the base URL of this writer."
        return _unsent(BusyError(_message(error), hint=hint))

    def _too_slow(self, seconds: float) -> ModelError:
        hint = "Use a faster model, or raise generation.deadline."
        return UnavailableError(f"{self.endpoint.model} did not finish within {seconds:.0f} seconds.", hint=hint)


def learn(capabilities: Capabilities, error: RejectedError, structured: StructuredOutput) -> Capabilities | None:
    """Return the capabilities without the field that the server refused, or None if the refusal names none."""
    if error.status not in (400, 404, 422, 501):
        return None
    detail = error.detail.lower()
    if "max_completion_tokens" in detail and capabilities.length_field == "max_tokens":
        return replace(capabilities, length_field="max_completion_tokens")
    if "stream_options" in detail and capabilities.stream_usage:
        return replace(capabilities, stream_usage=False)
    if "temperature" in detail or error.status == 404:
        return None
    # Servers name it in many ways, and some only say that the request is invalid.
    if capabilities.structured and structured is StructuredOutput.AUTO:
        return replace(capabilities, structured=False)
    return None


def _unsent(error: ModelError) -> ModelError:
    error.is_sent = False
    return error


def _message(error: FetchError) -> str:
    return DEFAULT_REDACTION.redact(error.message)


def _server_message(body: bytes) -> tuple[str, str]:
    """Return the server's message as one line without credentials, and its code; empty if there is none."""
    try:
        response = msgspec.json.decode(body, type=_ErrorResponse)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "", ""
    error = response.error
    text = error if isinstance(error, str) else error.message
    code = "" if isinstance(error, str) else str(error.code or "")
    text = text or response.message or bytes(response.detail).decode("utf-8", "replace")
    text = DEFAULT_REDACTION.redact(clean(text)).strip()
    return text if len(text) <= MAX_SERVER_MESSAGE else text[: MAX_SERVER_MESSAGE - 1] + "…", code
