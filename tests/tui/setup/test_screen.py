"""Tests for the Setup screen with a real desk: accounts, voice, time zone, paths."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from console_driver import ConsoleDriver, type_text
from copydesk.cli.context import Context
from copydesk.desk import Desk
from copydesk.model.check_finding import CheckFinding, Verdict
from copydesk.tui import browser
from copydesk.tui.setup.pages import locations_page
from delayed_responses import DelayedResponse, assert_stays
from fake_model_server import FakeChatCompletions, draft_answer
from posting_fixtures import connect_account
from setup_driver import (
    add_sample_setup,
    open_setup,
    open_setup_desk,
    type_answer,
    wait_for_prompt,
    wait_for_text,
)
from sign_in_platforms import CODE, FakePasswordPlatform, authorize
from x_sign_in import CLIENT_SECRETS, open_page, serve_x

MODEL_TITLE = "Preview: short, test-model-2026-01-15 writer"
X, KEYED, BROWSER = 2, 11, 10
"""Positions of the platforms in the list."""


async def account_labels(home: Path) -> list[str]:
    async with open_setup_desk(home) as desk:
        return [account.label for account in await desk.accounts.list()]


async def choose_platform(ui: ConsoleDriver, index: int) -> None:
    await ui.press("A")
    await wait_for_text(ui, "Connect an account · Enter")
    await ui.press(*["j"] * index, "enter")
    await wait_for_text(ui, "Connect an account ·")


async def test_desk_without_account_names_next_key(tmp_path: Path) -> None:
    async with open_setup(tmp_path, size=(80, 24)) as ui:
        assert "No account connected" in ui.text
        assert "A connect an account: Bluesky" in ui.text
        await ui.press("t")
        assert ui.toasts == ["No account connected. A connects one."]


async def test_account_is_connected_with_credentials(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, KEYED)
        await type_text(ui, "me")
        await ui.press("tab")
        await type_text(ui, "wrong")
        assert "wrong" not in ui.text
        await ui.press("enter")
        await wait_for_text(ui, "The password is not right. Look for it there.")
        await ui.press(*["backspace"] * 5)
        await type_text(ui, "open\n")
        await wait_for_text(ui, "Connected keyed:me.")
        assert "+ keyed:me" in ui.text
        await choose_platform(ui, KEYED)
        await type_text(ui, "ab")
        await ui.press("tab")
        await type_text(ui, "open\n")
        await wait_for_text(ui, "Connected keyed:ab.")
        # The cursor is on the new one, which is listed before the other.
        assert "▌+ keyed:ab" in ui.text
    assert await account_labels(tmp_path) == ["keyed:ab", "keyed:me"]


async def test_accounts_that_share_a_label_are_told_apart(tmp_path: Path) -> None:
    async def furnish(desk: Desk) -> None:
        for server in ("https://one.test", "https://two.test"):
            await connect_account(desk, platform="keyed", server=server)

    async with open_setup(tmp_path, furnish) as ui:
        assert "keyed:me (one.test)" in ui.text
        assert "keyed:me (two.test)" in ui.text
        await ui.press("tab", "D")
        assert "Disconnect keyed:me (one.test) and delete its credentials?" in ui.text
        await ui.press("n", "shift+tab", "j", "ctrl+o")
        picker = ui.text.partition("Import posts")[2]
        assert "keyed:me (one.test)" in picker
        assert "keyed:me (two.test)" in picker


async def test_enter_goes_to_the_next_missing_credential(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, KEYED)
        await type_text(ui, "me\nopen\n")
        await wait_for_text(ui, "Connected keyed:me.")


@pytest.mark.parametrize("keys", [("enter", "enter"), ("ctrl+s",)])
async def test_missing_credential_keeps_form_open(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, KEYED)
        await ui.press(*keys)
        await wait_for_text(ui, "handle is missing")
        await ui.press("escape")
    assert await account_labels(tmp_path) == []


async def test_field_that_is_missing_is_focused(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, KEYED)
        await ui.press("tab")
        await type_text(ui, "open\n")
        await wait_for_text(ui, "handle is missing")
        await type_text(ui, "me\n")
        await wait_for_text(ui, "Connected keyed:me.")


async def test_server_that_is_missing_is_focused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePasswordPlatform, "info", replace(FakePasswordPlatform.info, default_server=""))
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, KEYED)
        await ui.press("tab")
        await type_text(ui, "me\nopen\n")
        await wait_for_text(ui, "server is missing")
        await type_text(ui, "keyed.example\n")
        await wait_for_text(ui, "Connected keyed:me.")


async def connect_keyed(ui: ConsoleDriver, name: str) -> None:
    await choose_platform(ui, KEYED)
    await type_answer(ui, f"{name}\topen\n")


async def test_passphrase_is_prompted_and_confirmed_if_new(tmp_path: Path) -> None:
    async with open_setup(tmp_path, plain=False) as ui:
        await connect_keyed(ui, "me")
        await wait_for_prompt(ui, "New passphrase for your account credentials")
        await type_answer(ui, "four\tfou\n")
        await wait_for_prompt(ui, "repeat does not match")
        assert "fou" not in ui.text
        await type_answer(ui, "r\n")
        # Before anything is stored, in the prompt itself.
        await wait_for_prompt(ui, "A passphrase needs at least 8 characters. Use four or more words.")
        await type_answer(ui, " little words here\t little words here\n")
        await wait_for_text(ui, "Connected keyed:me.")
    async with open_setup(tmp_path, plain=False) as ui:
        await connect_keyed(ui, "you")
        await wait_for_prompt(ui, "Passphrase for your account credentials")
        await type_answer(ui, "four little words here\n")
        await wait_for_text(ui, "Connected keyed:you.")


async def test_no_passphrase_connects_nothing(tmp_path: Path) -> None:
    async with open_setup(tmp_path, plain=False) as ui:
        await connect_keyed(ui, "me")
        await wait_for_prompt(ui, "New passphrase")
        ui.app.simulate_key("escape")
        await wait_for_text(ui, "No keyring and no passphrase to store credentials with.")
    assert await account_labels(tmp_path) == []


async def test_oauth_login_completes_in_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks: list[asyncio.Task[None]] = []

    async def open_page(page: str) -> bool:
        callbacks.append(asyncio.create_task(authorize(page)))
        return True

    monkeypatch.setattr(browser, "open_in_browser", open_page)
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, BROWSER)
        await ui.press("enter")
        await wait_for_text(ui, "Connected browser:b.")
        assert "+ browser:b" in ui.text
    assert callbacks


async def test_oauth_code_is_pasted_without_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(page: str) -> bool:
        return False

    monkeypatch.setattr(browser, "open_in_browser", refuse)
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, BROWSER)
        await ui.press("enter")
        await wait_for_text(ui, "https://browser.example/yes?")
        assert "No browser found." in ui.text
        await type_text(ui, "not-it\n")
        await wait_for_text(ui, "That code is not good. Enter tries again.")
        await ui.press("enter")
        await wait_for_text(ui, "No browser found.")
        await type_text(ui, f"{CODE}\n")
        await wait_for_text(ui, "Connected browser:b.")


@pytest.mark.parametrize("client_secret", CLIENT_SECRETS)
@pytest.mark.parametrize("opens", [True, False])
async def test_x_is_connected_with_and_without_client_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client_secret: str, opens: bool
) -> None:
    fake, transport = serve_x(monkeypatch, client_secret)
    pages: list[str] = []
    visits: list[asyncio.Task[None]] = []

    async def visit(page: str) -> bool:
        pages.append(page)
        if opens:
            visits.append(asyncio.create_task(open_page(fake, page)))
        return opens

    monkeypatch.setattr(browser, "open_in_browser", visit)
    async with open_setup(tmp_path, transport=transport) as ui:
        await choose_platform(ui, X)
        await type_text(ui, "app")
        await ui.press("tab")
        await type_text(ui, f"{client_secret}\n")
        if not opens:
            await wait_for_text(ui, "No browser found.")
            await type_text(ui, f"{fake.authorize(pages[0])}\n")
        await wait_for_text(ui, "Connected x:me.")
        await ui.press("t")
        await wait_for_text(ui, "x:me: connection works.")
    await asyncio.gather(*visits)
    assert await account_labels(tmp_path) == ["x:me"]


@pytest.mark.parametrize("by", ["key", "mouse"])
async def test_oauth_wait_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    async def refuse(page: str) -> bool:
        return False

    monkeypatch.setattr(browser, "open_in_browser", refuse)
    async with open_setup(tmp_path) as ui:
        await choose_platform(ui, BROWSER)
        await ui.press("enter")
        await wait_for_text(ui, "No browser found.")
        if by == "key":
            await ui.press("escape")
        else:
            offset = next((line.index("Esc cancel"), y) for y, line in enumerate(ui.lines) if "Esc cancel" in line)
            await ui.pilot.click(offset=offset)
            await ui.wait()
        assert "No browser found." not in ui.text
    assert await account_labels(tmp_path) == []


async def test_account_check_reports_status(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("t")
        await wait_for_text(ui, "keyed:harbour: connection works.")
        await ui.press("tab", "j", "t")
        await wait_for_text(ui, "! keyed:locked")
        assert "The server does not know the account any more." in ui.text
        assert any(toast.startswith("keyed:locked: The server does not know") for toast in ui.toasts)


async def test_remove_confirms_and_defaults_to_no(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("D")
        assert "Disconnect keyed:harbour and delete its credentials?" in ui.text
        await ui.press("enter")
        assert "keyed:harbour" in ui.text
        await ui.press("D", "y")
        await wait_for_text(ui, "Disconnected keyed:harbour.")
        await wait_for_text(ui, "▌+ keyed:locked")
    assert await account_labels(tmp_path) == ["keyed:locked"]


async def test_voice_is_previewed_and_saved_on_request(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j", "e")
        assert "Max length" in ui.text
        assert "maxLength" not in ui.text
        await wait_for_text(ui, "https://stories.example/1")
        await ui.press(*["tab"] * 10)
        for _ in range(2):
            await ui.press("right")
        assert "‹never›" in next(line for line in ui.lines if " Link " in line)
        await ui.press("ctrl+t")
        await wait_for_text(ui, "What the change does to recent items")
        (now, then) = ui.text.partition("What the change does")[2].split(" then ")[0:2]
        assert "https://stories.example/" in now
        assert "https://stories.example/" not in then.partition(" now ")[0]
        assert "Preview: short, offline writer" in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Saved your voice.")
        assert "short   hashtags 1, emoji never, link never" in ui.text
    async with open_setup_desk(tmp_path) as desk:
        voice = await desk.voice.get()
        assert voice.style == "Plain words.\nNo hype."
        assert len(voice.examples) == 2


async def connect_with_posts(desk: Desk) -> None:
    """Connect two accounts; only the posts of the first can be read, and one of them is an example already."""
    await desk.accounts.connect("browser", {"token": "t"})
    await desk.accounts.connect("keyed", {"handle": "harbour", "password": "open"})
    await desk.voice.update({"examples": ["A ferry is a road that moves."]})


async def examples_in(home: Path) -> tuple[str, ...]:
    async with open_setup_desk(home) as desk:
        return (await desk.voice.get()).examples


async def test_posts_of_an_account_are_shown_then_added(tmp_path: Path) -> None:
    async with open_setup(tmp_path, connect_with_posts) as ui:
        await ui.press("ctrl+o")
        await wait_for_text(ui, "Add 2 of 3 posts of browser:b · Ctrl+S add · q cancel")
        assert "2  An older post of mine." in ui.text
        assert "A ferry" not in ui.text
        await ui.press("escape")
        assert await examples_in(tmp_path) == ("A ferry is a road that moves.",)
        await ui.press("ctrl+o")
        await wait_for_text(ui, "Add 2 of 3 posts")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Added 2 examples.")
        await ui.press("ctrl+o")
        await wait_for_text(ui, "Nothing to add: 3 posts found, all of them examples already")
    examples = await examples_in(tmp_path)
    assert (examples[0], examples[2]) == ("A ferry is a road that moves.", "An older post of mine.")
    assert "\x1b" not in examples[1]


async def test_account_to_import_from_is_chosen_in_the_voice(tmp_path: Path) -> None:
    async with open_setup(tmp_path, connect_with_posts) as ui:
        await ui.press("j", "ctrl+o")
        await wait_for_text(ui, "Import posts of · Enter choose · Esc cancel")
        await ui.press("j", "enter")
        await wait_for_text(ui, "whose posts cannot be read")
        await ui.press("ctrl+o", "enter")
        await wait_for_text(ui, "Add 2 of 3 posts of browser:b")


async def test_import_without_account_or_in_another_section_says_so(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await ui.press("ctrl+o", "j", "j", "ctrl+o")
        assert ui.toasts == [
            "No account connected. A connects one.",
            "Posts are imported in the sections Accounts and Voice.",
        ]


async def test_chosen_model_previews_a_voice_on_request(tmp_path: Path) -> None:
    async def choose_model(desk: Desk) -> None:
        await add_sample_setup(desk)
        endpoint = {"name": "local", "baseUrl": "http://127.0.0.1:9/v1", "model": "tiny"}
        await desk.writers.add(endpoint)
        await desk.writers.use(["local"])

    async with open_setup(tmp_path, choose_model) as ui:
        await ui.press("j", "e")
        await wait_for_text(ui, "asks local what the change does.")
        await ui.press("ctrl+t")
        await wait_for_text(ui, "127.0.0.1")


@asynccontextmanager
async def open_voice_with_model(home: Path) -> AsyncIterator[ConsoleDriver]:
    """Open the voice form with a language model chosen, and wait for the first sample."""

    async def choose_model(desk: Desk) -> None:
        await add_sample_setup(desk)
        await desk.writers.add({"name": "gpt", "model": "m", "baseUrl": "https://models.example/v1"}, "sk-01234")
        await desk.writers.use(["gpt"])

    server = FakeChatCompletions(draft_answer("The library of Elmbrook lends tools."))
    async with open_setup(home, choose_model, transport=server) as ui:
        await ui.press("j", "e")
        await wait_for_text(ui, "asks gpt what the change does.")
        yield ui


async def test_typing_keeps_what_the_model_wrote(tmp_path: Path) -> None:
    async with open_voice_with_model(tmp_path) as ui:
        answer = DelayedResponse(ui.app.desk.voice, "compare")
        await ui.pilot.press("ctrl+t")
        await answer.wait_until_called()
        await type_answer(ui, "More. ")
        await wait_for_prompt(ui, "Preview: short, offline writer")
        assert "Asking gpt for drafts of recent items…" in ui.text
        answer.released.set()
        await wait_for_text(ui, MODEL_TITLE)
        await type_text(ui, "And more. ")
        await assert_stays(ui, lambda: MODEL_TITLE in ui.text)
        assert "Preview: short, offline writer" in ui.text


async def test_model_is_asked_while_a_sample_is_written(tmp_path: Path) -> None:
    async with open_voice_with_model(tmp_path) as ui:
        sample = DelayedResponse(ui.app.desk.voice, "preview")
        await type_answer(ui, "More. ")
        await sample.wait_until_called()
        await ui.pilot.press("ctrl+t")
        await wait_for_prompt(ui, MODEL_TITLE)
        sample.released.set()
        await ui.wait()


async def test_preview_explains_missing_hashtags(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j", "e")
        await wait_for_text(ui, "This item has no tags")


async def test_leaving_edited_voice_confirms(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j", "e")
        await type_text(ui, "More. ")
        await ui.press("escape", "enter")
        assert "More. Plain words." in ui.text
        await ui.press("escape", "y")
        assert "More." not in ui.text
        await ui.press("e")
        assert "Plain words." in ui.text
        assert "More." not in ui.text
        await ui.press("escape")
        assert "Ctrl+S save" not in ui.text


async def test_refused_voice_stays_in_form(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j", "e", *["tab"] * 8)
        await type_text(ui, "9")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "short, hashtags takes a whole number from 0 to 5")
        assert "formats.SHORT" not in ui.text
        assert "Ctrl+S save" in ui.text


async def test_voice_preview_without_items_has_hint(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await ui.press("j", "e")
        await wait_for_text(ui, "No item to preview with.")


async def test_invalid_time_zone_is_refused(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j", "j", "j", "j", "e")
        await type_text(ui, "Mars/One\n")
        await wait_for_text(ui, "“Mars/One” is not an IANA time zone")
        await ui.press("ctrl+u")
        await type_text(ui, "Asia/Tokyo\n")
        await wait_for_text(ui, "Time zone set to Asia/Tokyo")
        await wait_for_text(ui, "JST")
        assert "09:00 here may be 10:00 in the new zone." in ui.text
        (time_line,) = [line for line in ui.text.splitlines() if "local time" in line]
        assert "(" not in time_line
        assert re.search(r"\d\d:\d\d JST", time_line)


async def test_doctor_report_is_displayed(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("G")
        await wait_for_text(ui, "2, none failing.")


def test_doctor_commands_name_desk() -> None:
    check = CheckFinding(what="sources", verdict=Verdict.WARNING, found="No sources.", advice="copydesk source add")
    advice = Context(home=None, sample=True, debug=False).with_desk_options
    (table, *_) = locations_page([check], advice, "")
    assert "copydesk --sample source add" in str(table)


async def test_forty_columns_show_one_pane(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup, size=(40, 24)) as ui:
        assert "keyed:harbour" not in ui.text
        await ui.press("enter")
        assert "keyed:harbour" in ui.text
        await ui.press("escape")
        assert "keyed:harbour" not in ui.text


async def test_hostile_names_are_harmless(tmp_path: Path) -> None:
    async def add_hostile_names(desk: Desk) -> None:
        name = "[/x] \x1b]0;owned\x07 \u202eevil 漢字"
        await desk.accounts.connect("keyed", {"handle": name, "password": "open"})
        await desk.voice.update({"style": "[red]x[/] \u202e", "avoid": ["[@click=app.quit]y[/]"]})

    async with open_setup(tmp_path, add_hostile_names, size=(80, 24)) as ui:
        assert "[/x]" in ui.text
        await ui.press("j")
        assert "[@click=app.quit]y[/]" in ui.text
        assert "\x1b" not in ui.text
        assert "\u202e" not in ui.text


async def test_learning_is_forgotten_and_restored(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await ui.press("j", "j")
        await wait_for_text(ui, "Not known yet: 0 of 20 decisions.")
        await ui.press("D")
        await wait_for_text(ui, "Forget what is learnt from your decisions?")
        await ui.press("y")
        await wait_for_text(ui, "D count earlier decisions again")
        await ui.press("D")
        await wait_for_text(ui, "D forget what is learnt")
        assert "All decisions count." in ui.text


async def test_change_of_interests_is_previewed_then_saved(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press(*["j"] * 5)
        await wait_for_text(ui, "These are the defaults, with what the settings file changes.")
        await ui.press("e")
        await wait_for_text(ui, "Separate several by commas.")
        await type_text(ui, "no such thing\n")
        await wait_for_text(ui, "No approvals in these days")
        assert "Not drafted any more" in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Saved here, in place of the settings file: interests.")
    async with open_setup_desk(tmp_path) as desk:
        assert (await desk.ranking.get()).interests == ("no such thing",)


async def test_previewed_change_that_is_not_saved_returns_to_the_form(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press(*["j"] * 5, "e")
        await wait_for_text(ui, "Separate several by commas.")
        await type_text(ui, "no such thing\n")
        await wait_for_text(ui, "No approvals in these days")
        await ui.press("q")
        await wait_for_text(ui, "Separate several by commas.")
        assert "no such thing" in ui.text
    async with open_setup_desk(tmp_path) as desk:
        assert (await desk.ranking.get()).saved == ()


async def test_ranking_form_without_a_change_closes(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press(*["j"] * 5, "e")
        await wait_for_text(ui, "Separate several by commas.")
        await ui.press("enter")
        await ui.wait()
        assert "Separate several by commas." not in ui.text
        assert "Ranking preview" not in ui.text
        assert ui.toasts == []


async def test_saved_ranking_is_reset(tmp_path: Path) -> None:
    async def save_weight(desk: Desk) -> None:
        await desk.ranking.change({"weights": {"recency": 0.5}})

    async with open_setup(tmp_path, save_weight) as ui:
        await ui.press(*["j"] * 5)
        await wait_for_text(ui, "in place of the settings file: recency.")
        await ui.press("D", "y")
        await wait_for_text(ui, "These are the defaults, with what the settings file changes.")
        await ui.press("D")
        assert ui.toasts[-1] == "Nothing to reset: the ranking was not changed. e changes it."


async def add_older_rule_that_is_off(desk: Desk) -> None:
    """Add two rules; the older one is switched off."""
    older = await desk.rules.add({"kind": "avoid", "term": "synergy"})
    await desk.rules.change(older.id, {"enabled": False})
    await desk.rules.add({"kind": "avoid", "term": "leverage"})


async def test_form_of_a_rule_shows_no_state_of_another_one(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_older_rule_that_is_off) as ui:
        await ui.press(*["j"] * 6)
        await wait_for_text(ui, "keeps out of drafts")
        await ui.press("e", *["backspace"] * len("leverage"))
        await type_text(ui, "synergy")
        assert [line.placeholder for line in ui.app.screen.query(Input)] == ["", *["unchanged"] * 3]


async def test_rule_whose_term_is_changed_stays_off(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_older_rule_that_is_off) as ui:
        await ui.press(*["j"] * 6)
        await wait_for_text(ui, "keeps out of drafts")
        await ui.press("e", "ctrl+u")
        await type_text(ui, "synergy")
        await ui.press("tab")
        await type_text(ui, "synergies\n")
        await wait_for_text(ui, "synergies")
        async with open_setup_desk(tmp_path) as desk:
            rules = {rule.term: rule.enabled for rule in await desk.rules.list()}
    assert rules == {"synergies": False, "leverage": True}


@pytest.mark.parametrize(("name", "left"), [("synergy (avoid)", "exclude"), ("synergy (exclude)", "avoid")])
async def test_rules_with_the_same_term_are_told_apart(tmp_path: Path, name: str, left: str) -> None:
    async def add_rules(desk: Desk) -> None:
        for kind in ("avoid", "exclude"):
            await desk.rules.add({"kind": kind, "term": "synergy"})

    async with open_setup(tmp_path, add_rules) as ui:
        await ui.press(*["j"] * 6)
        await wait_for_text(ui, "keeps out of drafts")
        await ui.press("e", "ctrl+u")
        await type_text(ui, "synergy")
        await ui.press("tab", "tab", "tab")
        await type_text(ui, "delete\n")
        await wait_for_text(ui, "rule is ambiguous: synergy (exclude) or synergy (avoid)")
        await ui.press("ctrl+u")
        await type_text(ui, f"{name}\n")
        await wait_for_text(ui, "Rule deleted.")
        async with open_setup_desk(tmp_path) as desk:
            assert [rule.kind for rule in await desk.rules.list()] == [left]


async def test_rule_is_switched_off(tmp_path: Path) -> None:
    async def add_rule(desk: Desk) -> None:
        await desk.rules.add({"kind": "avoid", "term": "synergy"})

    async with open_setup(tmp_path, add_rule) as ui:
        await ui.press(*["j"] * 6)
        await wait_for_text(ui, "keeps out of drafts")
        await ui.press("e")
        await ui.press("tab", "tab", "tab")
        await type_text(ui, "off\n")
        await wait_for_text(ui, "switched off")
        async with open_setup_desk(tmp_path) as desk:
            assert [rule.enabled for rule in await desk.rules.list()] == [False]


async def test_footer_names_what_keys_do_in_the_section(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        footers = []
        for _ in range(3):
            await ui.press("j")
            footers.append(ui.text.splitlines()[-1])
        await ui.press("j", "j")
        footers.append(ui.text.splitlines()[-1])
    voice, learning, writers, ranking = footers
    assert "A connect" in voice
    assert "D forget" in learning
    assert "A add" in writers
    assert "D remove" in writers
    assert "D reset" in ranking


async def test_click_on_a_word_of_the_section_presses_its_key(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await ui.press("j", "j")
        footer = ui.text.splitlines()[-1]
        await ui.pilot.click(offset=(footer.index("D forget"), ui.app.size.height - 1))
        await wait_for_prompt(ui, "Forget what is learnt from your decisions?")
