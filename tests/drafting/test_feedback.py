"""What the offline writer makes of feedback and prompts: another version, and an honest word about the rest."""

import asyncio

import pytest

from copydesk.drafting.checks import check, subject_of, with_notes
from copydesk.drafting.extract.feedback import Wish, understood
from copydesk.drafting.extractive import OfflineWriter
from copydesk.drafting.writer import Brief, Written
from copydesk.errors import WriterError
from copydesk.model.draft import Format, Severity
from copydesk.text.thread import split_parts
from drafting_briefs import assert_traced, brief, voice


def write(given: Brief) -> Written:
    return asyncio.run(OfflineWriter().write(given))


@pytest.mark.parametrize(
    ("feedback", "wishes"),
    [
        ("Shorter", {Wish.SHORTER}),
        ("Please make it a bit shorter.", {Wish.SHORTER}),
        ("Too long! No hashtags, no emoji", {Wish.SHORTER, Wish.NO_HASHTAGS, Wish.NO_EMOJI}),
        ("make it longer and without the link", {Wish.LONGER, Wish.NO_LINK}),
        ("", set()),
    ],
)
def test_a_few_wishes_are_understood(feedback: str, wishes: set[Wish]) -> None:
    assert understood(feedback) == (wishes, ())


@pytest.mark.parametrize("feedback", ["Not shorter than this", "I like that there are no hashtags", "Funnier"])
def test_words_around_a_wish_make_it_none(feedback: str) -> None:
    assert understood(feedback) == (frozenset(), (feedback,))


def test_what_is_not_understood_is_said() -> None:
    written = write(brief(previous="Something else.", feedback="Funnier, and no emoji"))

    (note,) = written.notes
    assert "does not understand “Funnier”" in note


@pytest.mark.parametrize("kind", list(Format))
def test_shorter_is_shorter(kind: Format) -> None:
    first = write(brief(kind)).text
    second = write(brief(kind, previous=first, feedback="shorter"))

    assert len(second.text) < len(first)
    assert second.notes == ()


def test_a_length_that_could_not_be_had_is_said() -> None:
    written = write(brief(previous="A much longer text than any that is to come. " * 20, feedback="longer"))

    assert written.notes == ("The offline writer could not make it longer.",)


def test_hashtags_go_when_they_are_not_wanted() -> None:
    style = voice(hashtags=2)
    first = write(brief(voice=style)).text
    assert "#" in first

    assert "#" not in write(brief(voice=style, previous=first, feedback="No hashtags.")).text


@pytest.mark.parametrize("kind", list(Format))
def test_every_version_is_another_text(kind: Format) -> None:
    versions: list[str] = []
    for _ in range(12):
        given = brief(kind, previous=versions[-1] if versions else None, earlier=tuple(versions[:-1]))
        written = write(given)
        assert_traced(written, given)
        versions.append(written.text)

    assert len(set(versions)) == 12


@pytest.mark.parametrize("kind", list(Format))
def test_where_there_is_no_other_version_that_is_said(kind: Format) -> None:
    words = "Ein Satz mit genau sieben Wörtern hier. Und noch ein Satz mit acht Wörtern hier."
    little = {"title": "Kurz", "summary": words, "text": "", "language": "de"}
    versions: list[str] = []

    def write_others() -> None:
        for _ in range(40):
            given = brief(kind, previous=versions[-1] if versions else None, earlier=tuple(versions[:-1]), **little)
            versions.append(write(given).text)

    with pytest.raises(WriterError, match="no other version"):
        write_others()
    assert len(set(versions)) == len(versions) > 0


def test_a_new_version_of_a_thread_tells_other_things_first() -> None:
    first = write(brief(Format.THREAD)).text
    second = write(brief(Format.THREAD, previous=first)).text

    assert set(split_parts(first)[1:-1]) != set(split_parts(second)[1:-1])


def test_a_prompt_is_not_followed_and_that_is_said() -> None:
    written = write(brief(instructions="Write it as a pirate would."))

    assert written.notes == ("The offline writer cannot follow a prompt: this is made of the page alone.",)
    assert "pirate" not in written.text


@pytest.mark.parametrize("kind", list(Format))
def test_a_prompt_alone_is_the_material_and_nobody_is_quoted(kind: Format) -> None:
    prompt = (
        "We open at eight from Monday on\n\nThe bakery in the old mill opens an hour earlier from next Monday. "
        "Bread is there from the first minute, rolls a quarter of an hour later. On Sundays nothing changes for now. "
        "Anna and her two apprentices begin their work at three in the morning for it."
    )
    given = Brief(item_id="1", format=kind, title="We open at eight from Monday on", text=prompt, instructions=prompt)
    written = write(given)

    assert "We open at eight" in written.text
    assert not set("“”>") & set(written.text)
    assert "the prompt's own words" in written.notes[0]
    assert_traced(written, given)


def test_notes_are_infos_and_cost_no_confidence() -> None:
    given = brief()
    checks = check("A text.", subject_of(given))
    noted = with_notes(checks, ("It could not.",))

    assert (noted.findings[-1].rule, noted.findings[-1].severity) == ("writer", Severity.INFO)
    assert (noted.ran, noted.findings[:-1]) == (checks.ran + 1, checks.findings)
    assert with_notes(checks, ()) is checks
