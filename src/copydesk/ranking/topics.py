"""Find the user's interests that an item is about."""

from collections.abc import Iterable, Sequence

from copydesk.model.item import Item
from copydesk.ranking.filters import Phrases
from copydesk.text.folding import fold

_BEGINNING = 300
"""Characters of a text that tell what it is about."""


class Topics:
    """The user's interests, without the excluded ones (`-phrase`). A word in a text alone makes no topic."""

    def __init__(self, interests: Iterable[str]) -> None:
        self._order = tuple(topic.strip() for topic in interests if not topic.lstrip().startswith("-"))
        self._phrases = Phrases(self._order)

    def find(self, item: Item) -> tuple[str, ...]:
        """Return the interests that the item's title names, or both its tags and the beginning of its text."""
        entry = item.entry
        named = set(self._phrases.find(fold(entry.title)))
        # Feeds tag their entries generously.
        if tagged := set(self._phrases.find(fold("\n".join(entry.tags)))) - named:
            named |= tagged & set(self._phrases.find(fold((entry.summary or entry.text)[:_BEGINNING])))
        return tuple(topic for topic in self._order if topic in named)

    def find_shared(self, items: Sequence[Item]) -> str:
        """Return the first interest that all items name; empty if there is none, or if they report one story."""
        if len({item.story_id for item in items}) < 2:
            return ""
        first, *rest = ([*self.find(item)] for item in items)
        return next((topic for topic in first if all(topic in topics for topics in rest)), "")
