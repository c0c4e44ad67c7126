"""Sizes of random samples: a part of them in `make test`, the whole in `make prove`."""

import os

EXHAUSTIVE = os.environ.get("COPYDESK_PROVE", "") not in {"", "0"}
"""Set by `make prove`."""


def sample_size(whole: int) -> int:
    """Return `whole` in `make prove`, an eighth of it otherwise."""
    return whole if EXHAUSTIVE else -(-whole // 8)
