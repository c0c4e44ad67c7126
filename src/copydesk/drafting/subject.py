"""What a draft is checked against."""

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
"""Texts, and what `Recent.runs` finds in each."""


class Recent:
    """Texts that a new one should not repeat, indexed by their runs of three words; a new one can be added."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._sizes: list[int] = []
        self._where: dict[str, list[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Count `text` among the recent ones."""
        self._count(self.runs(text))

    def _count(self, found: frozenset[str]) -> None:
        for run in found:
            self._where.setdefault(run, []).append(len(self._sizes))
        self._sizes.append(len(found))

    @classmethod
    def beside(cls, texts: Iterable[str], known: Known) -> Self:
        """Of these texts; what is `known` of them is not looked for again, and of no others it is known afterwards."""
        now = {text: known.get(text) or cls.runs(text) for text in texts}
        known.clear()
        known.update(now)
        recent = cls()
        for found in now.values():
            recent._count(found)
        return recent

    def likeness(self, text: str) -> float:
        """How much of the closest one it shares: the Jaccard index of their runs of three words, 0 to 1."""
        mine = self.runs(text)
        shared = Counter(number for run in mine for number in self._where.get(run, ()))
        return max((count / (len(mine) + self._sizes[number] - count) for number, count in shared.items()), default=0.0)

    @staticmethod
    def runs(text: str) -> frozenset[str]:
        """The runs of three words of a text, links aside."""
        return frozenset(runs(words_of(masked(text)), 3))


class Subject(Struct, frozen=True):
    """What is known about a draft besides its text."""

    format: Format
    source: str = ""
    """Everything that the item says, as text: what a draft may say. Empty where there is no item."""
    unsourced: bool = False
    """Whether that is no more than what the user asked for, in words of his own."""
    title: str = ""
    """The item's title, which a draft may repeat."""
    url: str | None = None
    language: str | None = None
    voice: Voice = Voice()
    recent: Recent | None = None
    images: tuple[DraftImage, ...] = ()
    platforms: tuple[str, ...] = ()
    """Where it is meant to go; empty for the writer's default ones."""

    @property
    def settings(self) -> FormatVoice:
        """The voice's settings of this format."""
        return self.voice.of(self.format)


def subject_of(brief: Brief, *, recent: Recent | None = None, images: tuple[DraftImage, ...] = ()) -> Subject:
    """What the draft that `brief` asked for is checked against."""
    when = [day(brief.published, english=english) for english in (True, False)] if brief.published else []
    names = [brief.source_name, name_of(brief), brief.publisher or "", brief.author or "", *brief.also, *brief.tags]
    return Subject(
        format=brief.format,
        source="\n\n".join(filter(None, [brief.title, brief.summary, brief.text, *names, *when])),
        unsourced=brief.source_type is None and brief.url is None,
        title=brief.title,
        url=brief.url,
        language=brief.language,
        voice=brief.voice,
        recent=recent,
        images=images,
        platforms=brief.platforms,
    )
