"""A source that may become one: checked, and read once to see. Imported when there is one."""

import asyncio

import msgspec

from copydesk.desk.fields import convert, text_of
from copydesk.desk.ground import Ground
from copydesk.desk.ingesting import read
from copydesk.errors import FetchError, FieldError, InvalidError
from copydesk.ingest.reading import normalise
from copydesk.ingest.visit import Reading
from copydesk.model.asked import unfit_in, unstorable_in
from copydesk.model.source import FetchState, SourceConfig, SourceSpec, SourceType
from copydesk.network import TRIES_AGAIN
from copydesk.ranking.filters import compile_rules


async def check(type: object, url: object, config: object, *, name: str = "") -> SourceSpec:
    """What it takes to read the source, its address in the form that its type reads. InvalidError with the field."""
    kind = convert("type", type, SourceType)
    settings = convert("config", config, SourceConfig) if config is not None else SourceConfig()
    _refuse_unfit(settings)
    if settings.include or settings.exclude:
        # Raises for an expression that is none, and tries out the others, which takes seconds where one is slow.
        await asyncio.to_thread(compile_rules, settings.include, settings.exclude)
    address = normalise(kind, text_of("url", url, 1, 2000), settings)
    return SourceSpec(type=kind, url=address, config=settings, name=name)


def _refuse_unfit(settings: SourceConfig) -> None:
    """InvalidError for each setting that holds what no database takes, or a control character."""
    wrong = []
    for name, value in msgspec.to_builtins(settings).items():
        texts = [str(text) for text in (value if isinstance(value, tuple | list) else [value])]
        problems = (unstorable_in(text) or unfit_in(text) for text in texts)
        wrong += [FieldError(f"config.{name}", problem) for problem in problems if problem]
    if wrong:
        raise InvalidError(*wrong)


def read_from(spec: SourceSpec) -> tuple[object, ...]:
    """All that decides which entries the source brings: where it differs, it is another source to us."""
    config = spec.config
    lists = (config.listing, config.window, config.list, config.query, config.hl, config.gl, config.ceid)
    return spec.type, spec.url, *lists, config.replies, config.reposts


async def attempt(ground: Ground, spec: SourceSpec) -> Reading:
    """What the source brings, as if for the first time; nothing is stored. FetchError where it cannot be read."""
    try:
        async with ground.network() as http:
            reading = await read(ground, http, spec, FetchState())
        if reading.failure is not None:
            raise reading.failure
    except FetchError as error:
        # Nobody reads it again by itself.
        error.hint = error.hint.replace(f"; {TRIES_AGAIN}", ".").replace(TRIES_AGAIN, "").strip()
        raise
    return reading
