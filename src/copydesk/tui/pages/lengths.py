"""How long a text is on each platform, as that one counts, while it is typed."""

from collections.abc import Iterable, Sequence

from textual.content import Content

from copydesk.model.draft import Format
from copydesk.text.length import LIMITS, length
from copydesk.text.thread import split_parts
from copydesk.tui.words import plural

GAP = Content("  ")
TOO_LONG = "too long"


def platforms_of(targets: Iterable[str], connected: Iterable[str]) -> tuple[str, ...]:
    """The platforms whose limit matters to a draft: those that it is for, else those with an account, else all."""
    named = {target.partition(":")[0].lower() for target in targets}
    for some in (named, set(connected)):
        if found := tuple(each for each in LIMITS if each in some):
            return found
    return tuple(LIMITS)


def lengths(text: str, format: Format, platforms: Sequence[str], width: int) -> list[Content]:
    """The counts in lines of at most `width` cells; what is too long is said in words, not by colour alone."""
    if format is Format.BLOG:
        return [Content.styled(f"{plural(len(text.split()), 'word')}, {plural(len(text), 'character')}", "dim")]
    parts = split_parts(text) if format is Format.THREAD else [text]
    # What is too long stands first: there may be no room for the rest.
    counts = sorted((_count(parts, platform) for platform in platforms), key=lambda count: TOO_LONG not in count.plain)
    if format is Format.THREAD:
        counts.insert(0, Content.styled(plural(len(parts), "post"), "dim"))
    return _lines(counts, width)


def _count(parts: Sequence[str], platform: str) -> Content:
    """`x 257/280`, of a thread that of its longest post: `x 3: 291/280, 11 too long`."""
    limit = LIMITS[platform]
    counts = [length(part, platform) for part in parts] or [0]
    most = max(counts)
    where = f"{counts.index(most) + 1}: " if len(counts) > 1 else ""
    words = f"{platform} {where}{most}/{limit}"
    return (
        Content.styled(f"{words}, {most - limit} {TOO_LONG}", "bad") if most > limit else Content.styled(words, "dim")
    )


def _lines(counts: Sequence[Content], width: int) -> list[Content]:
    lines: list[Content] = []
    for count in counts:
        if lines and lines[-1].cell_length + GAP.cell_length + count.cell_length <= width:
            lines[-1] = lines[-1] + GAP + count
        else:
            lines.append(count)
    return lines
