"""Remove a feed's boilerplate from its entries: what several of them share, and what is boilerplate in any feed.

It is learnt from the entries of one response, so that nothing has to be stored, and removed before entries are: neither
filters, ranking, preference nor drafts see it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

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
_PHRASES = re.compile(
    r"""(?x)(?:
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


class _Text:
    """A text of an entry while its boilerplate is removed."""

    def __init__(self, text: str, title: str) -> None:
        self.text = text
        self._title = title
        """Folded."""
        self.line_keys = [_key(line, title) for line in text.split("\n")]
        self._endings: list[tuple[str, str]] | None = None

    def remove_lines(self, repeated: set[str]) -> None:
        """Remove the lines that are boilerplate."""
        lines = self.text.split("\n")
        remaining = [
            line for line, key in zip(lines, self.line_keys, strict=True) if not _is_boilerplate(key, repeated)
        ]
        # Nearly all texts stay as they are.
        if len(remaining) < len(lines):
            self.text = re.sub(r"\n{3,}", "\n\n", "\n".join(remaining)).strip()

    def endings(self) -> list[tuple[str, str]]:
        """Return the sentences at the end of the last line, each with its key, the last one first."""
        if self._endings is None:
            self._endings = self._split_endings()
        return self._endings

    def _split_endings(self) -> list[tuple[str, str]]:
        line = self.text.rpartition("\n")[2]
        tail = line[-_MAX_LENGTH:]
        # The first one may be cut.
        complete = spans(tail)[1 if len(line) > _MAX_LENGTH else 0 :]
        sentences = (tail[start:end] for start, end in reversed(complete))
        return [(sentence, _key(sentence, self._title)) for sentence in sentences]

    def remove_endings(self, repeated: set[str]) -> None:
        """Remove the sentences at the end that are boilerplate."""
        for _ in range(_MAX_SENTENCES):
            sentence, key = next(iter(self.endings()), ("", ""))
            if not _is_boilerplate(key, repeated):
                return
            self.text, self._endings = self.text.removesuffix(sentence).rstrip(), None


def strip_boilerplate(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries of one response without lines and closing sentences that are boilerplate."""
    titles = [_fold(entry.title) for entry in entries]
    texts = [
        (_Text(entry.summary, title), _Text(entry.text, title)) for entry, title in zip(entries, titles, strict=True)
    ]
    # The same story twice does not make its text boilerplate.
    counted = dict(zip(titles, texts, strict=True)).values()
    counts = Counter(key for pair in counted for key in _line_keys(pair))
    repeated = _select_repeated(counts)
    for pair in texts:
        for text in pair:
            text.remove_lines(repeated)
    # After the lines, because a line of its own may follow the last sentence.
    counts.update(key for pair in counted for key in _ending_keys(pair) - _line_keys(pair))
    repeated = _select_repeated(counts)
    for pair in texts:
        for text in pair:
            text.remove_endings(repeated)
    return tuple(
        _replace_texts(entry, *(text.text for text in pair)) for entry, pair in zip(entries, texts, strict=True)
    )


def _line_keys(texts: Iterable[_Text]) -> set[str]:
    return {key for text in texts for key in text.line_keys}


def _ending_keys(texts: Iterable[_Text]) -> set[str]:
    return {key for text in texts for _, key in text.endings()}


def _select_repeated(counts: Counter[str]) -> set[str]:
    return {key for key, count in counts.items() if count >= MIN_ENTRIES and key}


def _replace_texts(entry: Entry, summary: str, text: str) -> Entry:
    return entry if (summary, text) == (entry.summary, entry.text) else replace(entry, summary=summary, text=text)


def _is_boilerplate(key: str, repeated: set[str]) -> bool:
    return key in repeated or (key != "" and _PHRASES.fullmatch(key) is not None)


def _fold(text: str) -> str:
    """Return the text as it is compared: numbers, upper case and the kind of space do not count."""
    return _NUMBER.sub("0", " ".join(text.casefold().split()))


def _key(line: str, title: str) -> str:
    """Return what is compared: without the title in "The post {title} appeared first on Site"; "" for a long line.

    `title` is folded.
    """
    if not 0 < len(line) <= _MAX_LENGTH:
        return ""
    key = _fold(line)
    if title and title in key:
        rest = key.replace(title, "{title}", 1)
        # Otherwise the line says no more than the title, which is different in every entry.
        return rest if rest.count(" ") >= _MIN_OTHER_SPACES else key
    return key
