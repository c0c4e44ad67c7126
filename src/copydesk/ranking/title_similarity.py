"""Compare titles of different sources, with their summaries: do they tell the same story?

A false positive loses an item, a false negative only shows a story twice: in doubt, no.

Titles of one event share few words, but nearly all words of a title occur in the other item's title or summary. Names
and numbers count more than other words. Guards keep apart an event and its announcement, events of one kind in two
places, and reports and comments. Measured on the labelled pairs of tests/ranking/story_pairs.json.
"""

import re
from collections.abc import Set

import msgspec

from copydesk.ranking.stems import COMMON_STEMS, FREQUENT_STEMS, GENERIC_STEMS, stem, stem_set
from copydesk.ranking.tokens import STOP_WORDS, split_words
from copydesk.text.folding import fold

_MAX_LENGTH = 400
"""Characters of a title that are compared."""
_MAX_SUMMARY_LENGTH = 250
"""Characters of a summary that are compared: the event comes first."""
_MIN_WORDS, _MIN_SHARED = 3, 3
"""Words of a title, and words common to two items, below which they never match."""
_MIN_FOUND = 0.3
"""Share of the words of both titles found in the other item, below which they never match."""
_SHORT_TITLE = 5
"""Words. In shorter titles one differing word is a fourth of the content."""
SAME_DAY_THRESHOLD, NEAR_THRESHOLD, FAR_THRESHOLD = 0.48, 0.61, 0.75
"""Required similarity of titles up to half a day apart, up to three days, and of more distant ones."""
_BARE_THRESHOLD, _SHORT_THRESHOLD = 0.68, 0.85
"""Required similarity of titles whose summaries do not agree on more, and of short ones."""
_SAME_DAY_SECONDS, _NEAR_SECONDS = 12 * 3600, 72 * 3600
_MAX_TITLE_LEAD, _MAX_ITEM_LEAD = 0.5, 0.2
"""Shares by which the titles may agree more than the items, and the items more than their titles."""
_NUMBER_BONUS, _MAX_BONUS = 0.04, 0.08
"""Similarity added for each common number, and for all of them."""
_TURN_SECONDS = 5 * 3600
"""Reports of an announcement and of its outcome lie at least this far apart."""

_COMMON_NUMBERS = frozenset(("1", "2", "3", "2025", "2026", "2027"))
_MANY_NAMES = 3
"""Common names that outweigh one that differs."""
_WEIGHT, _NAME_WEIGHT = 10, 16
# Whole numbers, whose sums do not depend on the order of the words.
_WEIGHTS = dict.fromkeys(FREQUENT_STEMS, 7) | dict.fromkeys(GENERIC_STEMS, 4)

_NO_WORDS: frozenset[str] = frozenset()
_TAIL = re.compile(r"\s+[-–—|·•]\s+(?=([^–—|·•\d]{2,40})$)")
# Without i, v and x, which are words, versions and names as well.
_ROMAN = frozenset(("ii", "iii", "iv", "vii", "viii", "ix", "xii", "xiii", "xiv"))
_WEEKDAYS = stem_set("monday tuesday wednesday thursday friday saturday sunday")
# Without may, which is mostly a verb.
_SERIES_MARKERS = _WEEKDAYS | stem_set("""
    january february march april june july august september october november december first second third fourth fifth
    final spring summer autumn winter
""")
_ORIGINAL_WORD = re.compile(r"[^\W\d_][\w']+")
_URL = re.compile(r"https?://\S+")
_CONTRACTION = re.compile(r"\b[Ww][Oo][Nn]['’][Tt]\b")
# Skips words that begin a sentence, and lower-case ones.
_LATER_WORD = re.compile(r"(?:^|[.!?:–—]\s+[\"“‘']?)[^\W\d_][\w']*|(?:[a-z][\w']*[ ,]*)++|([^\W\d_][\w']*)")
_MAX_NAME_SHARE = 0.6
"""Above this share of capitalized words a title is in title case or capitals, where they do not mark names."""

# Comments, pictures and guides are no reports, whatever they are about.
_COMMENT = re.compile(
    r"^(?:why|how|what|opinion|analysis|explainer|watch|video|podcast|review|interview|q&a|live|quiz|guide|photos)\b"
    r"|(?-i:\. (?:And|Plus)\b)|\b(?:in (?:pictures|photos)|what to (?:know|watch|expect)|things to know|fact check)\b"
    r"|\?\s*$",
    re.IGNORECASE,
)
# An infinitive or a future tense announces what the verb says.
_ANNOUNCING = re.compile(r"\b(?:to|will|may|could) ")
_ANNOUNCED = re.compile(rf"(?:([a-z]+)\W+)?{_ANNOUNCING.pattern}(?:be )?([a-z]{{3,}})")
# After these an infinitive tells the purpose.
_PURPOSE_WORDS = """
    plot plots plan deal bid effort attempt order law bill call calls vote votes voted agree agrees agreed how need
"""
_PURPOSES = frozenset(_PURPOSE_WORDS.split())
_ASIDE = re.compile(r"\b(?:ahead of|before)\b", re.IGNORECASE)
_SCHEDULED = stem_set("meet sign visit vote rule resume hold decide attend begin open unveil announce")
_EXPECTED = stem_set("""
    expected expects braces nears approaches looms delays postpones threatens threaten eve preview awaits search
    searches searching trapped due tomorrow upcoming set begins begin confirm polls hopes expectations appeals resume
    resumes faces face warns warn meet meets
""")
_TURNS = stem_set("""
    end ends ended lift lifts lifted collapse collapses collapsed resume resumes resumed resumption cancel cancels
    cancelled overturn overturns returns return returned dissolves dissolve safe concludes wraps wrap reopens released
    freed resigns rejects reverses inquiry identify identified mourn mourns funeral survives abandons
""")
# No event is told by one title with one of these words and by another with its opposite.
_OPPOSITE_PAIRS = """
    raise cut  raises cuts  rise fall  rises falls  gain loss  name oust  hire oust  approve reject  begin end
    start end  open close  fire ceasefire  fire truce  ban lift  jail freed  deny admit  buy sell  join leave
"""
_OPPOSITES: dict[str, set[str]] = {}
for _first, _second in re.findall(r"(\w+) (\w+)", _OPPOSITE_PAIRS):
    _OPPOSITES.setdefault(stem(_first), set()).add(stem(_second))
    _OPPOSITES.setdefault(stem(_second), set()).add(stem(_first))


class Title(msgspec.Struct, gc=False):
    """A title prepared for comparison.

    Only what finds the items to compare with is computed at once. The rest is computed when it is first needed: many
    items are never compared, and few pairs get beyond the comparison of their words.
    """

    text: str
    words: frozenset[str]
    """Stems of the content words, without a site's name after the last dash or bar."""
    tail: frozenset[str]
    """Stems of the other words of the title."""
    names: frozenset[str]
    """Capitalized words of the title and the summary, as stems."""
    summary: str
    _context: frozenset[str] | None = None
    _words_weight: int = 0
    _context_weight: int = 0

    def context(self) -> frozenset[str]:
        """Return `words`, and the stems of the rest of the title and of the summary."""
        if self._context is None:
            self._context = self.words | self.tail | _stems(self.summary)
            self.summary = ""  # no longer needed
        return self._context

    def words_weight(self) -> int:
        """Return the total weight of `words`."""
        if not self._words_weight:
            self._words_weight = _total_weight(self.words, self.names)
        return self._words_weight

    def context_weight(self) -> int:
        """Return the total weight of `context`."""
        if not self._context_weight:
            self._context_weight = _total_weight(self.context(), self.names)
        return self._context_weight

    @property
    def keys(self) -> frozenset[str]:
        """The words that other items of the story are likely to share: those of the title, and all names."""
        return self.words | self.names

    @property
    def is_comment(self) -> bool:
        """True if the item comments on an event instead of reporting it."""
        return _COMMENT.search(self.text) is not None

    @property
    def numbers(self) -> frozenset[str]:
        """Numbers of the title."""
        return frozenset([word for word in self.words if word[0].isdigit() or word in _ROMAN])

    @property
    def series(self) -> frozenset[str]:
        """Days, months and the like, by which the parts of a series differ."""
        return self.words & _SERIES_MARKERS

    @property
    def announced(self) -> frozenset[str]:
        """Verbs of the title that tell what is going to happen."""
        text = self.text if self.names else self.text.lower()
        # Most titles announce nothing, and finding the words before it takes long.
        if not _ANNOUNCING.search(text):
            return _NO_WORDS
        verbs = [stem(verb) for word, verb in _ANNOUNCED.findall(text) if word not in _PURPOSES]
        # Not the number of "rises to nine".
        return frozenset([verb for verb in verbs if verb.isalpha()])

    @property
    def aside(self) -> frozenset[str]:
        """Words after "ahead of" or "before": a later event than that of the title."""
        match = _ASIDE.search(self.text)
        return _stems(self.text[match.end() :]) if match else _NO_WORDS


def parse_title(text: str, summary: str = "") -> Title:
    """Prepare a title and the beginning of its summary for comparison."""
    text = _shorten_names(text[:_MAX_LENGTH])
    # Few titles have a contraction, and looking for it takes longer than looking for an apostrophe.
    if "'" in text or "’" in text:
        text = _CONTRACTION.sub("", text)
    text = text.strip()
    summary = _URL.sub("", _shorten_names(summary[:_MAX_SUMMARY_LENGTH]))
    words, tail = _split_tail(text)
    names = frozenset(_title_names(text, words | tail) + _summary_names(summary)) or _NO_WORDS
    return Title(text, words, tail, names, summary)


def _shorten_names(text: str) -> str:
    return text.replace("United States", "US").replace("United Kingdom", "UK")


def _stems(text: str) -> frozenset[str]:
    # The one empty set, because most titles have no word of most kinds.
    return frozenset(map(stem, split_words(text))) or _NO_WORDS


def _total_weight(words: Set[str], names: Set[str]) -> int:
    return sum(
        [_WEIGHTS.get(word) or (_NAME_WEIGHT if word in names or word[0].isdigit() else _WEIGHT) for word in words]
    )


def _split_tail(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words before and after the last dash; all of them first if the tail is too long for a site's name."""
    separator = _TAIL.search(text)
    if separator is not None:
        head, tail = _stems(text[: separator.start()]), _stems(separator[1])
        # A site's name is shorter than the title before it.
        if len(head) >= max(4, len(tail) + 1):
            return head, tail - head
    return _stems(text), _NO_WORDS


def _title_names(text: str, words: Set[str]) -> list[str]:
    """Return the capitalized words of a title in sentence case; empty if capitals do not mark names."""
    candidates = [word for word in _ORIGINAL_WORD.findall(text) if fold(word) not in STOP_WORDS]
    capitalized = [word for word in candidates if word[0].isupper()]
    if len(capitalized) > _MAX_NAME_SHARE * len(candidates):
        return []
    # The first word is capitalized in any case. It is a name more often than not, but hardly ever as a plural.
    if capitalized and capitalized[0] is candidates[0] and fold(candidates[0]).endswith("s"):
        del capitalized[0]
    return [name for name in map(_name, capitalized) if name in words and name not in COMMON_STEMS]


def _summary_names(summary: str) -> list[str]:
    """Return the capitalized words of a summary that do not begin a sentence."""
    capitalized = [word for word in _LATER_WORD.findall(summary) if word[:1].isupper()]
    return [name for name in map(_name, capitalized) if len(name) > 1]


def _name(word: str) -> str:
    """Return the stem of a capitalized word without its genitive; empty for a stop word."""
    folded = fold(word)
    return "" if folded in STOP_WORDS else stem(folded.partition("'")[0])


def story_similarity(title: Title, other: Title, seconds_later: float) -> float:
    """Return the similarity of two titles (0 to 1), or 0 if they do not tell the same story.

    `seconds_later` is the time from `title` to `other`, negative if `other` is older.
    """
    context, other_context = title.context(), other.context()
    found = len(title.words & other_context) + len(other.words & context)
    # Nearly all pairs that are compared end here.
    if found < _MIN_FOUND * (len(title.words) + len(other.words)):
        return 0.0
    shared = context & other_context
    if len(shared) < _MIN_SHARED or min(len(title.words), len(other.words)) < _MIN_WORDS:
        return 0.0
    similarity = _similarity(title, other, shared)
    if similarity < _required_similarity(title, other, shared, seconds_later):
        return 0.0
    if title.is_comment != other.is_comment or _contradict(title, other, seconds_later):
        return 0.0
    return similarity


def _similarity(title: Title, other: Title, shared: frozenset[str]) -> float:
    """Return the mean of two shares: title words found in the other item, and words common to both items."""
    found = _total_weight(title.words & shared, title.names) + _total_weight(other.words & shared, other.names)
    smaller = min(title, other, key=lambda item: (item.context_weight(), item.text, item.names))
    titles = found / (title.words_weight() + other.words_weight())
    items = _total_weight(shared, smaller.names) / smaller.context_weight()
    # Aggregators share phrases of their summaries, and columns of different sources their titles.
    together = (min(titles, items + _MAX_TITLE_LEAD) + min(items, titles + _MAX_ITEM_LEAD)) / 2
    # Two sources that name the same exact number hardly ever mean different events.
    numbers = sum([word[0].isdigit() and word not in _COMMON_NUMBERS for word in shared])
    return min(1.0, together + min(_MAX_BONUS, numbers * _NUMBER_BONUS))


def _required_similarity(title: Title, other: Title, shared: frozenset[str], seconds: float) -> float:
    word_count = min(len(title.words), len(other.words))
    # Summaries that agree on nothing are no evidence: columns have the same title every week.
    is_bare = shared <= (title.words & other.words)
    if word_count < _SHORT_TITLE and is_bare:
        return _SHORT_THRESHOLD
    if abs(seconds) > _NEAR_SECONDS:
        return FAR_THRESHOLD
    if is_bare:
        return _BARE_THRESHOLD
    return SAME_DAY_THRESHOLD if abs(seconds) <= _SAME_DAY_SECONDS else NEAR_THRESHOLD


def _contradict(title: Title, other: Title, seconds_later: float) -> bool:
    """Return True if the titles have different numbers, days or names, or one announces what the other reports."""
    if title.series and other.series and title.series != other.series:
        return True
    if _is_opposite(title, other) or _is_aside(title, other) or _is_aside(other, title):
        return True
    if title.numbers - other.context() and other.numbers - title.context():
        return True
    if len(title.names & other.names) < _MANY_NAMES and _has_other_name(title, other) and _has_other_name(other, title):
        return True
    earlier, later = (title, other) if seconds_later >= 0 else (other, title)
    return abs(seconds_later) >= _TURN_SECONDS and _is_announcement(earlier, later, abs(seconds_later))


def _has_other_name(title: Title, other: Title) -> bool:
    missing = (title.names & title.words) - other.context()
    # By the first four letters: Zelensky and Zelenskyy do not contradict each other.
    return bool(missing) and not {name[:4] for name in missing} <= {word[:4] for word in other.context()}


def _is_aside(title: Title, other: Title) -> bool:
    """Return True if `other` tells what `title` only names as a later event."""
    named = title.aside & other.words
    return len(named) > 1 and len(named) > len((title.words - title.aside) & other.words) and not other.aside


def _is_opposite(title: Title, other: Title) -> bool:
    return any(
        other.words & _OPPOSITES[word] and not title.words & _OPPOSITES[word] and word not in other.words
        for word in title.words & _OPPOSITES.keys()
    )


def _is_announcement(earlier: Title, later: Title, seconds: float) -> bool:
    """Return True if the earlier title announces what the later one reports, or the later one tells its end."""
    announced = earlier.announced - later.announced
    if announced & (later.words | _SCHEDULED) or (announced and not later.announced and seconds > _SAME_DAY_SECONDS):
        return True
    if earlier.series & _WEEKDAYS and not later.series:
        return True
    return bool((earlier.words - later.words) & _EXPECTED or (later.words - earlier.context()) & _TURNS)
