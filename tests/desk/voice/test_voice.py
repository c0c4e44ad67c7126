"""Tests for the voice profile and how the offline writer follows it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from copydesk.desk import Desk
from copydesk.desk.voice import unsupported_fields
from copydesk.drafting.offline_writer import OfflineWriter
from copydesk.errors import InvalidError
from copydesk.model.draft import Format
from copydesk.model.serialization import to_json_value
from copydesk.model.voice import Emoji, FormatVoice, Link
from copydesk.text.thread import split_parts
from desk_fixtures import (
    NOW,
    URL_ONE,
    FakeWeb,
    Watch,
    create_source,
    entry,
    feed,
    list_drafts,
    made_up_word,
    open_desk_at,
)
from drafting_fixtures import make_brief

FULL_PROFILE = {
    "style": "Short and dry.",
    "avoid": ["synergy", "game changer"],
    "examples": ["The ferry is late.\nAgain."],
    "formats": {
        "SHORT": {"maxLength": 200, "hashtags": 2, "emoji": "never", "link": "always"},
        "THREAD": {"maxParts": 4},
        "BLOG": {"targetWords": 120, "instructions": "End with a question."},
    },
    "hashtagList": ["#OpenSource"],
}


@pytest.fixture
def clock() -> Watch:
    return Watch()


@pytest.fixture
async def desk(tmp_path, clock) -> AsyncIterator[Desk]:
    async with open_desk_at(tmp_path, clock=clock) as opened:
        yield opened


def field_errors(exc_info: pytest.ExceptionInfo[InvalidError]) -> dict[str, str]:
    return {problem.field: problem.message for problem in exc_info.value.errors}


async def test_missing_profile_is_empty(desk):
    profile = await desk.voice.get()

    assert (profile.style, profile.avoid, profile.examples, profile.formats) == ("", (), (), {})


async def test_missing_profile_has_stable_id(desk, clock):
    profile = await desk.voice.get()
    clock.now = clock.now.replace(hour=15)

    assert await desk.voice.get() == profile
    stored = await desk.voice.update({"style": "Dry."})
    assert (stored.id, stored.created_at) == (profile.id, clock.now)


async def test_profile_as_json(desk):
    profile = await desk.voice.update(FULL_PROFILE)

    assert await desk.voice.get() == profile
    time = "2026-02-10T12:00:00.000Z"
    assert to_json_value(profile) == {**FULL_PROFILE, "id": profile.id, "createdAt": time, "updatedAt": time}


async def test_omitted_and_null_fields_are_unchanged(desk, clock):
    profile = await desk.voice.update(FULL_PROFILE)
    clock.now = clock.now.replace(hour=15)
    changed = await desk.voice.update({"style": "Long.", "avoid": None})

    assert (changed.id, changed.created_at, changed.updated_at) == (profile.id, NOW, clock.now)
    assert (changed.style, changed.avoid, changed.formats) == ("Long.", profile.avoid, profile.formats)


async def test_given_fields_are_replaced(desk):
    await desk.voice.update(FULL_PROFILE)
    changed = await desk.voice.update({"avoid": ["leverage"], "formats": {"SHORT": {"hashtags": 0}}})

    assert changed.avoid == ("leverage",)
    assert changed.formats == {Format.SHORT: FormatVoice(hashtags=0)}


async def test_line_breaks_are_preserved(desk):
    profile = await desk.voice.update({"style": "Short.\n\n\tDry.", "examples": ["One\r\ntwo"]})

    assert (profile.style, profile.examples) == ("Short.\n\n\tDry.", ("One\r\ntwo",))


async def test_empty_values_clear_fields(desk):
    await desk.voice.update(FULL_PROFILE)
    changed = await desk.voice.update({"style": "", "avoid": [], "examples": [], "formats": {}})

    assert (changed.style, changed.avoid, changed.examples, changed.formats) == ("", (), (), {})


async def test_format_settings_can_be_merged(desk):
    await desk.voice.update(FULL_PROFILE)
    settings = {"formats": {"SHORT": {"hashtags": None, "emoji": "free"}, "BLOG": {"targetWords": 300}}}
    changed = await desk.voice.update(settings, merge_formats=True)

    assert changed.formats == {
        Format.SHORT: FormatVoice(max_length=200, emoji=Emoji.FREE, link=Link.ALWAYS),
        Format.THREAD: FormatVoice(max_parts=4),
        Format.BLOG: FormatVoice(target_words=300, instructions="End with a question."),
    }


@pytest.mark.parametrize(
    ("changes", "field", "rule"),
    [
        ({"style": "s" * 5001}, "style", "takes at most 5,000 characters, not 5,001"),
        ({"style": 3}, "style", "takes text"),
        ({"style": "a\x00"}, "style", "contains a NUL character"),
        ({"style": "a\x1b[31m"}, "style", "contains a control character (U+001B)"),
        ({"avoid": ["ok", "a\x07"]}, "avoid[1]", "contains a control character (U+0007)"),
        ({"avoid": ["two\nlines"]}, "avoid[0]", "contains a control character (U+000A)"),
        ({"examples": ["a\x9b31m"]}, "examples[0]", "contains a control character (U+009B)"),
        (
            {"formats": {"SHORT": {"instructions": "a\x7fb"}}},
            "formats.SHORT.instructions",
            "contains a control character (U+007F)",
        ),
        ({"avoid": "synergy"}, "avoid", "takes a list"),
        ({"avoid": ["w"] * 201}, "avoid", "takes at most 200 entries, not 201"),
        ({"avoid": ["ok", "w" * 101]}, "avoid[1]", "takes 1 to 100 characters, not 101"),
        ({"avoid": [" "]}, "avoid[0]", "takes 1 to 100 characters, not 0"),
        ({"examples": ["e"] * 51}, "examples", "takes at most 50 entries, not 51"),
        ({"examples": ["e" * 5001]}, "examples[0]", "takes 1 to 5,000 characters, not 5,001"),
        ({"formats": []}, "formats", "takes an object with named fields"),
        ({"formats": {"TWEET": {}}}, "formats.TWEET", "takes one of SHORT, THREAD, BLOG"),
        ({"formats": {"SHORT": 3}}, "formats.SHORT", "takes an object with named fields"),
        ({"formats": {"SHORT": {"size": 3}}}, "formats.SHORT.size", "unknown field"),
        (
            {"formats": {"SHORT": {"maxLength": 39}}},
            "formats.SHORT.maxLength",
            "takes a whole number from 40 to 50,000",
        ),
        ({"formats": {"THREAD": {"maxParts": 1}}}, "formats.THREAD.maxParts", "takes a whole number from 2 to 25"),
        ({"formats": {"THREAD": {"maxParts": 26}}}, "formats.THREAD.maxParts", "takes a whole number from 2 to 25"),
        (
            {"formats": {"BLOG": {"targetWords": 49}}},
            "formats.BLOG.targetWords",
            "takes a whole number from 50 to 20,000",
        ),
        ({"formats": {"SHORT": {"hashtags": 6}}}, "formats.SHORT.hashtags", "takes a whole number from 0 to 5"),
        ({"formats": {"SHORT": {"hashtags": "2"}}}, "formats.SHORT.hashtags", "takes a whole number from 0 to 5"),
        ({"formats": {"SHORT": {"emoji": "much"}}}, "formats.SHORT.emoji", "takes one of never, sparing, free"),
        ({"formats": {"SHORT": {"link": True}}}, "formats.SHORT.link", "takes one of always, never, auto"),
        (
            {"formats": {"SHORT": {"instructions": "i" * 5001}}},
            "formats.SHORT.instructions",
            "takes at most 5,000 characters, not 5,001",
        ),
        ({"tone": "dry"}, "tone", "unknown field"),
    ],
)
async def test_invalid_value_is_refused(desk, changes, field, rule):
    profile = await desk.voice.update(FULL_PROFILE)
    for over in (False, True):
        with pytest.raises(InvalidError) as error:
            await desk.voice.update(changes, merge_formats=over)
        assert field_errors(error) == {field: rule}

    assert await desk.voice.get() == profile


async def test_concurrent_updates_are_both_stored(desk):
    await asyncio.gather(desk.voice.update({"style": "Dry."}), desk.voice.update({"avoid": ["synergy"]}))
    profile = await desk.voice.get()

    assert (profile.style, profile.avoid) == ("Dry.", ("synergy",))


async def test_unsupported_fields_are_listed(desk):
    assert unsupported_fields(await desk.voice.update(FULL_PROFILE)) == (
        "style",
        "examples",
        "formats.BLOG.instructions",
    )
    assert (
        unsupported_fields(
            await desk.voice.update({"style": "", "examples": [], "formats": {"SHORT": {"hashtags": 1}}})
        )
        == ()
    )


async def test_run_follows_voice(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    async with open_desk_at(tmp_path, web) as desk:
        await desk.voice.update({"formats": {"SHORT": {"link": "never", "maxLength": 120}}})
        await create_source(desk)
        await desk.pipeline.run()
        texts = [draft.text for draft in await list_drafts(desk)]

    assert len(texts) == 2
    assert all("https://" not in text and len(text) <= 120 for text in texts)


async def write_offline(desk: Desk, draft_format: Format, **item: object) -> str:
    """Return the offline writer's text in the voice of the profile."""
    writer_brief = make_brief(draft_format, voice=await desk.voice.get(), **item)
    return (await OfflineWriter().write(writer_brief)).text


SHORT_TEXT = (
    "The city of Lyon opened a library where people borrow drills on Tuesday. The library of Lyon has 400 members from"
    " twelve towns. Volunteers of the library teach sewing and soldering on Saturdays. The council of Lyon pays the"
    " rent until 2028."
)
LONG_TEXT = SHORT_TEXT + " ".join(
    f"Library {made_up_word(n)} lent {made_up_word(n + 99)} {made_up_word(n + 200)} {made_up_word(n + 300)} to"
    f" {made_up_word(n + 400)} for {n + 2} euros."
    for n in range(60)
)


async def test_offline_writer_respects_length(desk):
    await desk.voice.update({"formats": {"SHORT": {"maxLength": 110}, "THREAD": {"maxLength": 130}}})

    assert len(await write_offline(desk, Format.SHORT)) <= 110
    assert all(len(part) <= 130 for part in split_parts(await write_offline(desk, Format.THREAD, text=SHORT_TEXT)))


async def test_offline_writer_respects_part_count(desk):
    unlimited = split_parts(await write_offline(desk, Format.THREAD, text=LONG_TEXT))
    await desk.voice.update({"formats": {"THREAD": {"maxParts": 3}}})

    assert len(unlimited) > 3
    assert len(split_parts(await write_offline(desk, Format.THREAD, text=LONG_TEXT))) == 3


async def test_offline_writer_follows_target_length(desk):
    lengths = []
    for target in (50, 150):
        await desk.voice.update({"formats": {"BLOG": {"targetWords": target}}})
        lengths.append(len((await write_offline(desk, Format.BLOG, text=LONG_TEXT)).split()))

    assert lengths[0] < lengths[1]


async def test_offline_writer_follows_hashtag_count(desk):
    for count in (0, 1, 2):
        await desk.voice.update({"formats": {"SHORT": {"hashtags": count}}})
        assert (await write_offline(desk, Format.SHORT, platforms=("mastodon",))).count("#") == count


async def test_offline_writer_follows_emoji_and_link(desk):
    await desk.voice.update({"formats": {"SHORT": {"emoji": "never", "link": "never"}}})
    title = "A library \N{HAMMER} where you borrow drills"
    text = await write_offline(desk, Format.SHORT, title=title)
    assert "\N{HAMMER}" not in text
    assert "https://" not in text

    await desk.voice.update({"formats": {"SHORT": {"emoji": "free", "link": "always"}}})
    assert "https://rivernews.example/library" in await write_offline(desk, Format.SHORT, title=title)


async def test_offline_writer_avoids_listed_phrases(desk):
    assert "library" in (await write_offline(desk, Format.SHORT)).lower()
    await desk.voice.update({"avoid": ["library"]})

    text = await write_offline(desk, Format.SHORT, url="https://rivernews.example/1")
    assert "library" not in text.lower()
