"""Cost of requests, from the user's table of prices. A price that is not in the table is not zero."""

from collections.abc import Mapping

from copydesk.model.serialization import Struct
from copydesk.model.writer import Usage

TOKENS_PER_PRICE = 1_000_000


class Price(Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Of cached tokens of the prompt; None if they cost as much as others."""


Prices = Mapping[str, Price]
"""Prices by the model's name."""


def find_price(prices: Prices, answered_by: str, requested: str) -> Price | None:
    """Return the price of the model that answered, None if it is not known.

    Servers answer a request for `model` as `model-2026-01-15`: the price of `model` holds for it. It does not hold for
    another model to which a router passed the request.
    """
    if answered_by in prices:
        return prices[answered_by]
    same_model = (
        not answered_by or answered_by == requested or answered_by.startswith((f"{requested}-", f"{requested}@"))
    )
    return prices.get(requested) if same_model else None


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """Return the cost in US dollars, or None if the price or the number of tokens is not known."""
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = usage.cached_tokens or 0
    cached_price = price.input if price.cached is None else price.cached
    dollars = (usage.input_tokens - cached) * price.input + cached * cached_price + usage.output_tokens * price.output
    return dollars / TOKENS_PER_PRICE
