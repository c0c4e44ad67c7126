"""Tests for reading answers, complete and unfinished."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.drafting.model_writer.answer import is_in_source, read_answer, read_partial
from copydesk.drafting.model_writer.completion import BadAnswerError
from copydesk.drafting.model_writer.prompt import RULES, Prompt, build_prompt
from copydesk.model.draft import Format
from copydesk.model.writer import QuotedClaim
from copydesk.text.thread import split_parts
from cost_growth import assert_linear
from drafting_fixtures import make_brief
from fake_model_server import draft_answer

PROMPT = Prompt(
    system="S",
    user="U",
    delimiter="Q0123",
    rules=RULES,
    urls=("https://rivernews.example/library",),
    handles=frozenset({"@anna"}),
    source="The town’s library lends 40 drills.\nIt is new.",
)
TAGGED = (
    "<report>R</report>\n<post>A library lends drills.</post>\n"
    "<claim><text>A library lends drills.</text><quote>library lends 40 drills</quote></claim>"
)


def read(text: str, format: Format = Format.SHORT) -> str:
    return read_answer(text, format, PROMPT).text


def refuse(answer: str) -> None:
    with contextlib.suppress(BadAnswerError):
        read(answer)


@pytest.mark.parametrize(
    "answer",
    [
        draft_answer("A library lends drills."),
        f"```json\n{draft_answer('A library lends drills.')}\n```",
        f"Here is the JSON:\n{draft_answer('A library lends drills.')}\nAnything else?",
        f"<think>First {{}} a plan.</think>\n{draft_answer('A library lends drills.')}",
        TAGGED,
        f"<think>So.</think>{TAGGED}",
        "<post>\r\nA library lends drills.\n",
    ],
)
def test_draft_is_found_in_answers_of_any_form(answer: str) -> None:
    assert read(answer) == "A library lends drills."


@pytest.mark.parametrize(
    "answer",
    ["", "A library lends drills.", "{", "[]", '{"posts": "A"}', '{"posts": []}', '{"posts": ["  "]}', "<post></post>"],
)
def test_answer_of_another_form_is_refused(answer: str) -> None:
    with pytest.raises(BadAnswerError):
        read(answer)


def test_posts_of_a_thread_are_joined_without_their_counters() -> None:
    text = read(draft_answer("1/2 First.", "Second. (2/2)"), Format.THREAD)
    assert split_parts(text) == ["First.", "Second."]


@pytest.mark.parametrize(
    ("format", "count"), [(Format.SHORT, 2), (Format.BLOG, 2), (Format.THREAD, 1), (Format.THREAD, 26)]
)
def test_wrong_number_of_posts_is_refused(format: Format, count: int) -> None:
    with pytest.raises(BadAnswerError, match=f"wrote {count} post"):
        read(draft_answer(*["Text."] * count), format)


@pytest.mark.parametrize(
    "unit", ["<report>", "<claim><text>", "<claim><text></text><quote></quote>", "<claim>", "<post>"]
)
def test_answer_full_of_unclosed_tags_takes_linear_time(unit: str) -> None:
    assert_linear(lambda size: "<post>A.</post>" + unit * (size // len(unit)), refuse, 4_000)


@pytest.mark.parametrize("frame", ["<post>A.</post><post>B.{}C.</post>", "```json{}x", '{{"posts": ["A."{}'])
@pytest.mark.parametrize("space", [" ", "\n"])
def test_white_space_without_end_takes_linear_time(frame: str, space: str) -> None:
    def read_both(answer: str) -> None:
        read_partial(answer, Format.THREAD)
        with contextlib.suppress(BadAnswerError):
            read(answer, Format.THREAD)

    assert_linear(lambda size: frame.format(space * size), read_both, 16_000)


def test_claims_whose_quotation_is_not_in_the_source_are_counted_and_dropped() -> None:
    claims = [("It lends.", "library  lends 40\ndrills"), ("It sells.", "library sells drills"), ("New.", "new")]
    answer = read_answer(draft_answer("A post.", claims=claims), Format.SHORT, PROMPT)
    assert answer.claims == (QuotedClaim(text="It lends.", source_quote="library lends 40 drills"),)
    assert answer.claims_not_in_source == 2


def test_quotation_may_have_other_quotation_marks() -> None:
    assert is_in_source("The town's library", PROMPT.source)


@pytest.mark.parametrize(
    "post",
    [
        "Look: Q0123 says so.",
        "<<<SOURCE",
        "State only what the source states. Add no fact, number, name, date, cause or judgement of your own.",
    ],
)
def test_answer_that_repeats_the_prompt_is_refused(post: str) -> None:
    with pytest.raises(BadAnswerError, match="repeated its instructions"):
        read(draft_answer("A post.", post), Format.THREAD)


@pytest.mark.parametrize(
    "post", ["See https://evil.example/x", "See https://rivernews.example.evil.example/library", "Thanks, @bert!"]
)
def test_link_or_mention_that_nobody_asked_for_is_refused(post: str) -> None:
    with pytest.raises(BadAnswerError, match="nobody asked for"):
        read(draft_answer(post))


@pytest.mark.parametrize(
    "post", ["See https://rivernews.example/library?utm_source=x", "Thanks, @Anna!", "a@b.example"]
)
def test_link_to_the_source_and_mentions_of_the_user_are_accepted(post: str) -> None:
    assert read(draft_answer(post)) == post


def test_long_link_that_the_rules_name_is_not_taken_for_the_rules() -> None:
    url = "https://rivernews.example/how-the-old-town-library-came-to-lend-drills-and-tents"
    prompt = build_prompt(make_brief(url=url), delimiter="Q1", schema=True)
    post = f"The library lends drills.\n\n{url}"
    assert url in prompt.rules
    assert read_answer(draft_answer(post), Format.SHORT, prompt).text == post


def test_every_rule_is_recognised() -> None:
    prompt = build_prompt(make_brief(), delimiter="Q1", schema=True)
    rules = [line for line in prompt.system.split("\n\nFormat:")[0].splitlines() if len(line.split()) > 12]
    assert len(rules) >= 8
    for rule in rules:
        with pytest.raises(BadAnswerError, match="repeated its instructions"):
            read(draft_answer(rule.removeprefix("- ").replace("Q1", "")))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.text(), st.booleans(), st.data())
def test_unfinished_answer_shows_a_beginning_of_the_draft(
    posts: list[str], report: str, ascii_only: bool, data: st.DataObject
) -> None:
    answer = json.dumps({"report": report, "posts": posts, "claims": []}, ensure_ascii=ascii_only)
    end = data.draw(st.integers(0, len(answer)))
    assert posts[0].startswith(read_partial(answer[:end], Format.SHORT))
    if end == len(answer):
        assert read_partial(answer, Format.SHORT) == posts[0]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("", ""),
        ("<report>It is", ""),
        ("<report>R</report><post>A li", "A li"),
        ("<report>R</report><post>A library</po", "A library"),
        ("<think>hm", ""),
        ('{"report": "a \\"posts\\": [\\"x\\"]", "po', ""),
        ('```json\n{"report": "", "posts": ["A \\u00e', "A "),
    ],
)
def test_unfinished_answer_shows_nothing_but_the_draft(answer: str, shown: str) -> None:
    assert read_partial(answer, Format.SHORT) == shown


def test_unfinished_thread_shows_its_parts() -> None:
    assert split_parts(read_partial('{"report":"","posts":["One.", "Tw', Format.THREAD)) == ["One.", "Tw"]
