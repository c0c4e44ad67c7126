"""What stands in the form of the voice, and what is asked by it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, FormatVoice, Link, Voice, checked_voice
from copydesk.tui.voice_entry import kept, read, voice_changes, voice_entered

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20)
LINES = st.lists(WORDS, min_size=1, max_size=3, unique=True).map("\n".join).filter(lambda text: "---" not in text)
SETTINGS = st.builds(
    FormatVoice,
    max_length=st.none() | st.integers(40, 5000),
    hashtags=st.none() | st.integers(0, 5),
    emoji=st.none() | st.sampled_from(Emoji),
    link=st.none() | st.sampled_from(Link),
    instructions=st.none() | WORDS,
)
VOICES = st.builds(
    Voice,
    style=st.just("") | LINES,
    avoid=st.lists(WORDS, max_size=3, unique=True).map(tuple),
    examples=st.lists(LINES, max_size=3, unique=True).map(tuple),
    formats=st.dictionaries(st.sampled_from(Format), SETTINGS, max_size=3),
)
EMPTY = voice_entered(Voice())


@given(VOICES)
def test_what_was_not_touched_is_not_named(voice: Voice) -> None:
    assert voice_changes(voice_entered(voice), voice_entered(voice)) == {}


@given(VOICES)
def test_a_voice_that_is_typed_anew_is_the_same_voice(voice: Voice) -> None:
    asked = checked_voice(voice_changes(EMPTY, voice_entered(voice)))
    read = Voice(
        style=asked.style or "",
        avoid=asked.avoid or (),
        examples=asked.examples or (),
        formats={kind: each for kind, each in (asked.formats or {}).items() if each != FormatVoice()},
    )
    kept = {kind: each for kind, each in voice.formats.items() if each != FormatVoice()}
    assert read == msgspec.structs.replace(voice, formats=kept)


def test_hidden_characters_stay_where_nothing_was_typed() -> None:
    voice = Voice(style="a\u202eb", avoid=("x",))
    begun = voice_entered(voice)
    assert "\u202e" not in begun.style
    assert voice_changes(begun, begun._replace(avoid="x\n\n y \n")) == {"avoid": ["x", "y"]}


def test_an_emptied_field_is_emptied() -> None:
    begun = voice_entered(Voice(style="a", avoid=("x",), examples=("e",)))
    asked = voice_changes(begun, begun._replace(style="", avoid="", examples="\n---\n"))
    assert asked == {"style": "", "avoid": [], "examples": []}


@given(VOICES)
def test_what_was_typed_is_read_from_its_file_as_it_was(voice: Voice) -> None:
    entered = voice_entered(voice)
    assert read(kept(entered)) == entered


@pytest.mark.parametrize("text", ["", "A post.", "[1]", '["a","b","c",{"WHAT":{}}]'])
def test_a_file_that_is_none_of_ours_is_no_voice(text: str) -> None:
    assert read(text) is None


def test_what_cannot_be_typed_does_not_come_from_a_file_either() -> None:
    entered = EMPTY._replace(style="a\x1b[2Jb", formats={Format.SHORT: {"hashtags": "x", "emoji": "[red]", "more": ""}})
    assert read(kept(entered)) == EMPTY._replace(style="ab")
