"""Judge the image of a page: if it shows the story at all, and if it is an agency's, which sells licences for it."""

import re
from urllib.parse import unquote, urlsplit

MIN_PIXELS = 200
"""Width or height below which an image is an icon or a thumbnail."""

# Words of a path or host that name what the image is, not what it shows.
_DECORATION = re.compile(
    r"""(?ix)
    (?<![a-z]) (?: avatars? | gravatar | profile[-_]?(?:images?|pics?|photos?) | author[-_]?(?:images?|photos?)
        | headshots? | logos? | icons? | favicons? | badges? | buttons? | emojis? | spinner | sprites? | placeholders?
        | default[-_](?:image|og|share|thumb(?:nail)?|social) | (?:spacer|blank|transparent|pixel|1x1)(?=\.\w+$)
        | tracking | trackers? | beacon | statcounter | adserver | adservice | sponsors? | donate | captcha
    ) (?![a-z])
    | /ads?/
    """
)
_TRACKER_HOSTS = re.compile(
    r"""(?ix)
    (?:^|\.) (?: doubleclick\.net | googlesyndication\.com | google-analytics\.com | googletagmanager\.com
        | amazon-adsystem\.com | assoc-amazon\.\w+ | scorecardresearch\.com | quantserve\.com | feedburner\.com
        | feedsportal\.com | pheedo\.com | adnxs\.com | taboola\.com | outbrain\.com | pixel\.wp\.com | stats\.wp\.com
        | gravatar\.com | avatars\d*\.githubusercontent\.com | shields\.io | s\.w\.org | statcounter\.com
        | list-manage\.com | facebook\.com | buysellads\.com | carbonads\.\w+ | ko-fi\.com | patreon\.com
    )$
    """
)
_SVG = re.compile(r"\.svgz?(?![a-z])", re.IGNORECASE)
# 150x150 in a file name; w=150, width=150, s=96 in a query; =s96 at the end of a path.
_SIZE = re.compile(
    r"[-_/](\d{1,4})x(\d{1,4})(?!\d)|[?&](?:w|h|s|width|height|size)=(\d{1,4})(?!\d)|=[swh](\d{1,4})(?=[-&?]|$)",
    re.IGNORECASE,
)

_AGENCIES = {
    "Getty Images": (r"getty ?images|gettyimages|istock(?:photo)?", r"getty(?:images)?"),
    "Reuters": (r"thomson reuters|reuters", r"reuters"),
    "AP": (r"ap (?:photo|images?)|associated press", r"apimages|ap-?photo|ap\d{10,}"),
    "AFP": (r"agence france-presse|afp", r"afp"),
    "dpa": (r"picture[- ]alliance|dpa", r"picture-?alliance|dpa"),
    "EPA": (r"epa[-/ ]efe|epa images|epa(?=/)", r"epa-?efe|epaimages"),
    "PA Media": (r"pa (?:media|wire|images|archive)", r"pa-?(?:media|wire|images)"),
    "Xinhua": (r"xinhua", r"xinhua"),
    "Keystone": (r"keystone(?:[- ]sda)?", r"keystone"),
    "ANSA": (r"ansa", r"ansafoto"),
    "EFE": (r"agencia efe|efe", r"agenciaefe"),
    "Kyodo": (r"kyodo", r"kyodo"),
    "Imago": (r"imago(?: images)?", r"imago-?images"),
    "Alamy": (r"alamy", r"alamy"),
    "Shutterstock": (r"shutterstock", r"shutterstock"),
    "Adobe Stock": (r"adobe ?stock", r"adobe-?stock"),
}
# Names of agencies are words or abbreviations of other things too, and count as such only in a credit.
_CREDIT = re.compile(
    r"(?:©|\(c\)|\bvia\b|\b(?:photo(?:graph(?:er)?)?|image|picture|credits?|foto|bild|crédit|crédito|imagen|photographie)s?\b"
    r"(?: credits?)?(?: by)?\s*[:/-]?)[^\n.]{0,80}"
    r"|[/|]\s*[\w .-]{2,40}\)?\s*$|\([^()\n]{0,60}\)",
    re.IGNORECASE | re.MULTILINE,
)
_MAX_CREDIT_TEXT = 20_000
_NAMES = {name: re.compile(rf"(?<!\w)(?:{terms})(?!\w)", re.IGNORECASE) for name, (terms, _) in _AGENCIES.items()}
_ADDRESSES = {
    name: re.compile(rf"(?<![a-z])(?:{terms})(?![a-z])", re.IGNORECASE) for name, (_, terms) in _AGENCIES.items()
}


def shows_story(url: str) -> bool:
    """Return True if the image at `url` may illustrate the page: no avatar, logo, ad, tracker, icon or SVG."""
    try:
        parts = urlsplit(url)
        host, path = parts.hostname or "", unquote(parts.path)
    except ValueError:
        return False
    if parts.scheme not in {"http", "https"} or _TRACKER_HOSTS.search(host) or _SVG.search(path):
        return False
    return not (_DECORATION.search(f"{host} {path}") or _is_small(f"{path}?{parts.query}"))


def find_agency(url: str, alt: str | None, text: str) -> str | None:
    """Return the agency that the image's address, its description or a credit in the page's text names, or None."""
    address = unquote(url)
    credited = "\n".join(match[0] for match in _CREDIT.finditer(f"{alt or ''}\n{text[:_MAX_CREDIT_TEXT]}"))
    return next((name for name in _AGENCIES if _ADDRESSES[name].search(address) or _NAMES[name].search(credited)), None)


def _is_small(address: str) -> bool:
    """Return True if the address names a size below MIN_PIXELS."""
    sizes = [int(size) for match in _SIZE.finditer(address) for size in match.groups() if size]
    return any(size < MIN_PIXELS for size in sizes)
