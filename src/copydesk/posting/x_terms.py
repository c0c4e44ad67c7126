"""X's prices, and its limits as far as they can be checked without the network."""

from decimal import Decimal

from copydesk.posting.cost import Cost
from copydesk.posting.platform import Limits, Post, Problem
from copydesk.text.length import LIMITS, length
from copydesk.text.links import all_spans

POST_PRICE, LINK_POST_PRICE, ALT_TEXT_PRICE = Decimal("0.015"), Decimal("0.20"), Decimal("0.005")
"""US dollars for a post, a post with a link, and an alt text (developer docs, "Pricing", 2026-08)."""


def post_price(post: Post) -> Cost:
    """Return the price of `post`: each part, much more for one with a link, and each alt text."""
    parts = sum((LINK_POST_PRICE if all_spans(text) else POST_PRICE for text in post.parts), Decimal(0))
    return Cost(amount=parts + ALT_TEXT_PRICE * sum(1 for alt in post.alts if alt))


def validate_post(post: Post, limits: Limits) -> list[Problem]:
    """Return the reasons why X would reject `post`."""
    if post.format not in limits.formats:
        return [Problem(message="X takes short posts and threads.")]
    results = [Problem(message=message, part=0) for message in _image_problems(post, limits)]
    for index in range(len(post.parts)):
        results += [Problem(message=message, part=index) for message in _text_problems(post, index)]
    return results


def _image_problems(post: Post, limits: Limits) -> list[str]:
    messages = []
    if len(post.alts) > limits.max_images:
        messages.append(f"X takes at most {limits.max_images} pictures.")
    if any(len(alt) > limits.max_alt_length for alt in post.alts):
        messages.append(f"X takes at most {limits.max_alt_length} characters to describe a picture.")
    return messages


def _text_problems(post: Post, index: int) -> list[str]:
    text = post.parts[index]
    messages = []
    if not text.strip() and not (index == 0 and post.alts):
        messages.append("It is empty.")
    if (size := length(text, "x")) > LIMITS["x"]:
        messages.append(f"It is {size} characters long as X counts; {LIMITS['x']} are allowed.")
    # X would reject the second one as a duplicate, in the middle of the thread.
    if text in post.parts[:index]:
        messages.append("X refuses the same text twice.")
    return messages
