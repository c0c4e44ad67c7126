"""Tests for feedback and prompts to the offline writer: another version, and notes on what it could not do."""

import asyncio

import pytest

from copydesk.drafting.checks import add_notes, build_check_context, check
from copydesk.drafting.offline_writer import FeedbackRequest, OfflineWriter, parse_feedback
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.errors import WriterError
from copydesk.model.draft import Format, Severity
from copydesk.text.thread import split_parts
from drafting_fixtures import assert_traced, make_brief, make_voice


def write(request: Brief) -> WriterResult:
    return asyncio.run(OfflineWriter().write(request))


@pytest.mark.parametrize(
    ("feedback", "expected"),
    [
        ("Shorter", {FeedbackRequest.SHORTER}),
        ("Please make it a bit shorter.", {FeedbackRequest.SHORTER}),
        (
            "Too long! No hashtags, no emoji",
            {FeedbackRequest.SHORTER, FeedbackRequest.NO_HASHTAGS, FeedbackRequest.NO_EMOJI},
        ),
        ("make it longer and without the link", {FeedbackRequest.LONGER, FeedbackRequest.NO_LINK}),
        ("", set()),
    ],
)
def test_supported_requests_are_understood(feedback: str, expected: set[FeedbackRequest]) -> None:
    assert parse_feedback(feedback) == (expected, ())


@pytest.mark.parametrize("feedback", ["Not shorter than this", "I like that there are no hashtags", "Funnier"])
def test_surrounding_words_void_a_request(feedback: str) -> None:
    assert parse_feedback(feedback) == (frozenset(), (feedback,))


def test_unknown_feedback_is_noted() -> None:
    draft = write(make_brief(previous="Something else.", feedback="Funnier, and no emoji"))

    (note,) = draft.notes
    assert "does not understand “Funnier”" in note


@pytest.mark.parametrize("kind", [Format.SHORT, Format.THREAD])
def test_shorter_version_is_shorter(kind: Format) -> None:
    first = write(make_brief(kind)).text
    second = write(make_brief(kind, previous=first, feedback="shorter"))

    assert len(second.text) < len(first)
    assert second.notes == ()


def test_impossible_length_is_noted() -> None:
    draft = write(make_brief(previous="A much longer text than any that is to come. " * 20, feedback="longer"))

    assert draft.notes == ("The offline writer could not make it longer.",)


def test_hashtags_are_removed_on_request() -> None:
    style = make_voice(hashtags=2)
    first = write(make_brief(voice=style)).text
    assert "#" in first

    assert "#" not in write(make_brief(voice=style, previous=first, feedback="No hashtags.")).text


@pytest.mark.parametrize("kind", [Format.SHORT, Format.THREAD])
def test_versions_are_all_different(kind: Format) -> None:
    versions: list[str] = []
    for _ in range(12):
        request = make_brief(kind, previous=versions[-1] if versions else None, earlier_versions=tuple(versions[:-1]))
        draft = write(request)
        assert_traced(draft, request)
        versions.append(draft.text)

    assert len(set(versions)) == 12


@pytest.mark.parametrize("kind", [Format.SHORT, Format.THREAD])
def test_exhausted_versions_raise_an_error(kind: Format) -> None:
    summary = "Ein Satz mit genau sieben Wörtern hier. Und noch ein Satz mit acht Wörtern hier."
    short_item = {"title": "Kurz", "summary": summary, "text": "", "language": "de"}
    versions: list[str] = []

    def write_until_exhausted() -> None:
        for _ in range(40):
            request = make_brief(
                kind, previous=versions[-1] if versions else None, earlier_versions=tuple(versions[:-1]), **short_item
            )
            versions.append(write(request).text)

    with pytest.raises(WriterError, match="cannot make another version"):
        write_until_exhausted()
    assert len(set(versions)) == len(versions) > 0


def test_new_thread_version_quotes_other_sentences() -> None:
    first = write(make_brief(Format.THREAD)).text
    second = write(make_brief(Format.THREAD, previous=first)).text

    assert set(split_parts(first)[1:-1]) != set(split_parts(second)[1:-1])


def test_unsupported_prompt_is_noted() -> None:
    draft = write(make_brief(instructions="Write it as a pirate would."))

    assert draft.notes == ("The offline writer does not support prompts: the text uses the page only.",)
    assert "pirate" not in draft.text


@pytest.mark.parametrize("kind", [Format.SHORT, Format.THREAD])
def test_prompt_alone_is_source_and_not_quoted(kind: Format) -> None:
    prompt = (
        "We open at eight from Monday on\n\nThe bakery in the old mill opens an hour earlier from next Monday. "
        "Bread is there from the first minute, rolls a quarter of an hour later. On Sundays nothing changes for now. "
        "Anna and her two apprentices begin their work at three in the morning for it."
    )
    request = Brief(item_id="1", format=kind, title="We open at eight from Monday on", text=prompt, instructions=prompt)
    draft = write(request)

    assert "We open at eight" in draft.text
    assert not set("“”>") & set(draft.text)
    assert "the text repeats the prompt's words" in draft.notes[0]
    assert_traced(draft, request)


def test_notes_are_informational_and_keep_confidence() -> None:
    request = make_brief()
    checks = check("A text.", build_check_context(request))
    checks_with_notes = add_notes(checks, ("It could not.",))

    assert (checks_with_notes.findings[-1].rule, checks_with_notes.findings[-1].severity) == ("writer", Severity.INFO)
    assert (checks_with_notes.ran, checks_with_notes.findings[:-1]) == (checks.ran + 1, checks.findings)
    assert add_notes(checks, ()) is checks
