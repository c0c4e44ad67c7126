"""Tests for drafts of language models in the review: the text as it arrives, and the prompt it was written from."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from copydesk.drafting.fake_writer import FakeWriter
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.model.writer import ModelRequest, QuotedClaim, Usage, WireProtocol
from desk_fixtures import NOW, open_desk_at
from review_driver import open_review

REQUEST = ModelRequest(
    created_at=NOW,
    writer="gpt",
    protocol=WireProtocol.OPENAI,
    model="test-model",
    answered_by="test-model-2026",
    system="You write posts.",
    prompt="<<<Q1 SOURCE\x1b[31m",
    parameters={"max_tokens": 8000},
    usage=Usage(input_tokens=1200, output_tokens=300),
    report="A postmortem.",
    claims=(QuotedClaim(text="It names nobody.", source_quote="names no culprit"),),
)


class PausedWriter(FakeWriter):
    """Shows half of its text and waits until it may show the rest."""

    def __init__(self) -> None:
        super().__init__(
            WriterResult(text="A postmortem without culprits.", model="test-model-2026", requests=(REQUEST,))
        )
        self.may_go_on = asyncio.Event()

    async def stream(self, brief: Brief, on_text: Callable[[str], None]) -> WriterResult:
        on_text("A postmortem with")
        await self.may_go_on.wait()
        return await self.write(brief)


async def test_text_is_shown_as_it_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = PausedWriter()
    monkeypatch.setattr("copydesk.drafting.writer.get_writer", lambda: writer)
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("R", *"Shorter")
        # The console does not come to rest before the text is written.
        review.app.simulate_key("enter")
        try:
            # In its row, although the cursor has moved on.
            await review.wait_for(lambda: any("Writing… A postmortem with " in line for line in review.lines))
            assert review.current.id != first.id
            review.app.simulate_key("K")
            await review.wait_for(lambda: "The text as it arrives" in review.text)
            assert "A postmortem with" in review.text
        finally:
            writer.may_go_on.set()
        await review.wait_for(lambda: any("New version of" in message for message in review.toasts))
        await review.wait_for(lambda: "The text as it arrives" not in review.text)
        assert "Writing…" not in review.text


async def test_prompt_of_a_draft_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = PausedWriter()
    writer.may_go_on.set()
    monkeypatch.setattr("copydesk.drafting.writer.get_writer", lambda: writer)
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.create({"prompt": "A postmortem that names no culprit.", "formats": ["SHORT"]})
        await desk.generation.drain()
    async with open_review(tmp_path, texts=(), size=(120, 40)) as review:
        await review.press("I")
        for text in ("test-model-2026", "1,200 in, 300 out", "unknown", "You write posts.", "names no culprit"):
            assert text in review.text
        assert "Q1 SOURCE⟨U+001B⟩" in review.text


async def test_draft_without_a_prompt_is_reported(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("I")
        assert review.toasts[-1] == "No language model was used for this draft."
