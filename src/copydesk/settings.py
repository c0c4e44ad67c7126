"""Settings: defaults, overridden by a TOML file, the environment and command line options, in this order.

`settings.toml` is in the platform's config directory, the database in its data directory; `COPYDESK_HOME` or `--home`
replaces both by one directory. `COPYDESK_NETWORK__ALLOW_PRIVATE=true` sets `network.allow_private`. Secrets are read
from the environment only. An unknown or invalid setting aborts the start with its line and the accepted values.

The docstrings of the settings are printed in the README and in error messages.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from copydesk.errors import SettingsError

ENVIRONMENT_PREFIX = "COPYDESK_"
FILE_NAME = "settings.toml"
MAX_FILE_SIZE = 2**20
"""Bytes of the settings file; any real one has a few thousand."""
KEYS_SECTION = "keys"
"""The section with the console's key bindings. It has no fields of its own; its names are the ids in the key table."""
PRICES_SECTION = "prices"
"""The section with the prices of language models. Its names are those of the models."""
TABS_SECTION = "tabs"
"""The section with the user's own tabs of the review. Its names are those of the tabs."""
COMMANDS_SECTION = "commands"
"""The section with the user's own commands of the console. Its names are those of the commands."""
FREE_SECTIONS = (KEYS_SECTION, PRICES_SECTION, TABS_SECTION, COMMANDS_SECTION)
MAX_NUMBER = 1e12
"""Above any real setting: refuses `inf`, which TOML has."""
Dollars = Annotated[float, msgspec.Meta(ge=0)]
UnitFraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Named = TypeVar("Named", bound=msgspec.Struct)

QueueColumn = Literal[
    "state", "check", "confidence", "format", "age", "source", "score", "tags", "agent", "writer", "length"
]
"""A fact about a draft in its row."""

Days = Annotated[int, msgspec.Meta(ge=0, le=36_500)]
Hours = Annotated[int, msgspec.Meta(ge=1, le=876_000)]
"""Up to a hundred years: a date before the year 1 would be an error."""


class Secret(str):
    """A string whose repr hides its value, so that it does not end up in logs and tracebacks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'•••'"


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base class of sections; unknown names are rejected."""


class Network(_Section, frozen=True, kw_only=True):
    """HTTP requests to sources and platforms."""

    allow_private: bool = False
    """Allow sources on private addresses: this machine and the local network."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=300)] = 30.0
    """Seconds for a complete response, including redirects."""
    max_body: Annotated[int, msgspec.Meta(ge=10_000)] = 10 * 1024 * 1024
    """Maximum bytes of a response after decompression."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=64)] = 16
    """Maximum concurrent requests; always one per host."""
    proxy: Annotated[str, msgspec.Meta(pattern=r"\A(https?://[^/?#\s]+/?)?\Z")] = ""
    """An HTTP proxy for all requests: `http://host:port`. It looks names up, so only numeric addresses are checked.
    With a password, from the environment only: COPYDESK_NETWORK__PROXY."""
    contact: str = ""
    """An email address or URL to add to the User-Agent, which names Copydesk's version and page: for publishers."""


class Pipeline(_Section, frozen=True, kw_only=True):
    """Input and output of pipeline runs."""

    max_drafts: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 10
    """New drafts of one run, at most."""
    formats: Annotated[tuple[Literal["SHORT", "THREAD", "BLOG"], ...], msgspec.Meta(min_length=1)] = ("SHORT",)
    """Formats to draft for each story: SHORT, THREAD, BLOG; at least one."""
    first_fetch_hours: Hours = 48
    """Maximum age in hours of the entries drafted from a source's first fetch; older ones are stored as history."""
    max_age_hours: Hours = 72
    """Do not draft items older than this."""
    language: Annotated[str, msgspec.Meta(pattern=r"\A([a-z]{2,3})?\Z")] = ""
    """A language code such as `en`: exclude items in another known language. Empty allows all."""
    include: tuple[str, ...] = ()
    """Words or /regular expressions/, one of which must occur in title or text."""
    exclude: tuple[str, ...] = ()
    """Words or /regular expressions/, none of which may occur in title or text."""
    min_score: UnitFraction = 0.0
    """Do not draft stories with a lower score."""


class Ranking(_Section, frozen=True, kw_only=True):
    """Weights for ranking stories. The score is the sum of its parts, each 0 to 1 times its weight."""

    interests: tuple[str, ...] = ()
    """Words and phrases that you write about. One that begins with `-` excludes a story."""
    half_life_hours: Annotated[float, msgspec.Meta(gt=0, le=MAX_NUMBER)] = 18.0
    """Hours after which a story's recency has halved."""
    recency: UnitFraction = 0.22
    """Weight of the story's recency."""
    interest: UnitFraction = 0.28
    """Weight of the match with your interests."""
    source: UnitFraction = 0.12
    """Weight of the source: its own weight, and the share of its drafts that you approved."""
    popularity: UnitFraction = 0.14
    """Weight of points and comments, relative to sources of the same type."""
    corroboration: UnitFraction = 0.06
    """Weight of the number of sources that report the story."""
    novelty: UnitFraction = 0.10
    """Weight of the difference from drafts of the last 60 days."""
    preference: UnitFraction = 0.30
    """Weight of the preferences learned from your decisions; takes effect as their number grows."""


class Schedule(_Section, frozen=True, kw_only=True):
    """Scheduled drafts. One that is later than its grace period is not posted automatically, but marked as missed."""

    grace_short_minutes: Annotated[int, msgspec.Meta(ge=1, le=10_080)] = 30
    """Minutes for a SHORT."""
    grace_thread_minutes: Annotated[int, msgspec.Meta(ge=1, le=10_080)] = 30
    """Minutes for a THREAD."""
    grace_blog_hours: Annotated[int, msgspec.Meta(ge=1, le=168)] = 24
    """Hours for a BLOG."""
    hold_changed: bool = True
    """Hold approved and scheduled drafts whose source changed or vanished since, until you approve or edit them."""


class Posting(_Section, frozen=True, kw_only=True):
    """Requirements for your own posts on all platforms."""

    require_alt: bool = False
    """Refuse to post images without a description (alt text)."""


class Generation(_Section, frozen=True, kw_only=True):
    """Texts generated on request, in the background."""

    at_once: Annotated[int, msgspec.Meta(ge=1, le=16)] = 2
    """Maximum number of pages and prompts processed concurrently."""
    deadline: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 120.0
    """Seconds for reading one page, and for writing one text."""


class Writing(_Section, frozen=True, kw_only=True):
    """Drafts written by language models. `[prices]` holds their prices: `"model" = [input, output]`."""

    monthly_budget: Annotated[float, msgspec.Meta(ge=0, le=MAX_NUMBER)] = 0.0
    """US dollars that requests may cost in a calendar month (UTC) before no more are sent. 0 sets no limit."""


class Jobs(_Section, frozen=True, kw_only=True):
    """Background jobs, run by the console while it is open, by `copydesk daemon` and by workers."""

    pipeline: Annotated[str, msgspec.Meta(pattern=r"\A(always|daemon|never)\Z")] = "daemon"
    """The process that fetches due sources: `daemon`, `always` (the console too), or `never`."""
    posting: Annotated[str, msgspec.Meta(pattern=r"\A(always|daemon)\Z")] = "always"
    """The process that posts drafts that are due and reads their metrics: `always` (the console too), or `daemon`."""
    pipeline_minutes: Annotated[int, msgspec.Meta(ge=1, le=10_080)] = 15
    """Minimum minutes between two scheduled runs; one that failed, or was interrupted once, is repeated sooner."""


class Console(_Section, frozen=True, kw_only=True):
    """Display of the console, and what it records."""

    images: Annotated[str, msgspec.Meta(pattern=r"\A(auto|always|never)\Z")] = "auto"
    """Show images, with copydesk[images]: `auto` where the terminal can, `always` (else as coloured cells), `never`."""
    columns: tuple[QueueColumn, ...] = ("state", "check", "confidence", "format", "age", "source")
    """Columns before the text of a draft in the review, under 100 columns: any of the names of `details`."""
    details: tuple[QueueColumn, ...] = (
        "state",
        "check",
        "source",
        "age",
        "confidence",
        "format",
        "score",
        "tags",
    )
    """Facts below a draft in the review, from 100 columns, of these: state, check, source, age, confidence, format,
    score, tags, agent, writer, length."""
    agents_tab: bool = False
    """Give drafts that agents proposed, and that wait for review, a tab of their own: Agents."""
    reviewer: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """Your name for others who review the same drafts; on the command line too. Empty: your login name."""
    record_decision_times: bool = True
    """Store how long your decisions in the console take, for `copydesk draft stats`: only the seconds, not for which
    draft, and only in your database."""


class QueueTab(_Section, frozen=True, kw_only=True, omit_defaults=True):
    """A tab of the review that the user added: the drafts in a state that match all filters."""

    status: Literal[
        "to_review", "approved", "scheduled", "posted", "missed", "rejected", "failed", "all", "archived"
    ] = "to_review"
    """The built-in tab that it narrows."""
    format: Literal["", "SHORT", "THREAD", "BLOG"] = ""
    source: str = ""
    """The name of a source."""
    tags: Annotated[tuple[str, ...], msgspec.Meta(max_length=20)] = ()
    """All of these tags."""
    search: Annotated[str, msgspec.Meta(max_length=500)] = ""
    """Words to search for."""
    agents: bool = False
    """Only drafts that agents proposed."""
    order: Literal["", "best", "newest", "oldest", "confident", "source", "soonest"] = ""
    """The order of the drafts; the one of the built-in tab by default."""


class Command(_Section, frozen=True, kw_only=True):
    """A shell command of the user's own that a key of the console runs with the draft as JSON."""

    key: str
    """Its keys, written as those in `[keys]`."""
    label: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
    """Its name in the help and the palette."""
    run: Annotated[str, msgspec.Meta(min_length=1)]
    """The line that the shell runs."""
    screens: Annotated[
        tuple[
            Literal["review", "needs_you", "schedule", "sources", "experiments", "engagement", "setup"],
            ...,
        ],
        msgspec.Meta(min_length=1),
    ] = ("review",)
    """The screens on which the key runs it."""
    output: Literal["toast", "panel", "suspend"] = "toast"
    """`toast` shows the first line, `panel` opens all of them, `suspend` gives the terminal to the command."""


class Reddit(_Section, frozen=True, kw_only=True):
    """Credentials of a Reddit application. Without them Copydesk reads Reddit's public feeds."""

    client_id: Secret = Secret()
    """From the environment only: COPYDESK_REDDIT__CLIENT_ID."""
    client_secret: Secret = Secret()
    """From the environment only: COPYDESK_REDDIT__CLIENT_SECRET."""


class Twitter(_Section, frozen=True, kw_only=True):
    """Reading from X, which charges per post."""

    bearer_token: Secret = Secret()
    """From the environment only: COPYDESK_TWITTER__BEARER_TOKEN."""
    daily_read_budget: Annotated[int, msgspec.Meta(ge=0)] = 200
    """Maximum posts read per source and UTC day."""


class Secrets(_Section, frozen=True, kw_only=True):
    """Storage of account credentials. Decided when the first one is saved; later ones join it."""

    keyring: bool = True
    """Use the system's keyring if there is one; otherwise a file encrypted with a passphrase."""
    plain: bool = False
    """Without a keyring and COPYDESK_PASSPHRASE: store credentials unencrypted, in a file only you can read."""


class ImagesA(_Section, frozen=True, kw_only=True):
    """The image generator AI_PROVIDER_A: a server with OpenAI's images API; disabled without a model."""

    base_url: str = ""
    """URL of AI_PROVIDER_A, such as `https://api.openai.com/v1`; http is allowed in your own network only."""
    model: str = ""
    """The model's name on the server."""
    size: Annotated[str, msgspec.Meta(pattern=r"\A(auto|[1-9]\d{1,4}x[1-9]\d{1,4})\Z")] = "1024x1024"
    """Width and height in pixels, as supported by the model, or `auto`."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 120.0
    """Seconds for one image."""
    key: Secret = Secret()
    """From the environment only: COPYDESK_IMAGES_A__KEY."""


class ImagesB(_Section, frozen=True, kw_only=True):
    """The image generator AI_PROVIDER_B: a second server of the same kind."""

    base_url: str = ""
    """URL of AI_PROVIDER_B."""
    model: str = ""
    """The model's name on the server."""
    size: Annotated[str, msgspec.Meta(pattern=r"\A(auto|[1-9]\d{1,4}x[1-9]\d{1,4})\Z")] = "1024x1024"
    """Width and height in pixels, as supported by the model, or `auto`."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 120.0
    """Seconds for one image."""
    key: Secret = Secret()
    """From the environment only: COPYDESK_IMAGES_B__KEY."""


class Database(_Section, frozen=True, kw_only=True):
    """The database: a SQLite file in the data folder, or PostgreSQL."""

    url: Annotated[str, msgspec.Meta(pattern=r"\A(postgres(ql)?://\S+)?\Z")] = ""
    """A PostgreSQL database, with copydesk[postgresql]: `postgresql://user@host/name`. Empty: a file here."""
    password: Secret = Secret()
    """From the environment only: COPYDESK_DATABASE__PASSWORD. Without it, `~/.pgpass` is read."""
    busy_timeout: Annotated[float, msgspec.Meta(ge=0, le=60)] = 5.0
    """Seconds to wait for another process's write."""


class Backup(_Section, frozen=True, kw_only=True):
    """Automatic backups, made by the console while it is open and by `copydesk daemon`."""

    every_hours: Annotated[int, msgspec.Meta(ge=0, le=8760)] = 24
    """Hours between two automatic backups of the database file; 0 disables them. On PostgreSQL none are made."""
    keep: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 7
    """Automatic backups to keep. When one was made, older ones are deleted."""


class Retention(_Section, frozen=True, kw_only=True):
    """Old data, deleted daily by the console while it is open and by `copydesk daemon`. Drafts and posts are kept."""

    items_days: Days = 90
    """Days after which items that never became a draft lose all but title, address and identity. 0 keeps them."""
    runs_days: Days = 365
    """Days after which pipeline runs are deleted, at least 31; statistics then leave them out. 0 keeps them."""
    readings_days: Days = 365
    """Days after which readings of metrics are deleted; the last reading of each post stays. 0 keeps them."""
    undone_days: Days = 90
    """Days after which changes that were undone leave the history of their draft and cannot be redone. 0 keeps them."""
    images_days: Days = 30
    """Days after which image files that no draft has any more are deleted. 0 keeps them."""
    events_days: Days = 30
    """Days after which events and the log of webhooks are deleted; event streams resume within them. 0 keeps them."""


class Settings(_Section, frozen=True, kw_only=True):
    """All settings, and the directories they were loaded for."""

    network: Network = Network()
    pipeline: Pipeline = Pipeline()
    ranking: Ranking = Ranking()
    schedule: Schedule = Schedule()
    posting: Posting = Posting()
    generation: Generation = Generation()
    writing: Writing = Writing()
    jobs: Jobs = Jobs()
    console: Console = Console()
    reddit: Reddit = Reddit()
    twitter: Twitter = Twitter()
    images_a: ImagesA = ImagesA()
    images_b: ImagesB = ImagesB()
    secrets: Secrets = Secrets()
    database: Database = Database()
    backup: Backup = Backup()
    retention: Retention = Retention()
    keys: dict[str, str] = {}
    """Key bindings of the console by action, such as `review.approve = "y"`. Validated by the console."""
    prices: dict[str, Annotated[tuple[Dollars, ...], msgspec.Meta(min_length=2, max_length=3)]] = {}
    """Prices of language models in US dollars per million tokens: input, output, and cached input if it differs."""
    tabs: dict[str, QueueTab] = {}
    """The user's own tabs of the review, by name."""
    commands: dict[str, Command] = {}
    """The user's own commands, by name."""
    config_home: Path = Path()
    data_home: Path = Path()

    @property
    def settings_file(self) -> Path:
        """The settings file, which may not exist."""
        return self.config_home / FILE_NAME

    @property
    def database_file(self) -> Path:
        return self.data_home / "copydesk.db"

    @property
    def has_database(self) -> bool:
        """False if opening the desk would create its database."""
        return bool(self.database.url) or self.database_file.exists()

    @property
    def images_folder(self) -> Path:
        """The directory of stored images, which may not exist."""
        return self.data_home / "pictures"


SECTIONS: dict[str, type[_Section]] = {
    name: type(section) for name, section in msgspec.structs.asdict(Settings()).items() if isinstance(section, _Section)
}


def load(environ: Mapping[str, str] = os.environ, home: Path | None = None) -> Settings:
    """Load the settings of this machine; `home` (the command line option) takes precedence over the environment.

    Raise SettingsError, naming the line or variable and the accepted values.
    """
    config, data = get_directories(home, environ)
    settings_file = _SettingsFile(config / FILE_NAME)
    sections = settings_file.sections()
    keys = settings_file.keys(sections.pop(KEYS_SECTION, {}))
    prices = settings_file.prices(sections.pop(PRICES_SECTION, {}))
    settings_file.check_database(sections.get("database", {}).get("url"))
    settings_file.check_proxy(sections.get("network", {}).get("proxy"))
    tabs = settings_file.structs(TABS_SECTION, sections.pop(TABS_SECTION, {}), QueueTab)
    commands = settings_file.structs(COMMANDS_SECTION, sections.pop(COMMANDS_SECTION, {}), Command)
    _add_environment(sections, environ)
    _separate_password(sections.get("database", {}))
    try:
        # Strict: a file has types, and "true" in quotes is a mistake. Variables were converted before.
        free = {KEYS_SECTION: keys, PRICES_SECTION: prices, TABS_SECTION: tabs, COMMANDS_SECTION: commands}
        settings = msgspec.convert(sections | free, Settings, strict=True, dec_hook=_decode_secret)
    except msgspec.ValidationError as error:
        raise settings_file.explain(str(error), environ) from None
    settings_file.check_proxy_address(settings.network.proxy, environ)
    settings_file.check_expressions(settings.pipeline, environ)
    settings_file.check_columns(settings.console, environ)
    return msgspec.structs.replace(settings, config_home=config, data_home=data)


def get_directories(home: Path | None = None, environ: Mapping[str, str] = os.environ) -> tuple[Path, Path]:
    """Return the directories of settings and data."""
    # Empty counts as unset: a unit file or a container cannot remove a variable that it inherits.
    directory = home or (Path(environ["COPYDESK_HOME"]) if environ.get("COPYDESK_HOME") else None)
    if directory is not None:
        try:
            directory = directory.expanduser().absolute()
        except RuntimeError:  # there is no such user
            hint = "Write the whole path in --home or COPYDESK_HOME."
            raise SettingsError(f"There is no home folder {directory.parts[0]}.", hint=hint) from None
        return directory, directory
    import platformdirs  # noqa: PLC0415 - half of this module's import time

    directories = platformdirs.PlatformDirs("copydesk", appauthor=False)
    return directories.user_config_path, directories.user_data_path


def _decode_secret(kind: type, value: object) -> object:
    """Convert a string to Secret, for msgspec."""
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise NotImplementedError(kind)


def _add_environment(sections: dict[str, dict[str, object]], environ: Mapping[str, str]) -> None:
    """Merge `COPYDESK_SECTION__NAME` variables into `sections`. Raise SettingsError for an unknown name."""
    for variable, text in environ.items():
        # COPYDESK_HOME and COPYDESK_PASSPHRASE are no settings; they have no double underscore.
        if not variable.startswith(ENVIRONMENT_PREFIX) or "__" not in variable:
            continue
        section, name = variable.removeprefix(ENVIRONMENT_PREFIX).lower().split("__", 1)
        if section not in SECTIONS or name not in SECTIONS[section].__struct_fields__:
            raise SettingsError(
                f"{variable} is set, but the setting does not exist: {section}.{name}.", hint=_suggest(section, name)
            )
        sections.setdefault(section, {})[name] = _parse_value(variable, SECTIONS[section], name, text)


def _separate_password(database: dict[str, object]) -> None:
    """Move the password in the URL of a database to a setting of its own: the URL may be shown."""
    url = database.get("url")
    if isinstance(url, str):
        database["url"], password = _split_url(url)
        if password and not database.get("password"):
            database["password"] = password


def name_server(database: Database, url: str) -> Database:
    """Return `database` with the URL of a server, and with its password if it contains one. Raise SettingsError."""
    without_password, password = _split_url(url)
    return msgspec.structs.replace(database, url=without_password, password=Secret(password or database.password))


def split_proxy_user(url: str) -> tuple[str, str]:
    """Return the user and the password of a proxy's URL; either may be empty. The password may contain colons."""
    user, _, password = url.partition("://")[2].rpartition("@")[0].partition(":")
    return user, password


def _split_url(url: str) -> tuple[str, str]:
    """Return the URL of a database without its password, and the password. Raise SettingsError if they are mixed up."""
    scheme, separator, rest = url.partition("://")
    credentials, at, address = rest.rpartition("@")
    if re.search("[@/?#]", credentials):
        # The error of the driver would show a part of the password as a port or a database.
        raise SettingsError(
            "database.url: user or password contain a character that separates the parts of a URL.",
            hint="Write it as % and its code, such as %2F for a slash.",
        )
    from urllib.parse import unquote  # noqa: PLC0415 - most users have no such URL

    user, _, password = credentials.partition(":")
    location, _, query = address.partition("?")
    options = [option for option in query.split("&") if option]
    password = next((option[9:] for option in options if option.startswith("password=")), password)
    query = "&".join(option for option in options if not option.startswith("password="))
    without = f"{scheme}{separator}{user}{at}{location}{'?' if query else ''}{query}"
    return without, unquote(password)


def _parse_value(variable: str, section: type[_Section], name: str, text: str) -> object:
    """Convert the text of a variable: strings unchanged, comma-separated words to a list, everything else as TOML."""
    hint = get_type_hints(section)[name]
    # A pasted line break or typographic quote would otherwise fail much later, as an HTTP header.
    if hint is Secret and not (text.isascii() and text.isprintable()):
        raise SettingsError(
            f"{variable} contains a character that no secret can have.",
            hint="Copy it again: only letters, digits and punctuation.",
        )
    if hint in (str, Secret):
        return text
    if tuple in (hint, getattr(hint, "__origin__", None)):
        return [word.strip() for word in text.split(",") if word.strip()]
    import tomllib  # noqa: PLC0415 - saves start-up time

    try:
        # Lower case, because shells and containers usually write True and TRUE.
        return tomllib.loads(f"value = {text.strip().lower()}")["value"]
    except tomllib.TOMLDecodeError:
        raise SettingsError(f"{variable} is {text!r}.", hint=f"It takes {_describe_type(hint)}.") from None


def _describe_type(hint: object) -> str:
    """Return a description of a type for messages."""
    base = get_args(hint)[0] if get_args(hint) else hint
    if base is bool:
        return "true or false"
    return "a whole number" if base is int else "a number"


def _suggest(section: str, name: str) -> str:
    """Return a hint with the section or setting that was probably meant, otherwise with the valid names."""
    import difflib  # noqa: PLC0415

    if section not in SECTIONS:
        # A setting that stands outside of its section.
        if outside := [f"{other}.{section}" for other, kind in SECTIONS.items() if section in kind.__struct_fields__]:
            return f"Did you mean {outside[0]}?"
        similar = difflib.get_close_matches(section, SECTIONS, n=1)
        return f"Did you mean [{similar[0]}]?" if similar else f"Sections: {', '.join(SECTIONS)}."
    fields = SECTIONS[section].__struct_fields__
    # A setting in the wrong section is a likelier mistake than one that is merely spelt alike.
    elsewhere = [f"{other}.{name}" for other, kind in SECTIONS.items() if name in kind.__struct_fields__]
    similar = elsewhere or [f"{section}.{match}" for match in difflib.get_close_matches(name, fields, n=1)]
    return f"Did you mean {similar[0]}?" if similar else f"Settings of [{section}]: {', '.join(fields)}."


class _SettingsFile:
    """The settings file and its line numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = ""

    def sections(self) -> dict[str, dict[str, object]]:
        """Parse the file; return {} if it does not exist."""
        try:
            body = _read_file(self.path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SettingsError(f"Cannot read {self.path}: {error.strerror}.") from None
        import tomllib  # noqa: PLC0415 - most users have no such file; saves start-up time

        try:
            # Windows editors may write a byte order mark.
            self.text = body.decode("utf-8-sig")
            tables = tomllib.loads(self.text)
        except UnicodeDecodeError:
            raise SettingsError(f"{self.path} is not UTF-8 text.", hint="Save it as UTF-8.") from None
        except tomllib.TOMLDecodeError as error:
            hint = 'Write `name = value` lines below a [section], with text in "quotes".'
            raise SettingsError(f"{self.path} is not TOML: {error}.", hint=hint) from None
        for section, values in tables.items():
            # Any name: the console knows its actions, and nobody knows all models.
            if section in FREE_SECTIONS and isinstance(values, dict):
                continue
            if not isinstance(values, dict) and section in (*SECTIONS, *FREE_SECTIONS):
                hint = f"Write [{section}] on a line of its own, and the settings below it."
                raise self._error(section, "", f"{section} is a section, not a setting.", hint)
            if section not in SECTIONS:
                found = f"section [{section}]" if isinstance(values, dict) else f"setting {section}"
                raise self._error(section, "", f"unknown {found}.", _suggest(section, ""))
            for name in values:
                self._check_name(section, name)
        return tables

    def keys(self, values: Mapping[str, object], above: str = "") -> dict[str, str]:
        """Return action id -> keys. An id may be quoted, or with its dot make a nested table in TOML."""
        bindings: dict[str, str] = {}
        for name, value in values.items():
            key = f"{above}{name}"
            if isinstance(value, dict):
                bindings |= self.keys(value, f"{key}.")
            elif isinstance(value, str):
                bindings[key] = value
            else:
                raise self._error(
                    KEYS_SECTION, key, f"keys.{key} is not text.", 'Put keys in quotes, such as "a" or "a,f2".'
                )
        return bindings

    def prices(self, values: Mapping[str, object], above: str = "") -> dict[str, object]:
        """Return model -> price. A name with dots makes a nested table in TOML unless it is quoted."""
        prices: dict[str, object] = {}
        for name, value in values.items():
            model = f"{above}{name}"
            if isinstance(value, dict):
                prices |= self.prices(value, f"{model}.")
            elif isinstance(value, list) and 2 <= len(value) <= 3 and all(_is_price(price) for price in value):
                prices[model] = value
            else:
                hint = 'Write "model" = [input, output], in US dollars per million tokens; cached input may follow.'
                raise self._error(PRICES_SECTION, model, f"the price of {model} is not valid.", hint)
        return prices

    def structs(self, section: str, values: Mapping[str, object], kind: type[Named]) -> dict[str, Named]:
        """Return name -> struct for a section whose tables have names of the user's own."""
        named: dict[str, Named] = {}
        for name, table in values.items():
            try:
                named[name] = msgspec.convert(table, kind, strict=True)
            except msgspec.ValidationError as error:
                problem, _, path = str(error).partition(" - at ")
                # The line of the field that is wrong, else that of the table.
                field = path.strip("`$.").partition("[")[0]
                reason = f"{section}.{name}{f'.{field}' if field else ''} {_describe_problem(problem)}."
                choices = _choices(get_type_hints(kind)[field]) if field in kind.__struct_fields__ else []
                hint = (
                    f"{field} takes {', '.join(choices)}."
                    if choices
                    else f"Settings of a table in [{section}]: {', '.join(kind.__struct_fields__)}."
                )
                where = (f"{section}.{name}", field) if isinstance(table, dict) else (section, name)
                raise self._error(*where, reason, hint) from None
        return named

    def _check_name(self, section: str, name: str) -> None:
        if name not in SECTIONS[section].__struct_fields__:
            raise self._error(section, name, f"unknown setting {section}.{name}.", _suggest(section, name))
        # Settings files end up in repositories and backups.
        if get_type_hints(SECTIONS[section])[name] is Secret:
            variable = f"{ENVIRONMENT_PREFIX}{section}__{name}".upper()
            raise self._error(
                section,
                name,
                f"{section}.{name} is a secret and cannot be set in a file.",
                f"Set {variable} instead.",
            )

    def check_database(self, url: object) -> None:
        """Reject the password of a database, which is a secret like others."""
        if isinstance(url, str) and _split_url(url)[1]:
            message = "database.url contains a password, which cannot be set in a file."
            hint = f"Set {ENVIRONMENT_PREFIX}DATABASE__PASSWORD instead, or use ~/.pgpass."
            raise self._error("database", "url", message, hint)

    def check_proxy(self, url: object) -> None:
        """Reject the password of a proxy, for the same reason."""
        if isinstance(url, str) and split_proxy_user(url)[1]:
            message = "network.proxy contains a password, which cannot be set in a file."
            raise self._error("network", "proxy", message, f"Set {ENVIRONMENT_PREFIX}NETWORK__PROXY instead.")

    def check_proxy_address(self, url: str, environ: Mapping[str, str]) -> None:
        """Reject a proxy without a host or with an impossible port, because otherwise every request would fail."""
        if not url:
            return
        from urllib.parse import urlsplit  # noqa: PLC0415 - most users have no proxy

        try:
            parts = urlsplit(url)
            is_valid = bool(parts.hostname) and parts.port != 0
        except ValueError:  # of the port or of brackets
            is_valid = False
        if not is_valid:
            # Without the value, which may contain a password.
            message = "needs a host, and a port from 1 to 65535 if there is one."
            raise self._value_error("network", "proxy", message, _setting_hint("network", "proxy"), environ)

    def check_expressions(self, pipeline: Pipeline, environ: Mapping[str, str]) -> None:
        """Reject an invalid /regular expression/ at start, because otherwise every run would fail."""
        for name in ("include", "exclude"):
            for word in getattr(pipeline, name):
                if len(word) > 2 and word.startswith("/") and word.endswith("/"):
                    self._check_expression(name, word, environ)

    def check_columns(self, console: Console, environ: Mapping[str, str]) -> None:
        """Reject a column that is named twice."""
        for name in ("columns", "details"):
            columns = getattr(console, name)
            if twice := next((column for column in columns if columns.count(column) > 1), ""):
                hint = _setting_hint("console", name)
                raise self._value_error("console", name, f"contains {twice} twice.", hint, environ)

    def _check_expression(self, name: str, word: str, environ: Mapping[str, str]) -> None:
        import regex  # noqa: PLC0415 - needed only for regular expressions

        try:
            regex.compile(word[1:-1])
        except (regex.error, RecursionError) as error:
            message = f"contains {word}, which is not a valid regular expression: {error}."
            raise self._value_error("pipeline", name, message, "Write words without slashes.", environ) from None

    def explain(self, problem: str, environ: Mapping[str, str]) -> SettingsError:
        """Convert a msgspec error, `... - at `$.network.timeout``, into a SettingsError."""
        problem_text, _, path = problem.partition(" - at ")
        section, name = [*re.findall(r"[a-z_]+", path), "", ""][:2]
        # Of a list it is an entry: `$.ranking.interests[0]`.
        entry = re.search(r"\[\d+\]", path)
        message = f"{_describe_problem(problem_text)}."
        hint = _setting_hint(section, name)
        return self._value_error(section, name, message, hint, environ, entry=entry[0] if entry else "")

    def _value_error(
        self, section: str, name: str, message: str, hint: str, environ: Mapping[str, str], *, entry: str = ""
    ) -> SettingsError:
        """Return the error for a value, which names the variable or the line that sets it."""
        variable = f"{ENVIRONMENT_PREFIX}{section}__{name}".upper()
        if variable in environ:
            return SettingsError(f"{variable} {message}", hint=hint)
        return self._error(section, name, f"{section}.{name}{entry} {message}", hint)

    def _error(self, section: str, name: str, problem: str, hint: str) -> SettingsError:
        return SettingsError(f"{self.path}, line {self._line_number(section, name)}: {problem}", hint=hint)

    def _line_number(self, section: str, name: str) -> int:
        """Return the line on which `name` of `section` is set, otherwise that of the section, otherwise 1."""
        # tomllib reports no positions of values, so the line is searched in the text.
        current_section, best_line = "", 1
        for number, line in enumerate(self.text.splitlines(), 1):
            if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
                # A name of the user's own may be quoted: [tabs."Long reads"].
                current_section = header[1].replace('"', "").replace("'", "")
                best_line = number if current_section == section else best_line
            assignment = re.match(r"\s*([\w.\"'-]+)\s*=", line)
            key = assignment[1].replace('"', "").replace("'", "") if assignment else ""
            if name and (key == f"{section}.{name}" or (current_section == section and key == name)):
                return number
            if not name and key.split(".")[0] == section and not current_section:
                return number
        return best_line


def _describe_problem(problem: str) -> str:
    from copydesk.type_problems import describe_type_problem  # noqa: PLC0415 - only for an error

    return describe_type_problem(problem)


def _choices(hint: object) -> list[str]:
    """Return the texts that a setting, or an entry of its list, may be; none if it is not limited to some."""
    if get_origin(hint) is Literal:
        return [value for value in get_args(hint) if value]
    return [value for part in get_args(hint) for value in _choices(part)]


def _is_price(value: object) -> bool:
    # TOML knows nan and inf, with which every budget would be met or exceeded for ever.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _read_file(path: Path) -> bytes:
    """Return the content of the settings file. Raise SettingsError if it is not a regular file, or too large."""
    # O_NONBLOCK: opening a FIFO without a writer would block.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not S_ISREG(os.fstat(file.fileno()).st_mode):
            raise SettingsError(f"Cannot read {path}: it is not a file.")
        # Read to one byte more than allowed: the size that fstat reports may change while the file is read.
        body = file.read(MAX_FILE_SIZE + 1)
    if len(body) > MAX_FILE_SIZE:
        raise SettingsError(f"{path} is larger than {MAX_FILE_SIZE // 2**20} MiB.")
    return body


def _setting_hint(section: str, name: str) -> str:
    """Return a setting's docstring for a hint."""
    return f"{section}.{name}: {setting_descriptions().get((section, name), '')}".rstrip(": ")


def setting_descriptions() -> dict[tuple[str, str], str]:
    """Return the docstring of each setting. Parses this module's source, so call it for errors and the README only."""
    import ast  # noqa: PLC0415
    import inspect  # noqa: PLC0415

    docs = {}
    for section, kind in SECTIONS.items():
        body = ast.parse(inspect.getsource(kind)).body[0]
        assert isinstance(body, ast.ClassDef)
        # A string expression directly after a field is its documentation.
        for field, doc in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant):
                assert isinstance(field.target, ast.Name)
                docs[section, field.target.id] = " ".join(str(doc.value.value).split())
    return docs
