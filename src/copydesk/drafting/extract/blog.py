"""Compose a BLOG post in Markdown: title, credit line, quotations, link.

All quoted text is in block quotations below a line that names its source.
"""

import re
from itertools import chain, pairwise

from copydesk.drafting.extract import attribution, select_sentences, templates
from copydesk.drafting.extract.material import (
    Material,
    add_hashtags,
    create_limit_check,
    is_acceptable,
    no_draft_error,
    no_new_version_error,
    template_value,
)
from copydesk.drafting.extract.passages import Passage, count_words, make_readable
from copydesk.drafting.extract.posts import standalone_passages
from copydesk.drafting.extract.templates import ComposedText
from copydesk.drafting.writer import Field, Trace, WriterResult
from copydesk.errors import WriterError

DEFAULT_WORDS = 250
"""Total words quoted if the voice has no setting."""
SENTENCES_PER_QUOTE = 3
"""Quote at most one in this many sentences of a text, but up to four of a short one."""

_MARKDOWN_SYNTAX = re.compile(r"[\\`*_\[\]<>|~]|&(?=#?\w{1,31};)|^[#+>-]|^\d+(?=[.)] )")
_INTRODUCTIONS = (
    "From {credit}:",
    "{credit}:",
    "Published by {credit}:",
    "Quoted from {credit}:",
    "Via {credit}:",
    "Seen at {credit}:",
)
_CONTINUATIONS = (
    "{name} goes on:",
    "Further on at {name}:",
    "Later, also from {name}:",
    "More from {name}:",
    "Then, at {name}:",
    "Also from {name}:",
)
_CLOSINGS = (
    "Read it at {where}.",
    "The whole text is at {where}.",
    "Source: {where}.",
    "More at {where}.",
    "The original is at {where}.",
    "In full at {where}.",
)


def write_blog(material: Material) -> WriterResult:
    """Return a post quoting the best sentences, up to the voice's number of words.

    Raise WriterError if there is no sentence to quote.
    """
    passages = _select_sentences(material)
    if not passages and material.avoided_word:
        raise no_draft_error(material)
    if not passages:
        raise WriterError(
            "Too little text for a blog post: only the title can be quoted.", hint="Use the format SHORT."
        )
    fits, repeats_version = create_limit_check(material.brief), False
    # Drop the least interesting sentence until the post fits the limits and differs from all versions.
    for count in range(len(passages), 0, -1):
        post = add_hashtags(_compose_post(material, passages[:count]), material, fits)
        if is_acceptable(post, fits, material.brief.voice.avoid):
            if post.text not in material.brief.previous_versions:
                return WriterResult(text=post.text, sentences=post.traces)
            repeats_version = True
    raise no_new_version_error() if repeats_version else no_draft_error(material)


def escape_markdown(text: str) -> str:
    """Return `text` with Markdown syntax escaped."""
    return _MARKDOWN_SYNTAX.sub(lambda match: "\\" + match[0] if not match[0].isdigit() else match[0] + "\\", text)


def _select_sentences(material: Material) -> list[Passage]:
    """Return the sentences to quote, best first, within the requested words and the share that may be quoted."""
    title = material.headline.text
    choices = standalone_passages(material)
    fresh = [choice for choice in choices if not select_sentences.repeats_title(choice.passage.text, title)]
    # Quoting more would amount to republishing the text.
    max_sentences = max(4, len(material.passages) // SENTENCES_PER_QUOTE)
    words_left, selected = material.brief.settings.target_words or DEFAULT_WORDS, list[Passage]()
    candidates = select_sentences.select_best(
        fresh or choices, min(max_sentences * 2 if material.brief.previous_versions else max_sentences, 80)
    )
    for choice in sorted(candidates, key=lambda choice: material.was_quoted_before(choice.passage)):
        words = count_words(choice.passage.text)
        if len(selected) < max_sentences and words_left > 0 and words < words_left + 20:
            selected.append(choice.passage)
            words_left -= words
    return selected


def _compose_post(material: Material, passages: list[Passage]) -> ComposedText:
    lead, *later = _group_by_field(sorted(passages, key=lambda passage: (passage.field is Field.TEXT, passage.start)))
    blocks = [
        _title(material),
        _template_line(material, _INTRODUCTIONS, "{credit}:", 0),
        _block_quotations(lead, material),
    ]
    for number, group in enumerate(later, 1):
        blocks += [_template_line(material, _CONTINUATIONS, "{name}:", number), _block_quotations(group, material)]
    if material.brief.other_sources and material.english:
        blocks.append(
            templates.compose("The story is also at {also}.", {"also": template_value(_other_sources(material))})
        )
    blocks.append(_template_line(material, _CLOSINGS, "{where}", 0))
    text = "\n\n".join(block.text for block in blocks if block.text)
    return ComposedText(text, tuple(chain.from_iterable(block.traces for block in blocks)))


def _group_by_field(passages: list[Passage]) -> list[list[Passage]]:
    """Return the publisher's summary sentences, then those of the text, in two groups if they are many."""
    summary = [passage for passage in passages if passage.field is Field.SUMMARY]
    text = [passage for passage in passages if passage.field is Field.TEXT]
    half = len(text) // 2 if len(text) > 4 else 0
    return [group for group in (summary, text[:half], text[half:]) if group]


def _title(material: Material) -> ComposedText:
    if material.headline.is_incomplete and material.name:
        heading = "# From {name}" if material.english else "# {name}"
        return templates.compose(heading, {"name": template_value(escape_markdown(material.name))})
    piece = material.title_value()
    return templates.compose("# {title}", {"title": piece._replace(text=escape_markdown(piece.text))})


def _template_line(material: Material, english_templates: tuple[str, ...], fallback: str, number: int) -> ComposedText:
    """Return a template line that introduces a quotation; empty without a source name.

    `number` selects a different template for each quotation; the post's seed selects the first.
    """
    if not material.name:
        return ComposedText("", ())
    options = (
        templates.rotate_templates(english_templates, material.seed + english_templates[0])
        if material.english
        else [fallback]
    )
    return templates.compose(
        options[number % len(options)],
        {
            "name": template_value(escape_markdown(material.name)),
            "where": template_value(_linked_name(material)),
            "credit": template_value(_credit(material)),
        },
    )


def _block_quotations(group: list[Passage], material: Material) -> ComposedText:
    """Return block quotations. Adjacent sentences of the source share one, so that omissions remain visible.

    Without a source name they are plain paragraphs: the words are the user's own.
    """
    mark = "> " if material.name else ""
    paragraphs = [[group[0]]]
    for previous, passage in pairwise(group):
        if passage.position == previous.position + 1 and passage.field is previous.field:
            paragraphs[-1].append(passage)
        else:
            paragraphs.append([passage])
    lines = (mark + " ".join(escape_markdown(passage.text) for passage in paragraph) for paragraph in paragraphs)
    traces = (Trace(text=passage.text, field=passage.field, start=passage.start, end=passage.end) for passage in group)
    return ComposedText("\n\n".join(lines), tuple(traces))


def _credit(material: Material) -> str:
    """Return name, author and day."""
    author = _author(material)
    by = f"by {author}" if author and material.english else author
    published = material.brief.published
    day = attribution.format_day(published, english=material.english) if published else ""
    return ", ".join(filter(None, (_linked_name(material), escape_markdown(by), day)))


def _author(material: Material) -> str:
    """Return the author if the field holds a person's name: no address, no remark, not the source again."""
    author = make_readable(material.brief.author or "")
    not_a_name = re.search(r"[@()/:\d<>]", author) or author.islower() or len(author) > 60
    return "" if not_a_name or author.casefold() == material.name.casefold() else author


def _linked_name(material: Material) -> str:
    name, link = escape_markdown(material.name), material.link
    if not link:
        return name
    # Parentheses in an address would end a plain Markdown link early.
    return f"[{name}](<{link}>)" if "(" in link or ")" in link else f"[{name}]({link})"


def _other_sources(material: Material) -> str:
    names = [escape_markdown(make_readable(name)) for name in material.brief.other_sources]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
