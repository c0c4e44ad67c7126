"""Tests for filters by terms, language and age, and for the time limits of user patterns."""

from datetime import timedelta
from typing import Any, cast

import pytest

from copydesk.errors import InvalidError
from copydesk.ranking import filters
from copydesk.ranking.filters import (
    MAX_SEARCHED_TEXT,
    PatternTimeoutError,
    Phrases,
    UserPattern,
    compile_rules,
    detect_language,
    rejection_reason,
)
from copydesk.text.folding import fold
from cost_growth import assert_bounded
from ranking_fixtures import NOW, make_entry, make_item

GERMAN = "Die Regierung hat am Dienstag angekündigt, dass das Gesetz nicht vor Ende des Jahres geändert wird."
ENGLISH = "The government said on Tuesday that it will not change the law before the end of the year."


def test_no_rules_pass_everything() -> None:
    assert rejection_reason(make_item(), compile_rules(), NOW) is None


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("sqlite", "SQLite is out"),
        ("SQLITE", "All about sqlite"),
        ("Jeri", "President Jerí resigns"),
        ("jerí", "PRESIDENT JERI RESIGNS"),
        ("C++", "Modern C++, again"),
        (".NET", "What is new in .NET?"),
        ("machine learning", "Machine\u00a0 learning at home"),
        ("日本", "今日の日本の首相"),
        ("#python", "I like #python"),
        ("/post(gres|greSQL)/", "Why PostgreSQL"),
        ("/^why/", "Why not"),
    ],
)
def test_match_ignores_case_and_accents(word: str, title: str) -> None:
    assert rejection_reason(make_item(title), compile_rules([word]), NOW) is None
    assert rejection_reason(make_item(title), compile_rules((), [word]), NOW) is not None


@pytest.mark.parametrize("accent", ["´", "\u0301", "¨"])
def test_accent_without_a_letter_is_no_phrase(accent: str) -> None:
    assert Phrases([accent, "Lyon"]).find(fold("The bridge of Lyon")) == ["Lyon"]


@pytest.mark.parametrize(
    ("word", "title"), [("art", "The party starts"), ("rust", "Trust me"), ("c", "C# and cc"), ("ai", "Said again")]
)
def test_partial_word_does_not_match(word: str, title: str) -> None:
    rules = compile_rules((), [word])
    found = rejection_reason(make_item(title.replace("C#", "D#")), rules, NOW)
    assert found is None


def test_title_summary_text_and_tags_are_searched() -> None:
    rules = compile_rules(["sqlite"])
    assert rejection_reason(make_item(summary="about SQLite"), rules, NOW) is None
    assert rejection_reason(make_item(text="about SQLite"), rules, NOW) is None
    assert rejection_reason(make_item(tags=("databases", "sqlite")), rules, NOW) is None
    assert rejection_reason(make_item(text="x " * MAX_SEARCHED_TEXT + "sqlite"), rules, NOW) is not None


def test_reason_names_the_rule() -> None:
    assert (
        rejection_reason(make_item("Crypto crash"), compile_rules((), ["crypto", "nft"]), NOW)
        == "has the excluded crypto"
    )
    assert rejection_reason(make_item("Crash"), compile_rules((), ["/cr.sh/"]), NOW) == "has the excluded /cr.sh/"
    assert (
        rejection_reason(make_item("News"), compile_rules(["sqlite", "/post.*/"]), NOW)
        == "has none of sqlite, /post.*/"
    )
    assert (
        rejection_reason(make_item(hours=73), compile_rules(max_age=timedelta(hours=72)), NOW) == "older than 72 hours"
    )
    assert rejection_reason(make_item(hours=999), compile_rules(max_age=timedelta(days=7)), NOW) == "older than 7 days"
    assert (
        rejection_reason(make_item("x", summary=GERMAN), compile_rules(language="en"), NOW)
        == "in German, not in English"
    )


def test_exclude_overrides_include() -> None:
    assert (
        rejection_reason(make_item("sqlite and crypto"), compile_rules(["sqlite"], ["crypto"]), NOW)
        == "has the excluded crypto"
    )


def test_blank_terms_are_ignored() -> None:
    assert rejection_reason(make_item(), compile_rules(["", "  "], [" "]), NOW) is None


def test_item_at_max_age_passes() -> None:
    assert rejection_reason(make_item(hours=72), compile_rules(max_age=timedelta(hours=72)), NOW) is None


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ("en", GERMAN, "de"),
        ("de-DE", "Guten Tag", "de"),
        (None, ENGLISH, "en"),
        (None, "SQLite 3.51", None),
        ("en", "SQLite 3.51", "en"),
        ("ca", "El president va dir que la llei no es canviarà i que el govern no ho farà", "ca"),
    ],
)
def test_detected_language_overrides_declared_one(declared: str | None, text: str, expected: str | None) -> None:
    """The text must be long enough to be detected."""
    assert detect_language(make_entry(text, language=declared)) == expected


def test_unknown_language_passes() -> None:
    assert rejection_reason(make_item("SQLite 3.51"), compile_rules(language="en-GB"), NOW) is None


def test_undetectable_language_uses_declared_one() -> None:
    catalan = compile_rules(language="ca")
    assert rejection_reason(make_item("x", summary=ENGLISH, language="ca"), catalan, NOW) is None
    assert rejection_reason(make_item("x", summary=ENGLISH), catalan, NOW) is None
    assert rejection_reason(make_item("x", summary=ENGLISH, language="en"), catalan, NOW) == "in English, not in ca"


@pytest.mark.parametrize("bad", ["/[/", "/(/", "/(?P<a>x)(?P=b)/", "/a{99999999999}/", "/" + "a" * 600 + "/"])
def test_invalid_pattern_is_refused(bad: str) -> None:
    with pytest.raises(InvalidError) as caught:
        compile_rules((), ["fine", bad])
    assert [error.field for error in caught.value.errors] == ["config.exclude"]
    with pytest.raises(InvalidError, match=r"pipeline\.include"):
        compile_rules([bad], field="pipeline")


@pytest.fixture
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_MAX_TIMEOUT", 0.2)


@pytest.mark.usefixtures("short_timeout")
@pytest.mark.parametrize("slow", ["/(a+)+$/", r"/(\w+\s?)+$/"])
def test_catastrophic_pattern_is_refused(slow: str) -> None:
    with pytest.raises(InvalidError, match="takes too long"):
        compile_rules([slow])


@pytest.mark.usefixtures("short_timeout")
def test_pattern_slow_on_one_item_is_reported() -> None:
    """Fast on any repeated letter, so it passes validation, but exponential on its own syllable."""
    rules = compile_rules(["/(?:xy|xyxy)+$/"])
    assert (
        rejection_reason(make_item("xy" * 6000 + "!"), rules, NOW)
        == "the expression /(?:xy|xyxy)+$/ took too long on it"
    )


def test_long_text_costs_no_more() -> None:
    rules = compile_rules(["nothing of it"], ["/x{5}/", "neither"])
    assert_bounded(
        lambda size: make_item("a " * size, text="b" * size), lambda long: rejection_reason(long, rules, NOW), 400_000
    )


@pytest.mark.parametrize(
    ("phrase", "text"),
    [("open source", "Open-Source tools"), ("open-source", "OPEN source"), ("open source", "open\u2011source")],
)
def test_hyphens_match_spaces(phrase: str, text: str) -> None:
    assert Phrases([phrase]).find(fold(text)) == [phrase]


def test_hyphen_at_the_edge_of_a_word_is_part_of_it() -> None:
    assert Phrases(["-draft"]).find("a draft") == []
    assert Phrases(["open source"]).find("open - source and opensource") == []


@pytest.mark.parametrize(
    ("phrase", "text"), [("databases", "a database"), ("database", "two databases"), ("bus", "buses")]
)
def test_singular_and_plural_match(phrase: str, text: str) -> None:
    assert Phrases([phrase]).find(text) == [phrase]


def test_trailing_s_is_not_cut_off() -> None:
    assert Phrases(["css", "boss"]).find("cs and bos") == []
    assert Phrases(["news", "breaking news", "mars"]).find("breaking new ground by the mar") == []
    assert Phrases(["news", "views"]).find("news of a view") == ["news", "views"]


class SlowPattern:
    """A fake compiled pattern: a search takes `seconds` of process time, at most its timeout."""

    pattern = "slow"

    def __init__(self, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.now = seconds, 0.0
        monkeypatch.setattr(filters, "process_time", lambda: self.now)

    def search(self, text: str, *, timeout: float) -> object:
        self.now += min(self.seconds, timeout)
        if self.seconds > timeout:
            raise TimeoutError
        return text


def user_pattern(pattern: SlowPattern) -> UserPattern:
    return UserPattern(cast("Any", pattern))


def test_slow_machine_does_not_fail_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_pattern(SlowPattern(0.9, monkeypatch)).matches("a") is True


def test_normal_pattern_searches_any_number_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = SlowPattern(0.05, monkeypatch)
    pattern = user_pattern(usual)
    assert all(pattern.matches("a") for _ in range(10_000))
    usual.seconds = 0.9
    assert pattern.matches("a") is True


@pytest.mark.parametrize("seconds", [0.9, 600.0])
def test_slow_pattern_is_bounded_over_many_texts(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowPattern(seconds, monkeypatch)
    pattern, given_up = user_pattern(slow), 0
    for _ in range(10_000):
        try:
            pattern.matches("a")
        except PatternTimeoutError:
            given_up += 1
    assert given_up > 9_990
    # Each text is allowed a twentieth of a second; three seconds more are allowed in total.
    assert slow.now == pytest.approx(10_000 * 0.05 + 3, abs=1)
