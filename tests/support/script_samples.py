"""Random words in scripts whose widths terminals disagree about."""

import random
import unicodedata

BLOCKS = {
    "Devanagari": (0x0900, 0x097F),
    "Bengali": (0x0980, 0x09FF),
    "Tamil": (0x0B80, 0x0BFF),
    "Malayalam": (0x0D00, 0x0D7F),
    "Sinhala": (0x0D80, 0x0DFF),
    "Thai": (0x0E01, 0x0E5B),
    "Tibetan": (0x0F00, 0x0FFF),
    "Myanmar": (0x1000, 0x109F),
    "Khmer": (0x1780, 0x17FF),
    "Balinese": (0x1B00, 0x1B7F),
    "Arabic": (0x0600, 0x06FF),
    "Hebrew": (0x0591, 0x05F4),
    "Hangul Jamo": (0x1100, 0x11FF),
    "Hangul": (0xAC00, 0xD7A3),
    "Music": (0x1D100, 0x1D1FF),
    "Signs": (0x2600, 0x27BF),
    "Numbers": (0x3220, 0x32FF),
    "Emoji": (0x1F300, 0x1F6FF),
    "Faces": (0x1F900, 0x1F9FF),
}
JOINED_CLUSTERS = (
    "👩\u200d👩\u200d👧\u200d👦",
    "🏳\ufe0f\u200d🌈",
    "🧑🏻\u200d🤝\u200d🧑🏾",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "🇨🇿🇯🇵",
    "🇨",
    "1\ufe0f\u20e3",
    "❤\ufe0f",
    "☎\ufe0e",
    "👍🏽",
    "葛\U000e0100",
    "कि" * 9,
    "นำ้",
    "བོད་སྐད་",
)
"""Grapheme clusters of several code points."""


def sample_words(count: int, seed: int = 1) -> list[str]:
    """Return `count` words of each script, and the clusters."""
    rng = random.Random(seed)
    samples = list(JOINED_CLUSTERS)
    for start, end in BLOCKS.values():
        characters = [chr(code) for code in range(start, end + 1) if unicodedata.category(chr(code))[0] not in "CZ"]
        samples += ["".join(rng.choices(characters, k=rng.randrange(1, 12))) for _ in range(count)]
    return samples
