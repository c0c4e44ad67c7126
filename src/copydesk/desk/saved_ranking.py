"""The interests, filters and weights that a user saved, in place of those in the settings file."""

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.errors import FieldError, InvalidError
from copydesk.model.ranking import ChangeRanking, RankingProfile
from copydesk.ranking.score import Weights
from copydesk.settings import Settings
from copydesk.store import users

PIPELINE_FIELDS = ("include", "exclude", "min_score", "max_drafts")


async def load_settings(ctx: DeskContext) -> Settings:
    """Return the settings, with what the user saved in place of what is in the file.

    Loaded for each run, because another process may have saved a change.
    """
    return apply_change(ctx.settings, await ctx.read(users.load_ranking))


def apply_change(settings: Settings, change: ChangeRanking) -> Settings:
    """Return the settings with the change. Raise InvalidError for a weight of an unknown part of the score."""
    weights: dict[str, object] = dict(change.weights or {})
    if unknown := sorted(set(weights) - set(Weights.__struct_fields__)):
        accepted = ", ".join(Weights.__struct_fields__)
        raise InvalidError(FieldError("weights", f"{unknown[0]} is no part of the score: {accepted}"))
    if change.interests is not None:
        weights["interests"] = change.interests
    given = {name: getattr(change, name) for name in PIPELINE_FIELDS}
    filters = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(
        settings,
        ranking=msgspec.structs.replace(settings.ranking, **weights),
        pipeline=msgspec.structs.replace(settings.pipeline, **filters),
    )


def merge_changes(saved: ChangeRanking, change: ChangeRanking) -> ChangeRanking:
    """Return what is saved after the change: weights are merged, other given fields replaced."""
    given = {name: value for name in ChangeRanking.__struct_fields__ if (value := getattr(change, name)) is not None}
    if change.weights:
        given["weights"] = {**(saved.weights or {}), **change.weights}
    return msgspec.structs.replace(saved, **given)


def build_profile(settings: Settings, saved: ChangeRanking) -> RankingProfile:
    """Return the interests, filters and weights that runs use."""
    used = apply_change(settings, saved)
    fields = ("interests", *PIPELINE_FIELDS)
    return RankingProfile(
        interests=used.ranking.interests,
        include=used.pipeline.include,
        exclude=used.pipeline.exclude,
        min_score=used.pipeline.min_score,
        max_drafts=used.pipeline.max_drafts,
        weights={name: getattr(used.ranking, name) for name in Weights.__struct_fields__},
        saved=(*(name for name in fields if getattr(saved, name) is not None), *(saved.weights or ())),
    )
