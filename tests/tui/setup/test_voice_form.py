"""Tests for the voice form: its fields, its changes, and its autosave file."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, FormatVoice, Link, Voice, validate_voice_change
from copydesk.text import clean
from copydesk.tui.setup.voice_dialog import VoiceDialog, build_voice_update, dump_fields, parse_fields, voice_fields

# The form drops what cannot be seen, such as a lone variation selector.
PHRASES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20).filter(
    lambda text: clean(text) == text
)
LINES = st.lists(PHRASES, min_size=1, max_size=3, unique=True).map("\n".join)
SETTINGS = st.builds(
    FormatVoice,
    max_length=st.none() | st.integers(40, 5000),
    hashtags=st.none() | st.integers(0, 5),
    emoji=st.none() | st.sampled_from(Emoji),
    link=st.none() | st.sampled_from(Link),
    instructions=st.none() | PHRASES,
)
VOICES = st.builds(
    Voice,
    style=st.just("") | LINES,
    avoid=st.lists(PHRASES, max_size=3, unique=True).map(tuple),
    examples=st.lists(LINES, max_size=3, unique=True).map(tuple),
    formats=st.dictionaries(st.sampled_from(Format), SETTINGS, max_size=3),
)


EMPTY = voice_fields(Voice())


@given(VOICES)
def test_untouched_fields_are_not_changed(voice: Voice) -> None:
    assert build_voice_update(voice, voice_fields(voice)) == {}


@given(VOICES)
def test_retyped_voice_is_equal(voice: Voice) -> None:
    changes = validate_voice_change(build_voice_update(Voice(), voice_fields(voice)))
    parsed = Voice(
        style=changes.style or "",
        avoid=changes.avoid or (),
        examples=changes.examples or (),
        formats={
            format_: settings for format_, settings in (changes.formats or {}).items() if settings != FormatVoice()
        },
    )
    formats = {format_: settings for format_, settings in voice.formats.items() if settings != FormatVoice()}
    assert parsed == msgspec.structs.replace(voice, formats=formats)


def test_hidden_characters_survive_if_untouched() -> None:
    voice = Voice(style="a\u202eb", avoid=("x",))
    initial = voice_fields(voice)
    assert "\u202e" not in initial.style
    assert build_voice_update(voice, initial._replace(avoid="x\n\n y \n")) == {"avoid": ["x", "y"]}


def test_line_of_hyphens_does_not_split_a_post() -> None:
    posts = ("Before.\n---\nAfter.", "Before.\n\\---\nAfter.", "----")
    voice = Voice(examples=posts)
    edited = voice_fields(voice).examples + "\n---\nAnother."
    assert build_voice_update(voice, EMPTY._replace(examples=edited)) == {"examples": [*posts, "Another."]}


def test_instructions_of_several_lines_survive_if_untouched() -> None:
    voice = Voice(formats={Format.THREAD: FormatVoice(instructions="Ask first.\nThen answer.", max_parts=4)})
    fields = voice_fields(voice)
    thread = {**fields.formats[Format.THREAD], "maxParts": "5"}
    request = build_voice_update(voice, fields._replace(formats={**fields.formats, Format.THREAD: thread}))
    assert validate_voice_change(request).formats == {
        Format.SHORT: FormatVoice(),
        Format.THREAD: FormatVoice(instructions="Ask first.\nThen answer.", max_parts=5),
        Format.BLOG: FormatVoice(),
    }


def test_cleared_setting_of_a_format_is_removed() -> None:
    voice = Voice(formats={Format.SHORT: FormatVoice(max_length=100, hashtags=2)})
    fields = voice_fields(voice)
    short = {**fields.formats[Format.SHORT], "hashtags": ""}
    request = build_voice_update(voice, fields._replace(formats={**fields.formats, Format.SHORT: short}))
    assert validate_voice_change(request).formats[Format.SHORT] == FormatVoice(max_length=100)


def test_cleared_fields_are_emptied() -> None:
    voice = Voice(style="a", avoid=("x",), examples=("e",))
    changes = build_voice_update(voice, voice_fields(voice)._replace(style="", avoid="", examples="\n---\n"))
    assert changes == {"style": "", "avoid": [], "examples": []}


@given(VOICES)
def test_autosave_round_trips(voice: Voice) -> None:
    entered = voice_fields(voice)
    assert parse_fields(dump_fields(entered)) == entered


@pytest.mark.parametrize("text", ["", "A post.", "[1]", '["a","b","c",{"WHAT":{}}]'])
def test_unknown_autosave_file_is_ignored(text: str) -> None:
    assert parse_fields(text) is None


def test_autosave_is_limited_to_typable_text() -> None:
    entered = EMPTY._replace(style="a\x1b[2Jb", formats={Format.SHORT: {"hashtags": "x", "emoji": "[red]", "more": ""}})
    assert parse_fields(dump_fields(entered)) == EMPTY._replace(style="ab")


@pytest.mark.parametrize(
    ("field", "label"),
    [
        ("style", "style"),
        ("hashtagList", "hashtags"),
        ("avoid[0]", "phrase to avoid 1"),
        ("examples[2]", "post 3"),
        ("unknown[0]", "unknown 1"),
        ("formats.THREAD.maxParts", "thread, max posts"),
    ],
)
def test_errors_name_fields_as_the_form_does(field: str, label: str) -> None:
    assert VoiceDialog().label_of(field) == label
