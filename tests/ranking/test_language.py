"""Tests for the language of a source's entries."""

import sys

import pytest

from copydesk.ranking.filters import compile_rules, detect_common_language, rejection_reason
from copydesk.text import language
from copydesk.text.language import detect_text_language, detect_title_language
from ranking_fixtures import NOW, make_entry, make_item

ENGLISH = "The government said on Tuesday that it will not change the law before the end of the year."
GERMAN = "Die Regierung hat am Dienstag angekündigt, dass das Gesetz nicht vor Ende des Jahres geändert wird."
GERMAN_TITLES = (
    "Hafen öffnet für Schwimmer",
    "Neue Brücke über die Elbe",
    "Streik am Flughafen beendet",
    "Museum zeigt Bilder aus dem Norden",
    "Regen und Sturm im Süden",
)


def test_bare_titles_of_a_source_tell_their_language_together() -> None:
    assert [detect_text_language(title) for title in GERMAN_TITLES] == [None] * len(GERMAN_TITLES)
    assert detect_common_language([make_entry(title) for title in GERMAN_TITLES]) == "de"


def test_most_entries_decide_for_their_source() -> None:
    assert detect_common_language([make_entry(f"{n} {ENGLISH}") for n in range(19)] + [make_entry(GERMAN)]) == "en"


def test_source_of_two_languages_has_none() -> None:
    mixed = [make_entry(f"{n} {text}") for n in range(4) for text in (ENGLISH, GERMAN)]
    assert detect_common_language(mixed) is None
    assert detect_common_language([make_entry(ENGLISH), *map(make_entry, GERMAN_TITLES)]) is None
    assert detect_common_language([]) is None


@pytest.fixture(autouse=True)
def _forget_detector() -> None:
    language._load_lingua.cache_clear()


@pytest.mark.servers
@pytest.mark.parametrize(
    ("title", "expected"),
    [(title, "de") for title in GERMAN_TITLES]
    + [("Le musée rouvre ses portes", "fr"), ("Harbour reopens for swimmers", "en"), ("SQLite 3.51", None)],
)
def test_lingua_detects_the_language_of_titles(title: str, expected: str | None) -> None:
    assert detect_title_language(title) == expected


@pytest.mark.servers
def test_lingua_decides_where_item_and_source_do_not() -> None:
    item, rules = make_item(GERMAN_TITLES[0]), compile_rules(language="en")
    assert rejection_reason(item, rules, NOW) == "in German, not in English"
    assert rejection_reason(item, rules, NOW, "en") is None


def test_title_has_no_language_without_lingua(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lingua", None)
    assert detect_title_language(GERMAN_TITLES[0]) is None
