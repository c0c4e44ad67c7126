"""Rules that compare a draft with its source: links, mentions, numbers, quotations, names."""

import re
from collections.abc import Iterable, Iterator

from copydesk.drafting.check_context import ERROR, WARNING, CheckContext, Rule, RuleMatch, has_source
from copydesk.drafting.rules.analyzed_text import (
    AnalyzedText,
    SourceText,
    analyze_source,
    find_numbers,
    ngrams,
    own_sections,
    spellings,
    split_words,
)
from copydesk.model.voice import Link
from copydesk.text import links

COPIED_LENGTH = 9
"""This many consecutive words of the source outside quotation marks count as copied."""
MIN_QUOTE_LENGTH = 12
"""Characters from which a quotation must be verbatim; shorter ones are single words or terms."""

_NAME = re.compile(r"\b[A-Z][a-z]\w*(?:[ \u00a0](?:[A-Z]\w+|(?:of|the|de|van|von)(?=[ \u00a0][A-Z])))*")
_ELLIPSIS = re.compile(r"\[?(?:…|\.\.\.)\]?")
# Languages that capitalise all nouns, where a capital does not indicate a name.
_CAPITALISED_NOUNS = ("de", "lb")


def _source_missing(_: AnalyzedText, __: CheckContext) -> Iterator[RuleMatch]:
    yield RuleMatch(WARNING, "No source to check facts against: written from a prompt only.")


def _foreign_link(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    urls = [url for url in (context.url, *context.other_urls) if url]
    # By key, because a draft may drop tracking parameters or "www." from the source's address.
    item_keys = {links.comparison_key(url) for url in urls}
    item_hosts = [links.host(url) for url in urls]
    source = analyze_source(context.source)
    for start, end in links.all_spans(analyzed.text):
        link = analyzed.text[start:end]
        # Platforms make links of bare host names too; one that the source mentions as text is accepted.
        has_no_scheme = "://" not in link
        if links.comparison_key(link) in item_keys or links.comparison_key(link) in source.links:
            continue
        if not (has_no_scheme and (link.lower() in source.trusted.lower() or _is_item_host(link.lower(), item_hosts))):
            yield RuleMatch(ERROR, f"Link not found in the source: {link[:80]}", start, end)


def _is_item_host(link: str, item_hosts: Iterable[str]) -> bool:
    host = link.removeprefix("www.")
    return any(host == item_host or item_host.endswith(f".{host}") for item_host in item_hosts)


def _link_missing(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    item_key = links.comparison_key(context.url or "")
    if not any(links.comparison_key(analyzed.text[start:end]) == item_key for start, end in links.spans(analyzed.text)):
        yield RuleMatch(WARNING, "Source link missing.")


def _link_unwanted(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    for start, end in links.spans(analyzed.text):
        yield RuleMatch(WARNING, "Your voice asks for no link in this format.", start, end)


def _mention(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    source = analyze_source(context.source)
    for match in links.MENTION.finditer(analyzed.masked) if "@" in analyzed.masked else ():
        if match[0].lower() not in source.handles:
            yield RuleMatch(ERROR, f"Mention not found in the source: {match[0]}", *match.span())


def _number(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    source = analyze_source(context.source)
    for amount in find_numbers(analyzed.masked):
        # Small numbers are used in phrases ("3 reasons") that no source has to contain.
        small = isinstance(amount.value, float) and amount.value <= 10 and amount.text.isdigit()
        if not (small or source.amounts.contains(amount) or any(source.contains([word]) for word in spellings(amount))):
            yield RuleMatch(ERROR, f"“{amount.text}” not found in the source.", amount.start, amount.end)


def _quote(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    source = analyze_source(context.source)
    for start, end, quotation in analyzed.quotations:
        if len(quotation) >= MIN_QUOTE_LENGTH and not _is_in_source(quotation, source):
            yield RuleMatch(ERROR, "This quotation is not verbatim from the source.", start, end)


def _is_in_source(quotation: str, source: SourceText) -> bool:
    """Return True if the source contains the quotation, or each of its lines and of its parts around an ellipsis."""
    if _contains(quotation, source):
        return True
    # A shortened quotation is verbatim in its parts; line breaks come from lists and poems.
    fragments = [line for fragment in _ELLIPSIS.split(quotation) for line in fragment.split("\n") if split_words(line)]
    return bool(fragments) and all(_contains(fragment, source) for fragment in fragments)


def _contains(text: str, source: SourceText) -> bool:
    return source.contains(split_words(text)) or source.contains_ignoring_quotes(text)


def _name(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    source = analyze_source(context.source)
    # Hashtags are the draft's own.
    own_text = links.blank_spans(analyzed.own_text, links.hashtag_spans(analyzed.own_text))
    for match in _NAME.finditer(own_text):
        name = match[0]
        if _starts_sentence(own_text, match.start()):
            # The first word of a sentence is capitalised anyway.
            _, _, name = name.partition(" ")
        if name[:1].isupper() and name.lower().replace("’", "'") not in source.lower:
            yield RuleMatch(WARNING, f"{name} not found in the source.", *match.span())


def _starts_sentence(text: str, position: int) -> bool:
    preceding = text[max(0, position - 12) : position].rstrip(" “\"'‘(*#>")
    # "\x1f" stands for what was blanked out, such as a quotation, after which a sentence may begin.
    return not preceding or preceding[-1] in ".!?…:\n\x1f—–-"


def _copied(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    source = analyze_source(context.source)
    # A headline is short and is how people refer to the article.
    titles = (context.title, *context.other_titles)
    title_words = "\n".join(f" {' '.join(split_words(title))} " for title in titles)
    for words in own_sections(analyzed.own_text, titles):
        for ngram in ngrams(words, COPIED_LENGTH):
            if source.contains([ngram]) and f" {ngram} " not in title_words:
                yield RuleMatch(
                    WARNING, f"{COPIED_LENGTH} or more words copied from the source without quotation marks: “{ngram}”."
                )
                # One match is enough: every following word would give another one for the same passage.
                return


def _injection(_: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    if instruction := analyze_source(context.source).instruction:
        yield RuleMatch(WARNING, f"The source contains text that reads like an instruction: “{instruction}”.")


def _has_names(context: CheckContext) -> bool:
    language = (context.language or "en").lower()
    return has_source(context) and not language.startswith(_CAPITALISED_NOUNS)


def _is_foreign_text(context: CheckContext) -> bool:
    """Return True if the source is somebody else's text. The user's own prompt may be copied and followed."""
    return has_source(context) and not context.is_prompt_only


def _wants_link(context: CheckContext) -> bool:
    return links.postable_url(context.url) is not None and context.settings.link is not Link.NEVER


RULES = (
    Rule("source-missing", _source_missing, lambda context: context.is_prompt_only),
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
