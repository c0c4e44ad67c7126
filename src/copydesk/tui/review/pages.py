"""The pages of the review: a draft with its previews, findings and score, its source item, its history, and a diff.

The preview on an account shows the length there, what would be refused, and the images: a line of facts each, and a
drawing where the terminal can do it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from msgspec import structs
from textual.content import Content

from copydesk.model.delivery import FINAL_STATES
from copydesk.model.draft import (
    MANUAL,
    Agent,
    Checks,
    Claim,
    ClaimVerdict,
    DraftImage,
    DraftSource,
    Field,
    Finding,
    Format,
    ListedDraft,
    Score,
    ScorePart,
    Severity,
    Status,
    Thumbnail,
)
from copydesk.model.transitions import USER
from copydesk.text import clean_lines, reveal
from copydesk.text.formatting import format_cost, format_relative, plural
from copydesk.tui import labels
from copydesk.tui.browser import is_link
from copydesk.tui.labels import CLAIM, SEVERITY, format_date_time, source_type_label
from copydesk.tui.layout import Block, Columns, Facts, OneLine, Paragraph, Table, paragraph, progress_bar
from copydesk.tui.review.draft_row import worst_finding_sign
from copydesk.tui.terminal.cells import safe_line

if TYPE_CHECKING:
    from copydesk.desk.drafts.history_text import DraftHistory
    from copydesk.desk.drafts.versions import Difference
    from copydesk.model.activity import Comment, ReviewedDraft, UnsavedEdit
    from copydesk.model.confidence import DecisionProgress
    from copydesk.model.decision_stats import DecisionStats
    from copydesk.model.delivery import DeliveryReport, Preview, PreviewPart
    from copydesk.model.item import Entry, Item
    from copydesk.model.writer import ModelRequest


INDENT = 2


class ImageView(NamedTuple):
    """An image on a page. `thumbnail` is None until it is loaded; `lines` its drawing, if it can be drawn."""

    alt: str
    thumbnail: Thumbnail | None = None
    lines: tuple[Content, ...] = ()


class ImageLines(NamedTuple):
    """Lines drawn in advance. Where they do not fit, nothing is shown: a cropped image is misleading."""

    rendered: Sequence[Content]

    def lines(self, width: int) -> list[Content]:
        """Return the lines, or none if they do not fit into `width` cells."""
        fits = all(line.cell_length + INDENT <= width for line in self.rendered)
        return [line.pad_left(INDENT) for line in self.rendered] if fits else []


def image_blocks(images: Sequence[ImageView]) -> Iterator[Block]:
    """Yield a line per image, as `Image 1  1200x800, 84 kB  “A boat.”`, and below it the image or why it is missing."""
    for number, image in enumerate(images, 1):
        description = (
            Content(f"“{safe_line(image.alt)}”") if image.alt.strip() else Content.styled(labels.NO_ALT_TEXT, "warn")
        )
        yield Paragraph(
            Content.assemble((labels.image_heading(number, _size_facts(image.thumbnail)), "dim"), description)
        )
        if image.thumbnail is not None and image.thumbnail.message:
            yield Paragraph(Content.styled(safe_line(image.thumbnail.message), "dim"), indent=INDENT)
        if image.lines:
            yield ImageLines(image.lines)


def _size_facts(thumbnail: Thumbnail | None) -> str:
    if thumbnail is None or not thumbnail.content:
        return ""
    return f"{thumbnail.width}x{thumbnail.height}, {format_bytes(thumbnail.size)}  "


def format_bytes(size: int) -> str:
    """Format a size in bytes with decimal units, as `84 kB` or `1.5 MB`."""
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}" if size < 10 * factor else f"{size // factor} {unit}"
    return f"{size} B"


MAX_LISTED_PARTS = 30
"""Posts of a thread whose lengths are listed; no platform accepts as many."""
EXCERPT_LENGTH = 60
"""Characters that identify a post of a thread in the table."""


def preview_page(previews: "Sequence[Preview]", images: Sequence[ImageView] = ()) -> list[Block]:
    """Return the preview per account and the images with their descriptions, as screen readers get them."""
    heading = Paragraph(Content.assemble((labels.PREVIEW_HEADING, "strong"), "  ", _summary(previews)))
    blocks: list[Block] = [heading]
    if not previews:
        blocks.append(paragraph(labels.no_matching_account(), "dim"))
    for preview in previews:
        blocks += _account_blocks(preview)
    return [*blocks, paragraph(), *image_blocks(images)] if images else blocks


def _summary(previews: "Sequence[Preview]") -> Content:
    """Return which account would refuse the text, or how many of them."""
    # There is nothing to judge before there is text.
    if not any(preview.parts for preview in previews):
        return Content("")
    refused = [_account_name(preview) for preview in previews if not preview.fits]
    if not refused and not any(preview.connected for preview in previews):
        return Content.styled(labels.NO_ACCOUNT_CONNECTED, "warn")
    if not refused:
        return Content.styled(labels.FITS_ALL_ACCOUNTS, "good")
    return Content.styled(labels.rejected_by(refused, len(previews)), "bad")


def _account_blocks(preview: "Preview", *, draws_link: bool = True) -> Iterator[Block]:
    remarks = [] if preview.connected else [labels.NOT_CONNECTED]
    if len(preview.parts) > 1:
        remarks.append(plural(len(preview.parts), "post"))
    name = Content.styled(_account_name(preview), "accent")
    head = [name, *(Content.styled(remark, "dim") for remark in remarks)]
    if len(preview.parts) == 1:
        head.append(_length(preview.parts[0]))
    yield Paragraph(Content.styled("  ").join(head))
    if len(preview.parts) > 1:
        yield Table(
            [_part_row(number, part) for number, part in enumerate(preview.parts[:MAX_LISTED_PARTS], 1)],
            frozenset({0, 1}),
        )
    for problem in preview.stops:
        yield Paragraph(Content.styled(labels.problem(safe_line(problem)), "bad"), indent=2)
    for number, part in enumerate(preview.parts, 1):
        for problem in part.stops:
            yield Paragraph(Content.styled(labels.problem(safe_line(problem), number), "bad"), indent=2)
    if draws_link and (link := _first_link(preview.parts)):
        label = labels.LINK_CARD if preview.card else labels.PLAIN_LINK
        yield Paragraph(Content.assemble((f"{label} ", "dim"), (safe_line(link), "link")), indent=2)


def _account_name(preview: "Preview") -> str:
    """Return the account as commands name it; the platform's own name where no account is connected."""
    is_account = ":" in preview.account
    return safe_line(preview.account if is_account else labels.platform_name(preview.platform))


def _length(part: "PreviewPart") -> Content:
    """Return `257/280`. An exceeded limit is marked in words, not by colour alone."""
    if part.limit is None:
        return Content.styled(plural(part.length, "character"), "dim")
    count = f"{part.length:,}/{part.limit:,}"
    excess = part.length - part.limit
    return Content.styled(
        labels.length_over_limit(count, excess) if excess > 0 else count, "bad" if excess > 0 else "good"
    )


def _part_row(number: int, part: "PreviewPart") -> tuple[Content, ...]:
    head = safe_line(part.text[:EXCERPT_LENGTH].strip())
    return Content.styled(f"  {number}", "dim"), _length(part), Content.styled(head, "dim")


def _first_link(parts: "Sequence[PreviewPart]") -> str:
    """Return the first link of the first post, which a link card would be made from, or an empty string."""
    from copydesk.text.links import spans  # noqa: PLC0415 - no row needs it, and its patterns take long to compile

    for part in parts[:1]:
        for start, end in spans(part.text):
            return part.text[start:end]
    return ""


class DraftDetails(NamedTuple):
    """Data about a draft that its row does not hold."""

    zone: tzinfo | None = None
    """The user's time zone; None until it is loaded."""
    reports: "Sequence[DeliveryReport]" = ()
    progress: "DecisionProgress | None" = None
    """The decisions made so far; None while the confidence is known, or until they are counted."""
    reviewed: "ReviewedDraft | None" = None
    """The other reviewers, the approvals and the comments; None until they are loaded."""


def format_delivery_time(draft: ListedDraft, now: datetime, details: DraftDetails) -> str:
    """Return the time of a scheduled draft in the user's zone, or how long ago a posted one was sent.

    Empty for all other drafts, and while the zone is not loaded.
    """
    if draft.status is Status.POSTED:
        # Right after posting the reports are newer than the row, which has no `posted_at` yet.
        sent_at = draft.posted_at or max((report.sent_at for report in details.reports if report.sent_at), default=None)
        return format_relative(sent_at, now) if sent_at else ""
    zone = details.zone
    if draft.status in (Status.SCHEDULED, Status.MISSED) and draft.scheduled_at is not None and zone is not None:
        return format_date_time(draft.scheduled_at, now.astimezone(zone))
    return ""


def post_links(reports: "Sequence[DeliveryReport]") -> Iterator[Block]:
    """Yield a table with the link of the first post per account."""
    urls = [(report.account, next((post.url for post in report.posts if post.url), None)) for report in reports]
    rows = [
        (Content.styled(safe_line(account), "dim"), Content.styled(safe_line(url), "link" * is_link(url)))
        for account, url in urls
        if url
    ]
    if rows:
        yield Table(rows)


def _unresolved(reports: "Sequence[DeliveryReport]") -> Iterator[Block]:
    """Yield a line per delivery of unknown outcome, also for those that were dropped: Needs you lists them no more."""
    for report in reports:
        if report.is_unresolved:
            account = safe_line(report.account)
            yield paragraph(labels.unknown_outcome(account, is_final=report.state in FINAL_STATES), "warn")


THREAD_SEPARATOR = "\n\n---\n\n"
"""Separates the posts of a THREAD in its text."""
_CODE_POINT = re.compile("⟨U\\+[0-9A-F]{4,6}⟩")
_SEVERITY_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def draft_page(
    draft: ListedDraft,
    now: datetime,
    previews: "Sequence[Preview]" = (),
    images: Sequence[ImageView] = (),
    details: DraftDetails = DraftDetails(),  # noqa: B008 - immutable
) -> list[Block]:
    """Return the whole page of one draft.

    `previews` are left out until they are loaded. `images` are the draft's images with their thumbnails; without them
    the previews list the images by their descriptions. `details` says when the draft goes out or where it was posted.
    """
    comments = details.reviewed.comments if details.reviewed else ()
    blocks = [_headline(draft, now, details), _source_line(draft, now), *post_links(details.reports)]
    blocks += _unresolved(details.reports)
    blocks += [*_rejection(draft), *_reviewers(draft, details, now), paragraph(), *_post(draft, previews, comments)]
    blocks += [*_comments(comments, now)]
    if previews and (draft.images or images):
        blocks += [*image_blocks(images or [ImageView(image.alt or "") for image in draft.images])]
    if previews:
        blocks += _accounts(previews)
    if draft.items:
        blocks += [paragraph(), *_items(draft.items)]
    if draft.agent is not None:
        blocks += [paragraph(), *_agent(draft.agent)]
    if draft.last_error:
        blocks += [paragraph(), paragraph(safe_line(draft.last_error), "bad")]
    blocks += [paragraph(), *_checks(draft.checks)]
    if draft.checks.claims:
        blocks += [paragraph(), *_claims(draft)]
    # A decision needs the checks and claims first.
    if draft.proposed_images:
        blocks += [paragraph(), *_proposed_images(draft.proposed_images)]
    if draft.score is not None:
        blocks += [paragraph(), *_score(draft.score)]
    if draft.tags:
        blocks += [
            paragraph(),
            paragraph(f"{labels.TAGS_HEADING}  " + ", ".join(safe_line(tag) for tag in draft.tags), "dim"),
        ]
    return blocks


def _rejection(draft: ListedDraft) -> Iterator[Block]:
    """Yield the reason that was given for a rejection, if there is one."""
    if draft.status is Status.REJECTED and draft.rejection_feedback:
        yield paragraph(labels.rejection_reason(safe_line(draft.rejection_feedback)), "bad")


def _headline(draft: ListedDraft, now: datetime, details: DraftDetails) -> Block:
    """Return the line that spells out the letters of the draft's row in the queue."""
    status_sign = labels.status_badge(draft)
    writer = labels.WRITTEN_BY_USER if draft.writer == USER else safe_line(draft.writer)
    origin = f"{writer}, {format_relative(draft.created_at, now)}" if writer else format_relative(draft.created_at, now)
    parts = [
        Content.styled(labels.FORMAT_NAMES[draft.format], "strong"),
        Content.styled(status_sign.text, status_sign.role),
        *([Content.styled(labels.restore_hint(draft.status), "dim")] if draft.archived_at else []),
        *([Content.styled(time, status_sign.role)] if (time := format_delivery_time(draft, now, details)) else []),
        Content(labels.confidence(draft.confidence, known=draft.confidence_known, progress=details.progress)),
        *([Content.styled(check_sign.text, check_sign.role)] if (check_sign := worst_finding_sign(draft)) else []),
        Content.styled(origin, "dim"),
    ]
    return Facts(parts)


def _reviewers(draft: ListedDraft, details: DraftDetails, now: datetime) -> Iterator[Block]:
    """Yield who else is on the draft, whose approval it has or lacks, and what was typed and not saved."""
    reviewed, zone = details.reviewed, details.zone
    if reviewed is None:
        return
    editing = reviewed.activity.editing
    present: list[Content] = []
    if editing is not None and editing.reviewer != reviewed.reviewer and editing.until > now:
        since = labels.format_time(editing.since, zone, now) if editing.since and zone else ""
        present.append(Content.styled(labels.is_editing(safe_line(editing.reviewer), since), "warn"))
    names = [safe_line(viewer.reviewer) for viewer in reviewed.activity.viewers if viewer.until > now]
    # Who edits it has it open, too.
    if viewing := [name for name in names if editing is None or name != safe_line(editing.reviewer)]:
        present.append(Content.styled(labels.are_viewing(viewing), "accent"))
    if present:
        yield Facts(present)
    if reviewed.required > 1 and labels.counts_approvals(draft.status):
        approved_by = [safe_line(approval.reviewer) for approval in reviewed.activity.approvals]
        text = labels.approvals(approved_by, reviewed.required)
        parts = [Content.styled(text, "warn" if reviewed.lacks_approvals else "good")]
        if reviewed.lacks_approvals and approved_by and not draft.archived_at:
            parts.append(Content.styled(labels.next_approval(is_own=reviewed.is_approved_by_caller), "dim"))
        yield Facts(parts)
    for edit in reviewed.activity.unsaved:
        age = format_relative(edit.at, now)
        yield paragraph(labels.unsaved_text_of(safe_line(edit.reviewer), age), "dim")


def _comments(comments: "Sequence[Comment]", now: datetime) -> Iterator[Block]:
    """Yield the open comments with the words that they are about, and the number of the resolved ones."""
    if not comments:
        return
    yield paragraph()
    unresolved = [comment for comment in comments if comment.resolved_at is None]
    summary = labels.comments_summary(len(unresolved), len(comments) - len(unresolved))
    yield Paragraph(Content.assemble((labels.COMMENTS_HEADING, "strong"), "  ", (summary, "dim")))
    for comment in unresolved:
        yield Paragraph(comment_head(comment, now))
        yield Paragraph(Content("\n".join(safe_line(line) for line in comment.text.splitlines())), indent=INDENT)


def comment_head(comment: "Comment", now: datetime) -> Content:
    """Return who commented, when, and on which words."""
    parts = [Content(safe_line(comment.reviewer)), Content.styled(format_relative(comment.at, now), "dim")]
    if comment.quote:
        is_missing = comment.start is None
        parts.append(Content.styled(f"“{safe_line(comment.quote)}”", "dim" if is_missing else "mark-accent"))
        parts += [Content.styled(labels.QUOTE_IS_MISSING, "dim")] if is_missing else []
    return Content("  ").join(parts)


def comment_page(comment: "Comment", now: datetime) -> list[Block]:
    """Return the page of one comment."""
    blocks: list[Block] = [Paragraph(comment_head(comment, now)), paragraph()]
    blocks += [paragraph(safe_line(line)) for line in comment.text.splitlines()]
    if comment.resolved_at is not None:
        resolved = labels.resolved_by(safe_line(comment.resolved_by or ""), format_relative(comment.resolved_at, now))
        blocks += [paragraph(), paragraph(resolved, "good")]
    return blocks


def unsaved_page(edit: "UnsavedEdit", diff: "Difference", now: datetime) -> list[Block]:
    """Return the page of a text that was typed and not saved, against the text of the draft."""
    head = labels.unsaved_text_head(safe_line(edit.reviewer), format_relative(edit.at, now))
    return [paragraph(head, "strong"), paragraph(labels.UNSAVED_DIFF_NOTE, "dim"), paragraph(), *diff_page(diff)]


def _proposed_images(images: Sequence[DraftImage]) -> Iterator[Block]:
    """Yield two lines per proposed image: its address, and its description with what speaks against posting it."""
    for image in images:
        url = Content.styled(safe_line(image.url), "link" * is_link(image.url))
        yield OneLine([Content.assemble((labels.PROPOSED_IMAGE, "dim"), " ", url)])
        parts = [
            Content(f"“{safe_line(image.alt)}”") if image.alt else Content.styled(labels.NO_ALT_TEXT, "warn"),
            *([Content.styled(labels.may_need_licence(image.agency), "warn")] if image.agency else []),
            Content.styled(labels.attach_hint(), "dim"),
        ]
        yield Facts(parts, indent=INDENT)


def _items(items: Sequence[DraftSource]) -> Iterator[Block]:
    """Yield a row per source item of a draft that links to several."""
    yield paragraph(labels.SOURCES_HEADING, "strong")
    yield Table(
        [(Content.styled(safe_line(item.source_name), "dim"), Content(safe_line(item.title))) for item in items]
    )


def _agent(agent: Agent) -> Iterator[Block]:
    """Yield who proposed the draft, and the sources that the agent names, all as it says itself but the token."""
    yield paragraph(safe_line(labels.proposed_by(agent.name, agent.model, agent.prompt_hash, agent.token)), "dim")
    for source in agent.sources:
        yield paragraph(safe_line(labels.agent_source(source.url, source.text, source.start, source.end)), "dim")


def _source_line(draft: ListedDraft, now: datetime) -> Block:
    """Return where the story comes from, how old it is, and the key that compares a new version with the old one."""
    names = [source.name for source in draft.score.sources[:1]] if draft.score else []
    source = safe_line(names[0]) if names else source_type_label(draft.item.source_type)
    parts = [f"{source}, {format_relative(draft.item.published, now)}"]
    parts += [labels.compare_hint()] if draft.regenerated_from_id is not None else []
    return paragraph(labels.SEPARATOR.join(parts), "dim")


AVATAR = "◉"
_RAIL = "▏"


class Post(NamedTuple):
    """A post as a platform shows it, beside a line that holds its parts together."""

    content: Content
    role: str = "faint"

    def lines(self, width: int) -> list[Content]:
        """Render the text in lines of at most `width` cells."""
        rail = Content.styled(f"{_RAIL} ", self.role)
        room = max(width - rail.cell_length, 1)
        return [rail + line for line in (self.content.wrap(room) if self.content else [self.content])]


def _post(draft: ListedDraft, previews: "Sequence[Preview]", comments: "Sequence[Comment]" = ()) -> Iterator[Block]:
    """Yield the draft as the first of its accounts shows it: author, text, link card, and what is left of the limit.

    Hidden characters are made visible; the spans of findings, the least certain sentence and the words of open comments
    are underlined. Until the previews are loaded only the text is known.
    """
    first = previews[0] if previews else None
    texts = draft.text.split(THREAD_SEPARATOR) if draft.format is Format.THREAD else [draft.text]
    marks = [*_marks(draft), *_comment_marks(comments)]
    parts = first.parts if first is not None and len(first.parts) == len(texts) else ()
    yield _author_line(first, parts[0] if len(parts) == 1 else None)
    start = 0
    for number, text in enumerate(texts, 1):
        if len(texts) > 1:
            head = Content.styled(labels.thread_part(number, len(texts)), "dim")
            length = Content.styled("  ") + _length(parts[number - 1]) if parts else Content("")
            if number > 1:
                yield Post(Content(""))
            yield Post(head + length)
        yield Post(_highlighted(text, start, marks))
        # Findings count from the start of the whole text, separators included.
        start += len(text) + len(THREAD_SEPARATOR)
    if first is not None and first.card and (link := _first_link(first.parts)):
        yield from _link_card(draft, link)
    for problem in first.stops if first is not None else ():
        yield Post(Content.styled(labels.problem(safe_line(problem)), "bad"))
    for number, part in enumerate(first.parts if first is not None else (), 1):
        for problem in part.stops:
            yield Post(Content.styled(labels.problem(safe_line(problem), number), "bad"))


def _author_line(preview: "Preview | None", part: "PreviewPart | None") -> Block:
    """Return the line above a post: the account, its platform, and the characters that are left."""
    if preview is None:
        return Paragraph(Content.styled(AVATAR, "accent"))
    _, _, handle = preview.account.partition(":")
    platform = safe_line(labels.platform_name(preview.platform))
    name = safe_line(handle) or platform
    facts = [Content.assemble((f"{AVATAR} ", "accent"), (name, "strong"))]
    if handle:
        facts.append(Content.styled(platform, "dim"))
    if not preview.connected:
        facts.append(Content.styled(labels.NOT_CONNECTED, "warn"))
    if part is not None:
        facts.append(_length(part))
        if part.limit is not None and part.length <= part.limit:
            facts.append(Content.styled(labels.characters_left(part.limit - part.length), "dim"))
    return Paragraph(Content.styled("  ").join(facts))


def _link_card(draft: ListedDraft, link: str) -> Iterator[Block]:
    """Yield the card that the platform draws for the first link: the title if it is the item's link, and the host."""
    urls = {source.url for source in draft.score.sources} if draft.score else set()
    urls |= {item.url for item in draft.items}
    yield Post(Content(""))
    if link in urls and draft.item.title.strip():
        yield Post(Content.assemble(("┃ ", "faint"), (safe_line(draft.item.title), "strong")))
    yield Post(Content.assemble(("┃ ", "faint"), (safe_line(_card_host(link)), "dim")))


def _card_host(link: str) -> str:
    """Return the host of a link as a card shows it; the link itself if it has none."""
    try:
        host = urlsplit(link).hostname or ""
    except ValueError:
        return link
    return host.removeprefix("www.") or link


def _accounts(previews: "Sequence[Preview]") -> Iterator[Block]:
    """Yield the verdict of all accounts, and what each of the others counts; nothing if the post shows it already."""
    if len(previews) == 1 and previews[0].fits and previews[0].connected:
        return
    yield paragraph()
    yield Paragraph(Content.assemble((labels.PREVIEW_HEADING, "strong"), "  ", _summary(previews)))
    for preview in previews[1:]:
        yield from _account_blocks(preview, draws_link=False)


class Mark(NamedTuple):
    """A span of a text to underline."""

    start: int
    end: int
    role: str


_MARK_ORDER = ("mark-accent", "mark-bad", "mark-warn", "mark-dim", "mark-good")
"""The first of those that cover a piece of text is drawn."""


def _comment_marks(comments: "Sequence[Comment]") -> list[Mark]:
    """Return the spans of the words that open comments are about."""
    return [
        Mark(comment.start, comment.start + len(comment.quote), "mark-accent")
        for comment in comments
        if comment.start is not None and comment.quote and comment.resolved_at is None
    ]


def _marks(draft: ListedDraft) -> list[Mark]:
    """Return the spans of the findings in the colour of their severity, and that of the least certain sentence."""
    marks = [
        Mark(finding.start, finding.end, f"mark-{SEVERITY[finding.severity].role}")
        for finding in draft.checks.findings
        if finding.start is not None and finding.end is not None
    ]
    if (claim := least_certain(draft)) is not None:
        # A supported sentence is no warning.
        role = "dim" if claim.verdict is ClaimVerdict.SUPPORTED else CLAIM[claim.verdict].role
        marks.append(Mark(claim.start, claim.end, f"mark-{role}"))
    return marks


_CERTAINTY = (ClaimVerdict.CONTRADICTS, ClaimVerdict.CANNOT_TELL, ClaimVerdict.SUPPORTED)


def least_certain(draft: ListedDraft) -> Claim | None:
    """Return the claim to look at first: the one with the worst verdict whose words are least like the source's.

    None if the draft claims nothing.
    """

    from copydesk.model.filters import tokenize  # noqa: PLC0415 - not needed for the first paint

    def certainty(claim: Claim) -> tuple[int, float]:
        words = set(tokenize(draft.text[claim.start : claim.end]))
        in_source = set(tokenize(claim.source.text)) if claim.source is not None else set()
        return _CERTAINTY.index(claim.verdict), len(words & in_source) / max(len(words), 1)

    return min(draft.checks.claims, key=certainty, default=None)


def _highlighted(text: str, start: int, marks: Sequence[Mark]) -> Content:
    """Return `text` with the marked spans underlined and hidden characters visible.

    `start` is the offset of `text` in the whole text, which the marks refer to.
    """
    return Content("").join(
        [
            _with_hidden_characters(piece).stylize(role) if role else _with_hidden_characters(piece)
            for piece, role in _pieces(text, start, marks)
        ]
    )


def _pieces(text: str, start: int, marks: Sequence[Mark]) -> Iterator[tuple[str, str]]:
    """Yield `text` in pieces with the role of the mark that covers each, an empty one for none."""
    spans = [(max(mark.start - start, 0), min(mark.end - start, len(text)), mark.role) for mark in marks]
    # Marks may overlap: cut the text at every boundary, and style each piece by the worst mark that covers it.
    boundaries = sorted(
        {0, len(text), *(boundary for span in spans for boundary in span[:2] if 0 < boundary < len(text))}
    )
    for lower, upper in pairwise(boundaries):
        roles = {role for first, last, role in spans if first <= lower and upper <= last}
        yield text[lower:upper], next((role for role in _MARK_ORDER if role in roles), "")


def _with_hidden_characters(text: str) -> Content:
    """Return `text` with hidden characters written as code points, styled as errors."""
    return Content(reveal(text)).highlight_regex(_CODE_POINT, style="bad")


def _checks(checks: Checks) -> Iterator[Block]:
    failed = len({finding.rule for finding in checks.findings})
    passed = checks.ran - failed
    summary = Content.styled(labels.draft_checks_passed(passed, checks.ran), "dim" if failed else "good")
    yield Paragraph(Content.assemble((labels.CHECKS_HEADING, "strong"), "  ", summary))
    yield _finding_table(checks.findings)


def typed_findings(checks: Checks) -> Iterator[Block]:
    """Yield what the checks find in a text that is being typed, but for its lengths, which the preview counts."""
    findings = [finding for finding in checks.findings if finding.rule not in ("length", "bytes")]
    if findings:
        yield paragraph()
        yield paragraph(labels.CHECKS_HEADING, "strong")
        yield _finding_table(findings)


def _finding_table(findings: Sequence[Finding]) -> Table:
    return Table(
        [
            (Content.styled(sign.letter, sign.role), Content(safe_line(finding.message)))
            for finding in sorted(findings, key=lambda finding: _SEVERITY_ORDER.index(finding.severity))
            for sign in (SEVERITY[finding.severity],)
        ]
    )


def _claims(draft: ListedDraft) -> Iterator[Block]:
    """Yield each sentence of the draft with its verdict, and below it the words of the source."""
    claims, least = draft.checks.claims, least_certain(draft)
    summary = labels.claims_summary(Counter(claim.verdict for claim in claims))
    yield Paragraph(Content.assemble((labels.CLAIMS_HEADING, "strong"), "  ", (summary, "dim")))
    for claim in sorted(claims, key=lambda claim: claim is not least):
        badge = CLAIM[claim.verdict]
        sentence = safe_line(draft.text[claim.start : claim.end])
        parts = [Content.styled(f"{badge.letter} {badge.text}", badge.role)]
        if len(claims) > 1:
            # The text is right above: a single sentence is not repeated.
            parts += [Content.styled(labels.LEAST_CERTAIN, "dim")] if claim is least else []
            parts.append(Content(sentence))
        if claim.source is not None:
            field = labels.CLAIM_FIELDS.get(claim.source.field, "")
            evidence = Content.assemble((f"{field}: ", "dim"), safe_line(claim.source.text))
            if len(claims) > 1:
                yield Paragraph(Content("  ").join(parts))
                yield Paragraph(evidence, indent=INDENT)
            else:
                yield Paragraph(Content("  ").join([*parts, evidence]))
        else:
            yield Paragraph(Content("  ").join(parts))
        if claim.reason:
            yield Paragraph(Content.styled(safe_line(claim.reason), "dim"), indent=INDENT)


def _score(score: Score) -> Iterator[Block]:
    yield Paragraph(Content.assemble((labels.SCORE_HEADING, "strong"), "  ", (f"{score.total:.2f}", "accent")))
    yield Table([_score_row(part) for part in score.parts], right_aligned=frozenset({2}))
    names = list(dict.fromkeys(safe_line(source.name) for source in score.sources))
    # A single source is named in the item pane already.
    if len(names) > 1:
        yield paragraph()
        yield paragraph(labels.story_reported_by(names), "dim")


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


MAX_ARTICLE_LENGTH = 20_000
"""Characters of an article that are displayed. Wrapping a longer text delays the page noticeably."""


def item_page(item: "Item", now: datetime, draft: ListedDraft | None = None) -> list[Block]:
    """Return the whole page of one source item; what `draft` uses of it is underlined, with the verdicts beside it."""
    entry = item.entry
    used = _used_spans(item, draft) if draft is not None else {}
    title = _with_verdicts(safe_line(entry.title), entry.title, used.get(Field.TITLE, []))
    blocks: list[Block] = [
        Paragraph((title if title.plain.strip() else Content(labels.UNTITLED_ITEM)).stylize("strong")),
        paragraph(),
        _facts(item, now),
    ]
    in_summary = used.get(Field.SUMMARY, [])
    # Many feeds repeat the beginning of the text as its summary, cut off with an ellipsis.
    if entry.summary and (in_summary or not entry.text.startswith(entry.summary.rstrip(" .…"))):
        summary = _paragraphs(entry.summary)
        blocks += [paragraph(), Paragraph(_with_verdicts(summary, entry.summary, in_summary))]
    if entry.text:
        text = _paragraphs(entry.text)
        blocks += [paragraph(), Paragraph(_with_verdicts(text, entry.text, used.get(Field.TEXT, [])))]
    return blocks


class UsedSpan(NamedTuple):
    """Words of a source that a draft uses."""

    start: int
    end: int
    verdict: ClaimVerdict | None
    """The verdict on the sentence of the draft that rests on them; None for words that are no claim."""


def _used_spans(item: "Item", draft: ListedDraft) -> dict[Field, list[UsedSpan]]:
    """Return what the draft uses of each field of the item."""
    used: dict[Field, list[UsedSpan]] = {}
    for claim in draft.checks.claims:
        source = claim.source
        if source is not None and (source.item_id or draft.item_id) == item.id:
            used.setdefault(source.field, []).append(UsedSpan(source.start, source.end, claim.verdict))
    for trace in draft.sentences:
        if trace.start is None or trace.end is None or (trace.item_id or draft.item_id) != item.id:
            continue
        spans = used.setdefault(trace.field, [])
        if not any(span.start < trace.end and trace.start < span.end for span in spans):
            spans.append(UsedSpan(trace.start, trace.end, None))
    return used


def _with_verdicts(shown: str, stored: str, used: Sequence[UsedSpan]) -> Content:
    """Return the text as shown, with the used spans underlined and the sign and the name of each verdict after it.

    The positions refer to the stored text, which is found again in the shown one by its words: cleaning changes these
    no more than their spacing.
    """
    pieces: list[Content] = []
    at = 0
    for span in sorted(used):
        words = _words(stored[span.start : span.end])
        found = re.compile(r"\s+".join(map(re.escape, words))).search(shown, at) if words else None
        if found is None:
            continue
        badge = CLAIM[span.verdict] if span.verdict is not None else None
        role = f"mark-{badge.role}" if badge else "mark-dim"
        pieces += [Content(shown[at : found.start()]), Content.styled(found[0], role)]
        if badge is not None:
            # In brackets: without colours it would read as a part of the sentence.
            pieces.append(Content.styled(f" [{badge.letter} {badge.text}]", badge.role))
        at = found.end()
    return Content("").join([*pieces, Content(shown[at:])])


def _words(text: str) -> list[str]:
    """Return the words of a text as they are displayed."""
    return clean_lines(text).split()


def _facts(item: "Item", now: datetime) -> Block:
    entry = item.entry
    source, name = source_type_label(item.source_type or MANUAL), safe_line(item.source_name)
    facts = [
        (labels.ITEM_SOURCE, f"{name} · {source}" if item.source_type and name != source else source),
        (labels.ITEM_AUTHOR, safe_line(entry.author or entry.publisher or "")),
        (labels.ITEM_PUBLISHED, f"{format_relative(item.published, now)} · {format_date_time(item.published, now)}"),
        (labels.ITEM_REACTIONS, _popularity(entry)),
        (labels.ITEM_DISCUSSION, safe_line(entry.discussion or "")),
    ]
    rows = [(Content.styled(name, "dim"), Content(value)) for name, value in facts if value]
    if entry.url:
        # An address that is no web link is displayed, but not as a link.
        rows.append(
            (Content.styled(labels.ITEM_LINK, "dim"), Content.styled(safe_line(entry.url), "link" * is_link(entry.url)))
        )
    return Table(rows)


def _popularity(entry: "Entry") -> str:
    counts = [(entry.points, "point"), (entry.comments, "comment")]
    return " · ".join(plural(number, noun) for number, noun in counts if number is not None)


def _paragraphs(text: str) -> str:
    visible = clean_lines(text[:MAX_ARTICLE_LENGTH]).strip()
    remaining = len(text) - MAX_ARTICLE_LENGTH
    return f"{visible}…\n\n{labels.remaining_characters(remaining)}" if remaining > 0 else visible


DIFF_MARKS = {"same": ("", "", ""), "removed": ("[-", "-]", "bad"), "added": ("{+", "+}", "good")}
"""Opening mark, closing mark and style per kind of change. As in `wdiff`, so that the diff is readable without
colours."""
LINE_BREAK_MARK = "¶"
"""Stands for a removed or added piece that consists of line breaks only."""


def diff_page(diff: "Difference") -> list[Block]:
    """Return the page with both texts, their differing words marked, and the checks that improved or got worse."""
    blocks: list[Block] = [
        Columns(
            (paragraph(labels.OLD_VERSION, "dim"), _diff_text(diff, "same", "removed")),
            (paragraph(labels.NEW_VERSION, "dim"), _diff_text(diff, "same", "added")),
            narrow=_diff_text(diff, *DIFF_MARKS),
        )
    ]
    if all(piece.kind == "same" for piece in diff.pieces):
        blocks += [paragraph(), paragraph(labels.TEXT_UNCHANGED, "dim")]
    for heading, findings in ((labels.BETTER_CHECKS, diff.better), (labels.WORSE_CHECKS, diff.worse)):
        if findings:
            blocks += [
                paragraph(),
                paragraph(heading, "strong"),
                Table([_finding_row(finding) for finding in findings]),
            ]
    return blocks


def partial_page(draft: ListedDraft, text: str, now: datetime) -> list[Block]:
    """Return the page of a draft that is being written, with its text as far as it has arrived."""
    unfinished = structs.replace(draft, text=text, checks=Checks())
    headline = _headline(unfinished, now, DraftDetails())
    return [headline, paragraph(labels.TEXT_ARRIVING, "dim"), paragraph(), *_post(unfinished, ())]


def decision_stats_page(stats: "DecisionStats", *, recorded: bool) -> list[Block]:
    """Return the page with how fast the user decides, and how often a decision was undone soon after."""
    rows = [(Content.styled(name, "dim"), Content(value)) for name, value in labels.decision_facts(stats)]
    note = labels.DECISIONS_NOTE if recorded else labels.DECISIONS_NOT_RECORDED
    return [Table(rows), paragraph(), paragraph(note, "dim")]


def prompt_page(requests: "Sequence[ModelRequest]") -> list[Block]:
    """Return the page with what language models were asked for a draft, and what they reported."""
    blocks: list[Block] = []
    for request in requests:
        facts = labels.model_request_facts(request, format_cost(request.cost))
        blocks.append(Table([(Content.styled(name, "dim"), Content(safe_line(value))) for name, value in facts]))
        if request.error:
            blocks.append(paragraph(safe_line(request.error), "bad"))
        texts = (
            (labels.PROMPT_REPORT, request.report),
            (labels.PROMPT_SYSTEM, request.system),
            (labels.PROMPT_MATERIAL, request.prompt),
        )
        for title, text in texts:
            if text:
                blocks += [paragraph(), paragraph(title, "strong"), Paragraph(Content(reveal(text)))]
        if request.claims:
            rows = [
                (Content(safe_line(claim.text)), Content(safe_line(claim.source_quote))) for claim in request.claims
            ]
            blocks += [paragraph(), paragraph(labels.PROMPT_CLAIMS, "strong"), Table(rows)]
        blocks.append(paragraph())
    return blocks


def history_page(history: "DraftHistory", draft_id: str) -> list[Block]:
    """Return the page with all events of a draft and of its earlier versions, one per line."""
    return list(_history_blocks(history, draft_id))


def _history_blocks(history: "DraftHistory", draft_id: str) -> Iterator[Block]:
    current_id = ""
    version_ids = [version.id for version in history.versions]
    for event, line in zip(history.events, history.lines, strict=True):
        # A draft with a single version needs no headings.
        if len(version_ids) > 1 and event.draft_id != current_id:
            if current_id:
                yield paragraph()
            current_id = event.draft_id
            yield paragraph(labels.version_heading(version_ids.index(current_id) + 1, len(version_ids)), "strong")
        yield paragraph(safe_line(line), "dim" if event.undone else "")
    newer = history.children_of(draft_id)
    if newer:
        yield paragraph()
        yield paragraph(labels.newer_version(), "accent")


def _diff_text(diff: "Difference", *kinds: str) -> Block:
    """Return the pieces of these kinds as one text."""
    pieces = [_diff_piece(piece.kind, piece.text) for piece in diff.pieces if piece.kind in kinds]
    return Paragraph(Content("").join(pieces))


def _diff_piece(kind: str, text: str) -> Content:
    opening, closing, role = DIFF_MARKS[kind]
    visible = reveal(text)
    if not role:
        return Content(visible)
    if visible.isspace() and "\n" in visible:
        visible = LINE_BREAK_MARK + "\n" * visible.count("\n")
    # Mark every line on its own: a pair of marks that spans lines is hard to match by eye.
    lines = visible.split("\n")
    marked = [f"{opening}{line}{closing}" if line.strip() or len(lines) == 1 else line for line in lines]
    return Content.styled("\n".join(marked), role)


def _finding_row(finding: Finding) -> tuple[Content, ...]:
    sign = SEVERITY[finding.severity]
    return Content.styled(sign.letter, sign.role), Content(safe_line(finding.message))
