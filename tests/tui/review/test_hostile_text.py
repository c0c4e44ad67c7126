"""Tests for text from outside: it never crashes the console, and only plain text reaches the terminal."""

import re
from itertools import cycle, product

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console_driver import FakeDesk, make_draft, make_item, make_run, open_console
from copydesk.errors import CopydeskError
from copydesk.model.draft import Checks, Finding, ListedDraft, ScorePart, Severity
from copydesk.model.item import Item
from copydesk.model.run import Progress, RunStatus, Stage
from sampling import EXHAUSTIVE, sample_size

HOSTILE = (
    "[red]x[/]",
    "[/foo]",
    "[@click=app.quit]quit[/]",
    "[link=https://evil.example]x",
    "[[bold]] [b \\",
    "$accent [$accent]x[/]",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H\x1b[31mred",
    "\x9b2J\x90q\x9c\x84",
    "\x1b",
    "a\rb\x08c\x07d\x00e\x7ff\x0bg\x0c",
    "pay \u202egnp.exe \u2066x\u2069 \u200f\u061c",
    "zero\u200bwidth\ufeff\u2060\u00ad\U000e0041",
    "e" + "\u0301" * 200,
    "❤\ufe0f 👩\u200d👩\u200d👧 👍🏽 1\ufe0f\u20e3 日本語 हिन्दी",
    "x" * 100_000,
    "\n" * 5_000,
    "\t\t\ttabs\u2028line\u2029paragraph\x85next",
    "\ud800 lone",
    "",
)
SIZES = (120, 32), (80, 24)
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)


def hostile_draft(text: str) -> ListedDraft:
    """Return a draft whose every field from outside is `text`."""
    base = make_draft(0)
    assert base.score is not None
    score = msgspec.structs.replace(
        base.score,
        parts=(ScorePart(name=text, value=2.0, weight=1.0, points=9.0, why=text),),
        sources=tuple(msgspec.structs.replace(source, name=text, title=text) for source in base.score.sources),
    )
    finding = Finding(rule=text, severity=Severity.ERROR, message=text, start=0, end=3)
    return make_draft(
        0, text=text, tags=(text,), writer=text, last_error=text, score=score, checks=Checks(ran=1, findings=(finding,))
    )


def hostile_item(text: str) -> Item:
    """Return an item whose every field from outside is `text`."""
    names = ("title", "url", "summary", "text", "author", "discussion", "publisher")
    return msgspec.structs.replace(make_item(0, **dict.fromkeys(names, text)), source_name=text)


def hostile_desk(text: str) -> FakeDesk:
    """Return a desk whose every text is `text`, runs and errors included."""
    desk = FakeDesk(drafts=[hostile_draft(text), make_draft(1)])
    desk.drafts.items["item-0"] = hostile_item(text)
    desk.pipeline.progress = [Progress(run_id="run", stage=Stage.RANK, done=1, total=2, note=text)]
    desk.pipeline.result = make_run(RunStatus.FAILED, error=text)
    return desk


async def tour(desk: FakeDesk, size: tuple[int, int]) -> list[str]:
    """Press every key that displays text from outside; return the screens' texts."""
    screens = []
    async with open_console(desk, size=size) as ui:
        for key in ("o", "tab", "G", "tab", "G", "tab", "P", "j", "k"):
            await ui.press(key)
            screens.append(ui.text)
        desk.pipeline.resume.set()
        await ui.wait()
        screens.append(ui.text)
        assert ui.app.is_running
    assert ui.app._exception is None
    return screens


@pytest.mark.parametrize(
    ("text", "size"),
    product(HOSTILE, SIZES) if EXHAUSTIVE else zip(HOSTILE, cycle(SIZES), strict=False),
    ids=lambda value: repr(value[:16]),
)
async def test_hostile_text_is_plain_text(text: str, size: tuple[int, int]) -> None:
    for screen in await tour(hostile_desk(text), size):
        assert not FORBIDDEN.search(screen)


@settings(max_examples=sample_size(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters() | st.sampled_from("[]/\\@=$\x1b\x9b\u202e\n\ufe0f\u200d"), max_size=80))
async def test_any_text_is_plain_text(text: str) -> None:
    for screen in await tour(hostile_desk(text), (100, 24)):
        assert not FORBIDDEN.search(screen)


@pytest.mark.parametrize("text", HOSTILE[:12], ids=lambda text: repr(text[:16]))
async def test_hostile_open_error_is_plain_text(text: str) -> None:
    desk = FakeDesk(1)
    desk.open_error = CopydeskError(text or "x", hint=text)
    async with open_console(desk) as ui:
        assert "Could not open the desk." in ui.text
        await ui.press("P")
        assert not FORBIDDEN.search(ui.text)


async def test_draft_shows_characters_hidden_in_list() -> None:
    async with open_console(FakeDesk(drafts=[make_draft(0, text="pay \u202egnp.exe")])) as ui:
        assert "▌    pay gnp.exe" in ui.text
        assert "pay ⟨U+202E⟩gnp.exe" in ui.text


async def test_markup_is_displayed_literally() -> None:
    desk = FakeDesk(drafts=[make_draft(0, text="[red]x[/] [@click=app.quit]y[/]")])
    async with open_console(desk) as ui:
        assert ui.text.count("[red]x[/] [@click=app.quit]y[/]") == 2


@pytest.mark.parametrize("text", HOSTILE[:6])
async def test_toast_ignores_markup_flag(text: str) -> None:
    async with open_console(FakeDesk(1)) as ui:
        ui.app.screen.notify(text, title=text, markup=True)
        await ui.wait()
        assert text[:6] in ui.text
