"""Tests for the user's own commands: shell commands on a key, with the draft as JSON."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console_driver import FakeDesk, open_console
from copydesk.errors import SettingsError
from copydesk.model.serialization import to_json_value
from copydesk.settings import Command, load
from copydesk.tui.commands import run_shell
from copydesk.tui.keymap import apply_custom_keys
from copydesk.tui.preferences import Preferences, load_preferences
from copydesk.tui.runtime.notifications import LogEntry
from delayed_responses import wait_until
from review_driver import ReviewDriver, open_review

FILE = Path("settings.toml")
SECRET_TEXT = "$(touch pwned) `touch pwned`; touch pwned\n\x1b[31mred"


def preferences(**commands: Command) -> Preferences:
    """Return preferences with these commands."""
    return Preferences(keys=apply_custom_keys({}, FILE, commands), commands=commands)


def command(run: str, *, key: str = "f6", label: str = "Count words", **values: object) -> Command:
    return Command(key=key, label=label, run=run, **values)  # type: ignore[arg-type]


@asynccontextmanager
async def open_with(
    home: Path, texts: tuple[str, ...] = ("One.", "Two."), **commands: Command
) -> AsyncIterator[ReviewDriver]:
    """Open the review with these commands."""
    async with open_review(home, texts=texts, preferences=preferences(**commands)) as ui:
        yield ui


async def press_and_wait(ui: ReviewDriver, key: str, toast: str) -> str:
    """Press a key and wait for a toast that begins like this; return it."""
    await ui.press(key)
    await ui.wait_for(lambda: any(message.startswith(toast) for message in ui.toasts))
    return next(message for message in ui.toasts if message.startswith(toast))


def log_text(ui: ReviewDriver) -> str:
    entries: tuple[LogEntry, ...] = tuple(ui.app.notification_log)
    return "\n".join(entry.text for entry in entries)


def is_dead(process_id: int) -> bool:
    """Return True if the process has ended; a zombie has."""
    state = Path(f"/proc/{process_id}/stat")
    return not state.exists() or state.read_text(encoding="ascii").split()[2] == "Z"


# Running


async def test_command_gets_the_draft_as_on_the_wire(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = f"cat > {out}; printf '%s' \"$COPYDESK_DRAFT_ID\" > {out}.id; echo saved"
    async with open_with(tmp_path, save=command(run)) as ui:
        await press_and_wait(ui, "f6", "Count words: saved")
        draft = await ui.desk.drafts.get(ui.current.id)
    assert json.loads(out.read_text()) == to_json_value(draft)
    assert (tmp_path / "out.id").read_text() == draft.id


async def test_text_from_outside_never_reaches_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_with(tmp_path, texts=(SECRET_TEXT,), show=command("cat")) as ui:
        toast = await press_and_wait(ui, "f6", "Count words: {")
    assert not (tmp_path / "pwned").exists()
    assert "\x1b" not in toast


async def test_command_sees_the_decision_made_before_it(tmp_path: Path) -> None:
    run = 'grep -o \'"status":"[a-z_]*"\''
    async with open_with(tmp_path, status=command(run)) as ui:
        ui.app.simulate_key("a")
        ui.app.simulate_key("k")
        await press_and_wait(ui, "f6", 'Count words: "status":"approved"')


async def test_failure_shows_exit_code_and_last_lines(tmp_path: Path) -> None:
    async with open_with(tmp_path, fail=command("seq 5; echo broken >&2; exit 3")) as ui:
        toast = await press_and_wait(ui, "f6", "Count words failed")
        assert toast == "Count words failed with exit code 3: 4 / 5 / broken"
        assert "1\n2\n3\n4\n5\nbroken" in log_text(ui)


async def test_output_and_errors_are_shown_in_their_order(tmp_path: Path) -> None:
    async with open_with(tmp_path, both=command("echo one; echo two | tee /dev/stderr; echo three; exit 1")) as ui:
        assert (await press_and_wait(ui, "f6", "Count words failed")).endswith(": two / two / three")


async def test_only_the_end_of_a_long_output_is_read(tmp_path: Path) -> None:
    async with open_with(tmp_path, flood=command("seq 100000; exit 1")) as ui:
        assert (await press_and_wait(ui, "f6", "Count words failed")).endswith(": 99998 / 99999 / 100000")
    assert len(log_text(ui)) < 150_000


async def test_missing_program_and_signal_are_failures(tmp_path: Path) -> None:
    async with open_with(tmp_path, miss=command("no-such-program"), kill=command("kill -9 $$", key="f7")) as ui:
        assert "exit code 127" in await press_and_wait(ui, "f6", "Count words failed")
        await press_and_wait(ui, "f7", "Count words was killed by signal 9.")


async def test_panel_shows_all_lines_and_toast_the_first(tmp_path: Path) -> None:
    commands = {"one": command("seq 30"), "all": command("seq 30", key="f7", output="panel")}
    async with open_with(tmp_path, **commands) as ui:
        await press_and_wait(ui, "f6", "Count words: 1 · 29 more lines, Ctrl+L shows them")
        await ui.press("f7")
        await ui.wait_for(lambda: "Count words · q close" in ui.text)
        assert "17" in ui.text
        await ui.press("q")


async def test_panel_does_not_open_over_another_screen(tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    run = f"read line < {go}; seq 3"
    async with open_with(tmp_path, slow=command(run, output="panel")) as ui:
        await press_and_wait(ui, "f6", "Count words: running")
        await ui.press("j", "a", "3")
        go.write_text("go\n", encoding="utf-8")
        await ui.wait_for(lambda: any(toast.startswith("Count words: 1") for toast in ui.toasts))
        assert "Count words · q close" not in ui.text


async def test_program_left_in_the_background_holds_up_nothing(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with open_with(tmp_path, start=command(f"sleep 600 & echo $! > {pid}; echo started")) as ui:
        await press_and_wait(ui, "f6", "Count words: started")
    os.kill(int(pid.read_text()), signal.SIGKILL)


async def test_quitting_ends_a_running_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with open_with(tmp_path, wait=command(f"sleep 600 & echo $! > {pid}; wait")) as ui:
        await ui.press("f6")
        await ui.wait_for(pid.exists)
        await ui.wait_for(lambda: pid.read_text().strip())
        child = int(pid.read_text())
    # Killed, but a busy machine may take a moment to end it and what waits for it.
    await wait_until(lambda: is_dead(child) and len(asyncio.all_tasks()) == 1, lambda: asyncio.sleep(0.01))


async def test_cancelled_command_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    task = asyncio.create_task(run_shell(f"echo $$ > {pid}; exec sleep 600", b"", os.environ))
    await wait_until(lambda: pid.exists() and pid.read_text(), lambda: asyncio.sleep(0.01))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# Where it works


async def test_command_runs_only_on_its_screens(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    async with open_with(tmp_path, sources=command(f"cat > {marker}; echo done", screens=("sources",))) as ui:
        await ui.press("f6")
        assert not ui.toasts
        await ui.press("3", "f6")
        await ui.wait_for(lambda: any(toast == "Count words: done" for toast in ui.toasts))
    # There is no draft in Sources.
    assert marker.read_text() == ""


async def test_one_key_runs_different_commands_on_two_screens(tmp_path: Path) -> None:
    commands = {"here": command("echo here"), "there": command("echo there", screens=("sources", "setup"))}
    async with open_with(tmp_path, **commands) as ui:
        await press_and_wait(ui, "f6", "Count words: here")
        await ui.press("6")
        await press_and_wait(ui, "f6", "Count words: there")


async def test_help_and_palette_list_commands(tmp_path: Path) -> None:
    async with open_with(tmp_path, words=command("echo 12", key="ctrl+t", label="Count [b]words")) as ui:
        await ui.press("question_mark", "slash", *"count")
        assert "Ctrl+T" in ui.text
        assert "Count [b]words" in ui.text
        await ui.press("escape", "escape", "colon", *"count")
        assert "Count [b]words" in ui.text
        await ui.press("enter")
        await ui.wait_for(lambda: "Count [b]words: 12" in ui.toasts)


async def test_command_waits_while_a_dialog_is_open() -> None:
    async with open_console(FakeDesk(2)) as ui:
        ui.app.preferences = preferences(words=command("echo 1"))
        ui.app.bind("f6", "app.run_command('words')")
        await ui.press("question_mark", "f6")
        assert not ui.toasts


# Settings


def load_commands(home: Path, text: str) -> Mapping[str, Command]:
    (home / "settings.toml").write_text(text, encoding="utf-8")
    return load_preferences(load({}, home)).commands


def test_settings_file_has_commands(tmp_path: Path) -> None:
    text = (
        '[commands.words]\nkey = "ctrl+t"\nlabel = "Count"\nrun = "wc -w"\nscreens = ["schedule"]\noutput = "panel"\n'
    )
    words = Command(key="ctrl+t", label="Count", run="wc -w", screens=("schedule",), output="panel")
    assert load_commands(tmp_path, text) == {"words": words}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('key = "a"', "a is both review.approve (Approve) and commands.words (Count)"),
        ('key = "j"', "list.down (Next row)"),
        ('key = "q"', "console.quit (Quit)"),
        ('key = "hyper"', "[commands] words: 'hyper' is no key"),
        ('key = "f6"\noutput = "window"', "line 5: commands.words.output does not take 'window'"),
        ('key = "f6"\nscreens = []', "commands.words.screens"),
        ('key = "f6"\n[commands.other]\nkey = "f6"\nlabel = "Other"\nrun = "x"', "commands.other (Other)"),
        ('key = "f6"\n[commands."my words"]\nkey = "f7"\nlabel = "x"\nrun = "x"', "'my words' is no name"),
    ],
    ids=["screen", "list", "everywhere", "unknown", "output", "screens", "command", "name"],
)
def test_wrong_command_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_commands(tmp_path, f'[commands.words]\nlabel = "Count"\nrun = "wc -w"\n{text}\n')
    assert problem in str(caught.value)


def test_key_of_another_screen_is_free_for_a_command(tmp_path: Path) -> None:
    text = '[commands.words]\nkey = "a"\nlabel = "Count"\nrun = "wc -w"\nscreens = ["sources"]\n'
    assert load_commands(tmp_path, text)["words"].key == "a"


def test_missing_setting_names_the_table(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"line 1: commands\.words lacks `label`"):
        load_commands(tmp_path, '[commands.words]\nkey = "f6"\n')
