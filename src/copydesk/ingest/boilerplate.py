"""Remove a feed's boilerplate from its entries: what several of them share, and what is boilerplate in any feed.

It is learnt from the entries of one response, so that nothing has to be stored, and removed before entries are: neither
filters, ranking, preference nor drafts see it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from copydesk.model.item import Entry
from copydesk.text.sentences import spans

MIN_ENTRIES = 3
"""Entries with different titles that must share a line or sentence: two may quote the same words by chance."""
_MAX_LENGTH = 400
"""Characters of a line that may be boilerplate, and of the end of a text that is compared sentence by sentence, because
a footer often has no line of its own."""
_MAX_SENTENCES = 5
"""Sentences removed from the end of a text."""
_MIN_OTHER_SPACES = 2
_NUMBER = re.compile(r"\d+")
_PHRASES = re.compile(
    r"""(?ix)(?:
      (?:the\ post|der\ beitrag|l['’]article|la\ entrada|l['’]articolo|o\ post|het\ bericht)\ .{1,400}
      \ (?:appeared\ first\ on|first\ appeared\ on|erschien\ zuerst\ auf|est\ apparu\ en\ premier\ sur
          |se\ publicó\ primero\ en|aparece\ primero\ en|proviene\ da|apareceu\ primeiro\ em|verscheen\ eerst\ op)
      \ .{1,100}
    | (?:(?:read|see|view)\ (?:more|on|the\ (?:full|rest|whole|original)|full|original)|weiterlesen|lire\ la\ suite
        |leer\ más|seguir\ leyendo|leggi\ tutto|continua\ a\ leggere|leia\ mais|lees\ (?:meer|verder))\b.{0,80}
    | continue\ reading\b.{0,200}
    | (?:続きを読む|もっと読む|阅读全文|阅读更多).{0,20}
    | (?:leave\ a\ )?comments? | submitted\ by\ .{0,80}\[comments\] | \[link\]\s*\[comments\]
    | article\ url:.* | comments\ url:.* | points:\ \d+ | \#\ comments:\ \d+ | \d+\ posts\ -\ \d+\ participants
    )\W*"""
)


def strip_boilerplate(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries of one response without lines and closing sentences that are boilerplate."""
    counts: Counter[str] = Counter()
    # The same story twice does not make its text boilerplate.
    for entry in {entry.title: entry for entry in entries}.values():
        counts.update({key for text in (entry.summary, entry.text) for key in _keys(text, entry.title)})
    repeated = {key for key, count in counts.items() if count >= MIN_ENTRIES}
    return tuple(_strip_entry(entry, repeated) for entry in entries)


def _strip_entry(entry: Entry, repeated: set[str]) -> Entry:
    summary, text = (_strip_text(text, entry.title, repeated) for text in (entry.summary, entry.text))
    # Nearly all entries stay as they are.
    return entry if (summary, text) == (entry.summary, entry.text) else replace(entry, summary=summary, text=text)


def _strip_text(text: str, title: str, repeated: set[str]) -> str:
    lines = text.split("\n")
    remaining = [line for line in lines if not _is_boilerplate(line, title, repeated)]
    if len(remaining) < len(lines):
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(remaining)).strip()
    for _ in range(_MAX_SENTENCES):
        sentence = next(_last_sentences(text), "")
        if not _is_boilerplate(sentence, title, repeated):
            break
        text = text.removesuffix(sentence).rstrip()
    return text


def _is_boilerplate(line: str, title: str, repeated: set[str]) -> bool:
    if not line or len(line) > _MAX_LENGTH:
        return False
    return _key(line, title) in repeated or _PHRASES.fullmatch(line.strip()) is not None


def _keys(text: str, title: str) -> Iterator[str]:
    """Yield the keys of the lines of `text` and of its last sentences."""
    return (_key(line, title) for line in (*text.split("\n"), *_last_sentences(text)) if 0 < len(line) <= _MAX_LENGTH)


def _last_sentences(text: str) -> Iterator[str]:
    """Yield the last sentences of `text`, the last one first."""
    tail = text[-_MAX_LENGTH:]
    # The first one may be cut.
    complete = spans(tail)[1 if len(text) > _MAX_LENGTH else 0 :]
    return (tail[start:end] for start, end in reversed(complete))


@lru_cache(1_000)
def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _key(line: str, title: str) -> str:
    """Return what is compared: numbers do not count, nor the title in "The post {title} appeared first on Site"."""
    folded = _folded(line)
    if (name := _folded(title)) and name in folded:
        rest = folded.replace(name, "{title}", 1)
        # Otherwise the line says no more than the title, which is different in every entry.
        folded = rest if rest.count(" ") >= _MIN_OTHER_SPACES else folded
    return _NUMBER.sub("0", folded)
