"""Tests for the rules that tell if a sentence or a title reads well alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.drafting.extract.standalone import Flaw, TitleFlaw, find_flaw, find_title_flaw, is_first_person
from copydesk.text.language import LANGUAGES
from cost_growth import assert_linear

SOUND = [
    ("en", "Some people in Lyon borrow a drill for a single shelf."),
    ("en", "The library is important for the 400 members in Lyon."),
    ("en", "Everybody knows the rule that 3 drills make a party."),
    ("en", "The library in Lyon keeps none of the 12 proposed opening hours."),
    ("en", "Each of the two hundred members in Lyon has borrowed a drill."),
    ("en", "The city opened a library of things on Tuesday, where people borrow drills."),
    ("en", "Mr Ruiz said that he was content with the plan of the council."),
    ("en", "Prices rose by 4 percent this year, the statistics office says."),
    ("en", "There are 400 members in the library on the quay."),
    ("en", "When it comes to drills, the library has the largest collection in Lyon."),
    ("en", "High winds in Lyon have closed the library on the quay."),
    ("en", "Howard Ruiz has lent 400 drills to the library in Lyon."),
    ("en", "Notebooks with 40 pages are lent by the library in Lyon."),
    ("de", "Die Stadt hat am Dienstag eine Bibliothek der Dinge eröffnet."),
    ("de", "Liebermann verkaufte der Stadt das Haus am Fluss im Jahr 1933."),
    ("de", "Das Rathaus zahlt die Miete der Bücherei bis zum Jahr 2028."),
    ("fr", "La ville a ouvert mardi une bibliothèque d’objets au bord du fleuve."),
    ("fr", "Les habitants réparent le jeudi soir tout ce qui revient cassé."),
    ("es", "El ayuntamiento abrió el martes una biblioteca de objetos junto al río."),
    ("es", "Holanda anuncia un plan de 400 millones para los diques."),
    ("es", "Visitantes de Lyon prestaron 40 taladros a la biblioteca."),
    ("it", "Il comune ha aperto martedì una biblioteca degli oggetti lungo il fiume."),
    ("pt", "A prefeitura abriu na terça-feira uma biblioteca de objetos à beira do rio."),
    ("nl", "Leeszaal West krijgt 40.000 euro van de stad Rotterdam."),
    ("nl", "De stad opende dinsdag een bibliotheek van dingen aan de rivier."),
    ("ja", "市は火曜日に物の図書館を開きました。"),
    ("zh", "里昂市周二开设了一座物品图书馆。"),
]

FLAWED = [
    ("en", "The library lends drills, tents and more to everybody!", Flaw.EXCLAMATION),
    ("en", "Some people get energized by a drill and a visit to the library.", Flaw.GENERALITY),
    ("en", "There is a button for hiding tools on the page of the library.", Flaw.GENERALITY),
    ("en", "Solution: the library needs to update its members regularly.", Flaw.LEFTOVER),
    ("en", "Most people in Lyon never borrow a drill from anybody.", Flaw.GENERALITY),
    ("en", "The two jobs of a librarian are hard but tractable.", Flaw.OPINION),
    ("en", "A lent drill is way better than a drill of your own in Lyon.", Flaw.OPINION),
    ("en", "In Lyon you should borrow a drill before 9 o’clock.", Flaw.OPINION),
    ("en", "The Lyon library comes loaded with 400 tools.", Flaw.PROMOTION),
    ("en", "The drill is available now for members in Lyon and Nice.", Flaw.ANNOUNCEMENT),
    ("en", "Know where the drills of the Lyon library are.", Flaw.ADDRESS),
    ("en", "On a ruling in The Hague, and on meters", Flaw.FRAGMENT),
    ("en", "A library, a million drills, a workshop, a quay.", Flaw.FRAGMENT),
    ("en", "Following are key facts about the theft of tools from the library.", Flaw.ANNOUNCEMENT),
    ("en", "I’ve noticed that he likes the rule of the library, having brought it up five times.", Flaw.DANGLING),
    ("en", "This makes the library the first of its kind in Europe.", Flaw.DANGLING),
    ("en", "He expects more members in the autumn.", Flaw.DANGLING),
    ("en", "The council, however, was against the plan.", Flaw.DANGLING),
    ("en", "After a debate of six hours he gave in to the council.", Flaw.DANGLING),
    ("en", "The first of these drills came from a neighbour.", Flaw.DANGLING),
    ("en", "Last time the library was closed on Sundays.", Flaw.DANGLING),
    ("en", "Every one of the 38 opened afterwards.", Flaw.DANGLING),
    ("en", "Every one of the 38 opened.", Flaw.DANGLING),
    ("en", "The council voted for it.", Flaw.DANGLING),
    ("en", "In this post I look at libraries of things.", Flaw.ANNOUNCEMENT),
    ("en", "A look at the libraries of things that opened in spring.", Flaw.ANNOUNCEMENT),
    ("en", "We’d like to give an update on the library.", Flaw.ANNOUNCEMENT),
    ("en", "Congratulations to the library of Lyon on its first year.", Flaw.ANNOUNCEMENT),
    ("en", "Episode 12 tells how the library of Lyon was founded.", Flaw.ANNOUNCEMENT),
    ("en", "Check out the catalogue of drills and tents.", Flaw.ADDRESS),
    ("en", "Your browser does not support the video tag.", Flaw.ADDRESS),
    ("en", "What does a drill cost for a week?", Flaw.QUESTION),
    ("en", "“We lend what people use once a year,” said its founder.", Flaw.NESTED_QUOTATION),
    ("en", "Our members repair what comes back broken.", Flaw.SPEAKS_AS_GROUP),
    ("en", "The mayor called the council a bunch of assholes.", Flaw.OFFENSIVE),
    ("en", "The library | opening hours and contact of the quay.", Flaw.LEFTOVER),
    ("en", "The library has more drills than any other.2 A loan costs little.", Flaw.LEFTOVER),
    ("de", "Damit ist die Bücherei die erste ihrer Art in Europa.", Flaw.DANGLING),
    ("de", "Das ist die erste Bücherei ihrer Art in Europa.", Flaw.DANGLING),
    ("de", "In diesem Artikel geht es um Büchereien der Dinge.", Flaw.ANNOUNCEMENT),
    ("de", "Jetzt den Katalog der Bücherei entdecken.", Flaw.ADDRESS),
    ("de", "Mit Bohrern kennen wir uns seit Jahren aus.", Flaw.SPEAKS_AS_GROUP),
    ("fr", "Cette bibliothèque est la première en Europe.", Flaw.DANGLING),
    ("fr", "Il prévoit une seconde bibliothèque à l’automne.", Flaw.DANGLING),
    ("fr", "Découvrez la bibliothèque des objets de Lyon.", Flaw.ANNOUNCEMENT),
    ("fr", "Dans la ville, nous réparons les perceuses le jeudi.", Flaw.SPEAKS_AS_GROUP),
    ("es", "Sin embargo, el ayuntamiento votó en contra del plan.", Flaw.DANGLING),
    ("es", "Te contamos cómo funciona la biblioteca de objetos.", Flaw.ANNOUNCEMENT),
    ("es", "La biblioteca de nuestra ciudad presta taladros.", Flaw.SPEAKS_AS_GROUP),
    ("it", "Questo rende la biblioteca la prima in Europa.", Flaw.DANGLING),
    ("it", "Ecco la biblioteca degli oggetti di Lione.", Flaw.ANNOUNCEMENT),
    ("pt", "Isso torna a biblioteca a primeira da Europa.", Flaw.DANGLING),
    ("pt", "Confiram as 400 ferramentas da biblioteca de Lyon.", Flaw.ANNOUNCEMENT),
    ("pt", "Participem da abertura da biblioteca de Lyon.", Flaw.ADDRESS),
    ("es", "Leer más sobre la biblioteca de objetos de Lyon.", Flaw.ANNOUNCEMENT),
    ("nl", "Daarmee is de bibliotheek de eerste in Europa.", Flaw.DANGLING),
    ("ja", "これにより図書館は欧州初となりました。", Flaw.DANGLING),
    ("ja", "物の図書館について解説します。", Flaw.ANNOUNCEMENT),
    ("zh", "这使图书馆成为欧洲第一家。", Flaw.DANGLING),
    ("zh", "我们在周四修理坏掉的工具。", Flaw.SPEAKS_AS_GROUP),
]


@pytest.mark.parametrize(("language", "sentence"), SOUND)
def test_sound_sentence_has_no_flaw(language: str, sentence: str) -> None:
    assert find_flaw(sentence, language) is None


@pytest.mark.parametrize(("language", "sentence", "flaw"), FLAWED)
def test_flaw_is_found(language: str, sentence: str, flaw: Flaw) -> None:
    assert find_flaw(sentence, language) is flaw


@pytest.mark.parametrize(
    ("title", "flaw"),
    [
        ("City opens a library of things on the quay", None),
        ("SQLite turns 26", TitleFlaw.NO_STATEMENT),
        ("Shooter in Canada kills 9 people and injures 25 others", None),
        ("Show HN: Quay – a terminal client for libraries of things", None),
        ("Search results", TitleFlaw.NO_STORY),
        ("Quay 8.6 released", TitleFlaw.NO_STATEMENT),
        ("The tram that runs on salt from the mine", TitleFlaw.NO_STATEMENT),
        ("A lamp from the bridge, and a telephone call", TitleFlaw.NO_STATEMENT),
        ("The day the bridge opened, told by its keeper", TitleFlaw.TEASER),
        ("Former envoy discusses the talks on the quay", TitleFlaw.TEASER),
        ("Seven things we learned at the library", TitleFlaw.TEASER),
        ("Announcing Quay 7: lending is faster now", TitleFlaw.NO_STORY),
        ("Quay Works named a Leader in the 2026 comparison", TitleFlaw.NO_STORY),
        ("Ledger Live: join us for an evening on lending", TitleFlaw.NO_STORY),
        ("The mayor has resigned. And, drills are set to cost more", TitleFlaw.NO_STORY),
        ("About me", TitleFlaw.NO_STORY),
        ("Horóscopo de hoy, martes 17 de febrero", TitleFlaw.NO_STORY),
        ("Quay Works is hiring a database engineer", TitleFlaw.NO_STORY),
        ("Quay Awards: nominations now open!", TitleFlaw.NO_STORY),
        ("AD | A set of pans worth £320", TitleFlaw.NO_STORY),
        ("12/18: Evening News", TitleFlaw.NO_STORY),
        ("Celebrity chef slammed over a post", TitleFlaw.CLICKBAIT),
        ("Ana Ruiz shares how a flood moved her to lend drills", TitleFlaw.TEASER),
        ("Micro8088 build", TitleFlaw.NO_STATEMENT),
        ("Comment on A library of things by Ana", TitleFlaw.NO_STORY),
        ("By: Ana Ruiz", TitleFlaw.NO_STORY),
        ("Live: council votes on the plan", TitleFlaw.NO_STORY),
        ("Live - council votes on the plan", TitleFlaw.NO_STORY),
        ("Live-in librarians win a suit against the council", None),
        ("Miscellaneous updates", TitleFlaw.NO_STORY),
        ("[Sponsor] The best drills of the year are here", TitleFlaw.NO_STORY),
        ("Open thread 214", TitleFlaw.NO_STORY),
        ("Links: seagrass, sodium, substations", TitleFlaw.NO_STORY),
        ("Author Correction: Drift of plastics in the sea", TitleFlaw.NO_STORY),
        ("#209 – The bridge that turns", TitleFlaw.TEASER),
        ("Comments are back", TitleFlaw.NO_STATEMENT),
        ("Council calls mayor an asshole", TitleFlaw.OFFENSIVE),
        ("How a city learned to lend drills", TitleFlaw.TEASER),
        ("7 things you did not know about drills", TitleFlaw.TEASER),
        ("Is the library of things worth its price?", TitleFlaw.TEASER),
        ("You won't believe what this library lends", TitleFlaw.CLICKBAIT),
        ("7 things to borrow (No. 4 is terrifying)", TitleFlaw.CLICKBAIT),
        ("The drill is back. Here is what changed", TitleFlaw.TEASER),
        ("Smartphones and being present", TitleFlaw.NO_STATEMENT),
        ("Five years of tinygrad", TitleFlaw.NO_STATEMENT),
        ("Drills", TitleFlaw.NO_STATEMENT),
        ("New drill could one day help doctors", TitleFlaw.NO_STATEMENT),
        ("New features in the Quay browser for libraries", TitleFlaw.NO_STATEMENT),
        ("Apple Earnings, Supply Chain Speculation, China and Industrial Design", TitleFlaw.NO_STATEMENT),
        ("Ana Ruiz, the librarian whose drills have taken over Lyon", TitleFlaw.NO_STATEMENT),
        ("How Northbank cut its bills by 38% with Quay", TitleFlaw.NO_STORY),
        ("Introducing Quay Insights: lending is faster now", TitleFlaw.NO_STORY),
        ("Road closure: Mill Lane is shut from Monday", TitleFlaw.NO_STORY),
        ("Russia-Ukraine war: list of key events, day 1,455", TitleFlaw.NO_STORY),
        ("Library awarded $2.1M grant to study drills", TitleFlaw.NO_STORY),
    ],
)
def test_title_alone(title: str, flaw: TitleFlaw | None) -> None:
    assert find_title_flaw(title, "en") is flaw


@pytest.mark.parametrize(
    ("language", "title", "flaw"),
    [
        ("de", "Stadt eröffnet Bibliothek der Dinge am Fluss", None),
        ("de", "Warum die Stadt Bohrer verleiht und Zelte repariert", TitleFlaw.TEASER),
        ("de", "Über uns", TitleFlaw.NO_STORY),
        ("de", "Newsblog: Alles zum Streit um die Bohrer", TitleFlaw.NO_STORY),
        ("de", "Schulhof wegen Glätte gesperrt", TitleFlaw.NO_STORY),
        ("es", "Lotería: resultados del miércoles", TitleFlaw.NO_STORY),
        ("de", "Neue Bohrer am Fluss", TitleFlaw.NO_STATEMENT),
        ("fr", "Les plus belles photos de la grande marée", TitleFlaw.NO_STORY),
        ("fr", "La ville ouvre une bibliothèque d’objets", None),
        ("fr", "Voici les meilleurs outils de la bibliothèque", TitleFlaw.TEASER),
        ("es", "Última hora de la borrasca, en directo", TitleFlaw.NO_STORY),
        ("es", "Así funciona la biblioteca de objetos", TitleFlaw.TEASER),
        ("ja", "リヨン市が物の図書館を火曜日に開館", None),
        ("ja", "物の図書館", TitleFlaw.NO_STATEMENT),
        ("ja", "物の図書館で工具を借りる簡単な方法", TitleFlaw.TEASER),
    ],
)
def test_title_alone_in_other_languages(language: str, title: str, flaw: TitleFlaw | None) -> None:
    assert find_title_flaw(title, language) is flaw


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "I went home.", True),
        ("en", "What my dog saw", True),
        ("en", "Why we left", False),
        ("en", "He said “I left” to her.", False),
        ("en", "'I wish I had left,' says sailor of the river boat", False),
        ("en", "World War I-era ships", False),
        ("en", "After World War I", False),
        ("de", "Wie ich einen Bohrer lieh", True),
        ("fr", "Pourquoi j’ai quitté la ville", True),
        ("ja", "私が借りた工具", True),
        (None, "I went home.", True),
        ("sw", "I went home.", False),
    ],
)
def test_first_person_is_recognised(language: str | None, text: str, expected: bool) -> None:
    assert is_first_person(text, language) is expected


@given(st.text(), st.sampled_from([None, *LANGUAGES]))
def test_no_text_raises(text: str, language: str | None) -> None:
    find_flaw(text, language)
    find_title_flaw(text, language)


@pytest.mark.parametrize("unit", ["a", "a ", "“", "'", "The ", "X. ", "of ", "best ", "12:"])
def test_hostile_sentence_takes_linear_time(unit: str) -> None:
    assert_linear(lambda size: unit * (size // len(unit)), lambda text: find_flaw(text, "en"), 12_500)
    assert_linear(lambda size: unit * (size // len(unit)), lambda text: find_title_flaw(text, "en"), 12_500)
