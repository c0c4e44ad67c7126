"""A draft and its source, taken apart once for all rules."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

from copydesk.drafting.extract.passages import readable
from copydesk.drafting.rules.injection import source_findings
from copydesk.drafting.rules.numbers import Amounts, amounts_in
from copydesk.model.draft import Format
from copydesk.text import links
from copydesk.text.thread import SEPARATOR_LINE

SOURCE_READ = 100_000
"""Characters of a source that drafts are compared with."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# A mark that opens another one inside ends the attempt: that keeps a row of them from being read again from each.
_QUOTED = re.compile(r"“[^“”\n]*”|\"[^\"\n]*\"|«[^«»\n]*»|„[^„“”\n]*[“”]|「[^「」\n]*」")
_BLOCK_QUOTE = re.compile(r"^>[^\n]*(?:\n>[^\n]*)*", re.MULTILINE)
_ESCAPE = re.compile(r"\\(?=[^\w\s])")
_CUT = "\x1f"


class Reading:
    """A draft's text from every side that a rule looks at it."""

    def __init__(self, text: str, format: Format) -> None:
        self.text = text
        self.format = format

    @cached_property
    def masked(self) -> str:
        """The text with spaces for its links; places are those of the text."""
        return links.masked(self.text)

    @cached_property
    def words(self) -> list[str]:
        """All words outside links, in lower case."""
        return words_of(self.masked)

    @cached_property
    def quotations(self) -> list[tuple[int, int, str]]:
        """What stands in quotation marks and block quotations: where, and the words without the marks."""
        found = [(m.start(), m.end(), m[0][1:-1]) for m in _QUOTED.finditer(self.masked)]
        if self.format is Format.BLOG:
            blocks = [(m.start(), m.end(), _unquoted(m[0])) for m in _BLOCK_QUOTE.finditer(self.masked)]
            found = blocks + [q for q in found if not any(start <= q[0] < end for start, end, _ in blocks)]
        return sorted(found)

    @cached_property
    def own(self) -> str:
        """The masked text with a mark and spaces for every quotation: the words that are not given as another's."""
        out: list[str] = []
        last = 0
        for start, end, _ in self.quotations:
            if start >= last:
                out += (self.masked[last:start], _CUT.ljust(end - start))
                last = end
        return "".join((*out, self.masked[last:]))

    @cached_property
    def parts(self) -> list[tuple[int, str]]:
        """The posts that the text makes, each with its place in the text: one, but for a THREAD."""
        if self.format is not Format.THREAD:
            return [(0, self.text)]
        return list(_parts(self.text))


_QUOTES = re.compile("[\"'“”‘’«»„]")


class Known:
    """A source's text from every side that a draft is compared with it."""

    def __init__(self, source: str) -> None:
        self.text = readable(source[:SOURCE_READ])
        self.lower = self.text.lower().replace("’", "'")
        self.masked = links.masked(self.text)
        self.joined = f" {' '.join(words_of(self.masked))} "

    @cached_property
    def amounts(self) -> Amounts:
        """Every number in it."""
        return amounts_in(self.masked)

    @cached_property
    def handles(self) -> frozenset[str]:
        """Every handle in it, in lower case."""
        return frozenset(handle.lower() for handle in links.MENTION.findall(self.text))

    @cached_property
    def links(self) -> frozenset[str]:
        """Every address in it, reduced to its key."""
        return frozenset(links.key(self.text[start:end]) for start, end in links.all_spans(self.text))

    @cached_property
    def instruction(self) -> str:
        """The first words in it that read like an instruction to a writer; empty where there are none."""
        found = next(iter(source_findings(self.text)), None)
        return " ".join(self.text[found.start : found.end].split()) if found else ""

    def says(self, words: Iterable[str]) -> bool:
        """Whether these words stand in it one after the other."""
        return f" {' '.join(words)} " in self.joined

    def says_but_for_quotes(self, text: str) -> bool:
        """Whether it has this text, quotation marks aside: inside a quotation double ones become single ones."""
        return unquoted(text) in self.unquoted

    @cached_property
    def unquoted(self) -> str:
        """All of it without quotation marks and apostrophes."""
        return unquoted(self.text)


def unquoted(text: str) -> str:
    """`text` in lower case without quotation marks and apostrophes, white space folded."""
    return " ".join(_QUOTES.sub("", text.lower()).split())


@lru_cache(maxsize=32)
def known(source: str) -> Known:
    """The source, read; kept, as one item's drafts and their new versions are checked one after the other."""
    return Known(source)


def words_of(text: str) -> list[str]:
    """The words of `text` in lower case, apostrophes alike."""
    return _WORD.findall(text.lower().replace("’", "'"))


def runs(words: list[str], length: int) -> list[str]:
    """Every run of `length` words, in order."""
    return [" ".join(words[n : n + length]) for n in range(len(words) - length + 1)]


def stretches(own: str, title: str) -> Iterator[list[str]]:
    """The words of a reading's own text, apart where a quotation or the item's title stood between them."""
    known_title = f" {' '.join(words_of(title))} "
    for stretch in own.split(_CUT):
        words = f" {' '.join(words_of(stretch))} "
        yield from (piece.split() for piece in words.replace(known_title, f" {_CUT} ").split(_CUT))


def _unquoted(block: str) -> str:
    return _ESCAPE.sub("", re.sub(r"^> ?", "", block, flags=re.MULTILINE))


def _parts(text: str) -> Iterator[tuple[int, str]]:
    last = 0
    for match in (*SEPARATOR_LINE.finditer(text), None):
        piece = text[last : match.start() if match else len(text)]
        if piece.strip():
            yield last + len(piece) - len(piece.lstrip()), piece.strip()
        last = match.end() if match else last
