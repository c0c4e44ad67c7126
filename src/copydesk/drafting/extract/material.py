"""What an item offers to a draft: its headline, the sentences worth quoting, a name, a link, and the room there is."""

import re
from collections.abc import Callable
from typing import NamedTuple

from copydesk.drafting.avoid import first_avoided
from copydesk.drafting.extract import choose, credit
from copydesk.drafting.extract.frames import Composed, Piece
from copydesk.drafting.extract.passages import Passage, passages, readable, speaks_as_author
from copydesk.drafting.writer import DEFAULT_PLATFORMS, Brief, Field, Trace
from copydesk.errors import WriterError
from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, Link
from copydesk.text import links
from copydesk.text.length import LIMITS, fits, graphemes, with_short_links

_TITLE_READ = 2000
_TAIL = re.compile(r"(?:\s+(?:https?://\S+|[#＃]\w+))+\s*$")
_SOURCE_TAIL = re.compile(r"\s+[-–—|•·]\s+([^-–—|•·]{2,60})$")
_ELLIPSIS = ("…", "...", "..")

Fits = Callable[[str], bool]


class Headline(NamedTuple):
    """The item's title as a draft shows it."""

    text: str
    start: int
    end: int

    @property
    def wordless(self) -> bool:
        """Whether there is no word in it."""
        return not any(map(str.isalnum, self.text))

    @property
    def broken(self) -> bool:
        """Whether it is no whole title: without a word, or cut off by whoever made the feed."""
        return self.wordless or self.text.endswith(_ELLIPSIS)


class Material(NamedTuple):
    """An item, read."""

    brief: Brief
    headline: Headline
    name: str
    link: str | None
    english: bool
    found: list[Passage]
    """Every sentence that can be quoted, in order, none twice, none with an avoided word."""
    avoided: str | None
    """A word of the avoid list that cost the title or a sentence."""
    said: tuple[str, ...] = ()
    """The words of every earlier version."""

    def title_piece(self, text: str | None = None) -> Piece:
        """The headline, or `text` of it; in quotation marks where it says "I", which the user does not."""
        text = self.headline.text if text is None else text
        shown = credit.quoted(text, self.language) if self.name and speaks_as_author(text) else text
        trace = Trace(text=text, field=Field.TITLE, start=self.headline.start, end=self.headline.end)
        return Piece(shown, (trace,))

    def quote_piece(self, passage: Passage) -> Piece:
        """A sentence in quotation marks; without them where it is nobody's but the user's own."""
        trace = Trace(text=passage.text, field=passage.field, start=passage.start, end=passage.end)
        return Piece(credit.quoted(passage.text, self.language) if self.name else passage.text, (trace,))

    def quoted_before(self, passage: Passage) -> bool:
        """Whether an earlier version has this sentence, whatever marks it has there."""
        words = _bare(passage.text)
        return any(words in said for said in self.said)

    @property
    def seed(self) -> str:
        """What decides between choices that are equally good; another one for each new version."""
        return f"{self.brief.item_id} {self.brief.format} {self.brief.previous or ''}"

    @property
    def language(self) -> str | None:
        """The item's language; English where it looks like it and nothing is stated."""
        return self.brief.language or ("en" if self.english else None)


def read(brief: Brief) -> Material:
    """What `brief` offers."""
    emoji = brief.settings.emoji is not Emoji.NEVER
    name = readable(credit.name_of(brief), emoji=emoji)
    headline = _headline(brief, name, emoji=emoji)
    found = passages(brief.summary, Field.SUMMARY, emoji=emoji)
    if not _is_caption(brief):
        found += passages(brief.text, Field.TEXT, emoji=emoji)
    allowed = [passage for passage in choose.distinct(found) if not first_avoided(passage.text, brief.voice.avoid)]
    avoided = first_avoided(" ".join([headline.text, *(passage.text for passage in found)]), brief.voice.avoid)
    link = None if brief.settings.link is Link.NEVER else links.postable(links.untracked(brief.url or ""))
    if first_avoided(headline.text, brief.voice.avoid):
        headline = Headline("", 0, 0)
    said = tuple(_bare(text) for text in brief.before)
    return Material(brief, headline, name, link, credit.is_english(brief), allowed, avoided, said)


def template(shown: str) -> Piece:
    """A piece of the writer's own."""
    return Piece(shown, (Trace(text=shown, field=Field.TEMPLATE),))


def room(brief: Brief, *, short_links: bool = False) -> Fits:
    """Whether a text is within the limits of one post of `brief`: the voice's, in graphemes, and the platforms' own.

    `short_links` counts links on Bluesky as its app shows them.
    """
    most = brief.settings.max_length
    platforms = brief.platforms
    if brief.format is Format.BLOG:
        platforms = ()
    elif not platforms and (most is None or most <= LIMITS["bluesky"]):
        platforms = DEFAULT_PLATFORMS
    # X's length takes longest to tell, and most texts that are too long are so for the others as well.
    platforms = tuple(sorted(platforms, key=lambda platform: platform == "x"))

    def within(text: str) -> bool:
        if most is not None and len(graphemes(text)) > most:
            return False
        shown = with_short_links(text) if short_links else text
        return all(fits(shown if platform == "bluesky" else text, platform) for platform in platforms)

    return within


def checked(composed: Composed, fits_in: Fits, avoid: tuple[str, ...]) -> bool:
    """Whether a text can be handed over: within its limits, and without a word that the user avoids."""
    return fits_in(composed.text) and first_avoided(composed.text, avoid) is None


def nothing_left(material: Material) -> WriterError:
    """Why there is no draft."""
    if material.avoided:
        return WriterError(
            f"Nothing of the item is left without words on the avoid list (such as {material.avoided!r}).",
            hint="Take a word off the list, or write this one by hand.",
        )
    if material.headline.wordless and not material.found:
        return WriterError("The item has no words to make a draft of.", hint="Write this one by hand.")
    return WriterError("Nothing of the item fits into the length that is set.", hint="Allow more, or write it by hand.")


def nothing_new() -> WriterError:
    """Why there is no other version."""
    return WriterError(
        "The offline writer can make no other version of this: it has used what the item says.",
        hint="Edit the text by hand.",
    )


def _bare(text: str) -> str:
    """`text` without marks, which a frame may have changed."""
    return re.sub(r"\W+", " ", text).strip()


def _is_caption(brief: Brief) -> bool:
    """Whether the text beside a summary is no more than a picture's caption, as some feeds have it."""
    return len(brief.text) <= 1.1 * len(brief.summary) and brief.summary not in brief.text


def _headline(brief: Brief, name: str, *, emoji: bool) -> Headline:
    """The title without what a source hangs on it: its own name, links, hashtags."""
    title = brief.title[:_TITLE_READ]
    end = len(title.rstrip())
    if tail := _TAIL.search(title, 0, end):
        end = tail.start()
    if (tail := _SOURCE_TAIL.search(title, 0, end)) and tail.start() > 10 and _names_source(tail[1], brief, name):
        end = tail.start()
    text = readable(title[:end], emoji=emoji)
    text = readable(links.replaced(text, links.spans(text), ""))
    return Headline(links.HASHTAG.sub(lambda match: match[0][1:], text), 0, end)


def _names_source(tail: str, brief: Brief, name: str) -> bool:
    return tail.casefold().strip() in {
        known.casefold() for known in (name, brief.publisher, brief.source_name, links.host(brief.url)) if known
    }
