"""The page of a source: its health, how it is fetched, and its latest items."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from textual.content import Content

from copydesk.model.source import SourceConfig
from copydesk.text import clean_lines
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key
from copydesk.tui.pages.source_row import following, sign_of
from copydesk.tui.words import SOURCE, age, ago, exact, plural

if TYPE_CHECKING:
    from copydesk.desk.overviews import RecentItem, SourceOverview
    from copydesk.desk.sources import FetchTest, FoundEntry

LONGEST_ERROR = 2000
"""Characters of an error that are displayed. The text may come from the remote server."""
_CAPITAL = re.compile("[A-Z]")


def source_page(row: "SourceOverview", brought: "Sequence[RecentItem] | None", now: datetime) -> list[Block]:
    """Return the whole page; `recent_items` are the latest items, or None until they are loaded."""
    source = row.source
    sign = sign_of(source)
    parts = [
        Content.styled(cell(source.name), "strong"),
        Content(SOURCE[source.type]),
        Content.styled(sign.words, sign.role),
    ]
    blocks: list[Block] = [Paragraph(Content.styled(" · ", "dim").join(parts))]
    if source.last_error:
        blocks.append(plain(error_text(source.last_error), "bad"))
    blocks += [plain(), Table(list(_facts(row, now)))]
    if brought:
        blocks += [plain(), plain("What it brought last", "strong"), Table([_item_row(item, now) for item in brought])]
    elif source.last_fetch is None:
        blocks += [plain(), Paragraph(_run_hint())]
    return blocks


def _run_hint() -> Content:
    return Content.assemble((key("sources.run"), "key"), " reads it, with the others, and writes drafts.")


def error_text(error: str) -> str:
    """Return a source's error with control characters removed, and shortened."""
    cut = error if len(error) <= LONGEST_ERROR else f"{error[:LONGEST_ERROR]}…"
    return clean_lines(cut).strip()


def _facts(row: "SourceOverview", now: datetime) -> Iterator[tuple[Content, ...]]:
    source = row.source
    items = f"{source.item_count} · {row.days[-1]} dated today, {sum(row.days)} in {len(row.days)} days"
    facts = [
        ("address", cell(source.url or "")),
        ("items", items),
        ("drafts", str(row.drafts)),
        ("last fetch", f"{ago(source.last_fetch, now)} · {exact(source.last_fetch)}" if source.last_fetch else "never"),
        ("next fetch", _next_fetch(row, now)),
        ("failures", f"{source.fail_count} in a row" if source.fail_count else "none"),
        ("settings", settings(source.config)),
        ("since", exact(source.created_at)),
    ]
    for name, value in facts:
        if value:
            yield Content.styled(name, "dim"), Content(value)


def _next_fetch(row: "SourceOverview", now: datetime) -> str:
    if not row.source.enabled:
        return f"none: it is switched off, {key('sources.switch')} switches it on"
    if row.next_fetch is None or row.next_fetch <= now:
        return "at the next run"
    return f"in {following(row, now)} · {exact(row.next_fetch)}"


def settings(config: SourceConfig | None) -> str:
    """Format the source's non-default settings in one line; empty if there are none."""
    values: dict[str, object] = msgspec.to_builtins(config) if config else {}
    return " · ".join(f"{_spaced(name)} {cell(_format_value(value))}" for name, value in values.items())


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
    return Content.styled(f"{age(item.published, now):>4}", "dim"), Content(cell(item.title) or "without a title")


def trial_page(result: "FetchTest") -> list[Block]:
    """Return the page with the entries of a test fetch, or with its error."""
    if not result.ok:
        return [plain("It could not be read.", "bad"), plain(error_text(result.error or "Nobody knows why."))]
    if not result.items:
        return [plain("It can be read, and is empty.", "warn")]
    # `plural` only appends an s.
    count = plural(len(result.items), "entry").replace("entrys", "entries")
    return [plain(f"It can be read: {count}.", "good"), *entries(result.items)]


def entries(items: "Sequence[FoundEntry]") -> list[Block]:
    """Return a table of the entries' titles, or of their addresses where they have none."""
    rows = [
        (Content.styled(f"{number:>2}", "dim"), Content(cell(item.title) or cell(item.url) or "without a title"))
        for number, item in enumerate(items, 1)
    ]
    return [Table(rows)]
