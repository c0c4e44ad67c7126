"""The page of a source: its health, how it is fetched, and its latest items."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from textual.content import Content

from copydesk.model.source import SourceConfig
from copydesk.text import clean_lines
from copydesk.tui.cells import safe_line
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.naming import key_label
from copydesk.tui.pages.source_row import format_next_fetch, health_sign
from copydesk.tui.words import SOURCE, format_age, format_ago, format_utc, plural

if TYPE_CHECKING:
    from copydesk.desk.overviews import RecentItem, SourceOverview
    from copydesk.desk.sources import FetchTest, FoundEntry

MAX_ERROR_LENGTH = 2000
"""Characters of an error that are displayed. The text may come from the remote server."""
_CAPITAL = re.compile("[A-Z]")


def source_page(overview: "SourceOverview", recent_items: "Sequence[RecentItem] | None", now: datetime) -> list[Block]:
    """Return the whole page; `recent_items` are the latest items, or None until they are loaded."""
    source = overview.source
    sign = health_sign(source)
    parts = [
        Content.styled(safe_line(source.name), "strong"),
        Content(SOURCE[source.type]),
        Content.styled(sign.text, sign.role),
    ]
    blocks: list[Block] = [Paragraph(Content.styled(" · ", "dim").join(parts))]
    if source.last_error:
        blocks.append(paragraph(error_text(source.last_error), "bad"))
    blocks += [paragraph(), Table(list(_facts(overview, now)))]
    if recent_items:
        blocks += [
            paragraph(),
            paragraph("What it brought last", "strong"),
            Table([_item_row(item, now) for item in recent_items]),
        ]
    elif source.last_fetch is None:
        blocks += [paragraph(), Paragraph(_run_hint())]
    return blocks


def _run_hint() -> Content:
    return Content.assemble((key_label("sources.run"), "key"), " reads it, with the others, and writes drafts.")


def error_text(error: str) -> str:
    """Return a source's error with control characters removed, and shortened."""
    cut = error if len(error) <= MAX_ERROR_LENGTH else f"{error[:MAX_ERROR_LENGTH]}…"
    return clean_lines(cut).strip()


def _facts(row: "SourceOverview", now: datetime) -> Iterator[tuple[Content, ...]]:
    source = row.source
    items = f"{source.item_count} · {row.days[-1]} dated today, {sum(row.days)} in {len(row.days)} days"
    facts = [
        ("address", safe_line(source.url or "")),
        ("items", items),
        ("drafts", str(row.drafts)),
        (
            "last fetch",
            f"{format_ago(source.last_fetch, now)} · {format_utc(source.last_fetch)}" if source.last_fetch else "never",
        ),
        ("next fetch", _next_fetch(row, now)),
        ("failures", f"{source.fail_count} in a row" if source.fail_count else "none"),
        ("settings", format_settings(source.config)),
        ("since", format_utc(source.created_at)),
    ]
    for name, value in facts:
        if value:
            yield Content.styled(name, "dim"), Content(value)


def _next_fetch(row: "SourceOverview", now: datetime) -> str:
    if not row.source.enabled:
        return f"none: it is switched off, {key_label('sources.switch')} switches it on"
    if row.next_fetch is None or row.next_fetch <= now:
        return "at the next run"
    return f"in {format_next_fetch(row, now)} · {format_utc(row.next_fetch)}"


def format_settings(config: SourceConfig | None) -> str:
    """Format the source's non-default settings in one line; empty if there are none."""
    values: dict[str, object] = msgspec.to_builtins(config) if config else {}
    return " · ".join(f"{_spaced(name)} {safe_line(_format_value(value))}" for name, value in values.items())


def _spaced(name: str) -> str:
    # Names are camelCase in the JSON: `maxItems` becomes "max items".
    return _CAPITAL.sub(lambda match: f" {match[0].lower()}", name)


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _item_row(item: "RecentItem", now: datetime) -> tuple[Content, ...]:
    return Content.styled(f"{format_age(item.published, now):>4}", "dim"), Content(
        safe_line(item.title) or "without a title"
    )


def test_fetch_page(result: "FetchTest") -> list[Block]:
    """Return the page with the entries of a test fetch, or with its error."""
    if not result.ok:
        return [paragraph("It could not be read.", "bad"), paragraph(error_text(result.error or "Nobody knows why."))]
    if not result.items:
        return [paragraph("It can be read, and is empty.", "warn")]
    # `plural` only appends an s.
    count = plural(len(result.items), "entry").replace("entrys", "entries")
    return [paragraph(f"It can be read: {count}.", "good"), *entry_table(result.items)]


def entry_table(items: "Sequence[FoundEntry]") -> list[Block]:
    """Return a table of the entries' titles, or of their addresses where they have none."""
    rows = [
        (
            Content.styled(f"{number:>2}", "dim"),
            Content(safe_line(item.title) or safe_line(item.url) or "without a title"),
        )
        for number, item in enumerate(items, 1)
    ]
    return [Table(rows)]
