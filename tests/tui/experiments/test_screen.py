"""Tests for the Experiments screen with a real desk: the list, the variants, the form, conclusions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from textual.widgets import Input

from console_driver import ConsoleDriver, FakeDesk, make_console, wait_until_idle
from copydesk.errors import StoreBusyError
from copydesk.model.experiment import ExperimentPlan, LiftNeed, Metric
from copydesk.tui import labels
from copydesk.tui.experiments.page import SideBySide, VariantColumn
from copydesk.tui.layout import lay_out_blocks
from copydesk.tui.themes import LIGHT
from experiments_desk import LENGTHS, OLD, insert_participant, make_experiments_console, open_experiments_desk
from snapshots import Compare, press_keys

ESCAPE = "\x1b]0;owned\x07"
HOSTILE = "[/nope][@click=app.quit]x[/]\u202eevil 漢字"


@asynccontextmanager
async def open_experiments(
    home: Path, size: tuple[int, int] = (120, 40), **options: Any
) -> AsyncIterator[ConsoleDriver]:
    """Open the Experiments screen and yield it loaded."""
    app = make_experiments_console(home, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press("4")
        yield ui


def words_from(ui: ConsoleDriver, start: str) -> list[str]:
    """Return the words of the first line that contains `start`, from `start` on."""
    return next(line[line.index(start) :] for line in ui.lines if start in line).split()


async def test_experiments_are_listed_by_status(tmp_path: Path) -> None:
    async with open_experiments(tmp_path, (80, 24)) as ui:
        assert [line[1:].split()[:3] for line in ui.lines[2:6]] == [
            ["a", "active", "hashtags"],
            ["a", "active", "hook"],
            ["c", "concluded", "hook"],
            ["x", "archived", "link"],
        ]
        assert ui.lines[2].startswith("▌")


async def test_variants_are_compared_side_by_side(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        assert words_from(ui, "setting ") == ["setting", "0", "2", "5"]
        assert words_from(ui, "items drafted ")[2:] == ["4", "of", "4", "4", "of", "4", "2", "of", "4"]
        assert words_from(ui, "approved ") == ["approved", "3", "2", "1"]
        assert words_from(ui, "impressions ") == ["impressions", "4,050", "2,310", "–"]
        assert words_from(ui, "rate ") == ["rate", "–", "–", "–"]
        assert "Not enough data: 2 of 79 reviewed drafts per variant." in ui.text
        assert "Compared at 20, 40, 60, 79 reviewed drafts per variant; no verdict in between." in " ".join(
            ui.text.split()
        )
        assert "├" not in ui.text


async def test_estimates_are_shown_after_a_look(tmp_path: Path) -> None:
    async with open_experiments_desk(tmp_path, full=False) as desk:
        experiment = await desk.experiments.create({**OLD, "metric": "engagement", "postsPerVariant": 20})

        def add_posts(conn: Connection, user: str) -> None:
            for number in range(20):
                for variant, likes in (("a", 8), ("b", 25)):
                    insert_participant(conn, user, experiment.id, variant, (400 + number, likes + number % 5))

        await desk._context.write(add_posts)
    async with open_experiments(tmp_path, full=False) as ui:
        assert "“without” is better: engagement rate " in ui.text
        assert "Comparison 1 of 3, 10 measured posts per variant." in " ".join(ui.text.split())
        assert "Compared at 10 ✓, 15, 20 measured posts per variant; no verdict in between." in " ".join(
            ui.text.split()
        )
        assert words_from(ui, "without │")[-2:] == ["99%", "best"]
        assert "├──" in ui.text
        # The form proposes it.
        await ui.press("C")
        assert "no winner  with  ‹without›" in ui.text


async def test_unsupported_variants_are_named(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("j")
        assert "The offline writer does not support these settings of hook" in ui.text
        assert "default" in ui.text


async def test_concluded_experiment_shows_winner(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("j", "j")
        assert "Concluded. Winner: asks" in ui.text
        assert "asks ✓" in ui.text
        assert "Concluded before the plan was complete: Asked often enough." in ui.text
        await ui.press("j")
        assert "Concluded without a winner." in ui.text


async def test_new_experiment_starts_and_gets_cursor(tmp_path: Path) -> None:
    async with open_experiments(tmp_path, full=False) as ui:
        assert "No experiments yet" in ui.text
        await ui.press("A", "enter", *"Links", "tab", "right", "tab", *["right"] * 3, "enter")
        assert ui.toasts[0].startswith(
            "Created “Links”: 79 reviewed drafts per variant; how long that takes is not known before"
        )
        assert words_from(ui, "setting ") == ["setting", "0", "3"]
        assert words_from(ui, "still needed ")[2:] == ["79", "of", "79", "79", "of", "79"]
        await ui.press("A", "slash", *"tone", "enter", *"More", "tab", *"dry", "tab", *"warm=like a friend", "enter")
        assert "More" in next(item for item in ui.lines if "▌" in item)
        assert "like a friend" in ui.text
    async with open_experiments_desk(tmp_path, full=False) as desk:
        second, first = await desk.experiments.list()
        assert [(item.label, item.config) for item in first.variants] == [
            ("0", {"hashtags": 0}),
            ("3", {"hashtags": 3}),
        ]
        assert (second.parameter, second.variants[0].label) == ("tone", "dry")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["X", "", "1", "2"], "Enter a parameter, for example hashtags."),
        (["X", "hashtags", "1"], "takes 2 to 5 entries, not 1"),
        (["X", "hashtags", "1", "9"], "takes a whole number from 0 to 5"),
        (["X", "tone", "a=b", "a=c"], "need different labels, not “a” twice"),
    ],
)
async def test_invalid_experiment_keeps_typed_values(tmp_path: Path, values: list[str], message: str) -> None:
    async with open_experiments(tmp_path, full=False) as ui:
        # The last of the list: a name of one's own.
        await ui.press("A", "G", "enter")
        for value in values:
            await ui.press(*value, "tab")
        await ui.press("enter")
        assert message in " ".join(ui.text.split())
        assert [line.value for line in ui.app.screen.query(Input)] == [*values, *[""] * (8 - len(values))]
        await ui.press("escape", "y")
        assert "No experiments yet" in ui.text


async def test_too_few_posts_are_refused_by_the_name_of_the_field(tmp_path: Path) -> None:
    async with open_experiments(tmp_path, full=False) as ui:
        await ui.press("A", "enter", *["tab"] * 7, *"5", "enter")
        assert "Posts each takes a whole number from 10 to 1,000" in ui.text


EARLY = ("tab", *"Enough", "enter")


@pytest.mark.parametrize(
    ("winner", "message"),
    [((), "Concluded without a winner."), (("right", "right"), "Concluded. Winner: two")],
)
async def test_experiment_concludes_with_or_without_winner(
    tmp_path: Path, winner: tuple[str, ...], message: str
) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("C", *winner, *EARLY)
        assert "Concluded “How many hashtags”" in ui.toasts
        assert message in ui.text
        assert "Concluded before the plan was complete: Enough" in ui.text
        assert "How many hashtags" in next(line for line in ui.lines if "▌" in line)


async def test_early_conclusion_needs_a_reason(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("C")
        assert "required before 79 reviewed drafts per variant" in ui.text
        await ui.press("enter")
        assert "Reason is missing: the plan is not complete." in " ".join(ui.text.split())


async def test_winner_becomes_voice_setting(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("C", "right", "right", "tab", *"Enough", "tab", "right", "enter")
        assert "Voice: short hashtags default → 2" in ui.text


async def test_aa_test_and_size_are_entered(tmp_path: Path) -> None:
    async with open_experiments(tmp_path, full=False) as ui:
        await ui.press("A", "slash", *"hook", "enter", *"Same", "tab", *"one=x", "tab", *"two=x")
        await ui.press(*["tab"] * 4, "right", "right", "tab", *"12", "tab", "right", "enter")
        assert "tests hook · decided by engagement · A/A test" in ui.text
        assert "Compared at 12 measured posts per variant; no verdict in between." in " ".join(ui.text.split())


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_empty_form_shows_examples(tmp_path: Path, width: int) -> None:
    async with open_experiments(tmp_path, size=(width, 24)) as ui:
        await ui.press("A", "G", "enter")
        for example in ("e.g. Hashtags", "e.g. hashtags", "label = value"):
            assert example in ui.text
        empty = ui.app.screen.query(Input).last().get_component_styles("input--placeholder")
        assert empty.text_style.italic


async def test_leaving_the_form_concludes_nothing(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("C", "escape")
        assert ui.toasts == []
        await ui.press("C", "right", "escape", "y")
        assert words_from(ui, "active ")[0] == "active"


async def test_values_are_chosen_for_the_parameter(tmp_path: Path) -> None:
    """Without any change the form compares the setting as it is with the first other value."""
    async with open_experiments(tmp_path, full=False) as ui:
        await ui.press("A", "slash", *"emoji", "enter")
        assert "‹default›  never  sparing  free" in ui.text
        assert "‹acceptance›  edits  engagement" in ui.text
        await ui.press("enter")
        assert words_from(ui, "setting ") == ["setting", "default", "never"]


async def test_writers_are_offered_by_name(tmp_path: Path) -> None:
    async with open_experiments(tmp_path, full=False) as ui:
        await ui.press("A", "slash", *"writer", "enter")
        assert "default  ‹offline›" in ui.text


async def test_status_limits_archive_and_conclude(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("x")
        assert ui.toasts == ["Cannot archive an active experiment. C concludes it."]
        await ui.press("j", "j", "C")
        assert ui.toasts[1:] == ["Already concluded"]
        await ui.press("x")
        assert "Archived “Did asking help?”" in ui.toasts
        assert "archived · tests hook" in ui.text
        await ui.press("x")
        assert ui.toasts[-1] == "Already archived"


async def test_long_variants_stack_on_narrow_terminal(tmp_path: Path) -> None:
    async with open_experiments_desk(tmp_path, full=False) as desk:
        await desk.experiments.create(LENGTHS)
    async with open_experiments(tmp_path, (40, 100), full=False) as ui:
        assert [row for row in ui.lines if row.strip(" ▐") == "250 characters"]
        await ui.resize(160, 50)
        assert words_from(ui, "setting ") == ["setting", "100", "150", "200", "250", "300"]


def test_columns_share_width() -> None:
    columns = [
        VariantColumn(name, (("posts", "1"), ("rate", "2.00%"))) for name in ("one", "a name that is far too long")
    ]
    head, posts, rate = (line.plain for line in lay_out_blocks([SideBySide(columns)], 60))

    assert len(head) == len(posts) == len(rate) <= 60
    assert head.split()[0] == "one"
    assert head.endswith("…")


async def test_hostile_names_are_harmless(tmp_path: Path) -> None:
    variants = [
        {"id": letter, "label": f"{letter}{HOSTILE}", "config": {"tone": f"{ESCAPE}{HOSTILE * 9}{letter}"}}
        for letter in "ab"
    ]
    async with open_experiments_desk(tmp_path, full=False) as desk:
        await desk.experiments.create({"name": HOSTILE, "parameter": "tone", "variants": variants})
    async with open_experiments(tmp_path, (80, 24), full=False) as ui:
        await ui.press("C", "escape")
        assert "[/nope]" in ui.text
        assert "\x1b" not in ui.text
        assert "\u202e" not in ui.text


@pytest.mark.parametrize("size", [(40, 10), (40, 24), (80, 24), (100, 12), (200, 60)])
async def test_list_and_variants_fit_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async with open_experiments(tmp_path, size) as ui:
        assert "▌a" in ui.text
        await ui.press("tab", "G")
        assert "before approval." in ui.text
        assert all(len(line) <= size[0] for line in ui.lines)


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_snapshot_full(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    assert snap_compare(
        make_experiments_console(tmp_path), terminal_size=(120, 36), run_before=press_keys("4", theme=theme)
    )


@pytest.mark.parametrize(
    "keys", [(), ("tab", "G"), ("A", "j", "enter"), ("C",)], ids=["list", "rates", "form", "conclude"]
)
def test_snapshot_narrow(snap_compare: Compare, tmp_path: Path, keys: tuple[str, ...]) -> None:
    assert snap_compare(make_experiments_console(tmp_path), terminal_size=(80, 24), run_before=press_keys("4", *keys))


def test_snapshot_empty(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(
        make_experiments_console(tmp_path, full=False), terminal_size=(80, 24), run_before=press_keys("4")
    )


def test_snapshot_error(snap_compare: Compare) -> None:
    desk = FakeDesk(0)
    desk.open_error = StoreBusyError(hint="Is Copydesk open elsewhere?")
    assert snap_compare(make_console(desk), terminal_size=(80, 24), run_before=press_keys("4"))


async def test_parameter_of_active_experiment_is_refused_before_the_form(tmp_path: Path) -> None:
    async with open_experiments(tmp_path) as ui:
        await ui.press("A")
        assert "hashtags      tested by “How many hashtags”" in ui.text
        await ui.press("enter")
        assert ui.toasts == ["“How many hashtags” tests hashtags already. C concludes it."]
        await ui.press("A", "slash", *"emoji", "enter")
        assert "New experiment · emoji" in ui.text


def test_form_names_the_difference_that_each_size_detects() -> None:
    needed = {
        Metric.ACCEPTANCE: LiftNeed(lift=1.12, posts_per_variant=197, weeks=64.2),
        Metric.EDITS: LiftNeed(lift=1.25, posts_per_variant=1570, weeks=None),
    }
    plans = [ExperimentPlan(metric=metric, posts_per_variant=50, needed=(need,)) for metric, need in needed.items()]
    assert labels.posts_needed(plans) == (
        "Posts per variant needed: acceptance 197 (12% more, 64 weeks), edits 1,570 (20% fewer). "
        "If empty: acceptance 50, edits 50."
    )
