"""The input of rules: the draft's context (source, voice, images, recent drafts), and the interface of a rule."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

from copydesk.drafting.claims.source_index import Material
from copydesk.drafting.extract.attribution import format_day, get_source_name
from copydesk.drafting.extract.passages import make_readable
from copydesk.drafting.rules.analyzed_text import AnalyzedText, ngrams, split_words
from copydesk.drafting.writer import Brief
from copydesk.model.draft import DraftImage, Field, Format, Severity
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct
from copydesk.model.voice import FormatVoice, Voice
from copydesk.text.links import mask_links

TrigramCache = dict[str, frozenset[str]]
"""Text -> its trigrams."""


class RecentTexts:
    """An index of recent texts by word trigrams, to find repetitions. Texts can be added."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._sizes: list[int] = []
        self._texts_by_trigram: dict[str, list[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add `text` to the index."""
        self._add_trigrams(self.trigrams(text))

    def _add_trigrams(self, trigrams: frozenset[str]) -> None:
        for trigram in trigrams:
            self._texts_by_trigram.setdefault(trigram, []).append(len(self._sizes))
        self._sizes.append(len(trigrams))

    @classmethod
    def from_cache(cls, texts: Iterable[str], cache: TrigramCache) -> Self:
        """Return an index of `texts`, reusing and updating `cache`.

        Afterwards `cache` contains exactly `texts`, so that it cannot grow without bound.
        """
        # Texts are mostly the same from one draft to the next.
        trigrams_by_text = {text: cache.get(text) or cls.trigrams(text) for text in texts}
        cache.clear()
        cache.update(trigrams_by_text)
        recent = cls()
        for trigrams in trigrams_by_text.values():
            recent._add_trigrams(trigrams)
        return recent

    def similarity(self, text: str) -> float:
        """Return the similarity to the closest text: the Jaccard index of their trigrams, 0 to 1."""
        trigrams = self.trigrams(text)
        # Only texts that share a trigram are compared, so the cost does not grow with the number of texts.
        shared = Counter(index for trigram in trigrams for index in self._texts_by_trigram.get(trigram, ()))
        return max(
            (count / (len(trigrams) + self._sizes[index] - count) for index, count in shared.items()), default=0.0
        )

    @staticmethod
    def trigrams(text: str) -> frozenset[str]:
        """Return the word trigrams of a text, without links."""
        return frozenset(ngrams(split_words(mask_links(text)), 3))


class CheckContext(Struct, frozen=True):
    """Everything known about a draft besides its text."""

    format: Format
    source: str = ""
    """All text of the items: the facts that a draft may state. Empty if there is no item."""
    is_prompt_only: bool = False
    """True if the source is only the user's own prompt."""
    title: str = ""
    """The item's title, which a draft may repeat."""
    url: str | None = None
    other_titles: tuple[str, ...] = ()
    other_urls: tuple[str, ...] = ()
    """Titles and URLs of the further items, which a draft may repeat and link to."""
    item_urls: tuple[tuple[str | None, str], ...] = ()
    """The id and URL of each item, None as the id of the draft's own."""
    materials: tuple[Material, ...] = ()
    """The texts of the items, with which its claims are compared."""
    names: tuple[str, ...] = ()
    """Names of the sources and their authors, which a draft may credit."""
    days: tuple[str, ...] = ()
    """Days on which the items were published, as a credit writes them."""
    language: str | None = None
    voice: Voice = Voice()
    recent: RecentTexts | None = None
    images: tuple[DraftImage, ...] = ()
    platforms: tuple[PlatformInfo, ...] = ()
    """Platforms whose limits apply."""

    @property
    def settings(self) -> FormatVoice:
        """The voice's settings of this format."""
        return self.voice.format_settings(self.format)


def build_check_context(
    brief: Brief, *, recent: RecentTexts | None = None, images: tuple[DraftImage, ...] = ()
) -> CheckContext:
    """Return the context for checking the draft that `brief` requests."""
    others = [brief.for_item(item) for item in brief.other_items]
    return CheckContext(
        format=brief.format,
        source="\n\n".join(map(_source_text, [brief, *others])),
        is_prompt_only=brief.source_type is None and brief.url is None,
        title=brief.title,
        url=brief.url,
        other_titles=tuple(item.title for item in others),
        other_urls=tuple(item.url for item in others if item.url),
        item_urls=(
            *([(None, brief.url)] if brief.url else []),
            *((item.item_id, item.url) for item in others if item.url),
        ),
        materials=(*_materials(brief), *(text for item in others for text in _materials(item, item.item_id))),
        names=tuple(dict.fromkeys(name for item in (brief, *others) for name in _names(item))),
        days=tuple(dict.fromkeys(day for item in (brief, *others) for day in _days(item))),
        language=brief.language,
        voice=brief.voice,
        recent=recent,
        images=images,
        platforms=brief.platforms,
    )


def _source_text(brief: Brief) -> str:
    """Return all text of the brief's own item, with what else is known of it."""
    return "\n\n".join(
        filter(None, [brief.title, brief.summary, brief.text, *_names(brief), *brief.tags, *_days(brief)])
    )


def _days(brief: Brief) -> list[str]:
    """Return the day of publication in both notations, so that a draft may have either."""
    return [format_day(brief.published, english=english) for english in (True, False)] if brief.published else []


def _names(brief: Brief) -> list[str]:
    author = make_readable(brief.author or "")
    names = (brief.source_name, get_source_name(brief), brief.publisher, brief.author, author, *brief.other_sources)
    return [name for name in names if name]


def _materials(brief: Brief, item_id: str | None = None) -> list[Material]:
    """Return the texts of the brief's own item."""
    texts = [(Field.TITLE, brief.title), (Field.TEXT, brief.text), (Field.SUMMARY, brief.summary)]
    return [Material(field=field, text=text, item_id=item_id) for field, text in texts if text.strip()]


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class RuleMatch(NamedTuple):
    """A violation: severity, message for the user, and span in the text if there is one."""

    severity: Severity
    message: str
    start: int | None = None
    end: int | None = None


class Rule(NamedTuple):
    """One check: its name, the check function, and the predicate for the drafts it applies to."""

    name: str
    check: Callable[[AnalyzedText, CheckContext], Iterator[RuleMatch]]
    applies: Callable[[CheckContext], bool]


def always(_: CheckContext) -> bool:
    """Apply a rule to every draft."""
    return True


def has_source(context: CheckContext) -> bool:
    """Apply a rule to drafts with a source to compare with."""
    return bool(context.source.strip())
