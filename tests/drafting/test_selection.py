"""Tests of which sentence of small items in several languages is quoted, or that none is."""

import asyncio
from typing import Any

import pytest

from copydesk.drafting.offline_writer import OfflineWriter
from copydesk.drafting.writer import Field
from copydesk.errors import DeclinedError, DeclineReason
from copydesk.model.draft import Format
from drafting_fixtures import make_brief, make_voice

ITEMS = {
    "en": (
        "A library for drills",
        (
            "Welcome back to the quay notes! In this post I look at what people borrow. This surprised everybody. "
            "“We lend what people use once a year,” says its founder. "
            "We repair what comes back broken. Who would buy a drill?"
        ),
        "The library of things in Lyon lends 1,200 tools and tents for two euros a week.",
    ),
    "de": (
        "Bibliothek für Bohrer",
        (
            "Willkommen zurück am Kai! In diesem Beitrag geht es um geliehene Dinge. Das hat alle überrascht. "
            "Wir reparieren jeden Donnerstag kaputte Bohrer. Wer kauft noch einen Bohrer für ein einziges Regal?"
        ),
        "Die Bibliothek der Dinge verleiht in Lyon 1200 Werkzeuge für zwei Euro in der Woche.",
    ),
    "fr": (
        "Une bibliothèque de perceuses",
        (
            "Bienvenue sur le quai ! Dans cet article, il est question de prêts. Cela a surpris toute la ville hier. "
            "Nous réparons les perceuses chaque jeudi soir. Qui achète encore une perceuse pour une étagère ?"
        ),
        "La bibliothèque d’objets de Lyon prête 1 200 outils et tentes pour deux euros par semaine.",
    ),
    "es": (
        "Biblioteca de taladros",
        (
            "Te contamos cómo se prestan las cosas en Lyon. Esto sorprendió a todo el mundo en la ciudad. "
            "Sin embargo, el ayuntamiento votó en contra. Nuestros socios reparan los taladros los jueves por la tarde."
        ),
        "La biblioteca de objetos de Lyon presta 1.200 herramientas por dos euros a la semana.",
    ),
    "it": (
        "Biblioteca di trapani",
        (
            "Ecco come funziona il prestito degli oggetti a Lione. Questo ha sorpreso tutti in città. "
            "Inoltre il comune ha votato contro il progetto. La nostra officina ripara i trapani ogni giovedì."
        ),
        "La biblioteca degli oggetti di Lione presta 1.200 attrezzi per due euro alla settimana.",
    ),
    "pt": (
        "Biblioteca de furadeiras",
        (
            "Saiba como funciona o empréstimo de objetos em Lyon. Isso surpreendeu todo o mundo na cidade. "
            "No entanto, a câmara votou contra o projeto. A nossa oficina repara as furadeiras à quinta-feira."
        ),
        "A biblioteca de objetos de Lyon empresta 1.200 ferramentas por dois euros por semana.",
    ),
    "nl": (
        "Bibliotheek voor boren",
        (
            "Welkom terug op de kade! In dit artikel gaat het over lenen. Dat heeft iedereen in de stad verrast. "
            "Wij repareren elke donderdag kapotte boren. Wie koopt er nog een boor voor een enkele plank?"
        ),
        "De bibliotheek van dingen in Lyon leent 1200 stuks gereedschap uit voor twee euro per week.",
    ),
    "ja": (
        "工具を借りる",
        (
            "こんにちは、川岸通信です。この記事では貸し出しについて紹介します。これには誰もが驚きました。"
            "私たちは毎週木曜日に工具を修理しています。棚一つのためにドリルを買う人がいるでしょうか？"
        ),
        "リヨンの物の図書館は千二百点の工具とテントを週二ユーロで貸し出している。",
    ),
    "zh": (
        "借用工具",
        (
            "欢迎回到河岸通讯。本文将介绍物品的借用情况。这让城里的所有人都感到惊讶。"
            "我们每周四修理损坏的工具和帐篷。谁还会为了一个架子去买一台电钻呢？"
        ),
        "里昂物品图书馆以每周两欧元的价格出借一千二百件工具和帐篷。",
    ),
}


def quoted(language: str, text: str) -> list[str]:
    title = ITEMS[language][0]
    draft = asyncio.run(OfflineWriter().write(make_brief(title=title, summary="", text=text, language=None)))
    return [trace.text for trace in draft.sentences if trace.field is Field.TEXT]


@pytest.mark.parametrize("language", ITEMS)
def test_sentence_that_reads_well_alone_is_quoted(language: str) -> None:
    _, chatter, good = ITEMS[language]
    assert quoted(language, f"{chatter} {good}") == [good]
    assert quoted(language, f"{good}\n\n{chatter}") == [good]


@pytest.mark.parametrize("language", ITEMS)
def test_item_without_such_a_sentence_is_declined(language: str) -> None:
    with pytest.raises(DeclinedError) as caught:
        quoted(language, ITEMS[language][1])
    assert caught.value.reason is DeclineReason.NOTHING_TO_QUOTE


@pytest.mark.parametrize("title", ["About me", "Comment on Drills by Ana", "Live: the vote", "Genius drill hack"])
@pytest.mark.parametrize("format", [Format.SHORT, Format.THREAD])
def test_page_that_is_no_story_is_declined_whatever_its_text(title: str, format: Format) -> None:
    with pytest.raises(DeclinedError, match="Nothing to quote"):
        asyncio.run(OfflineWriter().write(make_brief(format, title=title)))


def write_short(title: str, summary: str, **changes: Any) -> str:
    return asyncio.run(OfflineWriter().write(make_brief(title=title, summary=summary, text="", **changes))).text


def test_sentence_below_topic_names_something() -> None:
    summary = "Ana Ruiz lends tools to 400 neighbours in Lyon for two euros a week."
    assert f"“{summary}”" in write_short("Growing slowly with neighbours", summary)


@pytest.mark.parametrize(
    ("title", "summary"),
    [
        ("Growing slowly, staying small", "A more sustainable way of doing business is possible."),
        ("Growing slowly with neighbours", "Growing with the neighbours is what keeps a library of tools alive."),
        ("Kindness grows slowly", "Kindness grows slowly in teams that measure the wrong thing."),
    ],
)
def test_topic_and_general_sentence_are_declined(title: str, summary: str) -> None:
    with pytest.raises(DeclinedError, match="Nothing to quote"):
        write_short(title, summary)


def test_answer_to_a_question_may_be_general() -> None:
    answer = "Kombucha turns to vinegar when it ferments for too long or too warm."
    assert f"“{answer}”" in write_short("Why does kombucha taste of vinegar?", answer)


def test_short_title_alone_needs_a_name_or_number() -> None:
    assert "Helsinki opens a second library of tools" in write_short("Helsinki opens a second library of tools", "")
    assert "A library in Lyon lends tools" in write_short("A library in Lyon lends tools", "")
    for title in ("Tools are for everybody", "Libraries Are Getting Tools", "Our tools are now open to everybody!"):
        with pytest.raises(DeclinedError, match="Nothing to quote"):
            write_short(title, "")


def test_version_of_a_release_is_not_left_out() -> None:
    text = write_short("Toolbox 4.0.1", "Toolbox now stores the tools of 400 neighbours in Lyon in one file.")
    assert text.startswith(("Toolbox 4.0.1", "River News: Toolbox 4.0.1")), text


def test_very_short_sentence_is_quoted_only_with_a_number() -> None:
    with pytest.raises(DeclinedError, match="Nothing to quote"):
        write_short("Drills of Lyon", "The drills of Lyon were blamed.")
    assert "“The drills of Lyon cost 400 euros.”" in write_short("Drills of Lyon", "The drills of Lyon cost 400 euros.")


def test_habit_of_the_author_is_no_news() -> None:
    with pytest.raises(DeclinedError, match="Nothing to quote"):
        write_short("Drills and tools", "I use the drills and tools of the library in Lyon daily.")
    assert "I used the drills" in write_short("Drills and tools", "I used the drills and tools on 300 days last year.")


def test_title_that_says_we_is_quoted() -> None:
    summary = "Quay Works has stored the catalogue of its tools in Tidewater since 2021."
    title = "Why we pay for a database"
    assert f"“{title}”" in write_short(title, summary)


def test_thread_of_parts_without_number_or_name_is_declined() -> None:
    parts = "The library lends drills to its neighbours. {}Members of the library repair them in the evening."
    story = {"title": "The library lends drills to its neighbours", "summary": ""}
    text = parts.format("A world of tents and ladders fills the bakery. ")
    with pytest.raises(DeclinedError, match="Too little text for a thread"):
        asyncio.run(OfflineWriter().write(make_brief(Format.THREAD, text=text, **story)))
    text = parts.format("Some 900 tents and ladders fill the bakery of Lyon. ").replace("the evening", "March")
    assert asyncio.run(OfflineWriter().write(make_brief(Format.THREAD, text=text, **story)))


def test_dateline_with_the_name_of_the_source_is_left_out() -> None:
    summary = "LYON, Feb 14 (River News) - The library of things resumed lending on Saturday after a strike."
    assert "“The library of things resumed" in write_short("Library in Lyon reopens", summary)


def test_link_is_left_out_only_if_hardly_a_sentence_fits_beside_it() -> None:
    title, members = (
        "Which tools your library may lend",
        "The library of things in Lyon lends 400 drills to its members",
    )
    long = f"{members}, and " + "saws, tents, ladders and canoes " * 6 + "to their neighbours."
    with pytest.raises(DeclinedError):
        write_short(title, long)
    text = write_short(title, f"{members}.", url="https://a.example/" + "a" * 300, voice=make_voice(max_length=150))
    assert "a.example" not in text
