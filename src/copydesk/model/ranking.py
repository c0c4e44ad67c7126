"""Interests, filters and weights of the ranking, as the user saves them."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from copydesk.model.serialization import Struct

MAX_TERMS, MAX_TERM_LENGTH = 200, 500
Terms = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=MAX_TERM_LENGTH)], ...], Meta(max_length=MAX_TERMS)
]
Share = Annotated[float, Meta(ge=0, le=1)]


class ChangeRanking(Struct, frozen=True, forbid_unknown_fields=True):
    """Replacements for settings of the ranking; null leaves a setting as it is."""

    interests: Terms | None = None
    """In place of `ranking.interests`."""
    include: Terms | None = None
    """In place of `pipeline.include`."""
    exclude: Terms | None = None
    """In place of `pipeline.exclude`."""
    min_score: Share | None = None
    """In place of `pipeline.min_score`."""
    max_drafts: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """Drafts of a run, and of a day in a preview, in place of `pipeline.max_drafts`."""
    weights: Mapping[str, Share] | None = None
    """Weights of parts of the score by name, such as interest; the others stay."""


class RankingProfile(Struct, frozen=True):
    """The interests, filters and weights that runs use."""

    interests: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    min_score: float
    max_drafts: int
    weights: Mapping[str, float]
    """By part of the score."""
    saved: tuple[str, ...] = ()
    """Names of the fields, and of parts of the score, that are saved in place of the settings file's."""
