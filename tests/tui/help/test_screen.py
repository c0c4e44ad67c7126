"""Tests for the help: it lists the keys and letters of the current screen."""

import pytest

from console_driver import NOW, FakeDesk, make_draft, open_console
from copydesk.tui import labels
from copydesk.tui.help.screen import HelpDialog, help_rows, key_contexts
from copydesk.tui.keys import KEYS, KeyContext, format_keys
from copydesk.tui.labels import FORMAT
from copydesk.tui.review.draft_row import draft_row
from copydesk.tui.review.row_style import RowStyle


def help_lines(*scopes: KeyContext) -> list[str]:
    """Return the help's lines for these scopes."""
    return [row.line.plain for row in help_rows(scopes, KEYS, (), 64)]


async def test_help_orders_screen_list_and_global_keys() -> None:
    async with open_console(FakeDesk(3)) as ui:
        assert key_contexts(ui.app.screen) == [KeyContext.REVIEW, KeyContext.LIST, KeyContext.PAGE, KeyContext.CONSOLE]
        await ui.press("question_mark")
        assert isinstance(ui.app.screen, HelpDialog)
        assert ui.app.screen.rows.rows[0].line.plain == "Review"
        assert "Regenerate, with optional instructions" in ui.text


def test_help_omits_keys_of_other_screens() -> None:
    contexts = [KeyContext.EXPERIMENTS, KeyContext.LIST]
    listed = [" ".join(line.split()) for line in help_lines(*contexts) if line.strip()]
    expected = []
    for context in contexts:
        expected.append(context.value)
        expected += [f"{' '.join(format_keys(key))} {key.description}" for key in KEYS if key.context is context]
    assert listed == expected


def test_help_orders_contexts_before_letters() -> None:
    page = help_lines(KeyContext.REVIEW, KeyContext.LIST, KeyContext.CONSOLE)
    titles = [line for line in page if line in {*KeyContext, "Letters"}]
    assert titles == [KeyContext.REVIEW, KeyContext.LIST, KeyContext.CONSOLE, "Letters"]


@pytest.mark.parametrize(
    ("where", "composes"),
    [(KeyContext.EXPERIMENTS, "c Ctrl+N"), (KeyContext.SCHEDULE, "c Ctrl+N"), (KeyContext.SOURCES, "c Ctrl+N")],
)
def test_global_keys_work_on_all_screens(where: KeyContext, composes: str) -> None:
    (line,) = (line for line in help_lines(where, KeyContext.CONSOLE) if "Write a new draft" in line)
    assert " ".join(line.split()) == f"{composes} Write a new draft"


@pytest.mark.parametrize(
    ("where", "included", "excluded"),
    [
        (KeyContext.REVIEW, "approved", "no new items"),
        (KeyContext.SOURCES, "no new items", "approved"),
        (KeyContext.SCHEDULE, "scheduled", "short post"),
    ],
)
def test_help_explains_letters_of_screen(where: KeyContext, included: str, excluded: str) -> None:
    letters = " ".join(help_lines(where)).partition("Letters")[2]
    assert included in letters
    assert excluded not in letters


def test_letters_have_one_meaning() -> None:
    tables = (labels.STATUS, labels.SEVERITY, labels.FORMAT, labels.HEALTH)
    others = (labels.RUN_STATUS, labels.IMPORT_OUTCOME, labels.EXPERIMENT_STATUS)
    meanings: dict[str, set[str]] = {}
    for sign in (
        labels.ARCHIVED,
        labels.SOURCE_DISABLED,
        *(sign for table in (*tables, *others) for sign in table.values()),
    ):
        meanings.setdefault(sign.letter, set()).add(sign.text)
    several = {letter: words for letter, words in meanings.items() if len(words) > 1}
    assert several == {"G": {"generating", "regenerating"}, "F": {"generation failed", "failed"}}


def test_screen_without_letters_explains_none() -> None:
    assert "Letters" not in help_lines(KeyContext.EXPERIMENTS, KeyContext.CONSOLE)


def test_help_explains_confidence() -> None:
    row = draft_row(make_draft(confidence=0.7), NOW, 80, RowStyle()).plain
    (explanation,) = (line for line in help_lines(KeyContext.REVIEW) if "confidence: chance" in line)
    assert " 70% " in row
    assert explanation.strip().startswith("70% ")
    assert not any("confidence" in line for line in help_lines(KeyContext.SOURCES))


def test_help_explains_format_letters() -> None:
    lines = help_lines(KeyContext.ENGAGEMENT)
    letters = lines[lines.index("Letters") :]
    for sign in FORMAT.values():
        assert f"{sign.letter} {sign.text}" in [" ".join(line.split()) for line in letters]


async def test_filter_narrows_help_and_enter_runs_the_key() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("question_mark", "slash", *"list")
        lines = [row.line.plain.split() for row in ui.app.screen.rows.rows]  # type: ignore[attr-defined]
        assert lines[0] == ["Review"]
        assert [line[0] for line in lines[1:]] == ["*"]
        await ui.press("enter")
        assert "3 marked" in ui.text


async def test_escape_clears_the_filter_before_it_closes() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("question_mark", "slash", *"zzz")
        assert "Nothing matches" in ui.text
        await ui.press("enter", "escape")
        assert "Regenerate, with optional instructions" in ui.text
        await ui.press("escape")
        assert not isinstance(ui.app.screen, HelpDialog)


async def test_help_leads_to_its_letters() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("question_mark", "slash", *"letters", "escape", "G")
        assert "confidence: chance" in ui.text
