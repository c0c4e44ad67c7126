"""Our two themes can be read, and every other one works."""

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from copydesk.tui.app import Console
from copydesk.tui.themes import DARK, LIGHT, preferred
from tui_fixtures import NOW, FakeDesk, Seen, on_screen, settled


def luminance(color: Color) -> float:
    """The relative luminance of WCAG 2."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of WCAG 2: 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


INKS = ("foreground", "primary", "success", "warning", "error")


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("below", ["background", "panel", "block-cursor-background", "block-cursor-blurred-background"])
def test_every_ink_can_be_read_on_every_ground(theme: Theme, below: str) -> None:
    """A contrast of 4.5 is what WCAG 2 asks of text (level AA)."""
    ground = Color.parse(theme.variables.get(below) or getattr(theme, below))
    inks = [getattr(theme, ink) for ink in INKS] + [theme.variables["foreground-muted"]]
    assert min(contrast(Color.parse(ink), ground) for ink in inks) >= 4.5


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "copydesk-dark"),
        ({"COLORFGBG": "15;0"}, "copydesk-dark"),
        ({"COLORFGBG": "0;15"}, "copydesk-light"),
        ({"COLORFGBG": "0;default;7"}, "copydesk-light"),
        ({"TEXTUAL_THEME": "nord", "COLORFGBG": "0;15"}, None),
    ],
)
def test_the_theme_follows_the_terminal(environ: dict[str, str], name: str | None) -> None:
    assert preferred(environ) == name


async def test_every_theme_of_textual_works() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        for name in [*BUILTIN_THEMES, LIGHT.name, DARK.name]:
            seen.app.theme = name
            await seen.wait()
            assert "Queue · 3" in seen.text


def console(file: Path) -> Console:
    return Console(FakeDesk(1).open, clock=lambda: NOW, theme_file=file)  # type: ignore[arg-type]


async def choose(file: Path, theme: str) -> None:
    """Choose a theme in a console that keeps it in `file`."""
    app = console(file)
    async with app.run_test() as pilot:
        await settled(pilot)
        app.theme = theme
        await settled(pilot)


async def test_the_theme_that_was_chosen_is_there_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "desk" / "console-theme"
    await choose(file, "copydesk-dark")
    assert not file.exists()
    await choose(file, "nord")
    app = console(file)
    assert (app.theme, [each.name for each in file.parent.iterdir()]) == ("nord", ["console-theme"])
    async with app.run_test() as pilot:
        await settled(pilot)
        assert app.screen.styles.background == Color.parse(BUILTIN_THEMES["nord"].background or "")


@pytest.mark.parametrize("content", [b"", b"no-such-theme", b"\xff\x00", b"nord" * 1000])
def test_a_file_that_names_no_theme_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "console-theme").write_bytes(content)
    assert console(tmp_path / "console-theme").theme == DARK.name


async def test_without_colours_no_theme_is_kept_and_none_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "console-theme"
    file.write_text("nord")
    monkeypatch.setenv("NO_COLOR", "1")
    assert console(file).theme == DARK.name
    monkeypatch.setenv("NO_COLOR", "1")
    await choose(file, "gruvbox")
    assert file.read_text() == "nord"


async def test_a_theme_that_cannot_be_kept_is_said_and_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    app = console(tmp_path / "file" / "console-theme")
    async with app.run_test(notifications=True) as pilot:
        await settled(pilot)
        app.theme = "nord"
        await settled(pilot)
        assert "could not be kept" in Seen(app, pilot).toasts[0]
        assert app.theme == "nord"


async def test_another_theme_recolours_what_is_drawn_already() -> None:
    def ink(x: int, y: int) -> object:
        return seen.app.screen.get_style_at(x, y).color

    async with on_screen(FakeDesk(3)) as seen:
        before = [ink(1, 3), ink(60, 2), ink(1, 0)]
        seen.app.theme = LIGHT.name
        await seen.wait()
        after = [ink(1, 3), ink(60, 2), ink(1, 0)]
        assert all(old != new for old, new in zip(before, after, strict=True))


async def test_without_colours_the_cursor_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_screen(FakeDesk(3)) as seen:
        assert seen.lines[3].startswith("▌")
