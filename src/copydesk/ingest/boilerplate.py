"""Remove a feed's boilerplate from its entries: what several of them share, and what is boilerplate in any feed.

It is learnt from the entries of one response, so that nothing has to be stored, and removed before entries are: neither
filters, ranking, preference nor drafts see it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec.structs import replace

from copydesk.model.item import Entry
from copydesk.text.sentences import spans

MIN_ENTRIES = 3
"""Entries with different titles that must share a line or sentence: two may quote the same words by chance."""
_MAX_LENGTH = 400
"""Characters of a line that may be boilerplate, and of the end of the last line, which is also compared sentence by
sentence, because a footer often has no line of its own."""
_MAX_SENTENCES = 5
"""Sentences removed from the end of a text."""
_MIN_OTHER_SPACES = 2
_NUMBER = re.compile(r"\d+")
_PHRASE = r"""(?:
      (?:the\ post|der\ beitrag|l['’]article|la\ entrada|l['’]articolo|o\ post|het\ bericht)\ .{1,400}
      \ (?:appeared\ first\ on|first\ appeared\ on|erschien\ zuerst\ auf|est\ apparu\ en\ premier\ sur
          |se\ publicó\ primero\ en|aparece\ primero\ en|proviene\ da|apareceu\ primeiro\ em|verscheen\ eerst\ op)
      \ .{1,100}
    | (?:(?:read|see|view)\ (?:more|on|the\ (?:full|rest|whole|original)|full|original)|weiterlesen|lire\ la\ suite
        |leer\ más|seguir\ leyendo|leggi\ tutto|continua\ a\ leggere|leia\ mais|lees\ (?:meer|verder))\b.{0,80}
    | continue\ reading\b.{0,200}
    | (?:続きを読む|もっと読む|阅读全文|阅读更多).{0,20}
    | ↩︎? | (?:leave\ a\ )?comments? | submitted\ by\ .{0,80}\[comments\] | \[link\]\s*\[comments\]
    | article\ url:.* | comments\ url:.* | points:\ \d+ | \#\ comments:\ \d+ | \d+\ posts\ -\ \d+\ participants
    )"""
_PHRASES = re.compile(rf"(?ix){_PHRASE}\W*")
_CLOSING_PHRASE = re.compile(rf"(?ix)[.!?…。！？]\S?\s*{_PHRASE}\W*\Z")
"""A phrase that closes a line after other sentences."""
_EDGE = 5
"""Characters at the beginning or end of a line that repeated lines share. Comparing these first saves most of the work;
longer ones would reach into the numbers and titles that differ."""


class _Text:
    """A text of an entry while its boilerplate is removed."""

    def __init__(self, text: str, title: str) -> None:
        self.text = text
        self.title = title
        self.lines = [line for line in text.split("\n") if 0 < len(line) <= _MAX_LENGTH]
        self.keys: dict[str, str] = {}
        """Keys of the lines that may be boilerplate."""
        self.endings: list[tuple[str, str]] = []
        """Sentences at the end of the last line, each with its key, the last one first; if they may be boilerplate."""

    def edges(self) -> set[str]:
        """Return how the lines begin and end."""
        return {
            *[line[:_EDGE] for line in self.lines],
            *[line[-_EDGE:] for line in self.lines],
            self.text[-_EDGE:],
        }

    def find_keys(self, shared: set[str]) -> None:
        """Compute the keys of the lines that begin or end like those of other entries, or like a known phrase."""
        self.keys = {
            line: _key(line, self.title)
            for line in self.lines
            if line[:_EDGE] in shared or line[-_EDGE:] in shared or _PHRASES.match(line)
        }

    def find_endings(self, shared: set[str]) -> None:
        """Split the end into sentences if it is like that of other entries, or may be a known phrase."""
        line = self.text.rpartition("\n")[2]
        tail = line[-_MAX_LENGTH:]
        self.endings = []
        if line[-_EDGE:] in shared or _CLOSING_PHRASE.search(tail):
            # The first one may be cut.
            complete = spans(tail)[1 if len(line) > _MAX_LENGTH else 0 :]
            sentences = (tail[start:end] for start, end in reversed(complete))
            self.endings = [(sentence, _key(sentence, self.title)) for sentence in sentences]

    def remove_lines(self, repeated: set[str]) -> None:
        """Remove the lines that are boilerplate."""
        removed = {line for line, key in self.keys.items() if _is_boilerplate(key, repeated)}
        # Nearly all texts stay as they are.
        if removed:
            remaining = "\n".join(line for line in self.text.split("\n") if line not in removed)
            self.text = re.sub(r"\n{3,}", "\n\n", remaining).strip()

    def remove_endings(self, repeated: set[str], shared: set[str]) -> None:
        """Remove the sentences at the end that are boilerplate."""
        for _ in range(_MAX_SENTENCES):
            if not self.endings or not _is_boilerplate(self.endings[0][1], repeated):
                return
            self.text = self.text.removesuffix(self.endings[0][0]).rstrip()
            self.find_endings(shared)


def strip_boilerplate(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries of one response without lines and closing sentences that are boilerplate."""
    pairs = [(_Text(entry.summary, entry.title), _Text(entry.text, entry.title)) for entry in entries]
    texts = [text for pair in pairs for text in pair if text.text]
    # The same story twice does not make its text boilerplate.
    counted = {entry.title: pair for entry, pair in zip(entries, pairs, strict=True)}.values()
    shared = _select_repeated(Counter(edge for one, other in counted for edge in one.edges() | other.edges()))
    for text in texts:
        text.find_keys(shared)
    counts = Counter(key for pair in counted for key in _line_keys(pair))
    repeated = _select_repeated(counts)
    for text in texts:
        text.remove_lines(repeated)
        # After the lines, because a line of its own may follow the last sentence.
        text.find_endings(shared)
    for pair in counted:
        counts.update({key for text in pair for _, key in text.endings} - _line_keys(pair))
    repeated = _select_repeated(counts)
    for text in texts:
        text.remove_endings(repeated, shared)
    return tuple(
        _replace_texts(entry, *(text.text for text in pair)) for entry, pair in zip(entries, pairs, strict=True)
    )


def _line_keys(texts: Iterable[_Text]) -> set[str]:
    return {key for text in texts for key in text.keys.values()}


def _select_repeated(counts: Counter[str]) -> set[str]:
    return {key for key, count in counts.items() if count >= MIN_ENTRIES and key}


def _replace_texts(entry: Entry, summary: str, text: str) -> Entry:
    return entry if (summary, text) == (entry.summary, entry.text) else replace(entry, summary=summary, text=text)


def _is_boilerplate(key: str, repeated: set[str]) -> bool:
    return key in repeated or (key != "" and _PHRASES.fullmatch(key) is not None)


@lru_cache(1_000)
def _fold(text: str) -> str:
    """Return the text as it is compared: numbers, upper case and the kind of space do not count."""
    return _NUMBER.sub("0", " ".join(text.casefold().split()))


def _key(line: str, title: str) -> str:
    """Return what is compared: without the title in "The post {title} appeared first on Site"."""
    key, name = _fold(line), _fold(title)
    if name and name in key:
        rest = key.replace(name, "{title}", 1)
        # Otherwise the line says no more than the title, which is different in every entry.
        return rest if rest.count(" ") >= _MIN_OTHER_SPACES else key
    return key
