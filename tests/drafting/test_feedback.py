"""Tests for feedback and prompts to the offline writer: another version, and notes on what it could not do."""

import asyncio

import pytest

from copydesk.drafting.checks import add_notes, build_check_context, check
from copydesk.drafting.offline_writer import FeedbackRequest, OfflineWriter, parse_feedback
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.errors import WriterError
from copydesk.model.draft import Field, Format, Severity
from copydesk.text.thread import split_parts
from drafting_fixtures import assert_traced, make_brief, make_voice

LONG_TEXT = """\
The library opened on the quay in March with 1,200 tools and tents.

Volunteers of the library repair broken drills in a former bakery on Thursdays.

A loan from the library costs two euros a week, whatever its size.

Twelve towns of the region copy the library with the free software of its founder.

The library counts 400 members from every quarter of Lyon and its suburbs.

Insurance of the library covers hammers, ladders and bicycles up to 900 euros.

Schools visit the library each spring for courses in soldering and sewing.

The mayor wants the library to stay in its rooms until 2028 at the least.

A second library for musical instruments follows in autumn near the station.
"""


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
    assert parse_feedback(feedback) == expected


@pytest.mark.parametrize("feedback", ["Not shorter than this", "I like that there are no hashtags", "Funnier"])
def test_surrounding_words_void_a_request(feedback: str) -> None:
    with pytest.raises(WriterError, match=f"does not understand “{feedback}”"):
        parse_feedback(feedback)


def test_feedback_understood_in_part_is_refused_with_what_can_be_done() -> None:
    with pytest.raises(WriterError, match=r"“Funnier”.* shorter, longer, another sentence, .*with the link"):
        write(make_brief(previous="Something else.", feedback="Funnier, and no emoji"))


@pytest.mark.parametrize("kind", [Format.SHORT, Format.THREAD])
def test_shorter_version_is_shorter(kind: Format) -> None:
    first = write(make_brief(kind)).text
    second = write(make_brief(kind, previous=first, feedback="shorter"))

    assert len(second.text) < 0.95 * len(first)


def test_shorter_version_keeps_headline_and_link() -> None:
    first = write(make_brief()).text
    second = write(make_brief(previous=first, feedback="shorter")).text

    assert "A library where you borrow drills" in second
    assert "https://rivernews.example/library" in second


def test_longer_version_is_longer() -> None:
    shorter = write(make_brief(previous=write(make_brief()).text, feedback="shorter")).text

    assert len(write(make_brief(previous=shorter, feedback="longer")).text) > 1.05 * len(shorter)


@pytest.mark.parametrize(("feedback", "version"), [("longer", "a longer"), ("", "another")])
def test_impossible_version_is_refused(feedback: str, version: str) -> None:
    story = {"title": "The city of Lyon opens a library", "summary": "", "text": ""}
    first = write(make_brief(**story)).text

    with pytest.raises(WriterError, match=f"cannot make {version} version"):
        write(make_brief(previous=first, feedback=feedback, **story))


def test_hashtags_are_removed_on_request() -> None:
    style = make_voice(hashtags=2)
    first = write(make_brief(voice=style)).text
    assert "#" in first

    assert "#" not in write(make_brief(voice=style, previous=first, feedback="No hashtags.")).text


def test_only_the_requested_change_is_made() -> None:
    style = make_voice(hashtags=2)
    first = write(make_brief(voice=style)).text

    second = write(make_brief(voice=style, previous=first, feedback="No hashtags.")).text
    assert second == first.rpartition("\n\n#")[0]


def test_change_without_effect_is_refused() -> None:
    first = write(make_brief()).text

    with pytest.raises(WriterError, match="nothing in the draft would differ"):
        write(make_brief(previous=first, feedback="No hashtags."))


def test_each_version_quotes_another_sentence() -> None:
    versions: list[str] = []
    quotations: list[str] = []
    for _ in range(3):
        request = make_brief(previous=versions[-1] if versions else None, earlier_versions=tuple(versions[:-1]))
        draft = write(request)
        assert_traced(draft, request)
        versions.append(draft.text)
        quotations += [trace.text for trace in draft.sentences if trace.field in {Field.SUMMARY, Field.TEXT}]

    assert len(set(quotations)) == len(quotations) == 3


def test_new_thread_version_quotes_other_sentences() -> None:
    first = write(make_brief(Format.THREAD, text=LONG_TEXT)).text
    second = write(make_brief(Format.THREAD, text=LONG_TEXT, previous=first)).text

    assert not set(split_parts(first)[1:-1]) & set(split_parts(second)[1:-1])


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
