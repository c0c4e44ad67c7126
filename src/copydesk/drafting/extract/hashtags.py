"""Choose hashtags: the user's own that the item is about, then the item's tags, spelled as readers know them.

Words of a title are never made hashtags: a capital alone does not say what an item is about.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

from copydesk.drafting.extract import attribution
from copydesk.drafting.extract.material import Fits, Material
from copydesk.drafting.extract.passages import make_readable
from copydesk.drafting.extract.templates import ComposedText
from copydesk.drafting.rules.voice import find_avoided
from copydesk.drafting.writer import Field, Trace
from copydesk.text import links

MAX_LENGTH = 24
"""Characters; longer hashtags are hard to read."""
MAX_WORDS = 3

_TAG_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# A namespace, a list, a path, a number: not a word that readers search for.
_NO_TAG = re.compile(r"[(),:/\d]")
# By the tag in lower case without spaces, hyphens and accents.
_SPELLINGS = {
    "c++": "CPlusPlus", "c#": "CSharp", "f#": "FSharp", ".net": "DotNet", "dotnet": "DotNet", "asp.net": "ASPNET",
    "node.js": "NodeJS", "nodejs": "NodeJS", "vue.js": "VueJS", "vuejs": "VueJS", "next.js": "NextJS",
    "nextjs": "NextJS", "react.js": "ReactJS", "d3.js": "D3JS", "three.js": "ThreeJS", "javascript": "JavaScript",
    "typescript": "TypeScript", "webassembly": "WebAssembly", "graphql": "GraphQL", "postgresql": "PostgreSQL",
    "mysql": "MySQL", "sqlite": "SQLite", "mongodb": "MongoDB", "github": "GitHub", "gitlab": "GitLab",
    "devops": "DevOps", "macos": "macOS", "ios": "iOS", "iphone": "iPhone", "ipad": "iPad", "ipados": "iPadOS",
    "android": "Android", "openai": "OpenAI", "chatgpt": "ChatGPT", "youtube": "YouTube", "linkedin": "LinkedIn",
    "tiktok": "TikTok", "whatsapp": "WhatsApp", "wordpress": "WordPress", "spacex": "SpaceX", "ebpf": "eBPF",
    "opensource": "OpenSource", "freebsd": "FreeBSD", "openbsd": "OpenBSD", "kubernetes": "Kubernetes", "k8s": "K8s",
    "covid19": "COVID19", "ai": "AI", "ml": "ML", "llm": "LLM", "llms": "LLMs", "ui": "UI", "ux": "UX", "api": "API",
    "apis": "APIs", "css": "CSS", "html": "HTML", "sql": "SQL", "php": "PHP", "aws": "AWS", "rss": "RSS", "cli": "CLI",
    "seo": "SEO", "saas": "SaaS", "iot": "IoT", "vr": "VR", "ar": "AR", "gpu": "GPU", "cpu": "CPU", "usa": "USA",
    "uk": "UK", "eu": "EU", "un": "UN", "nato": "NATO", "nasa": "NASA", "who": "WHO", "3dprinting": "3DPrinting",
    "web3": "Web3", "5g": "5G",
}  # fmt: skip
# Categories that say nothing of the item, in the form of `_fold`. A tag that is one of them, or consists of them.
_GENERIC_WORDS = """
    news blog blogs post posts article articles update updates uncategorized uncategorised general misc miscellaneous
    other others international world national home homepage frontpage front page analysis opinion opinions review
    reviews feature features featured video videos audio photo photos jekyll podcast podcasts newsletter newsletters
    announcement announcements argument essay essays brief briefs latest top story stories editor editors picks the and
    all archive archives default category none notes note link links links thoughts random stuff personal life
    allgemein allgemeines unkategorisiert nachrichten aktuell aktuelles meldungen sonstiges startseite
    general generale geral generales allmant algemeen generelt yleinen ogolne ogolna obecne vseobecne altalanos genel
    nonclasse actualite actualites divers accueil alaune
    noticias actualidad portada varios inicio sincategoria sincategorizar notizie attualita varie senzacategoria
    noticia semcategoria diversos nieuws nyheter nyheder okategoriserad okategoriserade ukategoriseret ukategorisert
    geencategorie nietgecategoriseerd wiadomosci aktualnosci bezkategorii aktuality nezarazene hirek uutiset haberler
    общее новости безрубрики разное ニュース 未分類 一般 その他 日記 お知らせ 新闻 未分类 其他 默认分类 일반 미분류 뉴스
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
# Words of feeds about the entry or its price; a tag with one of them says nothing of the topic.
_NEVER_WORDS = """
    comment comments kommentar kommentare commentaire commentaires comentario comentarios commenti paid unpaid premium
    subscriber subscribers subscription member members sponsored sponsor sponsors advertisement advertorial ad ads promo
    promotion promoted deal deals giveaway anzeige werbung publicite publicidad pubblicita
"""
_NEVER = frozenset(_NEVER_WORDS.split())
_TOP_LEVEL_DOMAIN = re.compile(r"\.(?:com|org|net|\w{2})$")
_SEARCHED_WORD = re.compile(r"[.]?[^\W_]+(?:[.+#]+[^\W_]*|[+#]+)*")


def add_hashtags(composed: ComposedText, material: Material, fits_limits: Fits) -> ComposedText:
    """Return `composed` with a line of hashtags: as many as the voice requests, the item has and the limit allows."""
    count = material.brief.settings.hashtags or 0
    tags = list(islice(choose_hashtags(material), count))
    while tags:
        line = " ".join(tags)
        text = f"{composed.text}\n\n{line}"
        if fits_limits(text):
            return ComposedText(text, (*composed.traces, Trace(text=line, field=Field.TEMPLATE)))
        tags.pop()
    return composed


def choose_hashtags(material: Material) -> Iterator[str]:
    """Yield the hashtags for the item, best first."""
    names = _own_names(material)
    used: set[str] = set()
    for tag in (*_of_user(material), *_of_item(material)):
        is_usable = 0 < len(tag) < MAX_LENGTH and not tag.isdigit() and _fold(tag) not in names
        if is_usable and tag.casefold() not in used and not find_avoided(_spaced(tag), material.brief.voice.avoid):
            used.add(tag.casefold())
            yield f"#{tag}"


def spell_hashtag(words: str) -> str:
    """Return a tag as one word without a sign: `CPlusPlus` for C++, `CircularEconomy`; empty if it makes no hashtag."""
    if spelling := _SPELLINGS.get(_fold(words)):
        return spelling
    if _NO_TAG.search(words):
        return ""
    found = _TAG_WORD.findall(words.replace("_", " "))
    return "".join(map(_spell_word, found)) if len(found) <= MAX_WORDS else ""


def _spell_word(word: str) -> str:
    if spelling := _SPELLINGS.get(word.lower()):
        return spelling
    word = re.sub("['’]", "", word)
    # Capitals of a whole word are a style of the feed, those inside a word its name.
    is_shouted = len(word) > 4 and word.isupper()
    return word.capitalize() if is_shouted or word.islower() else word


def _of_user(material: Material) -> Iterator[str]:
    """Yield the user's own hashtags that the item's title or tags name, then those that its text names."""
    brief = material.brief
    topics = _searchable("\n".join((material.headline.text, *brief.tags)))
    text = _searchable("\n".join(passage.text for passage in material.passages))
    own = [tag.lstrip("#＃").strip() for tag in brief.voice.hashtag_list]
    for searched in (topics, text):
        yield from (spell_own(tag) for tag in own if any(f" {form} " in searched for form in _forms(tag)))


def spell_own(tag: str) -> str:
    """Return a hashtag of the user: as typed if it is one word, otherwise spelled as one."""
    return tag if re.fullmatch(r"\w+", tag) else spell_hashtag(tag)


def _forms(tag: str) -> set[str]:
    """Return the ways in which a text may write the hashtag: `C++` for CPlusPlus, `open source` for OpenSource."""
    folded = _fold(tag)
    spellings = {name for name, spelling in _SPELLINGS.items() if _fold(spelling) == folded}
    return {_searchable(form).strip() for form in (tag, _spaced(tag), *spellings)} - {""}


def _of_item(material: Material) -> Iterator[str]:
    """Yield the item's usable tags; those that its title or text mentions first."""
    mentioned = _searchable("\n".join([material.headline.text, *(passage.text for passage in material.passages)]))
    usable = [tag for tag in map(make_readable, material.brief.tags) if not _is_generic(tag)]
    ordered = sorted(usable, key=lambda tag: f" {_searchable(tag).strip()} " not in mentioned)
    return (spelled for tag in ordered if (spelled := spell_hashtag(tag)))


def _is_generic(tag: str) -> bool:
    words = [_fold(word) for word in _TAG_WORD.findall(tag)]
    if any(word in _NEVER for word in words) or _fold(tag) in _GENERIC:
        return True
    return _fold(tag) not in _SPELLINGS and all(word in _GENERIC or len(word) < 2 for word in words)


def _own_names(material: Material) -> frozenset[str]:
    """Return the names of the source and of the author, which are no topics."""
    brief = material.brief
    host = links.host(brief.url)
    names = [material.name, attribution.get_source_name(brief), brief.source_name, brief.publisher, brief.author, host]
    return frozenset(
        _fold(form) for name in names if name for form in (name, _TOP_LEVEL_DOMAIN.sub("", name), name.replace(".", ""))
    )


def _fold(text: str) -> str:
    """Return `text` in lower case, without accents, spaces, hyphens, apostrophes and number signs."""
    decomposed = unicodedata.normalize("NFKD", text.strip().lstrip("#＃").casefold())
    folded = "".join(character for character in decomposed if not unicodedata.combining(character))
    return unicodedata.normalize("NFC", re.sub(r"[\s_'’\u2010-]+", "", folded))


def _searchable(text: str) -> str:
    """Return the words of `text` in lower case with one space around each; signs of names such as C++ stay."""
    words = (word.rstrip(".") for word in _SEARCHED_WORD.findall(text.casefold()))
    return f" {' '.join(words)} "


def _spaced(tag: str) -> str:
    """Return `OpenSource` as `Open Source`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", tag)
