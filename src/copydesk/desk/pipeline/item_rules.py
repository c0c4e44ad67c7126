"""The filters that an item has to pass: those for all sources, and those of its own source."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from copydesk.desk.context import DeskContext
from copydesk.errors import InvalidError
from copydesk.model.item import Entry, Item
from copydesk.model.source import Source, SourceConfig
from copydesk.ranking.filters import FilterRules, compile_rules, detect_common_language, rejection_reason
from copydesk.settings import Pipeline
from copydesk.store import items

log = logging.getLogger(__name__)
NO_RULES = FilterRules()
LANGUAGE_SAMPLE_SIZE = 30
"""Newest items of a source that tell its language where an item's own title does not."""


class Rejection(NamedTuple):
    """Why an item is filtered out."""

    reason: str
    of_source: bool
    """True for a filter of the item's own source."""


class ItemRules(NamedTuple):
    """The filters of a run."""

    everywhere: FilterRules
    by_source: Mapping[str, FilterRules | None]
    """None for unusable rules."""
    source_languages: Mapping[str, str | None] = {}

    def filter_language(self, source_id: str) -> str | None:
        """Return the language that the items of a source must have, None if any."""
        source_rules = self.by_source.get(source_id) or NO_RULES
        return source_rules.language or self.everywhere.language

    def can_judge(self, item: Item) -> bool:
        """Return False if the rules of the item's source are unusable."""
        return self.by_source.get(item.source_id, NO_RULES) is not None

    def reject(self, item: Item, now: datetime) -> Rejection | None:
        """Return why the item is filtered out, None if it passes."""
        language = self.source_languages.get(item.source_id)
        if reason := rejection_reason(item, self.everywhere, now, language):
            return Rejection(reason, of_source=False)
        source_rules = self.by_source.get(item.source_id) or NO_RULES
        reason = rejection_reason(item, source_rules, now, language)
        return Rejection(reason, of_source=True) if reason else None


def compile_item_rules(
    options: Pipeline, all_sources: Iterable[Source], excluded: Iterable[str] = (), *, any_age: bool = False
) -> ItemRules:
    """Compile the filters. It may take seconds: call it in a thread.

    `excluded` are the words of the user's rules. With `any_age` items of any age pass.

    Raise InvalidError if an expression for all sources is invalid or too slow.
    """
    max_age = None if any_age else timedelta(hours=options.max_age_hours)
    exclude = (*options.exclude, *excluded)
    everywhere = compile_rules(options.include, exclude, options.language or None, max_age, field="pipeline")
    by_source = {source.id: _compile_source_rules(source.config) for source in all_sources if source.config is not None}
    return ItemRules(everywhere, by_source)


def _compile_source_rules(config: SourceConfig) -> FilterRules | None:
    try:
        return compile_rules(config.include, config.exclude, config.language, None)
    except InvalidError as error:
        # Validated when they were set, but an expression may still be too slow on a much slower machine.
        log.warning("the items of a source wait: %s", error)
        return None


async def detect_source_languages(
    ctx: DeskContext, waiting: Iterable[Item], rules: ItemRules
) -> Mapping[str, str | None]:
    """Return the languages of the sources whose items are filtered by language."""
    source_ids = {item.source_id for item in waiting}
    filtered = sorted(source_id for source_id in source_ids if rules.filter_language(source_id) is not None)
    if not filtered:
        return {}
    samples = await ctx.read(items.list_language_samples, filtered, LANGUAGE_SAMPLE_SIZE)
    return await asyncio.to_thread(_detect_languages, samples)


def _detect_languages(samples: Mapping[str, Sequence[Entry]]) -> dict[str, str | None]:
    return {source_id: detect_common_language(entries) for source_id, entries in samples.items()}
