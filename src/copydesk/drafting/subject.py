"""The context that a draft is checked against: its source, voice, images and recent drafts."""

from collections import Counter
from collections.abc import Iterable
from typing import Self

from copydesk.drafting.extract.credit import day, name_of
from copydesk.drafting.rules.reading import runs, words_of
from copydesk.drafting.writer import Brief
from copydesk.model.draft import DraftImage, Format
from copydesk.model.voice import FormatVoice, Voice
from copydesk.model.wire import Struct
from copydesk.text.links import masked

Known = dict[str, frozenset[str]]
"""Text -> its trigrams."""


class Recent:
    """An index of recent texts by word trigrams, to find repetitions. Texts can be added."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._sizes: list[int] = []
        self._texts_by_trigram: dict[str, list[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add `text` to the index."""
        self._add_trigrams(self.runs(text))

    def _add_trigrams(self, trigrams: frozenset[str]) -> None:
        for trigram in trigrams:
            self._texts_by_trigram.setdefault(trigram, []).append(len(self._sizes))
        self._sizes.append(len(trigrams))

    @classmethod
    def beside(cls, texts: Iterable[str], known: Known) -> Self:
        """Return an index of `texts`, reusing and updating `cache`.

        Afterwards `cache` contains exactly `texts`, so that it cannot grow without bound.
        """
        trigrams_by_text = {text: known.get(text) or cls.runs(text) for text in texts}
        known.clear()
        known.update(trigrams_by_text)
        recent = cls()
        for trigrams in trigrams_by_text.values():
            recent._add_trigrams(trigrams)
        return recent

    def likeness(self, text: str) -> float:
        """Return the similarity to the closest text: the Jaccard index of their trigrams, 0 to 1."""
        trigrams = self.runs(text)
        # Only texts that share a trigram are compared, so the cost does not grow with the number of texts.
        shared = Counter(index for trigram in trigrams for index in self._texts_by_trigram.get(trigram, ()))
        return max(
            (count / (len(trigrams) + self._sizes[index] - count) for index, count in shared.items()), default=0.0
        )

    @staticmethod
    def runs(text: str) -> frozenset[str]:
        """Return the word trigrams of a text, without links."""
        return frozenset(runs(words_of(masked(text)), 3))


class Subject(Struct, frozen=True):
    """Everything known about a draft besides its text."""

    format: Format
    source: str = ""
    """All text of the item: the facts that a draft may state. Empty if there is no item."""
    unsourced: bool = False
    """True if the source is only the user's own prompt."""
    title: str = ""
    """The item's title, which a draft may repeat."""
    url: str | None = None
    language: str | None = None
    voice: Voice = Voice()
    recent: Recent | None = None
    images: tuple[DraftImage, ...] = ()
    platforms: tuple[str, ...] = ()
    """Target platforms; empty for the writer's default."""

    @property
    def settings(self) -> FormatVoice:
        """The voice's settings of this format."""
        return self.voice.of(self.format)


def subject_of(brief: Brief, *, recent: Recent | None = None, images: tuple[DraftImage, ...] = ()) -> Subject:
    """Return the context for checking the draft that `brief` requests."""
    # In both notations, so that the check of numbers accepts the date in either.
    dates = [day(brief.published, english=english) for english in (True, False)] if brief.published else []
    names = [brief.source_name, name_of(brief), brief.publisher or "", brief.author or "", *brief.also, *brief.tags]
    return Subject(
        format=brief.format,
        source="\n\n".join(filter(None, [brief.title, brief.summary, brief.text, *names, *dates])),
        unsourced=brief.source_type is None and brief.url is None,
        title=brief.title,
        url=brief.url,
        language=brief.language,
        voice=brief.voice,
        recent=recent,
        images=images,
        platforms=brief.platforms,
    )
