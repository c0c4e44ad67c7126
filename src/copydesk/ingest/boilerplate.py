"""Remove a feed's boilerplate from its entries: what several of them share, and what is boilerplate in any feed.

It is learnt from the entries of one response, so that nothing has to be stored, and removed before entries are: neither
filters, ranking, preference nor drafts see it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain

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
_BLANK_LINES = re.compile("\n\n\n+")
_NUMBER = re.compile(r"\d+")
_SENTENCE_ENDS = tuple(".!?。！？")
_PHRASE = r"""(?:
      (?:the\ post|der\ beitrag|l['’]article|la\ entrada|l['’]articolo|o\ post|het\ bericht)\ .{1,400}
      \ (?:appeared\ first\ on|first\ appeared\ on|erschien\ zuerst\ auf|est\ apparu\ en\ premier\ sur
          |se\ publicó\ primero\ en|aparece\ primero\ en|proviene\ da|apareceu\ primeiro\ em|verscheen\ eerst\ op)
      \ .{1,100}
    | (?:(?:read|see|view)\ (?:more|on)|leer\ más|leia\ mais|lees\ meer)\b
        (?:(?:\ (?:about|at|from|here|in|on|over|sobre|en|em|op)\b|[^\w\s]).{0,80}|(?:\ \S+){0,3})
    | (?:(?:read|see|view)\ (?:the\ (?:full|rest|whole|original)|full|original)|weiterlesen|lire\ la\ suite
        |seguir\ leyendo|leggi\ tutto|continua\ a\ leggere|lees\ verder)\b.{0,80}
    | continue\ reading\b.{0,200}
    | (?:続きを読む|もっと読む|阅读全文|阅读更多).{0,20}
    | ↩︎? | (?:leave\ a\ )?comments? | submitted\ by\ .{0,80}\[comments\] | \[link\]\s*\[comments\]
    | article\ url:.* | comments\ url:.* | points:\ \d+ | \#\ comments:\ \d+ | \d+\ posts\ -\ \d+\ participants
    )"""
_PHRASES = re.compile(rf"(?ix){_PHRASE}\W*")
_CLOSING_PHRASE = re.compile(rf"(?ix)[.!?…。！？]\S?\s*{_PHRASE}\W*\Z")
"""A phrase that closes a line after other sentences."""
_EDGE, _LONG_EDGE = 5, 8
"""Characters at the beginning or end of a line, and of a long one, that repeated lines share. Comparing these first
saves most of the work; more characters would reach into the numbers and titles that differ."""
_LONG = 24
"""Characters of a long line."""


class _Text:
    """A text of an entry while its boilerplate is removed."""

    def __init__(self, text: str, title: str) -> None:
        self.text = text
        self.title = title
        self.lines = [(line, *_edges(line)) for line in text.split("\n") if 0 < len(line) <= _MAX_LENGTH]
        """Lines that may be boilerplate, each with its beginning and its end."""
        self.keys: dict[str, str] = {}
        """Keys of those that are like others."""
        self.endings: list[tuple[str, str]] = []
        """Sentences at the end of the last line, each with its key, the last one first; if they may be boilerplate."""

    def edges(self) -> set[str]:
        """Return how the lines begin and end, and how the text does."""
        edges = {edge for _, start, end in self.lines for edge in (start, end)}
        edges.add(_edges(self.last_line())[1])
        return edges

    def last_line(self) -> str:
        """Return the last line, of any length."""
        return self.text[self.text.rfind("\n") + 1 :]

    def find_keys(self, shared: Set[str]) -> None:
        """Compute the keys of the lines that begin or end like those of other entries, or like a known phrase."""
        self.keys = {
            line: _key(line, self.title)
            for line, start, end in self.lines
            if start in shared or end in shared or _PHRASES.match(line)
        }

    def find_endings(self, shared: Set[str]) -> None:
        """Split the end into sentences if it is like that of other entries, or may be a known phrase."""
        line = self.last_line()
        tail = line[-_MAX_LENGTH:]
        self.endings = []
        if _edges(line)[1] in shared or _CLOSING_PHRASE.search(tail):
            # The first one may be cut.
            complete = spans(tail)[1 if len(line) > _MAX_LENGTH else 0 :]
            sentences = (tail[start:end] for start, end in reversed(complete))
            self.endings = [(sentence, _key(sentence, self.title)) for sentence in sentences]

    def remove_lines(self, repeated: Set[str]) -> None:
        """Remove the lines that are boilerplate."""
        if not self.keys:
            return
        removed = {line for line, key in self.keys.items() if _is_boilerplate(key, repeated)}
        if removed:
            remaining = "\n".join(line for line in self.text.split("\n") if line not in removed)
            self.text = _BLANK_LINES.sub("\n\n", remaining).strip()

    def remove_endings(self, repeated: Set[str], shared: Set[str]) -> None:
        """Remove the sentences at the end that are boilerplate."""
        for _ in range(_MAX_SENTENCES):
            if not self.endings or not _is_boilerplate(self.endings[0][1], repeated):
                return
            self.text = self.text.removesuffix(self.endings[0][0]).rstrip()
            self.find_endings(shared)


def strip_boilerplate(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries of one response without lines and closing sentences that are boilerplate."""
    by_entry = [_read_texts(entry) for entry in entries]
    texts = [text for by_field in by_entry for text in by_field.values()]
    # The same story twice does not make its text boilerplate.
    counted = {entry.title: by_field.values() for entry, by_field in zip(entries, by_entry, strict=True)}.values()
    shared = _select_repeated(set().union(*[text.edges() for text in group]) for group in counted)
    for text in texts:
        text.find_keys(shared)
    keys = [{key for text in group for key in text.keys.values()} for group in counted]
    repeated = _select_repeated(keys)
    for text in texts:
        text.remove_lines(repeated)
        # After the lines, because a line of its own may follow the last sentence.
        text.find_endings(shared)
    for keys_of_entry, group in zip(keys, counted, strict=True):
        keys_of_entry.update(key for text in group for _, key in text.endings)
    repeated = _select_repeated(keys)
    for text in texts:
        text.remove_endings(repeated, shared)
    return tuple(_replace_texts(entry, by_field) for entry, by_field in zip(entries, by_entry, strict=True))


def _read_texts(entry: Entry) -> dict[str, _Text]:
    """Return the texts that the entry has by field."""
    texts = ("summary", entry.summary), ("text", entry.text)
    return {field: _Text(text, entry.title) for field, text in texts if text}


def _replace_texts(entry: Entry, texts: Mapping[str, _Text]) -> Entry:
    changed = {field: text.text for field, text in texts.items() if text.text != getattr(entry, field)}
    return replace(entry, **changed) if changed else entry


def _edges(line: str) -> tuple[str, str]:
    length = _EDGE if len(line) < _LONG else _LONG_EDGE
    return line[:length], line[-length:]


def _select_repeated(sets: Iterable[Set[str]]) -> Set[str]:
    """Return what is in the sets of MIN_ENTRIES entries or more."""
    counts = Counter(chain.from_iterable(sets))
    return {key for key, count in counts.items() if count >= MIN_ENTRIES and key}


def _is_boilerplate(key: str, repeated: Set[str]) -> bool:
    return key in repeated or (key != "" and _PHRASES.fullmatch(key) is not None)


@lru_cache(100)
def _fold(text: str) -> str:
    """Return the text as it is compared: upper case and the kind of space do not count."""
    return " ".join(text.casefold().split())


def _key(line: str, title: str) -> str:
    """Return what is compared: without the title in "The post {title} appeared first on Site", and without numbers."""
    key, name = _fold(line), _fold(title)
    if name and name in key:
        rest = key.replace(name, "{title}", 1)
        # Otherwise the line says no more than the title, which is different in every entry.
        key = rest if rest.count(" ") >= _MIN_OTHER_SPACES else key
    # Numbers may be all the news of a sentence: "The bridge carried 12,300 cars."
    return key if key.endswith(_SENTENCE_ENDS) else _NUMBER.sub("0", key)
