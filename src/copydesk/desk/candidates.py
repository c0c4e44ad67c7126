"""Validate and test-fetch a source before it is added. Imported only when one is: it brings in the readers."""

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
    """Return the validated source, its URL normalised for its type. Raise InvalidError naming the field.

    Compiling the filter expressions also times them, which takes seconds for a slow one; it runs in a thread.
    """
    source_type = convert("type", type, SourceType)
    settings = convert("config", config, SourceConfig) if config is not None else SourceConfig()
    _validate_settings(settings)
    if settings.include or settings.exclude:
        # In a thread: compiling also measures each expression, which takes seconds for a slow one.
        await asyncio.to_thread(compile_rules, settings.include, settings.exclude)
    normalised_url = normalise(source_type, text_of("url", url, 1, 2000), settings)
    return SourceSpec(type=source_type, url=normalised_url, config=settings, name=name)


def _validate_settings(settings: SourceConfig) -> None:
    """Raise InvalidError for every setting that holds a control character or text no database stores."""
    errors = []
    for name, value in msgspec.to_builtins(settings).items():
        texts = [str(text) for text in (value if isinstance(value, tuple | list) else [value])]
        problems = (unstorable_in(text) or unfit_in(text) for text in texts)
        errors += [FieldError(f"config.{name}", problem) for problem in problems if problem]
    if errors:
        raise InvalidError(*errors)


def read_from(spec: SourceSpec) -> tuple[object, ...]:
    """Return everything that decides which entries a source yields; sources that differ in it are different sources."""
    config = spec.config
    lists = (config.listing, config.window, config.list, config.query, config.hl, config.gl, config.ceid)
    return spec.type, spec.url, *lists, config.replies, config.reposts


async def attempt(ground: Ground, spec: SourceSpec) -> Reading:
    """Fetch the source as if for the first time and store nothing. Raise FetchError if it cannot be read."""
    try:
        async with ground.network() as http:
            result = await read(ground, http, spec, FetchState())
        if result.failure is not None:
            raise result.failure
    except FetchError as error:
        # A test fetch is not retried automatically, so drop the sentence that promises it.
        error.hint = error.hint.replace(f"; {TRIES_AGAIN}", ".").replace(TRIES_AGAIN, "").strip()
        raise
    return result
