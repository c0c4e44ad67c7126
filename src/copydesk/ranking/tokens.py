"""Split text into comparable words: folded case and accents, no stop words, bigrams for scripts without spaces."""

import re

from copydesk.text.folding import fold

_TYPOGRAPHIC_MARKS = "“”–—…\xa0"
"""Separate words as their ASCII forms do. Without them nearly every English text is ASCII."""
# Han, kana, Thai, Lao, Myanmar and Khmer write no spaces between words.
UNSPACED = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    r"\d+(?:[.,:/-]\d+)+"  # versions, dates and scores are one word
    r"|(?<!\w)[^\W\d_](?:\.[^\W\d_])+(?!\w)"  # U.S., A.I.
    rf"|[{UNSPACED}]+"
    rf"|[^\W_{UNSPACED}]+"
)
# The same for folded ASCII text, which is most of it: twice as fast.
_ASCII_WORD = re.compile(
    r"[a-z][a-z0-9]+|[0-9]+(?:[.,:/-][0-9]+)+|[0-9][a-z0-9]*|[a-z](?<![a-z0-9_].)(?:\.[a-z])+(?![a-z0-9_])"
)
_LOWEST_UNSPACED = "\u0e01"
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")

# Words without topical content. Of other languages only those that are no content word in English ("war", "die").
_FUNCTION_WORDS = """
    the an and or but nor of to in on at by for from with as into onto over under after before about amid than then
    is are was were be been being am has have had do does did will would can could may might shall should must
    it its this that these those he she they we you his her their our your my me him them who whom whose which
    what when where why how not no if so there here just also only more most some any all
    say says said new via vs re live latest update updates breaking news video watch
    el la le les los las un una uno des du et en y que por para con del al lo se su sus
    der das und den dem von zu im ein eine einer auf mit ist nicht fur il di che per gli della dei
    och att som det ett av og til pa de het een van
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


def _replace_all(text: str, characters: str, replacement: str) -> str:
    for character in characters:
        text = text.replace(character, replacement)
    return text


def content_words(text: str) -> list[str]:
    """Return the content words of `text`, folded and in order. Chinese, Japanese and Thai become bigrams."""
    return [word if word.isalnum() else remove_separators(word) for word in split_words(text)]


def split_words(text: str) -> list[str]:
    """Return the content words of `text` with the separators in numbers and abbreviations: `1,000`, `u.s`."""
    if not text.isascii():
        text = _replace_all(text, _TYPOGRAPHIC_MARKS, " ")
    folded = fold(text)
    if folded.isascii():
        return [word for word in _ASCII_WORD.findall(folded) if word not in STOP_WORDS]
    return [piece for word in _WORD.findall(folded) if word not in STOP_WORDS for piece in _pieces(word)]


def _pieces(word: str) -> list[str]:
    """Return the word; the bigrams of an unspaced run; nothing for a single Latin letter."""
    if len(word) == 1:
        return [] if "a" <= word <= "z" else [word]
    if word[0] >= _LOWEST_UNSPACED and _UNSPACED_RUN.fullmatch(word):
        # Without a dictionary, pairs of characters come closest to words.
        return [word[index : index + 2] for index in range(len(word) - 1)]
    return [word]


def remove_separators(word: str) -> str:
    """Return `us` for `u.s`, `1000` for `1,000`."""
    if "." in word and not word[0].isdigit():
        return word.replace(".", "")
    if "," in word and _THOUSANDS.fullmatch(word):
        return word.replace(",", "")
    return word
