"""Tests for extracting quotable sentences, source names and the most informative passages."""

import pytest

from copydesk.drafting.extract import select_sentences
from copydesk.drafting.extract.attribution import get_author, get_language, get_source_name, quote
from copydesk.drafting.extract.passages import extract_passages, make_readable
from copydesk.drafting.extract.templates import rotate_templates
from copydesk.drafting.writer import Field
from cost_growth import assert_linear
from drafting_fixtures import make_brief


def quotable_texts(text: str, field: Field = Field.TEXT) -> list[str]:
    return [passage.text for passage in extract_passages(text, field)]


@pytest.mark.parametrize(
    "text",
    [
        "GENEVA, Feb. 17 (Reuters) - The talks went on until late at night.",
        "WASHINGTON — The talks went on until late at night.",
        "Gaborone -- The talks went on until late at night.",
        "[Premium Times] The talks went on until late at night.",
        "(AFP) The talks went on until late at night.",
        "- The talks went on until late at night.",
        "*TL;DR* The talks went on until late at night.",
        "The talks ( https://a.example/x ) went on *until late* at night.",
        "The talks went on \u200cuntil <b>late</b> at\u00ad night .",
    ],
)
def test_prefix_and_markup_are_stripped(text: str) -> None:
    (passage,) = extract_passages(text, Field.TEXT)
    assert passage.text == "The talks went on until late at night."
    assert text[passage.start : passage.end].rstrip(" .").endswith("night")


@pytest.mark.parametrize(
    "text",
    [
        "By Jane Doe and John Smith",
        "(Image credit: Harold Cunningham of Getty)",
        "The post The Talks Went On appeared first on Boston.com.",
        "Listen to this post: the talks went on until late.",
        "Subscribe to our newsletter for all the latest talks.",
        "The talks went on until late and then the…",
        "The talks went on until late and then the...",
        "Officials sit at a long table (left) in Geneva on Tuesday.",
        "As outlined at https://a.example the talks went on until late.",
        "The talks with @someone went on until late at night.",
        "JOSEPH: I think the talks went on until late at night.",
        "and then the talks went on until late at night.",
        "It ended.",
        "if (x) { return talks.late(); } else { goOn(); }",
        "The talks “went on until late at night and nobody left.",
        "Ferguson, Alexander Ferdinand and Haqq-Misra, Jacob Went Home Late.",
        "Heading Of Part\nThe talks went on until late at night.",
    ],
)
def test_unquotable_sentence_is_skipped(text: str) -> None:
    assert quotable_texts(text) == []


def test_summary_may_lack_final_full_stop() -> None:
    bare = "The talks went on until late at night in Geneva"
    assert quotable_texts(bare, Field.SUMMARY) == [bare]
    assert quotable_texts(bare, Field.TEXT) == []
    assert quotable_texts(bare + " with", Field.SUMMARY) == []


def test_readable_text_is_one_line_with_joiners() -> None:
    assert make_readable("a\n\n b\t c") == "a b c"
    assert make_readable("می\u200cخواهم 👨‍👩‍👧") == "می\u200cخواهم 👨‍👩‍👧"
    assert make_readable("5 < 6 and <dialog> 2 * 3") == "5 < 6 and <dialog> 2 * 3"


def test_link_in_brackets_is_left_out_with_the_space_before_it() -> None:
    assert make_readable("The bridge \u2003(https://a.example/b) opens") == "The bridge opens"


def test_wide_spaces_take_linear_time() -> None:
    assert_linear(lambda size: "a" + "\u2003" * size + "b https://a.example", make_readable, 16_000)


@pytest.mark.parametrize(
    ("source", "url", "name"),
    [
        ("BBC News", "https://www.bbc.com/news/1", "BBC News"),
        ("Al Jazeera – Breaking News and Video from Al Jazeera", "https://www.aljazeera.com/1", "Al Jazeera"),
        ("BBC News - World", "https://www.bbc.co.uk/news/1", "BBC"),
        ("NYT > World News", "https://www.nytimes.com/1", "NYT"),
        ("World - CBSNews.com", "https://www.cbsnews.com/1", "CBSNews.com"),
        ("Japan Today - Category World", "https://japantoday.com/1", "Japan Today"),
        ("NDTV News Search Records Found 1000", "https://www.ndtv.com/1", "NDTV"),
        ("World News: Breaking news, politics, crime, tech, and more", "https://www.boston.com/1", "boston.com"),
        ("Top Stories", "https://www.abc.net.au/1", "abc.net.au"),
        ("EL PAÍS in English", "https://english.elpais.com/1", "EL PAÍS"),
        ("Rest of World -", "https://restofworld.org/1", "Rest of World"),
        ("Blog - Ardour", "https://discourse.ardour.org/1", "Ardour"),
        ("Jonathon Belotti [thundergolfer]", "https://thundergolfer.com/1", "Jonathon Belotti"),
        ("the singularity is nearer", "https://geohot.github.io/1", "the singularity is nearer"),
        ("A name of so many words that nobody would say them all", None, "A name of so many words that nobody woul"),
        ("", "https://a.example/1", "a.example"),
        ("https://feeds.example/a.xml", "https://www.a.example/1", "a.example"),
        ("https://feeds.example/a.xml", None, "feeds.example"),
        ("TheWeek feed", "https://theweek.com/1", "TheWeek"),
        ("RSS Feed", "https://www.gazette.example/1", "gazette.example"),
        ("Asia (The Economist)", "https://www.economist.com/1", "The Economist"),
        ("Blog | Harbour Tools", "https://harbourtools.example/1", "Harbour Tools"),
        ("Posts on Ana Ruiz", "https://ana.example/1", "Ana Ruiz"),
        ("Quayside RSS", "https://blogs.example/1", "Quayside"),
        ("技術新報 - 最新記事", "https://gijutsu.example/1", "技術新報"),
        ("Release notes from Quarry", "https://git.example/1", "Quarry"),
        ("Nachrichten - Die Küste", "https://www.diekueste.example/1", "Die Küste"),
        ("Die Küste - Nachrichten", "https://www.diekueste.example/1", "Die Küste"),
        ("Stadtrat – Die Küste", "https://www.diekueste.example/1", "Die Küste"),
        ("Neues aus dem Rat - Nachrichten", "https://www.stadt.example/1", "Neues aus dem Rat"),
        ("Nachrichten – Zürich", "https://www.stadt.example/1", "Nachrichten – Zürich"),
        ("Nachrichten – Zürich", None, "Nachrichten – Zürich"),
        ("Stadtrat – Protokolle", "https://www.rathaus.example/1", "Stadtrat – Protokolle"),
        ("Actualités | Lyon 3e", "https://mairie.example/1", "Actualités | Lyon 3e"),
        ("Noticias — Barrio Sur", "https://vecinos.example/1", "Noticias — Barrio Sur"),
        ("Новости – Северный берег", "https://bereg.example/1", "Новости – Северный берег"),
        ("ニュース | 渋谷", "https://machi.example/1", "ニュース | 渋谷"),
        ("Local news - my street", "https://council.example/1", "Local news - my street"),
    ],
)  # fmt: skip
def test_source_name_is_shortened(source: str, url: str | None, name: str) -> None:
    assert get_source_name(make_brief(source_name=source, url=url)) == name


@pytest.mark.parametrize(
    ("name", "credited"),
    [
        ("The Quay: notes from the harbour", "The Quay: notes from the harbour"),
        ("The Quay – everything that the harbour office has to say", None),
        ("https://quay.example/feed", "quay.example"),
        ("", "quay.example"),
        ("The Quay – " + "all that the harbour office has to say " * 2, "The Quay"),
    ],
)
def test_name_given_by_the_user_stays_whole_if_it_reads_as_a_name(name: str, credited: str | None) -> None:
    brief = make_brief(source_name=name, url="https://quay.example/1", source_named_by_user=True)
    assert get_source_name(brief) == (name if credited is None else credited)


def test_aggregator_is_not_the_source() -> None:
    hacker_news = make_brief(source_name="Hacker News", source_type="hackernews", url="https://blog.example/x")
    assert get_source_name(hacker_news) == "blog.example"
    discussion = make_brief(
        source_name="Ask HN", source_type="hackernews", url="https://news.ycombinator.com/item?id=1"
    )
    assert get_source_name(discussion) == "Ask HN"
    tweet = make_brief(source_name="X list", source_type="twitter", author="Ana Ruiz", url="https://x.com/ana/1")
    assert get_source_name(tweet) == "Ana Ruiz"
    news = make_brief(source_name="sqlite", source_type="google_news", publisher="The Register")
    assert get_source_name(news) == "The Register"


def test_nested_quotation_uses_inner_marks() -> None:
    assert quote('He said "yes" and "no" (“maybe”).', "en") == "“He said ‘yes’ and ‘no’ (‘maybe’).”"
    assert quote("Il dit « oui ».", "fr") == "«\xa0Il dit “oui”.\xa0»"
    assert quote("はい「いいえ」", "ja") == "「はい『いいえ』」"


@pytest.mark.parametrize(
    ("declared", "title", "language"),
    [
        ("en-GB", "Library opens", "en"),
        ("de", "Bohrer", "de"),
        # A long text tells better than the default of the feed's software.
        ("en-us", "Die Stadt eröffnet eine Bibliothek der Dinge am Fluss und verleiht Bohrer", "de"),
        (None, "La ville ouvre une bibliothèque des objets sur le quai et prête des perceuses", "fr"),
        (None, "SQLite", None),
        ("sw", "Maktaba ya vitu imefunguliwa mjini kando ya mto jana jioni", "sw"),
    ],
)
def test_language_is_detected_or_declared(declared: str | None, title: str, language: str | None) -> None:
    assert get_language(make_brief(language=declared, title=title, summary="", text="")) == language


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ("Jane Doe", "Jane Doe"),
        ("admin", ""),
        ("jane@river.example", ""),
        ("Jane Doe, Ana Ruiz", ""),
        ("BBC", ""),
        (None, ""),
    ],
)
def test_author_is_a_persons_name(author: str | None, name: str) -> None:
    assert get_author(make_brief(author=author)) == name


def test_best_sentences_are_central() -> None:
    text = (
        "It had rained all morning over the hills and the fields. "
        "The new bridge over the river carries trams, bicycles and people on foot. "
        "Engineers tested the bridge with 40 loaded trams on Monday."
    )
    passages = extract_passages(text, Field.TEXT)
    scored = select_sentences.score_passages(passages, "New tram bridge opens over the river", "en")
    chosen = [choice.passage.text for choice in sorted(scored, key=lambda choice: -choice.score)]
    assert chosen[0].startswith("The new bridge")
    assert chosen[1].startswith("Engineers")


def test_templates_rotate_by_seed() -> None:
    frames = ["a", "b", "c", "d"]
    firsts = [rotate_templates(frames, str(n))[0] for n in range(40)]
    assert set(firsts) == set(frames)
    assert rotate_templates(frames, "x") == rotate_templates(frames, "x")
    assert sorted(rotate_templates(frames, "x")) == frames
