"""Compose a BLOG in Markdown: a round-up of links to what several sources say of a story or of one of the interests.

Each entry has the linked headline, a line that credits its source, and one of its sentences as a block quotation. The
entries are in the order of the brief's items, best first.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from copydesk.drafting.checks import find_error
from copydesk.drafting.extract import attribution, select_sentences, templates
from copydesk.drafting.extract.hashtags import add_hashtags
from copydesk.drafting.extract.material import (
    Material,
    create_limit_check,
    is_acceptable,
    no_draft_error,
    no_new_version_error,
    read_material,
    template_value,
)
from copydesk.drafting.extract.passages import Passage, count_words
from copydesk.drafting.extract.posts import MIN_STANDALONE, informs, rank_quotes
from copydesk.drafting.extract.standalone import TitleFlaw
from copydesk.drafting.extract.templates import ComposedText, TemplateValue
from copydesk.drafting.rules.voice import find_avoided
from copydesk.drafting.writer import Brief, Trace, WriterResult
from copydesk.errors import DeclinedError, DeclineReason, TooFewSourcesError, WriterError
from copydesk.model.voice import Link
from copydesk.text.folding import fold

MIN_SOURCES, MAX_SOURCES = 3, 7
"""Sources of a round-up: with fewer it would retell an article, with more nobody would read it."""
_MIN_NEW_WORDS, _NEW_SHARE = 4, 0.5
"""Words, and share of its words, that a sentence adds to those of the entries before it."""
_MAX_SHARED_WORDS, _SHARED_SHARE = 3, 0.25
"""Words that a sentence shares with the one of another entry at most, and the share of the shorter one's if it is
more."""
DEFAULT_WORDS = 250
"""Total words quoted if the voice has no setting."""

_MARKDOWN_SYNTAX = re.compile(r"[\\`*_\[\]<>|~]|&(?=#?\w{1,31};)|^[#+>-]|^\d+(?=[.)] )")
_COUNTS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}


class RoundupEntry(NamedTuple):
    """One source of a round-up, and the sentence quoted of it."""

    material: Material
    passage: Passage
    item_id: str | None
    """None for the lead."""


def write_blog(material: Material) -> WriterResult:
    """Return a round-up of the brief's items.

    Raise TooFewSourcesError if fewer than three of them have a headline and a sentence worth quoting, WriterError if
    the lead has none.
    """
    entries = _select_entries(material)
    if not entries and material.avoided_word:
        raise no_draft_error(material)
    # With such a headline it may be an entry of another round-up.
    if not entries and not (material.passages and material.title_flaw is TitleFlaw.NO_STATEMENT):
        raise DeclinedError(
            DeclineReason.NOTHING_TO_QUOTE,
            "Too little text for a round-up: its lead has no sentence to quote.",
            hint="Use the format SHORT.",
        )
    if len(entries) < MIN_SOURCES:
        raise TooFewSourcesError(
            f"Too few sources for a round-up: {len(entries)} of at least {MIN_SOURCES} with a sentence to quote.",
            hint="Use the format SHORT.",
        )
    fits = create_limit_check(material.brief)
    for count in range(_max_entries(material.brief, entries), MIN_SOURCES - 1, -1):
        post = add_hashtags(_compose_post(material, entries[:count]), material, fits)
        if is_acceptable(post, material, fits):
            if post.text not in material.brief.previous_versions:
                return WriterResult(text=post.text, sentences=post.traces)
            raise no_new_version_error()
    raise WriterError("A round-up of three sources does not fit your limits.", hint="Raise the limit of BLOG.")


def escape_markdown(text: str) -> str:
    """Return `text` with Markdown syntax escaped."""
    return _MARKDOWN_SYNTAX.sub(lambda match: "\\" + match[0] if not match[0].isdigit() else match[0] + "\\", text)


def _select_entries(lead: Material) -> list[RoundupEntry]:
    """Return the usable items in their order, each from a source of its own, with a sentence that no other has.

    Return none if the lead is not usable.
    """
    entries: list[RoundupEntry] = []
    for item_id, material in _read_items(lead):
        if len(entries) == MAX_SOURCES:
            break
        entry = _choose_sentence(item_id, material, lead, entries) if _is_usable(material, lead, entries) else None
        if entry is not None:
            entries.append(entry)
        elif item_id is None:
            break
    return entries


def _read_items(lead: Material) -> Iterator[tuple[str | None, Material]]:
    yield None, lead
    for item in lead.brief.other_items:
        yield item.id, read_material(lead.brief.for_item(item))


def _is_usable(material: Material, lead: Material, entries: Sequence[RoundupEntry]) -> bool:
    headline, name = material.headline, material.name.casefold()
    # An interest tells what a headline leaves open; a story's reports must state it.
    flaws = {None, TitleFlaw.NO_STATEMENT} if lead.brief.topic else {None}
    if headline.is_incomplete or material.title_flaw not in flaws:
        return False
    if not name or _needs_link(material) or material.language != lead.language:
        return False
    if find_avoided(material.name, material.brief.voice.avoid):
        return False
    return not any(
        entry.material.name.casefold() == name or entry.material.headline.text.casefold() == headline.text.casefold()
        for entry in entries
    )


def _needs_link(material: Material) -> bool:
    return material.link is None and material.brief.settings.link is not Link.NEVER


def _choose_sentence(
    item_id: str | None, material: Material, lead: Material, entries: Sequence[RoundupEntry]
) -> RoundupEntry | None:
    """Return the entry with the best sentence that repeats none of the others and has no error.

    Several sources may carry one agency's text.
    """
    taken = [entry.passage.text for entry in entries]
    headlines = f"{lead.headline.text} {material.headline.text}"
    # All of a story is about the same; of a topic, each sentence must be about its own headline. "Today" may stay, as
    # the line above it has the day.
    fitness = select_sentences.RELATIVE if lead.brief.topic else MIN_STANDALONE
    for passage in rank_quotes(material, material.headline.text, fitness):
        entry = RoundupEntry(material, passage, item_id)
        # The beginning was written to be read below its own headline.
        presumes = passage.position > 0 and select_sentences.presumes_subject(passage.text, headlines)
        if presumes or not informs(material, passage):
            continue
        repeats = not _adds(passage.text, taken)
        if not repeats and find_error(_join(_entry_blocks(entry)).text, lead.check_context) is None:
            return entry
    return None


def _adds(text: str, earlier: Sequence[str]) -> bool:
    """Return True if a sentence says something that the earlier ones do not."""
    words = _words(text)
    # Two reports of one event: what they share is the news, what differs is how it is put.
    if any(len(words & other) > _max_shared(words, other) for other in map(_words, earlier)):
        return False
    if any(select_sentences.repeats_title(text, other) for other in earlier):
        return False
    known = frozenset(chain.from_iterable(map(_words, earlier)))
    return not earlier or len(words - known) >= max(_MIN_NEW_WORDS, _NEW_SHARE * len(words))


def _max_shared(words: frozenset[str], other: frozenset[str]) -> float:
    return max(_MAX_SHARED_WORDS, _SHARED_SHARE * min(len(words), len(other)))


def _words(text: str) -> frozenset[str]:
    """Return the keywords of `text` without accents: of two sources one writes Jerí, the other Jeri."""
    return select_sentences.keywords(fold(text))


def _max_entries(brief: Brief, entries: Sequence[RoundupEntry]) -> int:
    """Return the number of entries with which the quotations stay within the requested words, at least three."""
    words, target = 0, brief.settings.target_words or DEFAULT_WORDS
    for count, entry in enumerate(entries):
        words += count_words(entry.passage.text)
        if words > target and count >= MIN_SOURCES:
            return count
    return len(entries)


def _compose_post(lead: Material, entries: Sequence[RoundupEntry]) -> ComposedText:
    blocks = [_title(lead, entries), _introduction(lead, entries)]
    for entry in entries:
        # The headline of a story's lead is the title of the post.
        blocks += _entry_blocks(entry, is_titled=entry.item_id is None and not lead.brief.topic)
    return _join(blocks)


def _entry_blocks(entry: RoundupEntry, *, is_titled: bool = False) -> list[ComposedText]:
    """Return heading, credit line and quotation; without the heading if `is_titled`: it is the post's title."""
    return [*([] if is_titled else [_heading(entry)]), _credit_line(entry, linked=is_titled), _quotation(entry)]


def _join(blocks: Sequence[ComposedText]) -> ComposedText:
    text = "\n\n".join(block.text for block in blocks if block.text)
    return ComposedText(text, tuple(chain.from_iterable(block.traces for block in blocks)))


def _title(lead: Material, entries: Sequence[RoundupEntry]) -> ComposedText:
    if not lead.brief.topic:
        return templates.compose("# {title}", {"title": _headline_value(lead)})
    days = _format_days(entries, english=lead.english)
    topic = template_value(escape_markdown(_spell_topic(lead.brief.topic, entries)))
    if not lead.english:
        return templates.compose("# {topic} ({days})" if days else "# {topic}", {"topic": topic, "days": _text(days)})
    count = _text(_COUNTS[len(entries)])
    template = "# {topic}: {count} links from {days}" if days else "# {topic}: {count} links"
    return templates.compose(template, {"topic": topic, "count": count, "days": _text(days)})


def _introduction(lead: Material, entries: Sequence[RoundupEntry]) -> ComposedText:
    """Return a line that names the sources; only in English, as templates with words are."""
    if not lead.english:
        return ComposedText("", ())
    *names, last = [escape_markdown(entry.material.name) for entry in entries]
    value = _text(f"{', '.join(names)} and {last}")
    return templates.compose("From {names}." if lead.brief.topic else "Reported by {names}.", {"names": value})


def _heading(entry: RoundupEntry) -> ComposedText:
    title = _with_item_id(_headline_value(entry.material), entry)
    url = _link_target(entry.material)
    if url is None:
        return templates.compose("## {title}", {"title": title})
    return templates.compose("## [{title}]({url})", {"title": title, "url": _text(url)})


def _credit_line(entry: RoundupEntry, *, linked: bool) -> ComposedText:
    """Return name, author and day, for example `River News, by Jane Doe, 17 February 2026:`."""
    material = entry.material
    name, url = escape_markdown(material.name), _link_target(material)
    author, published = _author(material), material.brief.published
    by = f"by {author}" if author and material.english else author
    day = attribution.format_day(published, english=material.english) if published else ""
    linked_name = f"[{name}]({url})" if linked and url else name
    return templates.compose("{credit}:", {"credit": _text(", ".join(filter(None, (linked_name, by, day))))})


def _quotation(entry: RoundupEntry) -> ComposedText:
    passage = entry.passage
    trace = Trace(text=passage.text, field=passage.field, start=passage.start, end=passage.end, item_id=entry.item_id)
    return ComposedText(f"> {escape_markdown(passage.text)}", (trace,))


def _headline_value(material: Material) -> TemplateValue:
    value = material.title_value()
    return value._replace(text=escape_markdown(value.text))


def _with_item_id(value: TemplateValue, entry: RoundupEntry) -> TemplateValue:
    return value._replace(traces=tuple(replace(trace, item_id=entry.item_id) for trace in value.traces))


def _text(text: str) -> TemplateValue:
    return template_value(text)


def _link_target(material: Material) -> str | None:
    # Parentheses in an address would end a plain Markdown link early.
    link = material.link
    return f"<{link}>" if link and ("(" in link or ")" in link) else link


def _author(material: Material) -> str:
    """Return the author if it is a person and not the source again."""
    author = attribution.get_author(material.brief)
    return "" if author.casefold() == material.name.casefold() else escape_markdown(author)


def _spell_topic(topic: str, entries: Sequence[RoundupEntry]) -> str:
    """Return the interest as the first headline that has it spells it: `Rust` where the user follows `rust`."""
    for entry in entries:
        if match := re.search(rf"(?<!\w){re.escape(topic)}(?!\w)", entry.material.headline.text, re.IGNORECASE):
            topic = match[0]
            break
    # Not that of iOS.
    return topic[:1].upper() + topic[1:] if topic.islower() else topic


def _format_days(entries: Sequence[RoundupEntry], *, english: bool) -> str:
    """Return the days of the entries, for example `16 to 18 February 2026`; empty if one of them has no date."""
    dates = [entry.material.brief.published for entry in entries]
    days = sorted(date for date in dates if date is not None)
    if len(days) < len(dates):
        return ""
    first, last = days[0], days[-1]
    last_day = attribution.format_day(last, english=english)
    if first.date() == last.date():
        return last_day
    first_day = attribution.format_day(first, english=english)
    return f"{_without_shared_end(first, last, first_day)} to {last_day}" if english else f"{first_day} – {last_day}"


def _without_shared_end(first: datetime, last: datetime, first_day: str) -> str:
    """Return the first day without the year, or month and year, that it shares with the last one."""
    day, month, _ = first_day.split(" ")
    if first.year != last.year:
        return first_day
    return day if first.month == last.month else f"{day} {month}"
