"""Tests for the language of a source's entries."""

from copydesk.ranking.filters import detect_common_language
from copydesk.text.language import detect_text_language
from ranking_fixtures import make_entry

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
