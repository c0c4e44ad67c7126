"""Templates of the sample's feeds: `{{ago 26h iso}}` is replaced by the time 26 hours before now."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import format_datetime
from importlib.resources import files

from copydesk.model.wire import format_iso

_PLACEHOLDER = re.compile(r"\{\{ago ((?:\d{1,4}[dhm]){1,3}) (\w{1,8})\}\}")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_FORMATTERS: dict[str, Callable[[datetime], str]] = {
    "rfc822": lambda instant: format_datetime(instant, usegmt=True),
    "iso": lambda instant: f"{instant:%Y-%m-%dT%H:%M:%SZ}",
    "ms": format_iso,
    "epoch": lambda instant: str(int(instant.timestamp())),
}


def render(name: str, now: datetime) -> str:
    """Return the sample file `name` with every placeholder replaced. `now` is in UTC."""
    template = files("copydesk.sample").joinpath("feeds", name).read_text(encoding="utf-8")
    return fill(template, now)


def fill(template: str, now: datetime) -> str:
    """Return `template` with every placeholder replaced.

    A placeholder is `{{ago SPAN FORM}}`: SPAN such as `3h`, `2h40m` or `9d`; FORM one of rfc822, iso, ms (ISO with
    milliseconds) and epoch (whole seconds). Raise KeyError for another form.
    """
    return _PLACEHOLDER.sub(lambda match: _FORMATTERS[match[2]](now - _parse_span(match[1])), template)


def _parse_span(text: str) -> timedelta:
    parts = re.findall(r"(\d+)([dhm])", text)
    return timedelta(**{_UNITS[unit]: int(number) for number, unit in parts})
