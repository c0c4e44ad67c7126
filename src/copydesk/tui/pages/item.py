"""The page of the source item that a draft was made from."""

from datetime import datetime

from textual.content import Content

from copydesk.model.draft import MANUAL
from copydesk.model.item import Entry, Item
from copydesk.text import clean_lines
from copydesk.tui.browser import is_link
from copydesk.tui.cells import safe_line
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.words import SOURCE, format_ago, format_utc, plural

MAX_ARTICLE_LENGTH = 20_000
"""Characters of an article that are displayed. Wrapping a longer text delays the page noticeably."""


def item_page(item: Item, now: datetime) -> list[Block]:
    """Return the whole page of one source item."""
    entry = item.entry
    blocks: list[Block] = [
        paragraph(safe_line(entry.title) or "Without a title", "strong"),
        paragraph(),
        _facts(item, now),
    ]
    # Many feeds repeat the beginning of the text as its summary, cut off with an ellipsis.
    if entry.summary and not entry.text.startswith(entry.summary.rstrip(" .…")):
        blocks += [paragraph(), Paragraph(Content(_paragraphs(entry.summary)))]
    if entry.text:
        blocks += [paragraph(), Paragraph(Content(_paragraphs(entry.text)))]
    return blocks


def _facts(item: Item, now: datetime) -> Block:
    entry = item.entry
    facts = [
        ("from", f"{safe_line(item.source_name)} · {SOURCE[item.source_type or MANUAL]}"),
        ("by", safe_line(entry.author or entry.publisher or "")),
        ("dated", f"{format_ago(item.published, now)} · {format_utc(item.published)}"),
        ("heard", _popularity(entry)),
        ("talk", safe_line(entry.discussion or "")),
    ]
    rows = [(Content.styled(name, "dim"), Content(value)) for name, value in facts if value]
    if entry.url:
        # An address that is no web link is displayed, but not as a link.
        rows.append((Content.styled("link", "dim"), Content.styled(safe_line(entry.url), "link" * is_link(entry.url))))
    return Table(rows)


def _popularity(entry: Entry) -> str:
    counts = [(entry.points, "point"), (entry.comments, "comment")]
    return " · ".join(plural(number, noun) for number, noun in counts if number is not None)


def _paragraphs(text: str) -> str:
    visible = clean_lines(text[:MAX_ARTICLE_LENGTH]).strip()
    remaining = len(text) - MAX_ARTICLE_LENGTH
    return f"{visible}…\n\n({remaining} more characters)" if remaining > 0 else visible
