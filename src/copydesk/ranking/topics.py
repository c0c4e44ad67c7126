"""Which of the user's interests an item is about, as far as its title or its tags say so."""

from collections.abc import Iterable, Sequence

from copydesk.model.item import Item
from copydesk.ranking.filters import Phrases
from copydesk.text.folding import fold


class Topics:
    """The user's interests, without the excluded ones (`-phrase`). A word in the text alone makes no topic."""

    def __init__(self, interests: Iterable[str]) -> None:
        self._phrases = Phrases(interest for interest in interests if not interest.lstrip().startswith("-"))

    def find(self, item: Item) -> tuple[str, ...]:
        """Return the interests that the item's title or one of its tags names, in the order of the interests."""
        entry = item.entry
        return tuple(self._phrases.find(fold("\n".join((entry.title, *entry.tags)))))

    def find_shared(self, items: Sequence[Item]) -> str:
        """Return the first interest that all items name; empty if there is none, or if they report one story."""
        if len({item.story_id for item in items}) < 2:
            return ""
        first, *others = ([*self.find(item)] for item in items)
        return next((topic for topic in first if all(topic in topics for topics in others)), "")
