"""The sample's files, with their times set: `{{ago 26h iso}}` becomes the moment 26 hours before now."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import format_datetime
from importlib.resources import files

from copydesk.model.wire import iso

_AGO = re.compile(r"\{\{ago ((?:\d{1,4}[dhm]){1,3}) (\w{1,8})\}\}")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_FORMS: dict[str, Callable[[datetime], str]] = {
    "rfc822": lambda moment: format_datetime(moment, usegmt=True),
    "iso": lambda moment: f"{moment:%Y-%m-%dT%H:%M:%SZ}",
    "ms": iso,
    "epoch": lambda moment: str(int(moment.timestamp())),
}


def render(name: str, now: datetime) -> str:
    """The file `name` of the sample with every placeholder replaced; `now` is in UTC."""
    template = files("copydesk.sample").joinpath("feeds", name).read_text(encoding="utf-8")
    return fill(template, now)


def fill(template: str, now: datetime) -> str:
    """`template` with every placeholder replaced.

    A placeholder is `{{ago SPAN FORM}}`: SPAN such as `3h`, `2h40m` or `9d`, FORM one of rfc822, iso, ms (ISO with
    milliseconds) and epoch (whole seconds). Raises KeyError for another form.
    """
    return _AGO.sub(lambda match: _FORMS[match[2]](now - _span(match[1])), template)


def _span(text: str) -> timedelta:
    parts = re.findall(r"(\d+)([dhm])", text)
    return timedelta(**{_UNITS[unit]: int(number) for number, unit in parts})
