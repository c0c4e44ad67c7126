"""The draft under review: what would go out, what the checks found, why it was picked."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from textual.content import Content

from copydesk.model.draft import Checks, Finding, Format, ListedDraft, Score, ScorePart, Severity
from copydesk.model.history import USER
from copydesk.model.posting import Preview
from copydesk.text import reveal
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.pages.outgoing import Outgoing, links, when
from copydesk.tui.pages.pictures import Pictured
from copydesk.tui.pages.preview import preview_page
from copydesk.tui.pages.row import flag
from copydesk.tui.words import SEVERITY, STATUS, ago, bar

BETWEEN_POSTS = "\n\n---\n\n"
"""Stands between the posts of a THREAD in its text."""
_CODE_POINT = re.compile("⟨U\\+[0-9A-F]{4,6}⟩")
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def draft_page(
    draft: ListedDraft,
    now: datetime,
    previews: Sequence[Preview] = (),
    pictures: Sequence[Pictured] = (),
    outgoing: Outgoing = Outgoing(),  # noqa: B008 - it never changes
) -> list[Block]:
    """The whole page of one draft; `previews` say how it would stand where it is meant to go, once that is known.

    So do `pictures`, which stand there without having been looked at where they are not given. `outgoing` says when
    it goes out, or where it went.
    """
    blocks = [_headline(draft, now, outgoing), *links(outgoing.reports), plain(), *_text(draft)]
    if previews:
        blocks += [plain(), *preview_page(previews, pictures or [Pictured(image.alt or "") for image in draft.images])]
    if draft.last_error:
        blocks += [plain(), plain(cell(draft.last_error), "bad")]
    blocks += [plain(), *_checks(draft.checks)]
    if draft.score is not None:
        blocks += [plain(), *_score(draft.score)]
    if draft.tags:
        blocks += [plain(), plain("Tags  " + ", ".join(cell(tag) for tag in draft.tags), "dim")]
    return blocks


def _headline(draft: ListedDraft, now: datetime, outgoing: Outgoing) -> Block:
    """What its row says in letters, in words: beside it this is the key to them."""
    sign = STATUS[draft.status]
    writer = "your own" if draft.writer == USER else cell(draft.writer)
    written = f"{writer}, {ago(draft.created_at, now)}" if writer else ago(draft.created_at, now)
    parts = [
        Content.styled(draft.format.value, "strong"),
        Content.styled(sign.words, sign.role),
        *([Content.styled(time, sign.role)] if (time := when(draft, now, outgoing)) else []),
        Content.styled(f"{draft.confidence:.0%} by its checks"),
        *([Content.styled(worst.words, worst.role)] if (worst := flag(draft)) else []),
        Content.styled(written, "dim"),
    ]
    return Paragraph(Content.styled(" · ", "dim").join(parts))


def _text(draft: ListedDraft) -> Iterator[Block]:
    """The text as it is, hidden characters shown, what a check points at underlined."""
    posts = draft.text.split(BETWEEN_POSTS) if draft.format is Format.THREAD else [draft.text]
    start = 0
    for number, post in enumerate(posts, 1):
        if len(posts) > 1:
            rule = f"{number} of {len(posts)}"
            yield plain(rule if number == 1 else f"\n{rule}", "dim")
        yield Paragraph(_marked(post, start, draft.checks.findings))
        start += len(post) + len(BETWEEN_POSTS)


def _marked(text: str, start: int, findings: Sequence[Finding]) -> Content:
    """`text`, which begins at `start` of the draft's, with the places that findings name in their colour."""
    places = [
        (max(finding.start - start, 0), min(finding.end - start, len(text)), finding.severity)
        for finding in findings
        if finding.start is not None and finding.end is not None
    ]
    cuts = sorted({0, len(text), *(cut for place in places for cut in place[:2] if 0 < cut < len(text))})
    pieces = []
    for begin, end in pairwise(cuts):
        found = {severity for first, last, severity in places if first <= begin and end <= last}
        worst = next((severity for severity in _ORDER if severity in found), None)
        piece = _revealed(text[begin:end])
        pieces.append(piece.stylize(f"mark-{SEVERITY[worst].role}") if worst else piece)
    return Content("").join(pieces)


def _revealed(text: str) -> Content:
    """`text` with its hidden characters written out, in the colour of what is bad."""
    return Content(reveal(text)).highlight_regex(_CODE_POINT, style="bad")


def _checks(checks: Checks) -> Iterator[Block]:
    failed = len({finding.rule for finding in checks.findings})
    passed = checks.ran - failed
    summary = Content.styled(f"{passed} of {checks.ran} pass", "dim" if failed else "good")
    yield Paragraph(Content.assemble(("Checks", "strong"), "  ", summary))
    rows = [
        (Content.styled(sign.letter, sign.role), Content(cell(finding.message)))
        for finding in sorted(checks.findings, key=lambda finding: _ORDER.index(finding.severity))
        for sign in (SEVERITY[finding.severity],)
    ]
    yield Table(rows)


def _score(score: Score) -> Iterator[Block]:
    yield Paragraph(Content.assemble(("Why it was picked", "strong"), "  ", (f"{score.total:.2f}", "accent")))
    yield Table([_part(part) for part in score.parts], right=frozenset({2}))
    names = list(dict.fromkeys(cell(source.name) for source in score.sources))
    if len(names) > 1:
        yield plain()
        yield plain(f"Told by {_listed(names)}", "dim")


def _part(part: ScorePart) -> tuple[Content, ...]:
    """Name, a bar of how much of its weight it got, its points, and why."""
    full, empty = bar(part.value)
    gauge = Content.assemble((full, "accent"), (empty, "faint"))
    return Content(cell(part.name)), gauge, Content(f"{part.points:.2f}"), Content.styled(cell(part.why), "dim")


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
