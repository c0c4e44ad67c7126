"""Which items are left out, and what the user is told about it."""

from datetime import timedelta

import pytest

from copydesk.errors import InvalidError
from copydesk.ranking.filters import MAX_TEXT, compile_rules, judge, language_of
from copydesk.ranking.phrases import Phrases
from growth import assert_no_dearer
from ranking_items import NOW, entry, item

GERMAN = "Die Regierung hat am Dienstag angekündigt, dass das Gesetz nicht vor Ende des Jahres geändert wird."
ENGLISH = "The government said on Tuesday that it will not change the law before the end of the year."


def test_without_rules_everything_passes() -> None:
    assert judge(item(), compile_rules(), NOW) is None


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
def test_a_word_is_found_whatever_its_case_and_accents(word: str, title: str) -> None:
    assert judge(item(title), compile_rules([word]), NOW) is None
    assert judge(item(title), compile_rules((), [word]), NOW) is not None


@pytest.mark.parametrize(
    ("word", "title"), [("art", "The party starts"), ("rust", "Trust me"), ("c", "C# and cc"), ("ai", "Said again")]
)
def test_a_part_of_a_word_is_not_that_word(word: str, title: str) -> None:
    rules = compile_rules((), [word])
    found = judge(item(title.replace("C#", "D#")), rules, NOW)
    assert found is None


def test_words_are_looked_for_in_title_summary_text_and_tags() -> None:
    rules = compile_rules(["sqlite"])
    assert judge(item(summary="about SQLite"), rules, NOW) is None
    assert judge(item(text="about SQLite"), rules, NOW) is None
    assert judge(item(tags=("databases", "sqlite")), rules, NOW) is None
    assert judge(item(text="x " * MAX_TEXT + "sqlite"), rules, NOW) is not None


def test_the_reason_names_the_rule() -> None:
    assert judge(item("Crypto crash"), compile_rules((), ["crypto", "nft"]), NOW) == "has the excluded crypto"
    assert judge(item("Crash"), compile_rules((), ["/cr.sh/"]), NOW) == "has the excluded /cr.sh/"
    assert judge(item("News"), compile_rules(["sqlite", "/post.*/"]), NOW) == "has none of sqlite, /post.*/"
    assert judge(item(hours=73), compile_rules(max_age=timedelta(hours=72)), NOW) == "older than 72 hours"
    assert judge(item(hours=999), compile_rules(max_age=timedelta(days=7)), NOW) == "older than 7 days"
    assert judge(item("x", summary=GERMAN), compile_rules(language="en"), NOW) == "in German, not in English"


def test_exclude_beats_include() -> None:
    assert judge(item("sqlite and crypto"), compile_rules(["sqlite"], ["crypto"]), NOW) == "has the excluded crypto"


def test_blank_words_are_no_rule() -> None:
    assert judge(item(), compile_rules(["", "  "], [" "]), NOW) is None


def test_an_item_exactly_at_the_age_passes() -> None:
    assert judge(item(hours=72), compile_rules(max_age=timedelta(hours=72)), NOW) is None


@pytest.mark.parametrize(
    ("declared", "text", "told"),
    [
        ("en", GERMAN, "de"),
        ("de-DE", "Guten Tag", "de"),
        (None, ENGLISH, "en"),
        (None, "SQLite 3.51", None),
        ("en", "SQLite 3.51", "en"),
        ("ca", "El president va dir que la llei no es canviarà i que el govern no ho farà", "ca"),
    ],
)
def test_long_text_tells_its_language_better_than_the_feed(declared: str | None, text: str, told: str | None) -> None:
    assert language_of(entry(text, language=declared)) == told


def test_an_item_of_unknown_language_passes() -> None:
    assert judge(item("SQLite 3.51"), compile_rules(language="en-GB"), NOW) is None


def test_a_language_that_text_cannot_tell_is_asked_of_the_feed_alone() -> None:
    catalan = compile_rules(language="ca")
    assert judge(item("x", summary=ENGLISH, language="ca"), catalan, NOW) is None
    assert judge(item("x", summary=ENGLISH), catalan, NOW) is None
    assert judge(item("x", summary=ENGLISH, language="en"), catalan, NOW) == "in English, not in ca"


@pytest.mark.parametrize("bad", ["/[/", "/(/", "/(?P<a>x)(?P=b)/", "/a{99999999999}/", "/" + "a" * 600 + "/"])
def test_what_is_no_expression_is_refused_by_name(bad: str) -> None:
    with pytest.raises(InvalidError) as caught:
        compile_rules((), ["fine", bad])
    assert [each.field for each in caught.value.errors] == ["config.exclude"]
    with pytest.raises(InvalidError, match=r"pipeline\.include"):
        compile_rules([bad], field="pipeline")


@pytest.mark.parametrize("slow", ["/(a+)+$/", r"/(\w+\s?)+$/"])
def test_an_expression_that_may_take_for_ever_is_refused(slow: str) -> None:
    with pytest.raises(InvalidError, match="takes too long"):
        compile_rules([slow])


def test_an_expression_that_is_slow_on_one_item_ends_and_says_so() -> None:
    """It is quick on any one letter again and again, and takes for ever on its own syllable."""
    rules = compile_rules(["/(?:xy|xyxy)+$/"])
    assert judge(item("xy" * 6000 + "!"), rules, NOW) == "the expression /(?:xy|xyxy)+$/ took too long on it"


def test_text_of_any_length_is_judged_by_its_beginning() -> None:
    rules = compile_rules(["nothing of it"], ["/x{5}/", "neither"])
    assert_no_dearer(lambda size: item("a " * size, text="b" * size), lambda each: judge(each, rules, NOW), 400_000)


@pytest.mark.parametrize(
    ("wanted", "text"), [("databases", "a database"), ("database", "two databases"), ("bus", "buses")]
)
def test_singular_and_plural_are_one_word(wanted: str, text: str) -> None:
    assert Phrases([wanted]).found(text) == [wanted]


def test_a_word_that_ends_in_s_is_not_cut_short() -> None:
    assert Phrases(["css", "boss"]).found("cs and bos") == []
