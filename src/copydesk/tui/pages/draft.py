"""The page of a draft under review: the text, its previews, the checks' findings, and why its story was selected."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from textual.content import Content

from copydesk.model.draft import Checks, Finding, Format, ListedDraft, Score, ScorePart, Severity
from copydesk.model.history import USER
from copydesk.model.posting import Preview
from copydesk.text import reveal
from copydesk.tui.cells import safe_line
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.pages.outgoing import DeliveryInfo, format_delivery_time, post_links
from copydesk.tui.pages.pictures import ImageView
from copydesk.tui.pages.preview import preview_page
from copydesk.tui.pages.row import worst_finding_sign
from copydesk.tui.words import SEVERITY, STATUS, format_ago, progress_bar

THREAD_SEPARATOR = "\n\n---\n\n"
"""Separates the posts of a THREAD in its text."""
_CODE_POINT = re.compile("⟨U\\+[0-9A-F]{4,6}⟩")
_SEVERITY_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def draft_page(
    draft: ListedDraft,
    now: datetime,
    previews: Sequence[Preview] = (),
    images: Sequence[ImageView] = (),
    delivery: DeliveryInfo = DeliveryInfo(),  # noqa: B008 - immutable
) -> list[Block]:
    """Return the whole page of one draft.

    `previews` are left out until they are loaded. `images` are the draft's images with their thumbnails; without them
    the previews list the images by their descriptions. `delivery` says when the draft goes out or where it was posted.
    """
    blocks = [_headline(draft, now, delivery), *post_links(delivery.reports), paragraph(), *_text(draft)]
    if previews:
        blocks += [
            paragraph(),
            *preview_page(previews, images or [ImageView(image.alt or "") for image in draft.images]),
        ]
    if draft.last_error:
        blocks += [paragraph(), paragraph(safe_line(draft.last_error), "bad")]
    blocks += [paragraph(), *_checks(draft.checks)]
    if draft.score is not None:
        blocks += [paragraph(), *_score(draft.score)]
    if draft.tags:
        blocks += [paragraph(), paragraph("Tags  " + ", ".join(safe_line(tag) for tag in draft.tags), "dim")]
    return blocks


def _headline(draft: ListedDraft, now: datetime, outgoing: DeliveryInfo) -> Block:
    """Return the line that spells out the letters of the draft's row in the queue."""
    status_sign = STATUS[draft.status]
    writer = "your own" if draft.writer == USER else safe_line(draft.writer)
    origin = f"{writer}, {format_ago(draft.created_at, now)}" if writer else format_ago(draft.created_at, now)
    parts = [
        Content.styled(draft.format.value, "strong"),
        Content.styled(status_sign.text, status_sign.role),
        *([Content.styled(time, status_sign.role)] if (time := format_delivery_time(draft, now, outgoing)) else []),
        Content.styled(f"{draft.confidence:.0%} by its checks"),
        *([Content.styled(check_sign.text, check_sign.role)] if (check_sign := worst_finding_sign(draft)) else []),
        Content.styled(origin, "dim"),
    ]
    return Paragraph(Content.styled(" · ", "dim").join(parts))


def _text(draft: ListedDraft) -> Iterator[Block]:
    """Yield the text with hidden characters made visible and the spans of findings underlined."""
    posts = draft.text.split(THREAD_SEPARATOR) if draft.format is Format.THREAD else [draft.text]
    start = 0
    for number, post in enumerate(posts, 1):
        if len(posts) > 1:
            label = f"{number} of {len(posts)}"
            yield paragraph(label if number == 1 else f"\n{label}", "dim")
        yield Paragraph(_highlighted(post, start, draft.checks.findings))
        # Findings count from the start of the whole text, separators included.
        start += len(post) + len(THREAD_SEPARATOR)


def _highlighted(text: str, start: int, findings: Sequence[Finding]) -> Content:
    """Return `text` with the spans of the findings in the colour of their severity.

    `start` is the offset of `text` in the draft's whole text, which the findings' positions refer to.
    """
    spans = [
        (max(finding.start - start, 0), min(finding.end - start, len(text)), finding.severity)
        for finding in findings
        if finding.start is not None and finding.end is not None
    ]
    # Findings may overlap: cut the text at every boundary, and style each piece by the worst finding that covers it.
    boundaries = sorted(
        {0, len(text), *(boundary for span in spans for boundary in span[:2] if 0 < boundary < len(text))}
    )
    pieces = []
    for lower, upper in pairwise(boundaries):
        severities = {severity for first, last, severity in spans if first <= lower and upper <= last}
        worst = next((severity for severity in _SEVERITY_ORDER if severity in severities), None)
        piece = _with_hidden_characters(text[lower:upper])
        pieces.append(piece.stylize(f"mark-{SEVERITY[worst].role}") if worst else piece)
    return Content("").join(pieces)


def _with_hidden_characters(text: str) -> Content:
    """Return `text` with hidden characters written as code points, styled as errors."""
    return Content(reveal(text)).highlight_regex(_CODE_POINT, style="bad")


def _checks(checks: Checks) -> Iterator[Block]:
    failed = len({finding.rule for finding in checks.findings})
    passed = checks.ran - failed
    summary = Content.styled(f"{passed} of {checks.ran} pass", "dim" if failed else "good")
    yield Paragraph(Content.assemble(("Checks", "strong"), "  ", summary))
    rows = [
        (Content.styled(sign.letter, sign.role), Content(safe_line(finding.message)))
        for finding in sorted(checks.findings, key=lambda finding: _SEVERITY_ORDER.index(finding.severity))
        for sign in (SEVERITY[finding.severity],)
    ]
    yield Table(rows)


def _score(score: Score) -> Iterator[Block]:
    yield Paragraph(Content.assemble(("Why it was picked", "strong"), "  ", (f"{score.total:.2f}", "accent")))
    yield Table([_score_row(part) for part in score.parts], right_aligned=frozenset({2}))
    names = list(dict.fromkeys(safe_line(source.name) for source in score.sources))
    # A single source is named in the item pane already.
    if len(names) > 1:
        yield paragraph()
        yield paragraph(f"Told by {_join_names(names)}", "dim")


def _score_row(part: ScorePart) -> tuple[Content, ...]:
    """Return name, bar of the reached share, points and explanation of one part of the score."""
    full, empty = progress_bar(part.value)
    gauge = Content.assemble((full, "accent"), (empty, "faint"))
    return (
        Content(safe_line(part.name)),
        gauge,
        Content(f"{part.points:.2f}"),
        Content.styled(safe_line(part.why), "dim"),
    )


def _join_names(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
