"""Tests for the themes: the two of Copydesk have readable contrast, and all of Textual's work."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.color import Color
from textual.geometry import Region
from textual.theme import BUILTIN_THEMES, Theme

from console_driver import NOW, ConsoleDriver, FakeDesk, open_console, wait_until_idle
from copydesk.settings import load
from copydesk.tui.app import Console
from copydesk.tui.preferences import Preferences, load_preferences
from copydesk.tui.themes import DARK, LIGHT, initial_theme, load_user_themes
from copydesk.tui.widgets.line_list import LineList
from delayed_responses import wait_until
from setup_driver import add_sample_setup, open_setup


def luminance(color: Color) -> float:
    """The relative luminance of WCAG 2."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(first: Color, second: Color) -> float:
    """The contrast ratio of WCAG 2: 1 to 21."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


TEXT_COLOURS = ("foreground", "primary", "success", "warning", "error")
BACKGROUNDS = ("background", "panel", "block-cursor-background", "block-cursor-blurred-background")
SCREENS_AND_FORMS = (
    *((key,) for key in "123456"),
    ("space", "j", "tab"),
    ("c",),
    ("e",),
    ("r",),
    ("f",),
    ("colon",),
    ("question_mark",),
    ("3", "A"),
    ("3", "e"),
    ("4", "A", "enter"),
    ("6", "A", "enter"),
    ("6", "j", "e"),
)
"""The keys that open each of them from the review."""


def theme_colour(theme: Theme, name: str) -> Color:
    """Return a colour of the theme, or a variable of it."""
    return Color.parse(theme.variables.get(name) or getattr(theme, name))


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_theme_contrast_is_readable(theme: Theme, background: str) -> None:
    """WCAG 2 requires a contrast of 4.5 for text (level AA)."""
    background_colour = theme_colour(theme, background)
    colours = [getattr(theme, colour) for colour in TEXT_COLOURS] + [theme.variables["foreground-muted"]]
    assert min(contrast(Color.parse(colour), background_colour) for colour in colours) >= 4.5


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize(
    ("name", "backgrounds"),
    [
        ("foreground-disabled", BACKGROUNDS),
        ("border-blurred", BACKGROUNDS[:2]),
        ("scrollbar", BACKGROUNDS[:2]),
    ],
)
def test_decorations_are_visible(theme: Theme, name: str, backgrounds: tuple[str, ...]) -> None:
    """WCAG 2 requires a contrast of 3 for what is no text."""
    colour = Color.parse(theme.variables[name])
    assert min(contrast(colour, theme_colour(theme, background)) for background in backgrounds) >= 3


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("keys", SCREENS_AND_FORMS, ids="-".join)
async def test_all_that_is_shown_is_readable(tmp_path: Path, theme: Theme, keys: tuple[str, ...]) -> None:
    """As the style sheets and Textual combine the colours; keys that do nothing now are decorations."""
    faint = Color.parse(theme.variables["foreground-disabled"])
    async with open_setup(tmp_path, add_sample_setup, size=(80, 24), key="1") as ui:
        ui.app.theme = theme.name
        await ui.press(*keys)
        for text, colour, background in shown_colours(ui):
            is_text = any(map(str.isalnum, text)) and colour != faint
            assert contrast(colour, background) >= (4.5 if is_text else 3), text


def shown_colours(ui: ConsoleDriver) -> Iterator[tuple[str, Color, Color]]:
    """Yield the texts on the screen, or in the dialog over it, with their colours and those behind them."""
    screen = ui.app.screen
    top = max((child.region for child in screen.children), key=lambda region: region.area)
    for y, strip in enumerate(screen._compositor.render_strips()):
        x = 0
        for text, style, _ in strip:
            # The line of keys at the bottom belongs to the dialog.
            in_use = not screen.is_modal or top.contains(x, y) or y == screen.size.height - 1
            is_shown = in_use and text.strip()
            x += cell_len(text)
            if is_shown and style and style.color and style.bgcolor:
                colours = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
                yield text, *(reversed(colours) if style.reverse else colours)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_row_under_cursor_stands_out(theme: Theme) -> None:
    assert theme.background
    background = Color.parse(theme.background)
    for name, least in (("block-cursor-background", 1.5), ("block-cursor-blurred-background", 1.2)):
        assert contrast(Color.parse(theme.variables[name]), background) >= least


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
def test_terminal_selects_light_or_dark_theme(environ: dict[str, str], name: str | None) -> None:
    assert initial_theme(environ) == name


async def test_textual_themes_work() -> None:
    async with open_console(FakeDesk(3)) as ui:
        for name in [*BUILTIN_THEMES, LIGHT.name, DARK.name]:
            ui.app.theme = name
            await ui.wait()
            assert "Queue · 3" in ui.text


def themed_console(file: Path) -> Console:
    return Console(FakeDesk(1).open, clock=lambda: NOW, preferences=Preferences(theme_file=file))  # type: ignore[arg-type]


async def choose(file: Path, theme: str) -> None:
    """Choose a theme in a console that saves it to `file`."""
    app = themed_console(file)
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        app.theme = theme
        await wait_until_idle(pilot)


async def test_chosen_theme_is_remembered(tmp_path: Path) -> None:
    file = tmp_path / "desk" / "console-theme"
    await choose(file, "copydesk-dark")
    assert not file.exists()
    await choose(file, "nord")
    app = themed_console(file)
    assert (app.theme, [path.name for path in file.parent.iterdir()]) == ("nord", ["console-theme"])
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        assert app.screen.styles.background == Color.parse(BUILTIN_THEMES["nord"].background or "")


@pytest.mark.parametrize("content", [b"", b"no-such-theme", b"\xff\x00", b"nord" * 1000])
def test_invalid_theme_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "console-theme").write_bytes(content)
    assert themed_console(tmp_path / "console-theme").theme == DARK.name


async def test_no_color_neither_saves_nor_loads_theme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "console-theme"
    file.write_text("nord")
    monkeypatch.setenv("NO_COLOR", "1")
    assert themed_console(file).theme == DARK.name
    monkeypatch.setenv("NO_COLOR", "1")
    await choose(file, "gruvbox")
    assert file.read_text() == "nord"


async def test_unwritable_theme_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    app = themed_console(tmp_path / "file" / "console-theme")
    async with app.run_test(notifications=True) as pilot:
        await wait_until_idle(pilot)
        app.theme = "nord"
        await wait_until_idle(pilot)
        assert "Could not save the theme" in ConsoleDriver(app, pilot).toasts[0]
        assert app.theme == "nord"


async def test_theme_change_repaints_screen() -> None:
    def colour_at(x: int, y: int) -> object:
        return ui.app.screen.get_style_at(x, y).color

    async with open_console(FakeDesk(3)) as ui:
        colours_before = [colour_at(1, 3), colour_at(60, 2), colour_at(1, 0)]
        ui.app.theme = LIGHT.name
        await ui.wait()
        colours_after = [colour_at(1, 3), colour_at(60, 2), colour_at(1, 0)]
        assert all(
            old_colour != new_colour for old_colour, new_colour in zip(colours_before, colours_after, strict=True)
        )


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "linux"}], ids=["no colours", "sixteen colours"])
async def test_cursor_is_visible_without_colours(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with open_console(FakeDesk(3)) as ui:
        assert ui.lines[3].startswith("▌")
        assert [is_reversed(ui, row) for row in (0, 2)] == [True, False]
        await ui.press("j")
        assert [is_reversed(ui, row) for row in (0, 2)] == [False, True]


def is_reversed(ui: ConsoleDriver, row: int) -> bool:
    """Return True if this line of the queue has the colours of its text and its background exchanged."""
    theme, queue = ui.app.current_theme, ui.app.screen.query_one("#queue", LineList)
    styles = {style for text, style, _ in queue.render_line(row) if text.strip(" ·") and style is not None}
    shown = {(style.bgcolor and Color.from_rich_color(style.bgcolor).hex.lower()) for style in styles}
    return shown == {theme.foreground}


async def test_row_under_cursor_is_readable_in_every_theme() -> None:
    async with open_console(FakeDesk(3)) as ui:
        queue = ui.app.screen.query_one("#queue", LineList)
        for theme in ui.app.available_themes.values():
            ui.app.theme = theme.name
            await ui.wait()
            for part in (0, 1):
                for text, style, _ in queue.render_line(part):
                    if theme.ansi or not text.strip(" ·") or style is None:
                        continue
                    assert style.color is not None
                    assert style.bgcolor is not None
                    shown, behind = (Color.from_rich_color(color) for color in (style.color, style.bgcolor))
                    assert contrast(shown, behind) >= 2, (theme.name, text)


@pytest.mark.parametrize("theme", ["ansi-light", "ansi-dark"])
async def test_title_of_focused_pane_is_reversed_in_the_colours_of_the_terminal(theme: str) -> None:
    async with open_console(FakeDesk(3)) as ui:
        ui.app.theme = theme
        await ui.wait()
        queue = ui.app.screen.query_one("#queue", LineList)
        (title,) = queue.render_lines(Region(0, 0, queue.size.width, 1))
        styles = {text.strip(): style for text, style, _ in title if style is not None}
        # The terminal's background as a text colour would be that of its text.
        assert styles["Queue"].reverse
        assert styles["Queue"].color is not None
        assert not styles["Queue"].color.is_default
        assert not styles["· 3"].reverse


# The user's own themes

SETTINGS_PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
NO_THEME = [
    ("primary = 3", "primary is 3, which is no colour such as #6fb3c8"),
    ('primary = "red; }"', "primary is 'red; }', which is no colour"),
    ('primaries = "#123456"', "there is no colour primaries; the colours are primary, secondary"),
    ('primary = "#123456"\nbackground = "#000"', "foreground is missing"),
    ('dark = "yes"', "dark is true or false"),
    ("variables = 1", "[variables] is no table"),
    ('[variables]\nink = "#123456"', "there is no colour variables.ink"),
    ("primary =", "not TOML: "),
    ("", "primary is missing"),
]


def documented_theme() -> tuple[str, str]:
    """Return the name and the text of the example in the documentation."""
    found = re.search(
        r"```toml theme\n# themes/([a-z]+)\.toml\n(.*?)```", SETTINGS_PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None
    return found[1], found[2]


def write_theme(home: Path, text: str, name: str = "mine") -> Path:
    """Write a theme; return the folder of the settings."""
    (home / "themes").mkdir(exist_ok=True)
    (home / "themes" / f"{name}.toml").write_text(text, encoding="utf-8")
    return home


def user_console(home: Path) -> Console:
    """Return the console with the preferences of the settings in `home`."""
    return Console(FakeDesk(1).open, clock=lambda: NOW, preferences=load_preferences(load({}, home)))  # type: ignore[arg-type]


async def test_documented_theme_is_offered_and_remembered(tmp_path: Path) -> None:
    name, text = documented_theme()
    app = user_console(write_theme(tmp_path, text, name))
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        app.action_change_theme()
        await ui.wait()
        await ui.press(*name)
        await wait_until(lambda: name in ui.text, ui.wait)
        await ui.press("enter")
        await ui.wait()
        assert app.screen.styles.background == Color.parse("#1b1714")
    assert user_console(tmp_path).theme == name


def test_documented_theme_is_readable() -> None:
    values = tomllib.loads(documented_theme()[1])
    assert values["variables"].keys() == DARK.variables.keys()
    colours = [values[name] for name in TEXT_COLOURS] + [values["variables"]["foreground-muted"]]
    for background in (values["background"], values["panel"], values["variables"]["block-cursor-background"]):
        assert min(contrast(Color.parse(colour), Color.parse(background)) for colour in colours) >= 4.5


async def test_three_colours_are_enough_for_a_light_theme(tmp_path: Path) -> None:
    write_theme(tmp_path, 'dark = false\nprimary = "#036"\nbackground = "#fff"\nforeground = "#000"\n')
    (tmp_path / "console-theme").write_text("mine\n", encoding="utf-8")
    app = user_console(tmp_path)
    async with app.run_test() as pilot:
        await wait_until_idle(pilot)
        assert app.screen.styles.background == Color.parse("#ffffff")
        assert app.has_class("-light-mode")


@pytest.mark.parametrize(("text", "reason"), NO_THEME)
def test_wrong_theme_says_what_is_wrong(tmp_path: Path, text: str, reason: str) -> None:
    write_theme(tmp_path, text)
    user_themes, problems = load_user_themes(tmp_path / "themes", ())
    assert user_themes == []
    assert problems[0].startswith(f"themes/mine.toml is not used: {reason}")


@pytest.mark.parametrize("name", ["nord", "copydesk-dark", "My Theme", "-x"])
def test_name_of_a_theme_is_checked(tmp_path: Path, name: str) -> None:
    write_theme(tmp_path, documented_theme()[1], name)
    assert load_user_themes(tmp_path / "themes", {"nord", "copydesk-dark"})[0] == []


def test_unreadable_theme_is_reported(tmp_path: Path) -> None:
    (tmp_path / "themes" / "folder.toml").mkdir(parents=True)
    os.mkfifo(tmp_path / "themes" / "fifo.toml")
    (tmp_path / "themes" / "latin.toml").write_bytes(b"# \xff")
    user_themes, problems = load_user_themes(tmp_path / "themes", ())
    assert (user_themes, len(problems)) == ([], 3)


async def test_console_starts_with_its_own_theme_if_the_chosen_one_is_wrong(tmp_path: Path) -> None:
    write_theme(tmp_path, 'primary = "teal"')
    (tmp_path / "console-theme").write_text("mine\n", encoding="utf-8")
    app = user_console(tmp_path)
    async with app.run_test(notifications=True) as pilot:
        await wait_until_idle(pilot)
        assert app.theme == DARK.name
        toast = "themes/mine.toml is not used: primary is 'teal', which is no colour such as #6fb3c8."
        assert ConsoleDriver(app, pilot).toasts == [toast]
    # The choice stays for when the file is mended.
    assert (tmp_path / "console-theme").read_text(encoding="utf-8") == "mine\n"


def test_no_folder_means_no_themes(tmp_path: Path) -> None:
    assert load_user_themes(tmp_path / "themes", ()) == ([], [])
