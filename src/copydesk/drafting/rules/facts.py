"""Rules that compare a draft with its source: links, mentions, numbers, quotations, names."""

import re
from collections.abc import Iterator

from copydesk.drafting.rules.numbers import in_words, numbers
from copydesk.drafting.rules.reading import Known, Reading, known, runs, stretches, words_of
from copydesk.drafting.rules.rule import ERROR, WARNING, Found, Rule, has_source
from copydesk.drafting.subject import Subject
from copydesk.model.voice import Link
from copydesk.text import links

COPIED_WORDS = 9
"""This many consecutive words of the source outside quotation marks count as copied."""
QUOTE_LENGTH = 12
"""Characters from which a quotation must be verbatim; shorter ones are single words or terms."""

_NAME = re.compile(r"\b[A-Z][a-z]\w*(?:[ \u00a0](?:[A-Z]\w+|(?:of|the|de|van|von)(?=[ \u00a0][A-Z])))*")
_ELLIPSIS = re.compile(r"\[?(?:…|\.\.\.)\]?")
# Languages that capitalise all nouns, where a capital does not indicate a name.
_CAPITALISED_NOUNS = ("de", "lb")


def _source_missing(_: Reading, __: Subject) -> Iterator[Found]:
    yield Found(WARNING, "There is no source to check this against: it was made of the prompt alone.")


def _foreign_link(analyzed: Reading, context: Subject) -> Iterator[Found]:
    item_keys = {links.key(context.url)} if context.url else set()
    item_host = links.host(context.url)
    source = known(context.source)
    for start, end in links.all_spans(analyzed.text):
        link = analyzed.text[start:end]
        has_no_scheme = "://" not in link
        if links.key(link) in item_keys or links.key(link) in source.links:
            continue
        if not (has_no_scheme and (link.lower() in source.lower or _is_item_host(link.lower(), item_host))):
            yield Found(ERROR, f"Links to {link[:80]}, which is not in the item.", start, end)


def _is_item_host(link: str, item_host: str) -> bool:
    host = link.removeprefix("www.")
    return bool(item_host) and (host == item_host or item_host.endswith(f".{host}"))


def _link_missing(analyzed: Reading, context: Subject) -> Iterator[Found]:
    item_key = links.key(context.url or "")
    if not any(links.key(analyzed.text[start:end]) == item_key for start, end in links.spans(analyzed.text)):
        yield Found(WARNING, "The item's link is not in it.")


def _link_unwanted(analyzed: Reading, _: Subject) -> Iterator[Found]:
    for start, end in links.spans(analyzed.text):
        yield Found(WARNING, "The voice says that this format has no link.", start, end)


def _mention(analyzed: Reading, context: Subject) -> Iterator[Found]:
    source = known(context.source)
    for match in links.MENTION.finditer(analyzed.masked) if "@" in analyzed.masked else ():
        if match[0].lower() not in source.handles:
            yield Found(ERROR, f"Would notify {match[0]}, who is not in the item.", *match.span())


def _number(analyzed: Reading, context: Subject) -> Iterator[Found]:
    source = known(context.source)
    for amount in numbers(analyzed.masked):
        # Small numbers are used in phrases ("3 reasons") that no source has to contain.
        small = isinstance(amount.value, float) and amount.value <= 10 and amount.shown.isdigit()
        if not (small or source.amounts.have(amount) or any(source.says([word]) for word in in_words(amount))):
            yield Found(ERROR, f"“{amount.shown}” is not in the item.", amount.start, amount.end)


def _quote(analyzed: Reading, context: Subject) -> Iterator[Found]:
    source = known(context.source)
    for start, end, quotation in analyzed.quotations:
        if len(quotation) >= QUOTE_LENGTH and not _is_in_source(quotation, source):
            yield Found(ERROR, "This quotation is not word for word in the item.", start, end)


def _is_in_source(quotation: str, source: Known) -> bool:
    """Return True if the source contains the quotation, or each of its lines and of its parts around an ellipsis."""
    if _contains(quotation, source):
        return True
    fragments = [line for fragment in _ELLIPSIS.split(quotation) for line in fragment.split("\n") if words_of(line)]
    return bool(fragments) and all(_contains(fragment, source) for fragment in fragments)


def _contains(text: str, source: Known) -> bool:
    return source.says(words_of(text)) or source.says_but_for_quotes(text)


def _name(analyzed: Reading, context: Subject) -> Iterator[Found]:
    source = known(context.source)
    for match in _NAME.finditer(analyzed.own):
        name = match[0]
        if _starts_sentence(analyzed.own, match.start()):
            # The first word of a sentence is capitalised anyway.
            _, _, name = name.partition(" ")
        if name[:1].isupper() and name.lower().replace("’", "'") not in source.lower:
            yield Found(WARNING, f"{name} is not in the item.", *match.span())


def _starts_sentence(text: str, position: int) -> bool:
    preceding = text[max(0, position - 12) : position].rstrip(" “\"'‘(*#>")
    return not preceding or preceding[-1] in ".!?…:\n\x1f—–-"


def _copied(analyzed: Reading, context: Subject) -> Iterator[Found]:
    source = known(context.source)
    title = f" {' '.join(words_of(context.title))} "
    for words in stretches(analyzed.own, context.title):
        for ngram in runs(words, COPIED_WORDS):
            if source.says([ngram]) and f" {ngram} " not in title:
                yield Found(
                    WARNING, f"{COPIED_WORDS} words and more are the item's own, without quotation marks: “{ngram}”."
                )
                return


def _injection(_: Reading, context: Subject) -> Iterator[Found]:
    if instruction := known(context.source).instruction:
        yield Found(WARNING, f"The item has text that reads like an instruction: “{instruction}”.")


def _has_names(context: Subject) -> bool:
    language = (context.language or "en").lower()
    return has_source(context) and not language.startswith(_CAPITALISED_NOUNS)


def _is_foreign_text(context: Subject) -> bool:
    """Return True if the source is somebody else's text. The user's own prompt may be copied and followed."""
    return has_source(context) and not context.unsourced


def _wants_link(context: Subject) -> bool:
    return links.postable(context.url) is not None and context.settings.link is not Link.NEVER


RULES = (
    Rule("source-missing", _source_missing, lambda context: context.unsourced),
    Rule("foreign-link", _foreign_link, lambda context: has_source(context) or bool(context.url)),
    Rule("link-missing", _link_missing, _wants_link),
    Rule("link-unwanted", _link_unwanted, lambda context: context.settings.link is Link.NEVER),
    Rule("mention", _mention, has_source),
    Rule("number", _number, has_source),
    Rule("quote", _quote, has_source),
    Rule("name", _name, _has_names),
    Rule("copied", _copied, _is_foreign_text),
    Rule("injection", _injection, _is_foreign_text),
)
