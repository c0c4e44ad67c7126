"""Drafting: writing and checking a SHORT draft."""

import asyncio
import statistics
import time
from collections.abc import Callable

from table_row import Row

from copydesk.desk.drafts.check_draft import platforms_of_draft
from copydesk.drafting.checks import RecentTexts, build_check_context, check
from copydesk.drafting.offline_writer import OfflineWriter
from copydesk.drafting.writer import Brief
from copydesk.model.draft import Format
from copydesk.model.voice import Voice
from copydesk.posting.registry import PLATFORMS

ITEMS = 100
RECENT_DRAFTS = 200
WRITE_TARGET, CHECK_TARGET = 10.0, 5.0
"""Milliseconds of processor time."""

NOUNS = ("bridge", "library", "council", "river", "market", "tram", "school", "harbour", "garden", "station")
VERBS = ("opened", "repaired", "closed", "moved", "painted", "measured", "rented", "sold")


def make_sentence(n: int) -> str:
    """Return the n-th generated sentence, with names and numbers in it."""
    noun, nearby, verb = NOUNS[n % 10], NOUNS[n // 7 % 10], VERBS[n // 3 % 8]
    return f"The {noun} near the {nearby} of Lyon was {verb} by {n + 2} people in {1900 + n % 120}, as they had hoped."


def make_brief(n: int, sentences: int = 30) -> Brief:
    """Return a brief for a generated item of about 3,000 characters."""
    body = [make_sentence(n * 31 + k) for k in range(sentences)]
    paragraphs = [" ".join(body[k : k + 3]) for k in range(0, sentences, 3)]
    return Brief(
        item_id=f"item-{n}",
        format=Format.SHORT,
        title=f"How Lyon got its {NOUNS[n % 10]} number {n}",
        url=f"https://news.example/lyon/{n}",
        summary=make_sentence(n * 31),
        text="\n\n".join(paragraphs),
        language="en",
        source_name="Lyon News",
        platforms=platforms_of_draft(Format.SHORT, Voice(), (), PLATFORMS),
        voice=Voice(avoid=("game-changer", "leverage", "delve"), examples=tuple(make_sentence(k) for k in range(5))),
    )


def measure_call(call: Callable[[], object]) -> float:
    """Return the milliseconds of processor time of one call."""
    started = time.process_time()
    call()
    return 1000 * (time.process_time() - started)


def measure() -> list[Row]:
    """Return the rows of the table."""
    writer, recent = OfflineWriter(), RecentTexts(make_sentence(n) for n in range(RECENT_DRAFTS))
    write_times, check_times = [], []
    for brief in map(make_brief, range(ITEMS)):
        started = time.process_time()
        draft = asyncio.run(writer.write(brief))
        write_times.append(1000 * (time.process_time() - started))
        subject = build_check_context(brief, recent=recent)
        check_times.append(measure_call(lambda: check(draft.text, subject)))  # noqa: B023  called at once
    return [
        make_row("A SHORT draft, written offline", statistics.median(write_times), WRITE_TARGET),
        make_row(
            f"A SHORT draft, checked against its source and {RECENT_DRAFTS} others",
            statistics.median(check_times),
            CHECK_TARGET,
        ),
    ]


def make_row(label: str, milliseconds: float, target: float) -> Row:
    """Return a row with an absolute limit and no comparison."""
    return Row(label, f"{milliseconds:.2f} ms", "", "", f"at most {target:g} ms", milliseconds <= target)
