"""Validate and test-fetch a source before it is added. Imported only when one is: it brings in the readers."""

import asyncio

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.pipeline.fetch_sources import fetch_source
from copydesk.errors import FetchError, FieldError, InvalidError
from copydesk.ingest.fetch_context import FetchResult
from copydesk.ingest.registry import SOURCE_TYPES, normalize_url
from copydesk.model.source import FetchState, SourceConfig, SourceSpec
from copydesk.model.validation import (
    MAX_URL_LENGTH,
    control_character_problem,
    convert,
    parse_line,
    storage_problem,
    wire_fields,
    wire_names,
)
from copydesk.network import RETRY_HINT
from copydesk.ranking.filters import compile_rules


async def validate_source(type: object, url: object, config: object, *, name: str = "") -> SourceSpec:
    """Return the validated source, its URL normalised for its type. Raise InvalidError naming the field.

    Compiling the filter expressions also times them, which takes seconds for a slow one; it runs in a thread.
    """
    source_type = convert("type", type, str)
    if source_type not in SOURCE_TYPES:
        raise InvalidError(FieldError("type", f"takes one of {', '.join(SOURCE_TYPES)}"))
    settings = _parse_settings(source_type, config) if config is not None else SourceConfig()
    _validate_settings(settings)
    _validate_options(source_type, settings)
    if settings.include or settings.exclude:
        # In a thread: compiling also measures each expression, which takes seconds for a slow one.
        await asyncio.to_thread(compile_rules, settings.include, settings.exclude)
    normalised_url = normalize_url(source_type, parse_line("url", url, 1, MAX_URL_LENGTH), settings)
    return SourceSpec(type=source_type, url=normalised_url, config=settings, name=name)


def _parse_settings(type: str, config: object) -> SourceConfig:
    # A struct is converted, too: its fields may have been set to anything.
    fields, names = wire_fields(config, name="config"), wire_names(SourceConfig)
    if unknown := [str(name)[:50] for name in fields if name not in names]:
        own = sorted(field.name for field in SOURCE_TYPES[type].config_fields)
        supported = ", ".join([*own, *sorted(names - _settings_of_types() - {"options"})])
        problem = f"is not a setting of {type}; it has {supported}"
        raise InvalidError(*(FieldError(f"config.{name}", problem) for name in unknown))
    return convert("config", fields, SourceConfig)


def _settings_of_types() -> set[str]:
    """Return the settings that only some source types have."""
    return {field.name for source_type in SOURCE_TYPES.values() for field in source_type.config_fields}


def _validate_settings(settings: SourceConfig) -> None:
    """Raise InvalidError for every setting that holds a control character or text no database stores."""
    errors = []
    for name, value in msgspec.to_builtins(settings).items():
        values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else [value]
        texts = [str(text) for text in values]
        problems = (storage_problem(text) or control_character_problem(text) for text in texts)
        errors += [FieldError(f"config.{name}", problem) for problem in problems if problem]
    if errors:
        raise InvalidError(*errors)


def _validate_options(type: str, settings: SourceConfig) -> None:
    """Raise InvalidError for options that the source type does not have."""
    supported = {field.name for field in SOURCE_TYPES[type].config_fields} - set(SourceConfig.__struct_fields__)
    unknown = [name for name in settings.options if name not in supported]
    if unknown:
        problem = f"is no option of {type}; it has {', '.join(sorted(supported)) or 'none'}"
        raise InvalidError(*(FieldError(f"config.options.{name[:50]}", problem) for name in unknown))


def source_identity(spec: SourceSpec) -> tuple[object, ...]:
    """Return everything that decides which entries a source yields; sources that differ in it are different sources."""
    config = spec.config
    lists = (config.listing, config.window, config.list, config.query, config.hl, config.gl, config.ceid)
    return spec.type, spec.url, *lists, config.replies, config.reposts, tuple(sorted(config.options.items()))


async def preview_fetch(ctx: DeskContext, spec: SourceSpec) -> FetchResult:
    """Fetch the source as if for the first time and store nothing. Raise FetchError if it cannot be read."""
    try:
        async with ctx.network() as http:
            result = await fetch_source(ctx, http, spec, FetchState())
        if result.error is not None:
            raise result.error
    except FetchError as error:
        # A test fetch is not retried automatically, so drop the sentence that promises it.
        error.hint = error.hint.replace(f"; {RETRY_HINT}", ".").replace(RETRY_HINT, "").strip()
        raise
    return result
