"""Tests for applying a variant's value to the voice, and for reporting whether the offline writer follows it."""

import pytest

from copydesk.drafting.offline_writer import OfflineWriter
from copydesk.drafting.writer import Brief
from copydesk.experiments.treatment import apply_variant
from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, FormatVoice, Link, Voice

VOICE = Voice(style="Plain.", formats={Format.SHORT: FormatVoice(hashtags=1, instructions="No jokes.")})
BRIEF = Brief(
    item_id="1",
    format=Format.SHORT,
    title="Harbour bridge opens to Cyclists after a long repair 🚲",
    url="https://example.com/bridge",
    summary="The harbour bridge opened to Cyclists on Monday. The repair took three years and cost 40 million.",
    language="en",
    source_name="Example News",
    tags=("Cycling", "Harbour"),
)


@pytest.mark.parametrize(
    ("format", "parameter", "value", "setting"),
    [
        (Format.SHORT, "hashtags", 3, {"hashtags": 3}),
        (Format.SHORT, "hashtags", 0, {"hashtags": 0}),
        (Format.SHORT, "emoji", "never", {"emoji": Emoji.NEVER}),
        (Format.SHORT, "link", "always", {"link": Link.ALWAYS}),
        (Format.SHORT, "length", 120, {"max_length": 120}),
        (Format.SHORT, "length", 120.0, {"max_length": 120}),
        (Format.THREAD, "length", 200, {"max_length": 200}),
        (Format.BLOG, "length", 600, {"target_words": 600}),
    ],
)
def test_voice_setting_is_applied(format, parameter, value, setting):
    treated = apply_variant(VOICE, format, parameter, value)
    assert treated.is_followed
    before, after = VOICE.format_settings(format), treated.voice.format_settings(format)
    for name in FormatVoice.__struct_fields__:
        assert getattr(after, name) == setting.get(name, getattr(before, name))
    assert (treated.voice.style, treated.voice.avoid) == (VOICE.style, VOICE.avoid)


def test_other_formats_and_original_voice_are_unchanged():
    treated = apply_variant(VOICE, Format.BLOG, "hashtags", 3)
    assert treated.voice.format_settings(Format.SHORT) == VOICE.format_settings(Format.SHORT)
    assert VOICE.format_settings(Format.BLOG) == FormatVoice()


@pytest.mark.parametrize(
    ("parameter", "value", "style", "instructions"),
    [
        ("style", "Florid.", "Florid.", "No jokes."),
        ("tone", "warm", "Plain.\nTone: warm", "No jokes."),
        ("length", "short", "Plain.\nLength: short", "No jokes."),
        ("instructions", "End on a question.", "Plain.", "No jokes.\nEnd on a question."),
    ],
)
def test_text_value_is_added_for_other_writers(parameter, value, style, instructions):
    treated = apply_variant(VOICE, Format.SHORT, parameter, value)
    assert not treated.is_followed
    assert (treated.voice.style, treated.voice.format_settings(Format.SHORT).instructions) == (style, instructions)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("hook", "question"), ("cta", "reply"), ("temperature", 0.7), ("writer", "offline"), ("moon phase", 3),
     ("hashtags", 9), ("emoji", "often"), ("length", True), ("length", 10)],
)  # fmt: skip
def test_unsupported_parameter_is_not_followed(parameter, value):
    assert apply_variant(VOICE, Format.SHORT, parameter, value) == (VOICE, False)


@pytest.mark.parametrize("parameter", ["hashtags", "hook"])
def test_null_keeps_voice_and_counts_as_followed(parameter):
    assert apply_variant(VOICE, Format.SHORT, parameter, None) == (VOICE, True)


@pytest.mark.parametrize(
    ("parameter", "one", "other"),
    [("hashtags", 0, 2), ("emoji", "never", "free"), ("link", "never", "always"), ("length", 90, 280)],
)
async def test_offline_writer_follows_applied_setting(parameter, one, other):
    texts = set()
    for value in (one, other):
        treated = apply_variant(Voice(), Format.SHORT, parameter, value)
        brief = Brief(**{name: getattr(BRIEF, name) for name in Brief.__struct_fields__} | {"voice": treated.voice})
        texts.add((await OfflineWriter().write(brief)).text)
    assert len(texts) == 2
