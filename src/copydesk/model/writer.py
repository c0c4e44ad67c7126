"""Writers: the endpoints of language models that the user added, and the record of each request to one."""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from copydesk.model.serialization import Json, Struct
from copydesk.model.validation import FieldReader

OFFLINE = "offline"
"""The name of the writer that needs no model."""
MAX_WRITER_NAME_LENGTH = 40
MAX_WRITERS = 20
MAX_MODEL_LENGTH = 200
MAX_URL_LENGTH = 500
DEFAULT_MAX_TOKENS = 8_000
MIN_TOKENS, MAX_TOKENS = 100, 1_000_000
RESERVED_NAMES = (OFFLINE, "user")
"""Names that a draft's writer has if no model wrote it."""
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
    max_tokens: Annotated[int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS)] = DEFAULT_MAX_TOKENS
    """Tokens that one answer may have, reasoning included."""
    has_key: bool = False
    """True if a key was entered."""


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
    """Requests sent, with those that were repeated because the server was busy; 0 if it could not be reached."""
    error: str | None = None
    """Why it led to no draft."""
    report: str = ""
    """The model's summary of the source, from which it wrote."""
    claims: tuple[QuotedClaim, ...] = ()


class Spending(Struct, frozen=True):
    """Cost of language models in a calendar month, in UTC."""

    month: str
    """As `2026-01`."""
    requests: int = 0
    unpriced: int = 0
    """Requests among them whose cost is not known."""
    cost: float = 0.0
    """Of the others, in US dollars."""


class WriterInfo(Struct, frozen=True):
    """A writer as it is listed: the offline writer, or an endpoint of a language model."""

    name: str
    position: int | None
    """Its place in the order in which writers are asked, from 1; None if it is not asked."""
    endpoint: Endpoint | None = None
    """None for the offline writer."""
    has_price: bool = False
    """True if the settings have a price of its model."""
    tested_at: datetime | None = None
    error: str | None = None
    """Why the last test failed."""


class WriterTest(Struct, frozen=True):
    """The answer of an endpoint to a test."""

    name: str
    answered_by: str
    """The model that answered, as the server names it."""
    is_structured: bool
    """True if the endpoint accepted structured output."""
    seconds: float
    text: str
    """The post that it wrote."""
    usage: Usage
    cost: float | None


class NewEndpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """Request to add an endpoint."""

    name: str
    model: str
    protocol: WireProtocol = WireProtocol.OPENAI
    base_url: str = ""
    """Empty for the provider's own."""
    structured: StructuredOutput = StructuredOutput.AUTO
    max_tokens: Annotated[int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS)] = DEFAULT_MAX_TOKENS


def validate_new_endpoint(request: NewEndpoint | Mapping[str, object]) -> NewEndpoint:
    """Return the validated request. Raise InvalidError with every invalid field; the address is checked later."""
    reader = FieldReader(NewEndpoint, request)
    reader.require("name", "model")
    name = reader.line("name", MAX_WRITER_NAME_LENGTH) or ""
    if name and (not WRITER_NAME.fullmatch(name) or name in RESERVED_NAMES):
        names = " and ".join(RESERVED_NAMES)
        reader.add_problem("name", f"takes lower-case letters, digits, dots and hyphens, but not the names {names}")
    validated = NewEndpoint(
        name=name,
        model=reader.line("model", MAX_MODEL_LENGTH) or "",
        protocol=reader.choice("protocol", WireProtocol) or WireProtocol.OPENAI,
        base_url=reader.line("baseUrl", MAX_URL_LENGTH, min_length=0) or "",
        structured=reader.choice("structured", StructuredOutput) or StructuredOutput.AUTO,
        max_tokens=reader.number("maxTokens", MIN_TOKENS, MAX_TOKENS) or DEFAULT_MAX_TOKENS,
    )
    reader.raise_if_invalid()
    return validated


class Writers(Struct, frozen=True):
    """The writers, in the order in which they are asked and then by name, and what they cost this month."""

    writers: tuple[WriterInfo, ...]
    spending: Spending
    monthly_budget: float
    """US dollars; 0 if there is none."""


class ChooseWriters(Struct, frozen=True, forbid_unknown_fields=True):
    """Request to choose the writers that are asked for each draft."""

    names: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_WRITERS + 1)]
    """In order; `offline` can only be the last."""
