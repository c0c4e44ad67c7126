"""Patterns for text in feeds that is not part of the story: credits, bylines, calls to subscribe, markup, code."""

import re

# Whole paragraphs. Tested before splitting into sentences, because a title inside may contain full stops.
_PARAGRAPH = re.compile(
    r"""(?ix)
      ^the\ post\ .{1,400}\ appeared\ first\ on\ \S
    | ^\(?(?:image|photo|picture|video|cover|illustration)s?(?:\ credit|\ by|\ courtesy|:|\ via)
    | ^(?:listen\ to\ this|log\ in\ to|sign\ (?:up|in)|subscribe|read\ more|continue\ reading|related:|advertisement)
    | ^by\ [\w.'’-]+(?:\ [\w.'’-]+){0,4}\s*$
    | ^(?:filed\ under|tags?|categories|share\ this|follow\ us)\b
    """
)
_SENTENCE_START = re.compile(
    r"""(?ix)
      (?:welcome\ (?:back\ )?to|thanks\ (?:to|for)|quick\ announcement|as\ a\ reminder|spoiler|update:|edit:|note:)
    | (?:disclaimer|here\ (?:is|are)\ (?:a\ look|the\ latest|what))
    | (?:photo|image|video|watch|listen|related|editor.s\ note|advertisement|source)s?\s*:
    """
)
# One group after one \b, so that the whole alternation is skipped at once inside words.
_WORDS = re.compile(
    r"""(?ix)
    \b(?:appeared\ first\ on | continue\ reading | read\ (?:more|the\ full|on) | et\ al | getty\ images
    | photo(?:graph)?\ by | all\ rights\ reserved | copyright | subscribe | unsubscribe | newsletter | sign\ up
    | log\ in | cookies? | patreon | affiliate | sponsor(?:ed|s)? | paywall | leave\ a\ comment | check\ out
    | npr\ speaks | support\ (?:the|this|my|our)\ (?:channel|work|site|blog|newsletter) | follow\ (?:me|us)\ on
    | (?:e-?mail|contact|message)\ (?:me|us) | click\ (?:here|the|on)
    | has\ (?:more|details|the\ (?:latest|story|details))
    | speaks\ (?:to|with)\ npr | (?:in\ this|last|previous|next|my\ last|here.s\ (?:the|a))\ (?:video|episode)
    | this\ story\ (?:was|has|is))\b
    """
)
_CREDIT_SIGNS = re.compile(
    r"[→©]|/ ?(?:AFP|AP|Getty|Reuters|EPA)\b|\((?:image|photo) credit"
    r"|\((?:pictured|left|right|centre|center|above|below|file|l|r|top|bottom)\)",
    re.IGNORECASE,
)
# References to the page itself, meaningless outside it.
_PAGE_REFERENCE = re.compile(
    r"""(?ix)
    \b(?:(?:this|that|previous|last|earlier|above|following|next)\ (?:\w+\ )?(?:post|article|essay|piece|blog|section
        |chapter|video|page|list|table|figure|chart|image|photo|screenshot|snippet|example|paragraph)s?\b
    | (?:see|shown|listed|mentioned|described|outlined|as)\ (?:above|below)\b | (?:below|above)[.:]?$
    | here[,)] | (?:found|listed|posted|read\ it|available|go)\ here\b)
    """
)
_CODE = re.compile(r"[{}\\]|=>|\(\)|;\s*\Z|\.\w+\(|<[\w/]|_\w+_|\|\s*\||::\w|(?:^|\s)(?:[$>%]\s|--)\w")
_SPEAKER_LABEL = re.compile(r"^(?:[A-Z]{2,}|Q|A)\s?:\s")
_AGENCY = r"\((?:AP|AFP|Reuters|UPI|CNN|EFE|dpa|ANI|PTI|Xinhua|IPS)\)"
_DATELINE = re.compile(
    r"^(?:\[[^\]\n]{2,40}\]\s+)?"  # [Premium Times]
    rf"(?:(?:[A-Z][\w.'’-]*[, ]+){{1,5}}(?:\d{{1,2}} )?{_AGENCY}\s*(?:--|[—–-])\s*|{_AGENCY}\s*(?:--|[—–-])?\s*"
    r"|[A-Z]{3}[A-Z .,'’/-]{0,40}(?:, \w{3,9}\.? \d{1,2})?\s*(?:--|[—–])\s+"  # GENEVA, Feb. 17 —
    r"|[A-Z][\w'’]+(?: [A-Z][\w'’]+){0,2}\s--\s)?"  # Gaborone --
)
_BULLET = re.compile(r"(?:[-*•–·▪]\s+|\(?\d{1,2}[.)]\s+)?(?:\*{0,2}TL;?DR[:*]{0,4}\s+)?")


def is_boilerplate_paragraph(text: str) -> bool:
    """Return True if a paragraph starting with `text` is boilerplate."""
    return _PARAGRAPH.search(text[:500]) is not None


def is_boilerplate_sentence(text: str) -> bool:
    """Return True if a sentence is boilerplate, code, or a speaker's label."""
    if _SENTENCE_START.match(text) or _SPEAKER_LABEL.match(text):
        return True
    return any(pattern.search(text) for pattern in (_WORDS, _CREDIT_SIGNS, _CODE))


def refers_to_page(text: str) -> bool:
    """Return True if a sentence refers to the page it is on ("as outlined above")."""
    return _PAGE_REFERENCE.search(text) is not None


def lead_in_length(text: str) -> int:
    """Return the number of leading characters that are a bullet, a news agency's name or a dateline."""
    bullet = _BULLET.match(text)
    start = bullet.end() if bullet else 0
    dateline = _DATELINE.match(text[start : start + 160])
    return start + (dateline.end() if dateline else 0)
