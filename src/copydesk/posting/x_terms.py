"""What X asks for a post, and what it would refuse of one: nothing is asked of the network."""

from decimal import Decimal

from copydesk.posting.cost import Cost
from copydesk.posting.platform import Limits, Post, Problem
from copydesk.text.length import LIMITS, length
from copydesk.text.links import all_spans

POST, POST_WITH_LINK, ALT = Decimal("0.015"), Decimal("0.20"), Decimal("0.005")
"""US dollars for a post, one with a link, and the description of a picture (developer docs, "Pricing", 2026-08)."""


def price(post: Post) -> Cost:
    """What X asks for `post`: each part, much more for one with a link, and each description of a picture."""
    parts = sum((POST_WITH_LINK if all_spans(text) else POST for text in post.parts), Decimal(0))
    return Cost(amount=parts + ALT * sum(1 for alt in post.alts if alt))


def problems(post: Post, limits: Limits) -> list[Problem]:
    """Why X would not take `post`."""
    if post.format not in limits.formats:
        return [Problem(message="X takes short posts and threads.")]
    found = [Problem(message=message, part=0) for message in _of_pictures(post, limits)]
    for place in range(len(post.parts)):
        found += [Problem(message=message, part=place) for message in _of_text(post, place)]
    return found


def _of_pictures(post: Post, limits: Limits) -> list[str]:
    found = []
    if len(post.alts) > limits.pictures:
        found.append(f"X takes at most {limits.pictures} pictures.")
    if any(len(alt) > limits.alt_characters for alt in post.alts):
        found.append(f"X takes at most {limits.alt_characters} characters to describe a picture.")
    return found


def _of_text(post: Post, place: int) -> list[str]:
    text = post.parts[place]
    found = []
    if not text.strip() and not (place == 0 and post.alts):
        found.append("It is empty.")
    if (long := length(text, "x")) > LIMITS["x"]:
        found.append(f"It is {long} characters long as X counts; {LIMITS['x']} are allowed.")
    if text in post.parts[:place]:
        found.append("X refuses the same text twice.")
    return found
