"""Spans of a text that a platform turns into links."""

from copydesk.text import links


def unbreakable_spans(text: str) -> list[links.Span]:
    """Return the spans of links, mentions and hashtags, which must not be split: in order, overlapping ones merged."""
    mentions = (match.span() for match in links.MENTION.finditer(text))
    merged: list[links.Span] = []
    for span in sorted([*mentions, *links.hashtag_spans(text), *links.all_spans(text)]):
        if merged and span[0] < merged[-1][1]:
            first, last = merged.pop()
            merged.append((first, max(last, span[1])))
        else:
            merged.append(span)
    return merged
