"""What stands in feeds and is no part of the story: credits, bylines, calls to subscribe, markup, code."""

import re

# A whole paragraph of these is left out, before it is cut into sentences: the title within may hold full stops.
_PARAGRAPH = re.compile(
    r"""(?ix)
      ^the\ post\ .{1,400}\ appeared\ first\ on\ \S
    | ^\(?(?:image|photo|picture|video|cover|illustration)s?(?:\ credit|\ by|\ courtesy|:|\ via)
    | ^(?:listen\ to\ this|log\ in\ to|sign\ (?:up|in)|subscribe|read\ more|continue\ reading|related:|advertisement)
    | ^by\ [\w.'’-]+(?:\ [\w.'’-]+){0,4}\s*$
    | ^(?:filed\ under|tags?|categories|share\ this|follow\ us)\b
    """
)
_SENTENCE = re.compile(
    r"""(?ix)
      \bappeared\ first\ on\b | \bcontinue\ reading\b | \bread\ (?:more|the\ full|on)\b | →
    | \((?:image|photo)\ credit | \bphoto(?:graph)?\ by\b | /\ ?(?:afp|ap|getty|reuters|epa)\b | \bgetty\ images\b
    | \bet\ al\b | ^as\ a\ reminder\b
    | © | \ball\ rights\ reserved\b | \bcopyright\b
    | \b(?:subscribe|unsubscribe|newsletter|sign\ up|log\ in|cookies?|patreon|affiliate|sponsor(?:ed|s)?|paywall)\b
    | \bsupport\ (?:the|this|my|our)\ (?:channel|work|site|blog|newsletter)\b | \bfollow\ (?:me|us)\ on\b
    | \b(?:e-?mail|contact|message)\ (?:me|us)\b | \bleave\ a\ comment\b | \bclick\ (?:here|the|on)\b | \bcheck\ out\b
    | \bhas\ (?:more|details|the\ (?:latest|story|details))\b | \bnpr\ speaks\b | \bspeaks\ (?:to|with)\ npr\b
    | ^(?:welcome\ (?:back\ )?to|thanks\ (?:to|for)|quick\ announcement|spoiler|update:|edit:|note:|disclaimer)
    | ^(?:photo|image|video|watch|listen|related|editor.s\ note|advertisement|source)s?\s*:
    | \b(?:in\ this|last|previous|next|my\ last|here.s\ (?:the|a))\ (?:video|episode)\b
    | \((?:pictured|left|right|centre|center|above|below|file|l|r|top|bottom)\)
    | ^here\ (?:is|are)\ (?:a\ look|the\ latest|what)\b | \bthis\ story\ (?:was|has|is)\b
    """
)
# Words that only make sense on the page they stand on.
_HERE = re.compile(
    r"""(?ix)
      \b(?:this|that|previous|last|earlier|above|following|next)\ (?:\w+\ )?(?:post|article|essay|piece|blog|section
        |chapter|video|page|list|table|figure|chart|image|photo|screenshot|snippet|example|paragraph)s?\b
    | \b(?:see|shown|listed|mentioned|described|outlined|as)\ (?:above|below)\b | \b(?:below|above)[.:]?$
    | \bhere[,)]
    | \b(?:found|listed|posted|read\ it|available|go)\ here\b
    """
)
_CODE = re.compile(
    r"[{}]|=>|\(\)|;\s*$|\b\w+\.\w+\(|<\w+[^>]*>|</|\w+_\w+_\w+|(?:^|\s)[$>%]\s\w|\\\w|\|\s*\||::\w|--\w"
)
_LABEL = re.compile(r"^(?:[A-Z]{2,}|Q|A)\s?:\s")
_WIRE = r"\((?:AP|AFP|Reuters|UPI|CNN|EFE|dpa|ANI|PTI|Xinhua|IPS)\)"
_DATELINE = re.compile(
    r"^(?:\[[^\]\n]{2,40}\]\s+)?"  # [Premium Times]
    rf"(?:(?:[A-Z][\w.'’-]*[, ]+){{1,5}}(?:\d{{1,2}} )?{_WIRE}\s*(?:--|[—–-])\s*|{_WIRE}\s*(?:--|[—–-])?\s*"
    r"|[A-Z]{3}[A-Z .,'’/-]{0,40}(?:, \w{3,9}\.? \d{1,2})?\s*(?:--|[—–])\s+"  # GENEVA, Feb. 17 —
    r"|[A-Z][\w'’]+(?: [A-Z][\w'’]+){0,2}\s--\s)?"  # Gaborone --
)
_BULLET = re.compile(r"(?:[-*•–·▪]\s+|\(?\d{1,2}[.)]\s+)?(?:\*{0,2}TL;?DR[:*]{0,4}\s+)?")


def is_paragraph(text: str) -> bool:
    """Whether a paragraph that starts like `text` is boilerplate as a whole."""
    return _PARAGRAPH.search(text[:500]) is not None


def is_sentence(text: str) -> bool:
    """Whether a sentence is boilerplate, code, or the label of who speaks."""
    return _SENTENCE.search(text) is not None or _CODE.search(text) is not None or _LABEL.match(text) is not None


def points_at_the_page(text: str) -> bool:
    """Whether a sentence speaks of the page that it stands on ("as outlined above")."""
    return _HERE.search(text) is not None


def lead_in(text: str) -> int:
    """How many characters at the start of a sentence are a bullet, a wire's name or the place it was written in."""
    bullet = _BULLET.match(text)
    start = bullet.end() if bullet else 0
    dateline = _DATELINE.match(text[start : start + 160])
    return start + (dateline.end() if dateline else 0)
