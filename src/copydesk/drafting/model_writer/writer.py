"""Writers that ask language models, and the order in which they are asked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from copydesk.drafting.model_writer.answer import read_answer, read_partial
from copydesk.drafting.model_writer.client import Answer, ModelClient
from copydesk.drafting.model_writer.completion import (
    BadAnswerError,
    Capabilities,
    Completion,
    CompletionRequest,
    ModelError,
)
from copydesk.drafting.model_writer.prices import Price, cost_of, find_price
from copydesk.drafting.model_writer.prompt import SCHEMA, Prompt, build_prompt, sampling_parameters
from copydesk.drafting.model_writer.source_text import new_delimiter
from copydesk.drafting.writer import Brief, Writer, WriterResult, write_or_stream
from copydesk.errors import WriterError
from copydesk.model.draft import Format
from copydesk.model.writer import Endpoint, ModelRequest

DEFAULT_SECONDS = 100.0
PREVIEW_SECONDS = 0.1
"""Time between two previews of an unfinished text: each one parses the answer so far."""

OnText = Callable[[str], None]


class ModelWriter:
    """Writes drafts with one language model."""

    def __init__(
        self,
        client: ModelClient,
        *,
        clock: Callable[[], datetime],
        prices: Mapping[str, Price] | None = None,
        check_budget: Callable[[Endpoint], Awaitable[None]] | None = None,
        seconds: float = DEFAULT_SECONDS,
        delimiter: Callable[[], str] = new_delimiter,
    ) -> None:
        self._client = client
        self._clock = clock
        self._prices = prices or {}
        self._check_budget = check_budget
        self._seconds = seconds
        self._delimiter = delimiter

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return self._client.endpoint.name

    async def write(self, brief: Brief) -> WriterResult:
        """Return the requested draft. Raise ModelError if the model wrote none."""
        return await self._write(brief, None)

    async def stream(self, brief: Brief, on_text: OnText) -> WriterResult:
        """Return the requested draft; `on_text` is called with the text so far as it arrives."""
        return await self._write(brief, on_text)

    async def _write(self, brief: Brief, on_text: OnText | None) -> WriterResult:
        if self._check_budget is not None:
            await self._check_budget(self._client.endpoint)
        attempt = _Attempt(self._client.endpoint, brief, self._delimiter(), self._clock())
        preview = _Preview(brief.format, on_text) if on_text else None
        try:
            answer = await self._client.complete(
                attempt.build_request, seconds=self._seconds, on_text=preview.add if preview else None
            )
        except ModelError as error:
            completion = error.completion if isinstance(error, BadAnswerError) else None
            error.requests = (self._record(attempt, completion, attempts=error.attempts, error=error),)
            raise
        return self._read(attempt, answer)

    def _read(self, attempt: "_Attempt", answer: Answer) -> WriterResult:
        record = self._record(attempt, answer.completion, attempts=answer.attempts)
        try:
            draft = read_answer(answer.completion.text, attempt.brief.format, attempt.prompt)
        except BadAnswerError as error:
            error.requests = (replace(record, error=str(error)),)
            raise
        record = replace(record, report=draft.report, claims=draft.claims)
        notes = []
        if draft.claims_not_in_source:
            total = draft.claims_not_in_source + len(draft.claims)
            notes.append(
                f"The model names {draft.claims_not_in_source} of {total} quotations that are not in the source."
            )
        return WriterResult(
            text=draft.text,
            notes=tuple(notes),
            model=answer.completion.model or self._client.endpoint.model,
            requests=(record,),
        )

    def _record(
        self, attempt: "_Attempt", completion: Completion | None, *, attempts: int = 1, error: ModelError | None = None
    ) -> ModelRequest:
        endpoint, completion = self._client.endpoint, completion or Completion(text="")
        price = find_price(self._prices, completion.model, endpoint.model)
        return ModelRequest(
            created_at=attempt.started_at,
            writer=endpoint.name,
            protocol=endpoint.protocol,
            model=endpoint.model,
            answered_by=completion.model,
            system=attempt.prompt.system,
            prompt=attempt.prompt.user,
            parameters={
                "structured": attempt.is_structured,
                "max_tokens": endpoint.max_tokens,
                **sampling_parameters(attempt.brief.parameters),
            },
            finish_reason=completion.finish_reason,
            usage=completion.usage,
            cost=cost_of(completion.usage, price) if attempts else 0.0,
            seconds=round((self._clock() - attempt.started_at).total_seconds(), 3),
            attempts=attempts,
            error=str(error) if error else None,
        )


class _Attempt:
    """The request for one draft. Its prompt is built again if the endpoint takes less than expected."""

    def __init__(self, endpoint: Endpoint, brief: Brief, delimiter: str, started_at: datetime) -> None:
        self.endpoint = endpoint
        self.brief = brief
        self.started_at = started_at
        self.is_structured = True
        self._delimiter = delimiter
        self.prompt: Prompt = build_prompt(brief, delimiter=delimiter, schema=True)

    def build_request(self, capabilities: Capabilities) -> CompletionRequest:
        self.is_structured = capabilities.structured
        self.prompt = build_prompt(self.brief, delimiter=self._delimiter, schema=capabilities.structured)
        return CompletionRequest(
            system=self.prompt.system,
            prompt=self.prompt.user,
            schema=SCHEMA if capabilities.structured else None,
            parameters=sampling_parameters(self.brief.parameters),
        )


class _Preview:
    """Collects an answer and shows the draft in it from time to time."""

    def __init__(self, format: Format, on_text: OnText) -> None:
        self._format = format
        self._on_text = on_text
        self._pieces: list[str] = []
        self._next_at = 0.0
        self._previous = ""

    def add(self, piece: str) -> None:
        """Add a piece of the answer."""
        self._pieces.append(piece)
        now = asyncio.get_running_loop().time()
        if now < self._next_at:
            return
        self._next_at = now + PREVIEW_SECONDS
        text = "".join(self._pieces)
        self._pieces = [text]
        if (draft := read_partial(text, self._format)) != self._previous:
            self._previous = draft
            self._on_text(draft)


class FallbackWriter:
    """Asks several writers in order until one has written the draft."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        assert writers
        self._writers = tuple(writers)

    @property
    def name(self) -> str:
        """The name of the first writer."""
        return self._writers[0].name

    async def write(self, brief: Brief) -> WriterResult:
        """Return the draft of the first writer that writes one. Raise WriterError if none does."""
        return await self._write(brief, None)

    async def stream(self, brief: Brief, on_text: OnText) -> WriterResult:
        """Return the draft as `write` does; `on_text` is called with the text so far as it arrives."""
        return await self._write(brief, on_text)

    async def _write(self, brief: Brief, on_text: OnText | None) -> WriterResult:
        requests: list[ModelRequest] = []
        failures: list[str] = []
        last: WriterError | None = None
        is_temporary = False
        for writer in self._writers:
            try:
                result = await write_or_stream(writer, brief, on_text)
            except WriterError as error:
                requests += getattr(error, "requests", ())
                failures.append(f"{writer.name} wrote no draft: {error.message}")
                last, is_temporary = error, is_temporary or error.is_temporary
                if on_text is not None:
                    on_text("")
            else:
                return replace(
                    result,
                    model=result.model or writer.name,
                    notes=(*failures, *result.notes),
                    requests=(*requests, *result.requests),
                )
        assert last is not None
        message = last.message if len(failures) == 1 else " ".join(failures)
        failure = ModelError(message, hint=last.hint, requests=tuple(requests))
        failure.is_temporary = is_temporary
        raise failure
