"""Read a model's answer, complete or still arriving, and refuse one that is no draft. Pure."""

import json
import re
from collections.abc import Iterable

import msgspec

from copydesk.drafting.model_writer.completion import BadAnswerError
from copydesk.drafting.model_writer.prompt import Prompt
from copydesk.drafting.rules.analyzed_text import ngrams, split_words
from copydesk.model.draft import Format
from copydesk.model.serialization import Struct
from copydesk.model.writer import QuotedClaim
from copydesk.text import clean, clean_lines, links
from copydesk.text.thread import join_parts

MAX_POSTS = 25
MAX_CLAIMS = 100
MIN_QUOTE_LENGTH = 8
"""Characters of a quotation from the source; shorter ones are in any text."""
REPEATED_WORDS = 9
"""This many consecutive words of the rules count as repeating them."""
SUSPICIOUS_SOURCE_HINT = "The source may contain instructions for language models: read it before you try again."
_THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CODE_FENCE = re.compile(r"\A```\w*+[^\S\n]*+\n(.*?)\n?```\s*+\Z", re.DOTALL)
# Neither reads beyond the next tag of its kind: in an answer full of unclosed ones, each would be read to the end.
_REPORT = re.compile(r"<report>((?:(?!</?report>).)*+)</report>", re.DOTALL | re.IGNORECASE)
_POST = re.compile(r"<post>(.*?)(?:</post>|\Z)", re.DOTALL | re.IGNORECASE)
_CLAIM = re.compile(
    r"<claim>\s*+<text>((?:(?!</?(?:claim|text)>).)*+)</text>\s*+<quote>((?:(?!</?(?:claim|quote)>).)*+)</quote>\s*+</claim>",
    re.DOTALL | re.IGNORECASE,
)
_FENCE_OR_TAG = re.compile(r"<<<|>>>|</?(?:report|post|claim|source|think)>", re.IGNORECASE)
_PARTIAL_TAG = re.compile(r"</?\w{0,6}\Z")
_POSTS_FIELD = re.compile(r'"posts"\s*:\s*\[')
# Models that are held to a schema may go on with white space until their limit.
_STRING = re.compile(r'\s*+(?:,\s*+)?"((?:[^"\\]|\\.)*+)("|\\?\Z)', re.DOTALL)
_PARTIAL_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u[0-9a-fA-F]{0,3}\Z")
_COUNTER = re.compile(r"\A(?:\(?\d{1,2}/(?:\d{1,2}|n)\)?[.:)]?\s+)|(?<!\s)\s++\(?\d{1,2}/(?:\d{1,2}|n)\)?\Z")


class _Claim(msgspec.Struct):
    text: str = ""
    source_quote: str = ""


class _Answer(msgspec.Struct):
    report: str = ""
    posts: list[str] = []
    claims: list[_Claim] = []


class DraftAnswer(Struct, frozen=True):
    """The parsed answer of a model."""

    text: str
    report: str
    claims: tuple[QuotedClaim, ...]
    """Those whose quotation is in the source."""
    claims_not_in_source: int


def read_answer(text: str, format: Format, prompt: Prompt) -> DraftAnswer:
    """Return the draft in an answer. Raise BadAnswerError if there is none, or if it repeats the prompt."""
    answer = _parse(text)
    posts = [post for post in (clean_end(post) for post in answer.posts) if post]
    if format is Format.THREAD:
        posts = [_COUNTER.sub("", post) for post in posts]
    _check_number(posts, format)
    _check_leaks(posts, prompt)
    _check_additions(posts, prompt)
    claims = [
        QuotedClaim(text=_one_line(claim.text), source_quote=_one_line(claim.source_quote)) for claim in answer.claims
    ]
    # A quotation that is not in the source proves nothing; models make them up.
    found = [claim for claim in claims[:MAX_CLAIMS] if is_in_source(claim.source_quote, prompt.source)]
    return DraftAnswer(
        text=join_parts(posts) if format is Format.THREAD else posts[0],
        report=clean_lines(answer.report).strip(),
        claims=tuple(found),
        claims_not_in_source=min(len(claims), MAX_CLAIMS) - len(found),
    )


def read_partial(text: str, format: Format) -> str:
    """Return the draft as far as an unfinished answer contains it, for display; empty while there is none."""
    text = _THOUGHTS.sub("", text).lstrip()
    posts = _partial_json_posts(text) if text.startswith(("{", "```")) else _partial_tagged_posts(text)
    return join_parts(posts) if format is Format.THREAD else (posts[0] if posts else "")


def is_in_source(quote: str, source: str) -> bool:
    """Return True if the source contains the quotation, apart from white space and the form of quotation marks."""
    words = _normalize(quote)
    return len(words) >= MIN_QUOTE_LENGTH and words in _normalize(source)


def clean_end(post: str) -> str:
    """Return a post without white space around it and with one kind of line breaks."""
    return post.replace("\r\n", "\n").replace("\r", "\n").strip()


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _normalize(text: str) -> str:
    # Models tend to straighten quotation marks, which changes nothing about what is quoted.
    text = text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "})
    return " ".join(text.split())


def _parse(text: str) -> _Answer:
    text = _THOUGHTS.sub("", text).strip()
    # Many models put JSON into a code block, whatever the prompt says.
    if fenced := _CODE_FENCE.match(text):
        text = fenced[1].strip()
    if _POST.search(text) and not text.startswith("{"):
        return _parse_tags(text)
    try:
        # A model without a schema may say something before and after the object.
        return msgspec.json.decode(text[text.index("{") : text.rindex("}") + 1], type=_Answer)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        hint = "Choose a model that follows formats better, or turn structured output on for this writer."
        raise BadAnswerError("The model's answer does not have the form that was asked for.", hint=hint) from None


def _parse_tags(text: str) -> _Answer:
    report = _REPORT.search(text)
    return _Answer(
        report=report[1] if report else "",
        posts=[match[1] for match in _POST.finditer(text)],
        claims=[_Claim(text=match[1], source_quote=match[2]) for match in _CLAIM.finditer(text)],
    )


def _check_number(posts: list[str], format: Format) -> None:
    count = len(posts)
    if not count:
        raise BadAnswerError("The model wrote no post.")
    if format is Format.THREAD and not 2 <= count <= MAX_POSTS:
        raise BadAnswerError(f"The model wrote {count} post{'s' if count > 1 else ''} for a thread.")
    if format is not Format.THREAD and count > 1:
        raise BadAnswerError(f"The model wrote {count} posts for a {format.value}.")


def _check_leaks(posts: Iterable[str], prompt: Prompt) -> None:
    """Raise BadAnswerError for a draft that contains the delimiter or a sentence of the rules."""
    rules = frozenset(ngrams(split_words(prompt.rules), REPEATED_WORDS))
    for post in posts:
        # The rules name the link that the post is to include, and the words of a long address would be nine of theirs.
        words = ngrams(split_words(links.mask_links(post)), REPEATED_WORDS)
        if prompt.delimiter in post or _FENCE_OR_TAG.search(post) or not rules.isdisjoint(words):
            raise BadAnswerError(
                "The model repeated its instructions in place of a draft.", hint=SUSPICIOUS_SOURCE_HINT
            )


def _check_additions(posts: Iterable[str], prompt: Prompt) -> None:
    """Raise BadAnswerError for a link to another place than the sources, and for a mention, which nobody asked for.

    Both are forbidden by the rules: a model that adds them follows somebody else, though the source contains them.
    """
    hosts = {links.host(url) for url in prompt.urls}
    for post in posts:
        for start, end in links.spans(post):
            if links.host(post[start:end]) not in hosts:
                message = f"The model added a link that nobody asked for: {post[start:end][:80]}."
                raise BadAnswerError(message, hint=SUSPICIOUS_SOURCE_HINT)
        for handle in links.MENTION.findall(links.mask_links(post)):
            if handle.lower() not in prompt.handles:
                message = f"The model added a mention that nobody asked for: {handle[:80]}."
                raise BadAnswerError(message, hint=SUSPICIOUS_SOURCE_HINT)


def _partial_json_posts(text: str) -> list[str]:
    start = _POSTS_FIELD.search(text)
    posts: list[str] = []
    position = start.end() if start else len(text)
    while match := _STRING.match(text, position):
        posts.append(_unescape(match[1]))
        position = match.end()
        if match[2] != '"':
            break
    return posts


def _unescape(escaped: str) -> str:
    complete = _PARTIAL_ESCAPE.sub(r"\1", escaped)
    try:
        text: str = json.loads(f'"{complete}"', strict=False)
    except ValueError:
        return ""
    # Half of a surrogate pair, whose other half has not arrived.
    return text.encode("utf-8", "ignore").decode()


def _partial_tagged_posts(text: str) -> list[str]:
    return [_PARTIAL_TAG.sub("", match[1]).strip() for match in _POST.finditer(text)]
