"""The state of the source form, and the request that it makes to the desk."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from copydesk.desk.catalog import SOURCE_TYPES, get_source_type
from copydesk.errors import CopydeskError, FieldError, InvalidError
from copydesk.model.source import ImagePolicy, Source, SourceConfig
from copydesk.text import clean
from copydesk.tui import labels

_REGEX = re.compile(r"/(?:[^/\\]|\\.)+/")
# A quoted string, a regular expression between slashes, or everything up to the next comma.
_PIECE = re.compile(r'\s*(?:"((?:[^"]|"")*)"|(/(?:[^/\\]|\\.)+/)|([^,]*))\s*(?:,|\Z)')


class SourceLocation(NamedTuple):
    """The fields that determine which entries a source returns."""

    type: str
    url: str
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of the type that are shown in the form, with their values; without empty ones."""

    @property
    def config(self) -> dict[str, object] | None:
        """The part of the location that belongs into the source's settings."""
        return _nest_options(dict(self.settings)) or None


def location_of(source: Source) -> SourceLocation:
    """Return the location of a source."""
    stored = _flatten_options(source.config)
    return SourceLocation(
        source.type,
        clean(source.url or ""),
        select_settings(source.type, {name: clean(str(value)) for name, value in stored.items()}),
    )


def select_settings(type: str, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return those of `values` that are not empty and belong to a setting shown in the form of this source type."""
    names = (field.name for field in get_source_type(type).form_fields)
    return tuple((name, values[name]) for name in names if values.get(name))


def split_list(line: str) -> list[str]:
    """Split at commas, except inside quotes or in a regular expression between slashes."""
    pieces = (
        match[1].replace('""', '"') if match[1] is not None else match[2] or match[3] for match in _PIECE.finditer(line)
    )
    return [piece for piece in map(str.strip, pieces) if piece]


def join_list(pieces: Iterable[str]) -> str:
    """Join the pieces so that `split_list` returns them."""
    return ", ".join(f'"{piece.replace(chr(34), chr(34) * 2)}"' if _needs_quotes(piece) else piece for piece in pieces)


def _needs_quotes(piece: str) -> bool:
    return _REGEX.fullmatch(piece) is None and (piece[:1] in {'"', "/"} or "," in piece)


class SourceFields(NamedTuple):
    """The values of the form fields."""

    location: SourceLocation
    name: str
    weight: str = ""
    interval: str = ""
    include: str = ""
    exclude: str = ""
    tags: str = ""
    images: str = ""


def fields_of(source: Source) -> SourceFields:
    """Return the form values of an existing source, safe to display in a field.

    Values that are not edited produce no change.
    """
    config = source.config or SourceConfig()
    return SourceFields(
        location=location_of(source),
        name=clean(source.name),
        weight=f"{config.weight:g}" if config.weight != 1 else "",
        interval=str(config.interval) if config.interval else "",
        include=clean(join_list(config.include)),
        exclude=clean(join_list(config.exclude)),
        tags=clean(join_list(config.tags)),
        images=config.images.value if config.images is not ImagePolicy.PROPOSE else "",
    )


def build_update(source: Source, fields: SourceFields, url: str) -> dict[str, object]:
    """Return the update request for `source`; `url` is where it was actually found.

    Raise InvalidError if a number is not valid.
    """
    before = fields_of(source)
    request: dict[str, object] = {}
    if fields.name.strip() != before.name:
        request["name"] = fields.name
    if fields.location.url != before.location.url:
        request["url"] = url
    # Every field except name and URL is part of the settings.
    if fields._replace(name="", location=fields.location._replace(url="")) != before._replace(
        name="", location=before.location._replace(url="")
    ):
        request["config"] = _merge_config(source.config, before, fields)
    return request


def _merge_config(stored: SourceConfig | None, before: SourceFields, entered: SourceFields) -> dict[str, object]:
    """Merge the settings edited in the form into the stored ones."""
    config = _flatten_options(stored)
    previous = _settings(before)
    # Settings that were not edited, or are not in the form, keep their stored values.
    config |= {name: value for name, value in _settings(entered).items() if value != previous[name]}
    return _nest_options({name: value for name, value in config.items() if value not in (None, [], "")})


def _flatten_options(config: SourceConfig | None) -> dict[str, object]:
    """Return all settings by name, those of the source type itself included."""
    settings: dict[str, object] = msgspec.to_builtins(config) if config else {}
    options = settings.pop("options", {})
    assert isinstance(options, dict)
    return settings | options


def _nest_options(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings as the interface takes them: `options` holds those that are no fields of `SourceConfig`."""
    names = {field.encode_name for field in msgspec.structs.fields(SourceConfig)}
    options = {name: value for name, value in settings.items() if name not in names}
    fields = {name: value for name, value in settings.items() if name in names}
    return {**fields, "options": options} if options else fields


def _settings(entered: SourceFields) -> Mapping[str, object]:
    return {
        "weight": _number("weight", entered.weight, float),
        "interval": _number("interval", entered.interval, int),
        "include": split_list(entered.include),
        "exclude": split_list(entered.exclude),
        "tags": split_list(entered.tags),
        "images": entered.images.strip().lower(),
        **{field.name: "" for field in get_source_type(entered.location.type).form_fields},
        **dict(entered.location.settings),
    }


def _number(field: str, text: str, number_type: type[int] | type[float]) -> float | int | None:
    if not text.strip():
        return None
    try:
        return number_type(text)
    except ValueError:
        raise InvalidError(FieldError(field, labels.source_number_expected(field, text.strip()[:40]))) from None


def refused_fields(error: CopydeskError) -> tuple[str, ...]:
    """Return the names of the fields in the form that the error is about."""
    return tuple(_field_name(field) for field, _ in error.errors) if isinstance(error, InvalidError) else ()


def _field_name(field: str) -> str:
    return field.removeprefix("config.").removeprefix("options.")


def field_label(field: str) -> str:
    """Return what the form calls a field of a request."""
    name = _field_name(field)
    type_labels = {config.name: config.label for info in SOURCE_TYPES.values() for config in info.form_fields}
    return type_labels.get(name) or labels.SOURCE_FIELDS.get(name, field)
