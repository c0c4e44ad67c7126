"""Find the user's interests that an item is about, and what several items share."""

from collections.abc import Iterable, Sequence

from copydesk.model.item import Item
from copydesk.ranking.filters import Phrases
from copydesk.ranking.subjects import find_subject
from copydesk.ranking.title_similarity import parse_title
from copydesk.text.folding import fold


class Topics:
    """The user's interests, without the excluded ones (`-phrase`).

    A word in a text makes no topic, nor does a tag: feeds tag their entries generously.
    """

    def __init__(self, interests: Iterable[str]) -> None:
        self._order = tuple(topic.strip() for topic in interests if not topic.lstrip().startswith("-"))
        self._phrases = Phrases(self._order)

    def find(self, item: Item) -> tuple[str, ...]:
        """Return the interests that the item's title names."""
        named = set(self._phrases.find(fold(item.entry.title)))
        return tuple(topic for topic in self._order if topic in named)

    def find_shared(self, items: Sequence[Item]) -> str:
        """Return the first interest that all items name, or else the subject that their titles share.

        Empty if there is none, or if they report one story.
        """
        if len({item.story_id for item in items}) < 2:
            return ""
        first, *rest = ([*self.find(item)] for item in items)
        interest = next((topic for topic in first if all(topic in topics for topics in rest)), "")
        return interest or find_subject([parse_title(item.entry.title) for item in items])
