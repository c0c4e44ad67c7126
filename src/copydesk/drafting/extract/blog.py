"""A BLOG post in Markdown: the title, who published it and when, what it says in its own words, the link.

Everything quoted stands in a block quotation under a line that names whose words they are.
"""

import re
from itertools import chain, pairwise

from copydesk.drafting.extract import choose, credit, frames
from copydesk.drafting.extract.frames import Composed
from copydesk.drafting.extract.hashtags import with_hashtags
from copydesk.drafting.extract.material import Material, checked, nothing_left, nothing_new, room, template
from copydesk.drafting.extract.passages import Passage, count_words, readable
from copydesk.drafting.extract.short import standing
from copydesk.drafting.writer import Field, Trace, Written
from copydesk.errors import WriterError

WORDS = 250
"""What the quotations come to where the voice says nothing."""
SHARE = 3
"""At most one in so many of a text's sentences is quoted; of a short one, four."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~]|&(?=#?\w{1,31};)|^[#+>-]|^\d+(?=[.)] )")
_LEADS = (
    "From {credit}:",
    "{credit}:",
    "Published by {credit}:",
    "Quoted from {credit}:",
    "Via {credit}:",
    "Seen at {credit}:",
)
_LATER = (
    "{name} goes on:",
    "Further on at {name}:",
    "Later, also from {name}:",
    "More from {name}:",
    "Then, at {name}:",
    "Also from {name}:",
)
_ENDS = (
    "Read it at {where}.",
    "The whole text is at {where}.",
    "Source: {where}.",
    "More at {where}.",
    "The original is at {where}.",
    "In full at {where}.",
)


def write_blog(material: Material) -> Written:
    """As many of the best sentences as the voice wants words. Raises WriterError where there is none to quote."""
    chosen = _chosen(material)
    if not chosen and material.avoided:
        raise nothing_left(material)
    if not chosen:
        raise WriterError(
            "The item has nothing to quote but its title: too little for a blog post.", hint="Ask for a SHORT."
        )
    fits_in, again = room(material.brief), False
    for count in range(len(chosen), 0, -1):
        post = with_hashtags(_post(material, chosen[:count]), material, fits_in)
        if checked(post, fits_in, material.brief.voice.avoid):
            if post.text not in material.brief.before:
                return Written(text=post.text, sentences=post.traces)
            again = True
    raise nothing_new() if again else nothing_left(material)


def markdown(text: str) -> str:
    """`text` so that Markdown shows it as it is."""
    return _SPECIAL.sub(lambda match: "\\" + match[0] if not match[0].isdigit() else match[0] + "\\", text)


def _chosen(material: Material) -> list[Passage]:
    """The sentences worth quoting, best first, up to the words that are wanted and the share that may be taken."""
    title = material.headline.text
    weighed = standing(material)
    fresh = [choice for choice in weighed if not choose.repeats(choice.passage.text, title)]
    most = max(4, len(material.found) // SHARE)
    wanted, chosen = material.brief.settings.target_words or WORDS, list[Passage]()
    best = choose.best(fresh or weighed, min(most * 2 if material.brief.before else most, 80))
    for choice in sorted(best, key=lambda choice: material.quoted_before(choice.passage)):
        words = count_words(choice.passage.text)
        if len(chosen) < most and wanted > 0 and words < wanted + 20:
            chosen.append(choice.passage)
            wanted -= words
    return chosen


def _post(material: Material, chosen: list[Passage]) -> Composed:
    first, *later = _groups(sorted(chosen, key=lambda passage: (passage.field is Field.TEXT, passage.start)))
    blocks = [_title(material), _line(material, _LEADS, "{credit}:", 0), _quotation(first, material)]
    for number, group in enumerate(later, 1):
        blocks += [_line(material, _LATER, "{name}:", number), _quotation(group, material)]
    if material.brief.also and material.english:
        blocks.append(frames.compose("The story is also at {also}.", {"also": template(_also(material))}))
    blocks.append(_line(material, _ENDS, "{where}", 0))
    text = "\n\n".join(block.text for block in blocks if block.text)
    return Composed(text, tuple(chain.from_iterable(block.traces for block in blocks)))


def _groups(ordered: list[Passage]) -> list[list[Passage]]:
    """What the publisher wrote to sum it up, then the text's own sentences, in two where they are many."""
    summary = [passage for passage in ordered if passage.field is Field.SUMMARY]
    text = [passage for passage in ordered if passage.field is Field.TEXT]
    half = len(text) // 2 if len(text) > 4 else 0
    return [group for group in (summary, text[:half], text[half:]) if group]


def _title(material: Material) -> Composed:
    if material.headline.broken and material.name:
        frame = "# From {name}" if material.english else "# {name}"
        return frames.compose(frame, {"name": template(markdown(material.name))})
    piece = material.title_piece()
    return frames.compose("# {title}", {"title": piece._replace(shown=markdown(piece.shown))})


def _line(material: Material, english: tuple[str, ...], other: str, number: int) -> Composed:
    """A line of framing: the post's own one of several, and a different one for each `number`; none without a name."""
    if not material.name:
        return Composed("", ())
    options = frames.in_turn(english, material.seed + english[0]) if material.english else [other]
    return frames.compose(
        options[number % len(options)],
        {
            "name": template(markdown(material.name)),
            "where": template(_where(material)),
            "credit": template(_credit(material)),
        },
    )


def _quotation(group: list[Passage], material: Material) -> Composed:
    """Block quotations; sentences that follow each other in the source share one, so that no gap is hidden.

    Where nobody is there to be quoted they are plain paragraphs: the words are the user's own.
    """
    mark = "> " if material.name else ""
    paragraphs = [[group[0]]]
    for before, passage in pairwise(group):
        if passage.place == before.place + 1 and passage.field is before.field:
            paragraphs[-1].append(passage)
        else:
            paragraphs.append([passage])
    lines = (mark + " ".join(markdown(passage.text) for passage in paragraph) for paragraph in paragraphs)
    traces = (Trace(text=p.text, field=p.field, start=p.start, end=p.end) for p in group)
    return Composed("\n\n".join(lines), tuple(traces))


def _credit(material: Material) -> str:
    """Name, author and day."""
    author = _author(material)
    by = f"by {author}" if author and material.english else author
    moment = material.brief.published
    when = credit.day(moment, english=material.english) if moment else ""
    return ", ".join(filter(None, (_where(material), markdown(by), when)))


def _author(material: Material) -> str:
    """The author where the field holds a person's name: no address, no remark, not the source again."""
    author = readable(material.brief.author or "")
    odd = re.search(r"[@()/:\d<>]", author) or author.islower() or len(author) > 60
    return "" if odd or author.casefold() == material.name.casefold() else author


def _where(material: Material) -> str:
    name, link = markdown(material.name), material.link
    if not link:
        return name
    return f"[{name}](<{link}>)" if "(" in link or ")" in link else f"[{name}]({link})"


def _also(material: Material) -> str:
    names = [markdown(readable(name)) for name in material.brief.also]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
