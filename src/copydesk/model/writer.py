"""Writers: the endpoints of language models that the user added, and the record of each request to one."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from copydesk.model.serialization import Json, Struct

OFFLINE = "offline"
"""The name of the writer that needs no model."""
MAX_WRITER_NAME_LENGTH = 40
MAX_MODEL_LENGTH = 200
MAX_URL_LENGTH = 500
DEFAULT_MAX_TOKENS = 8_000
WRITER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


class WireProtocol(StrEnum):
    """The HTTP interface of an endpoint."""

    OPENAI = "openai"
    """Chat completions: OpenAI, Ollama, llama.cpp, vLLM, OpenRouter and others."""
    ANTHROPIC = "anthropic"
    """Messages."""


class StructuredOutput(StrEnum):
    """Use of the endpoint's structured output, which makes the model answer with JSON of a given schema."""

    AUTO = "auto"
    """Use it unless the endpoint refuses it."""
    ON = "on"
    OFF = "off"


class Endpoint(Struct, frozen=True):
    """A language model that writes drafts, and the server that runs it. Its key is in the vault."""

    name: str
    protocol: WireProtocol
    base_url: str
    """URL up to and without `/chat/completions` or `/messages`, such as `https://api.openai.com/v1`."""
    model: str
    """The model's name on the server."""
    structured: StructuredOutput = StructuredOutput.AUTO
    max_tokens: Annotated[int, Meta(ge=100, le=1_000_000)] = DEFAULT_MAX_TOKENS
    """Tokens that one answer may have, reasoning included."""


class Usage(Struct, frozen=True):
    """Tokens of a request as the server counted them; None if it did not say."""

    input_tokens: int | None = None
    """Of the prompt, cached ones included."""
    cached_tokens: int | None = None
    """Those of `input_tokens` that were read from the provider's cache."""
    output_tokens: int | None = None
    """Of the answer, reasoning included."""


class QuotedClaim(Struct, frozen=True):
    """A factual sentence of a draft, and the words of the source on which the model says it rests.

    The words are in the source, character for character apart from spaces; the model's opinion that they carry the
    sentence is no evidence.
    """

    text: str
    source_quote: str


class ModelRequest(Struct, frozen=True):
    """One request to a language model, with everything that decided its answer."""

    created_at: datetime
    writer: str
    """Name of the endpoint."""
    protocol: WireProtocol
    model: str
    """The model that was asked for."""
    answered_by: str
    """The model that answered, as the server names it; empty if it did not answer."""
    system: str
    """The instructions."""
    prompt: str
    """The material: the source, examples, the previous version."""
    parameters: dict[str, Json]
    """Everything else in the request."""
    finish_reason: str = ""
    """Why the model stopped, in the server's word."""
    usage: Usage = Usage()
    cost: float | None = None
    """In US dollars; None if the tokens or the price are not known."""
    seconds: float = 0.0
    attempts: int = 1
    """Requests sent, with those that were repeated because the server was busy."""
    error: str | None = None
    """Why it led to no draft."""
    report: str = ""
    """The model's summary of the source, from which it wrote."""
    claims: tuple[QuotedClaim, ...] = ()
