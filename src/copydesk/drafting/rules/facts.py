"""Whether a draft says only what its source says: links, mentions, numbers, quotations, names."""

import re
from collections.abc import Iterator

from copydesk.drafting.rules.numbers import in_words, numbers
from copydesk.drafting.rules.reading import Known, Reading, known, runs, stretches, words_of
from copydesk.drafting.rules.rule import ERROR, WARNING, Found, Rule, has_source
from copydesk.drafting.subject import Subject
from copydesk.model.voice import Link
from copydesk.text import links

COPIED_WORDS = 9
"""So many words in a row that are the source's, and not shown as a quotation, are copied."""
QUOTE_LENGTH = 12
"""Characters from which a quotation has to be verbatim; shorter ones are single words."""

_NAME = re.compile(r"\b[A-Z][a-z]\w*(?:[ \u00a0](?:[A-Z]\w+|(?:of|the|de|van|von)(?=[ \u00a0][A-Z])))*")
_ELLIPSIS = re.compile(r"\[?(?:…|\.\.\.)\]?")
# Languages that capitalise nouns: a capital says nothing there.
_NOUNS_CAPITALISED = ("de", "lb")


def _source_missing(_: Reading, __: Subject) -> Iterator[Found]:
    yield Found(WARNING, "There is no source to check this against: it was made of the prompt alone.")


def _foreign_link(reading: Reading, subject: Subject) -> Iterator[Found]:
    ours = {links.key(subject.url)} if subject.url else set()
    home = links.host(subject.url)
    facts = known(subject.source)
    for start, end in links.all_spans(reading.text):
        shown = reading.text[start:end]
        bare = "://" not in shown
        if links.key(shown) in ours or links.key(shown) in facts.links:
            continue
        if not (bare and (shown.lower() in facts.lower or _is_home(shown.lower(), home))):
            yield Found(ERROR, f"Links to {shown[:80]}, which is not in the item.", start, end)


def _is_home(shown: str, home: str) -> bool:
    name = shown.removeprefix("www.")
    return bool(home) and (name == home or home.endswith(f".{name}"))


def _link_missing(reading: Reading, subject: Subject) -> Iterator[Found]:
    wanted = links.key(subject.url or "")
    if not any(links.key(reading.text[start:end]) == wanted for start, end in links.spans(reading.text)):
        yield Found(WARNING, "The item's link is not in it.")


def _link_unwanted(reading: Reading, _: Subject) -> Iterator[Found]:
    for start, end in links.spans(reading.text):
        yield Found(WARNING, "The voice says that this format has no link.", start, end)


def _mention(reading: Reading, subject: Subject) -> Iterator[Found]:
    facts = known(subject.source)
    for match in links.MENTION.finditer(reading.masked) if "@" in reading.masked else ():
        if match[0].lower() not in facts.handles:
            yield Found(ERROR, f"Would notify {match[0]}, who is not in the item.", *match.span())


def _number(reading: Reading, subject: Subject) -> Iterator[Found]:
    facts = known(subject.source)
    for amount in numbers(reading.masked):
        small = isinstance(amount.value, float) and amount.value <= 10 and amount.shown.isdigit()
        if not (small or facts.amounts.have(amount) or any(facts.says([word]) for word in in_words(amount))):
            yield Found(ERROR, f"“{amount.shown}” is not in the item.", amount.start, amount.end)


def _quote(reading: Reading, subject: Subject) -> Iterator[Found]:
    facts = known(subject.source)
    for start, end, inside in reading.quotations:
        if len(inside) >= QUOTE_LENGTH and not _is_said(inside, facts):
            yield Found(ERROR, "This quotation is not word for word in the item.", start, end)


def _is_said(inside: str, facts: Known) -> bool:
    """Whether the quotation is the source's, or its sentences and the pieces around an ellipsis are."""
    if _says(inside, facts):
        return True
    pieces = [line for piece in _ELLIPSIS.split(inside) for line in piece.split("\n") if words_of(line)]
    return bool(pieces) and all(_says(piece, facts) for piece in pieces)


def _says(text: str, facts: Known) -> bool:
    return facts.says(words_of(text)) or facts.says_but_for_quotes(text)


def _name(reading: Reading, subject: Subject) -> Iterator[Found]:
    facts = known(subject.source)
    for match in _NAME.finditer(reading.own):
        name = match[0]
        if _starts_sentence(reading.own, match.start()):
            _, _, name = name.partition(" ")
        if name[:1].isupper() and name.lower().replace("’", "'") not in facts.lower:
            yield Found(WARNING, f"{name} is not in the item.", *match.span())


def _starts_sentence(text: str, place: int) -> bool:
    before = text[max(0, place - 12) : place].rstrip(" “\"'‘(*#>")
    return not before or before[-1] in ".!?…:\n\x1f—–-"


def _copied(reading: Reading, subject: Subject) -> Iterator[Found]:
    facts = known(subject.source)
    title = f" {' '.join(words_of(subject.title))} "
    for words in stretches(reading.own, subject.title):
        for run in runs(words, COPIED_WORDS):
            if facts.says([run]) and f" {run} " not in title:
                yield Found(
                    WARNING, f"{COPIED_WORDS} words and more are the item's own, without quotation marks: “{run}”."
                )
                return


def _injection(_: Reading, subject: Subject) -> Iterator[Found]:
    if found := known(subject.source).instruction:
        yield Found(WARNING, f"The item has text that reads like an instruction: “{found}”.")


def _has_names(subject: Subject) -> bool:
    language = (subject.language or "en").lower()
    return has_source(subject) and not language.startswith(_NOUNS_CAPITALISED)


def _is_anothers(subject: Subject) -> bool:
    """Whether the source is in somebody else's words: the user may copy and obey himself."""
    return has_source(subject) and not subject.unsourced


def _wants_link(subject: Subject) -> bool:
    return links.postable(subject.url) is not None and subject.settings.link is not Link.NEVER


RULES = (
    Rule("source-missing", _source_missing, lambda subject: subject.unsourced),
    Rule("foreign-link", _foreign_link, lambda subject: has_source(subject) or bool(subject.url)),
    Rule("link-missing", _link_missing, _wants_link),
    Rule("link-unwanted", _link_unwanted, lambda subject: subject.settings.link is Link.NEVER),
    Rule("mention", _mention, has_source),
    Rule("number", _number, has_source),
    Rule("quote", _quote, has_source),
    Rule("name", _name, _has_names),
    Rule("copied", _copied, _is_anothers),
    Rule("injection", _injection, _is_anothers),
)
