"""Detect the language of a text: by its script, otherwise by its function words.

Short titles have few function words. For those there is lingua, which is large: an optional extra.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lingua import LanguageDetector

LANGUAGES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
"""Languages that can be detected, by ISO 639-1 code."""

_MAX_SAMPLE_LENGTH = 600
"""Characters that are examined."""
_MIN_SCRIPT_LETTERS = 3
_MIN_WORDS = 3
_MIN_EVIDENCE = 1.5
"""Distinct function words; a word shared by n languages counts 1/n for each."""
_MARGIN = 1.5
"""Required ratio to the evidence of the second language."""
_LINGUA_MARGIN = 0.25
"""Required distance to the probability of the second language. Of 387 titles, 14% are undecided and 0.3% wrong."""

# The most frequent function words per language, without those that are content words in another (en "die", "son").
_FUNCTION_WORDS = {
    "en": """the of and to in is for on that with was as it by at from are this be have has an not but his her they
        its will which were been their who after over into about more than you your we our what how why when would
        can says said new he she or if out up no all do does did i my so just only there these those could should""",
    "de": """der die das und ist nicht von mit den dem des ein eine einen einer im auf für sich auch als es wie bei
        nach aus wird werden wurde sind oder zum zur über vor durch hat haben noch nur mehr sie ich wir ihr kann kein
        keine gegen unter zwischen diese dieser dieses am um was warum so aber""",
    "fr": """le la les des du et est une un dans pour que qui sur avec par au aux pas plus ce cette ces sont ont été
        il elle nous vous ils mais ou où leur leurs comme après entre contre sans sous fait être son sa ses se en à de
        qu""",
    "es": """el la los las de del y en que un una es por con para se su sus al lo como más pero no sobre este esta
        entre ha han fue son desde hasta cuando muy sin también ya está están tras contra según o""",
    "it": """il lo la gli le di del della dei delle dell che e è un una per con non sono da dal dalla nel nella si al
        alla come più anche ma ha hanno su sul sulla questo questa tra dopo contro essere stato i ai in""",
    "pt": """o a os as de do da dos das e em no na nos nas que um uma é por para com não se ao à mais como mas foi são
        sua seu pelo pela entre após sobre também está tem ser contra até já diz""",
    "nl": """de het een en van in is dat op te zijn met voor niet aan er om ook als bij door naar uit maar wordt werd
        hebben heeft over nog meer dan deze dit die ze je we hun tegen geen wat hoe waarom tot na""",
    "sv": """och att det som en är av för på med till den har inte om ett i de var från kan vi så men hon han efter
        vid eller när ska sig mot nu också över under jag du""",
    "da": """og at det som en er af for på med til den har ikke om et i de var fra kan vi så men hun han efter ved
        eller når skal sig mod nu også over under jeg du blev bliver hvad hvordan mere""",
    "no": """og at det som en er av for på med til den har ikke om et i de var fra kan vi så men hun han etter ved
        eller når skal seg mot nå også over under jeg du ble blir hva hvordan mer""",
    "pl": """i na się nie do to że jest o jak po od za przez dla przy ale czy tym są co ze tego oraz będzie był
        była jego jej może już tylko który która które""",
    "cs": """a na se je že o do pro to jak po ve si jsou za od ale podle který která které také při už jako
        není být bude byl byla nebo jeho její""",
    "fi": """ja on ei että se oli hän joka ovat kun mutta myös niin kuin ole mukaan jälkeen voi sen tämä vain nyt
        mitä jos tai sekä olla ollut kanssa""",
    "tr": """ve bir bu için ile da de çok daha olarak olan gibi sonra kadar ama ne var yeni en göre değil her o mi mı
        ki ise oldu olduğu""",
    "hu": """a az és hogy nem is egy van ez volt de meg már csak mint el ki még lesz lehet ha vagy után szerint ezt
        azt pedig kell""",
    "ro": """și în de la a cu pe din este un o nu care să că pentru mai au fost sunt după prin dar între lui către
        sau cum ce al ale""",
    "id": """yang dan di dari untuk dengan ini itu pada tidak dalam akan ke oleh adalah juga sudah bisa atau lebih
        karena ada mereka saat telah""",
    "vi": """và của là có cho không được trong một những các với người này khi đã để ở từ đến về như cũng""",
    "ru": "и в не на что с по как это для из его от за к он но о все у так же был было быть она после более или",
    "uk": "і в не на що з та як це для від за до про його але він у й є був бути після через її також або",
    "bg": "и в не на че с по как това за от до той но се е са да със след като към или ще при има беше",
}
_LANGUAGES_BY_WORD: dict[str, tuple[str, ...]] = {}
for _code, _word_list in _FUNCTION_WORDS.items():
    for _word in dict.fromkeys(_word_list.split()):
        _LANGUAGES_BY_WORD[_word] = (*_LANGUAGES_BY_WORD.get(_word, ()), _code)

_WORD = re.compile(r"[^\W\d_]+")
# Letters of the scripts below. Latin and Cyrillic are shared by too many languages to tell one.
_SCRIPT_LETTER = re.compile(
    "[\u0370-\u03ff\u0590-\u06ff\u0750-\u077f\u0900-\u097f\u0e01-\u0e5b\u1100-\u11ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7af]")
_SCRIPTS = (
    # First match wins: Japanese before Chinese, whose characters it uses; Persian before Arabic.
    ("ja", re.compile("[\u3041-\u30ff]"), 0.1),
    ("ko", HANGUL, 0.4),
    ("zh", re.compile("[\u3400-\u9fff]"), 0.6),
    ("fa", re.compile("[\u067e\u0686\u0698\u06af\u06a9\u06cc]"), 0.06),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f]"), 0.6),
    ("el", re.compile("[\u0370-\u03ff]"), 0.6),
    ("he", re.compile("[\u0590-\u05ff]"), 0.6),
    ("hi", re.compile("[\u0900-\u097f]"), 0.6),
    ("th", re.compile("[\u0e01-\u0e5b]"), 0.6),
)


def base_language(tag: str | None) -> str | None:
    """Return the primary subtag of a language tag (`en` of `en-US`); None if empty."""
    base = re.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0] if tag else ""
    return {"nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(base, base) or None


def detect_text_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the language of `text`, None if it is too short or too mixed to tell."""
    text = text[:_MAX_SAMPLE_LENGTH]
    if not text.isascii():
        by_script = _detect_by_script(text)
        if by_script is not None:
            return by_script
    return _detect_by_function_words(text)


def detect_title_language(title: str) -> str | None:
    """Return the ISO 639-1 code of the language of a title, None if undecided or without the extra `languages`."""
    detector = _load_lingua()
    language = detector.detect_language_of(title) if detector else None
    return base_language(language.iso_code_639_1.name) if language else None


@cache
def _load_lingua() -> "LanguageDetector | None":
    """Return a detector of `LANGUAGES`, which takes some 500 MB; None if lingua is not installed."""
    try:
        from lingua import Language, LanguageDetectorBuilder  # noqa: PLC0415 - optional, and large
    except ImportError:
        return None
    languages = [language for language in Language.all() if base_language(language.iso_code_639_1.name) in LANGUAGES]
    return LanguageDetectorBuilder.from_languages(*languages).with_minimum_relative_distance(_LINGUA_MARGIN).build()


def _detect_by_script(text: str) -> str | None:
    letters = _SCRIPT_LETTER.findall(text)
    if len(letters) < _MIN_SCRIPT_LETTERS:
        return None
    share_of_text = len(letters) / max(1, sum(map(len, _WORD.findall(text))))
    # A name in another script does not change the language of the text.
    if share_of_text < 0.5:
        return None
    joined = "".join(letters)
    for code, script, share in _SCRIPTS:
        if len(script.findall(joined)) >= share * len(letters):
            return code
    return None


def _detect_by_function_words(text: str) -> str | None:
    evidence: dict[str, float] = {}
    function_words = _LANGUAGES_BY_WORD.keys() & _WORD.findall(text.lower())
    for word in function_words:
        codes = _LANGUAGES_BY_WORD[word]
        for code in codes:
            evidence[code] = evidence.get(code, 0.0) + 1 / len(codes)
    ranked = sorted(evidence.items(), key=lambda item: (-item[1], item[0]))[:2]
    if len(function_words) < _MIN_WORDS or ranked[0][1] < _MIN_EVIDENCE:
        return None
    if len(ranked) == 2 and ranked[0][1] < _MARGIN * ranked[1][1]:
        return None
    return ranked[0][0]
