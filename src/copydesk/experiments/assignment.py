"""Which variant the next draft gets: permuted blocks, so that variants stay level however few drafts there are.

A hash of each draft by itself would leave 10 drafts of two variants 2.5 apart on average, and 6 apart in 1 of 20 cases.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from copydesk.model.draft import Format


def stratum_of(format: Format, platforms: Iterable[str]) -> str:
    """The group of drafts within which variants are kept level: one format, meant for the same platforms."""
    return f"{format}:{'+'.join(sorted(set(platforms)))}"


def variant_at(experiment_id: str, stratum: str, index: int, variant_ids: Sequence[str]) -> str:
    """The variant of draft number `index` (from 0) of a stratum.

    Each block of as many drafts as there are variants has each once, in an order of its own that cannot be foreseen
    from the others and that does not depend on the order of `variant_ids`. `index` has to be taken in the transaction
    that creates the draft: two drafts with one index would get one variant.
    """
    block, place = divmod(index, len(variant_ids))
    return sorted(variant_ids, key=lambda variant: _rank(experiment_id, stratum, block, variant))[place]


def _rank(experiment_id: str, stratum: str, block: int, variant: str) -> bytes:
    return sha256(f"{experiment_id}\x1f{stratum}\x1f{block}\x1f{variant}".encode()).digest()
