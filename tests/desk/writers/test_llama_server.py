"""Tests for the model writer against a real server: llama.cpp with a tiny model, in both of the protocols it speaks."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from copydesk.desk import Desk, open_desk
from copydesk.drafting.model_writer import writer as writer_module
from copydesk.drafting.model_writer.client import ModelClient
from copydesk.drafting.model_writer.completion import BadAnswerError
from copydesk.drafting.model_writer.sample import SAMPLE_BRIEF
from copydesk.drafting.model_writer.writer import ModelWriter
from copydesk.errors import WriterError
from copydesk.model.draft import ListedDraft, Status
from copydesk.model.writer import Endpoint, WireProtocol
from desk_fixtures import NOW, list_drafts, settings_at
from llama_server import KEY, MODEL_NAME, WORDS, run_llama_server

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("llama")]
PROMPT = "We open at eight from Monday on. The bakery opens an hour earlier."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_llama_server(tmp_path_factory.mktemp("llama")) as url:
        yield url


@asynccontextmanager
async def open_desk_of(
    home: Path, url: str, *, key: str = KEY, fallback: bool = False, **fields: Any
) -> AsyncIterator[Desk]:
    """Open a desk whose drafts the server's model writes, and with `fallback` the offline writer if it fails."""
    settings = settings_at(home, secrets__plain="true", secrets__keyring="false")
    async with open_desk(settings) as desk:
        await desk.writers.add({"name": "llama", "model": MODEL_NAME, "baseUrl": url} | fields, key)
        await desk.writers.use(["llama", "offline"] if fallback else ["llama"])
        yield desk


def make_writer(url: str, **fields: Any) -> ModelWriter:
    """Return a writer without a desk, whose settings may be out of the range that a desk accepts."""
    endpoint = Endpoint(name="llama", protocol=WireProtocol.OPENAI, base_url=url, model=MODEL_NAME, **fields)
    client = ModelClient(httpx.AsyncHTTPTransport(), endpoint, KEY, clock=lambda: NOW)
    return ModelWriter(client, clock=lambda: NOW)


async def write_draft(desk: Desk, **fields: Any) -> ListedDraft:
    """Return a draft generated from a prompt."""
    await desk.drafts.create({"prompt": PROMPT, "formats": ["SHORT"]} | fields)
    await desk.generation.drain()
    (draft,) = await list_drafts(desk)
    return draft


def is_of_the_model(text: str) -> bool:
    return set(text.replace('"', "").split()) <= set(WORDS)


async def test_endpoint_is_tried(tmp_path: Path, url: str) -> None:
    async with open_desk_of(tmp_path, url) as desk:
        tested = await desk.writers.test("llama")
    assert (tested.answered_by, tested.is_structured, tested.cost) == (MODEL_NAME, True, None)
    assert is_of_the_model(tested.text)
    assert (tested.usage.input_tokens or 0) > 200
    assert (tested.usage.output_tokens or 0) > 10


async def test_draft_is_written_and_its_request_is_kept(tmp_path: Path, url: str) -> None:
    async with open_desk_of(tmp_path, url) as desk:
        draft = await write_draft(desk)
        (request,) = await desk.writers.requests(draft.id)
    assert (draft.status, draft.writer) == (Status.PENDING_REVIEW, MODEL_NAME)
    assert is_of_the_model(draft.text)
    assert (request.answered_by, request.finish_reason, request.attempts, request.error) == (
        MODEL_NAME,
        "stop",
        1,
        None,
    )
    assert request.parameters["structured"] is True
    assert PROMPT in request.prompt
    assert request.usage.cached_tokens is not None


async def test_text_arrives_in_pieces(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The server writes the whole answer in less time than usually passes between two previews.
    monkeypatch.setattr(writer_module, "PREVIEW_SECONDS", 0.0)
    seen: list[str] = []
    result = await make_writer(url).stream(SAMPLE_BRIEF, seen.append)
    assert len(set(seen)) > 5
    # The text is stripped at its end.
    assert all(result.text.startswith(text.strip()) for text in seen)


async def test_answer_without_structure_is_refused_and_the_next_writer_asked(tmp_path: Path, url: str) -> None:
    # The words of this model are in no form, as are those of a real one that does not follow instructions.
    async with open_desk_of(tmp_path, url, structured="off", fallback=True) as desk:
        draft = await write_draft(desk)
        (request,) = await desk.writers.requests(draft.id)
    assert (draft.status, draft.writer) == (Status.PENDING_REVIEW, "offline")
    assert "does not have the form that was asked for" in (request.error or "")
    assert request.usage.output_tokens


async def test_answer_that_is_cut_off_is_no_draft(url: str) -> None:
    with pytest.raises(BadAnswerError) as caught:
        await make_writer(url, max_tokens=16).write(SAMPLE_BRIEF)
    (request,) = caught.value.requests
    assert (request.finish_reason, request.usage.output_tokens) == ("length", 16)


async def test_wrong_key_is_reported(tmp_path: Path, url: str) -> None:
    async with open_desk_of(tmp_path, url, key="another") as desk:
        with pytest.raises(WriterError, match=r"rejected the key \(status 401"):
            await desk.writers.test("llama")


async def test_server_also_answers_in_the_protocol_of_anthropic(tmp_path: Path, url: str) -> None:
    async with open_desk_of(tmp_path, url, protocol="anthropic", fallback=True) as desk:
        draft = await write_draft(desk)
        (request,) = await desk.writers.requests(draft.id)
    # The server does not enforce a schema here, so that the words are in no form; they were read all the same.
    assert (draft.writer, request.answered_by) == ("offline", MODEL_NAME)
    assert "does not have the form that was asked for" in (request.error or "")
    assert request.usage.input_tokens
    assert request.usage.output_tokens
