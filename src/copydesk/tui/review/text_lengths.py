"""Lines with the length of a text per platform, each counted by the platform's own rules."""

from collections.abc import Iterable, Sequence

from textual.content import Content

from copydesk.model.draft import Format
from copydesk.text.formatting import plural
from copydesk.text.thread import split_parts
from copydesk.tui import labels

GAP = Content("  ")


def relevant_platforms(targets: Iterable[str], connected: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the platforms whose limits apply, the tightest first.

    They are the draft's targets, else those with an account, else all. `targets` may name an account of a
    platform, as `mastodon:fosstodon.org`.
    """
    from copydesk.desk.catalog import PLATFORMS  # noqa: PLC0415 - the first paint does without the desk

    limits = {info.name: info.limits.max_length for info in PLATFORMS.values() if info.limits.max_length is not None}
    limits = dict(sorted(limits.items(), key=lambda entry: entry[1]))
    targeted = {target.partition(":")[0].lower() for target in targets}
    for candidates in (targeted, set(connected)):
        if found := tuple(name for name in limits if name in candidates):
            return found
    return tuple(limits)


def length_lines(text: str, format: Format, platforms: Sequence[str], width: int) -> list[Content]:
    """Return the counts in lines of at most `width` cells.

    A text that is too long is marked in words, not by colour alone.
    """
    if format is Format.BLOG:
        return [Content.styled(f"{plural(len(text.split()), 'word')}, {plural(len(text), 'character')}", "dim")]
    parts = split_parts(text) if format is Format.THREAD else [text]
    # Put the exceeded limits first: there may be no room for the rest.
    by_platform = sorted((_platform_length(parts, platform) for platform in platforms), key=lambda found: found[0] <= 0)
    counts = [count for _, count in by_platform]
    if format is Format.THREAD:
        counts.insert(0, Content.styled(plural(len(parts), "post"), "dim"))
    return _wrap(counts, width)


def _platform_length(parts: Sequence[str], platform: str) -> tuple[int, Content]:
    """Return the excess, and `X 257/280` or, for the longest post of a thread, `X 3: 291/280, 11 too long`."""
    from copydesk.desk.catalog import PLATFORMS  # noqa: PLC0415 - as above

    info = PLATFORMS[platform]
    limit = info.limits.max_length or 0
    # A thread without text has no parts.
    counts = [info.count(part) for part in parts] or [0]
    longest = max(counts)
    position = f"{counts.index(longest) + 1}: " if len(counts) > 1 else ""
    label = f"{info.label} {position}{longest}/{limit}"
    excess = longest - limit
    if excess > 0:
        return excess, Content.styled(labels.length_over_limit(label, excess), "bad")
    return excess, Content.styled(label, "dim")


def _wrap(counts: Sequence[Content], width: int) -> list[Content]:
    lines: list[Content] = []
    for count in counts:
        if lines and lines[-1].cell_length + GAP.cell_length + count.cell_length <= width:
            lines[-1] = lines[-1] + GAP + count
        else:
            lines.append(count)
    return lines
