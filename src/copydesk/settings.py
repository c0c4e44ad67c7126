"""The settings: one TOML file, the environment over it, flags over both.

`settings.toml` lies in the platform's config folder, the database in its data folder; `COPYDESK_HOME` or `--home`
moves both into one folder. `COPYDESK_NETWORK__ALLOW_PRIVATE=true` sets `network.allow_private`. Secrets are taken
from the environment only. An unknown or wrong setting stops the start with the line and what would be right.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args, get_type_hints

import msgspec

from copydesk.errors import SettingsError

PREFIX = "COPYDESK_"
FILE = "settings.toml"
KEYS = "keys"
"""The section with the console's keys, which has no names of its own: it takes those of the key table."""
Positive = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Secret(str):
    """A string that does not show itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'•••'"


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every section: an unknown name is an error."""


class Network(_Section, frozen=True, kw_only=True):
    """How Copydesk reaches the outside."""

    allow_private: bool = False
    """Let sources be on private addresses: this machine, the local network."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=300)] = 30.0
    """Seconds for one whole answer, redirects included."""
    max_body: Annotated[int, msgspec.Meta(ge=10_000)] = 10 * 1024 * 1024
    """Bytes of one answer after decompression."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=64)] = 16
    """Requests under way at once; of one host always one."""
    contact: str = ""
    """An address or page put into the User-Agent, for the publishers whose feeds are read."""


class Pipeline(_Section, frozen=True, kw_only=True):
    """What a run takes in and makes."""

    max_drafts: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 10
    """New drafts of one run, at most."""
    formats: Annotated[tuple[Literal["SHORT", "THREAD", "BLOG"], ...], msgspec.Meta(min_length=1)] = ("SHORT",)
    """What is drafted of each story: SHORT, THREAD, BLOG; at least one."""
    first_fetch_hours: Positive = 48
    """Of a source's first fetch only entries of so many hours can become drafts; older ones are its history."""
    max_age_hours: Positive = 72
    """Items older than this are no longer drafted."""
    language: Annotated[str, msgspec.Meta(pattern=r"\A([a-z]{2,3})?\Z")] = ""
    """A language code such as `en`: items in another known language are left out. Empty takes all."""
    include: tuple[str, ...] = ()
    """Words or /regular expressions/ of which one must be in title or text."""
    exclude: tuple[str, ...] = ()
    """Words or /regular expressions/ of which none may be in title or text."""
    min_score: Share = 0.0
    """Stories whose score is below this are not drafted."""


class Ranking(_Section, frozen=True, kw_only=True):
    """What counts in the order of the stories; the score is the sum of its parts, each 0 to 1 times its weight."""

    interests: tuple[str, ...] = ()
    """Words and phrases that you write about. One that begins with `-` keeps a story out."""
    half_life_hours: Annotated[float, msgspec.Meta(gt=0)] = 18.0
    """After so many hours the recency of a story has halved."""
    recency: Share = 0.22
    """Weight of how new the story is."""
    interest: Share = 0.28
    """Weight of how well it matches your interests."""
    source: Share = 0.12
    """Weight of the source: its own weight, and how often you approved what came from it."""
    popularity: Share = 0.14
    """Weight of points and comments, compared within one type of source."""
    corroboration: Share = 0.06
    """Weight of how many sources tell the story."""
    novelty: Share = 0.10
    """Weight of how little it resembles what was drafted in the last 60 days."""
    preference: Share = 0.30
    """Weight of what was learnt from your decisions, once there are many; it grows with their number."""


class Schedule(_Section, frozen=True, kw_only=True):
    """How late a scheduled draft may be and still go out by itself; past that it is missed, and asks you."""

    grace_short_minutes: Annotated[int, msgspec.Meta(ge=1, le=10_080)] = 30
    """Minutes for a SHORT."""
    grace_thread_minutes: Annotated[int, msgspec.Meta(ge=1, le=10_080)] = 30
    """Minutes for a THREAD."""
    grace_blog_hours: Annotated[int, msgspec.Meta(ge=1, le=168)] = 24
    """Hours for a BLOG."""


class Posting(_Section, frozen=True, kw_only=True):
    """What you ask of your own posts, wherever they go."""

    require_alt: bool = False
    """Post no picture that is without a description for people who cannot see it."""


class Generation(_Section, frozen=True, kw_only=True):
    """Texts that are written on request, in the background."""

    at_once: Annotated[int, msgspec.Meta(ge=1, le=16)] = 2
    """Pages and prompts that are worked on at the same time."""
    deadline: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 120.0
    """Seconds for the reading of one page, and for the writing of one text."""


class Jobs(_Section, frozen=True, kw_only=True):
    """What is done without being asked, by the console while it is open and by `copydesk daemon`."""

    pipeline: Annotated[str, msgspec.Meta(pattern=r"\A(always|daemon|never)\Z")] = "daemon"
    """Who reads the sources whose time has come: `daemon`, `always` for the console too, or `never`."""
    pipeline_minutes: Annotated[int, msgspec.Meta(ge=1, le=10_080)] = 15
    """Minutes between two such runs, at least."""


class Console(_Section, frozen=True, kw_only=True):
    """What the console shows."""

    images: Annotated[str, msgspec.Meta(pattern=r"\A(auto|always|never)\Z")] = "auto"
    """Draw pictures, with copydesk[images]: `auto` where the terminal can, `always` else in coloured cells, `never`."""


class Reddit(_Section, frozen=True, kw_only=True):
    """Credentials of a Reddit application; without them Copydesk reads Reddit's feeds."""

    client_id: Secret = Secret()
    """From the environment only: COPYDESK_REDDIT__CLIENT_ID."""
    client_secret: Secret = Secret()
    """From the environment only: COPYDESK_REDDIT__CLIENT_SECRET."""


class Twitter(_Section, frozen=True, kw_only=True):
    """Reading from X, which costs money by the post."""

    bearer_token: Secret = Secret()
    """From the environment only: COPYDESK_TWITTER__BEARER_TOKEN."""
    daily_read_budget: Annotated[int, msgspec.Meta(ge=0)] = 200
    """Posts read of one source in one UTC day, at most."""


class Secrets(_Section, frozen=True, kw_only=True):
    """Where the keys to accounts are kept. These settings choose for the first key; the others join it."""

    keyring: bool = True
    """Take the system's keyring where there is one; without it, a file that is encrypted with a passphrase."""
    plain: bool = False
    """Where no keyring is taken and no COPYDESK_PASSPHRASE is set: keep keys unencrypted, in a file of yours alone."""


class ImagesA(_Section, frozen=True, kw_only=True):
    """The image generator AI_PROVIDER_A: a server that speaks OpenAI's images endpoint; none without a model."""

    base_url: str = ""
    """Of AI_PROVIDER_A: its address, such as `https://api.openai.com/v1`; http in your own network only."""
    model: str = ""
    """The model's name, as the server has it."""
    size: Annotated[str, msgspec.Meta(pattern=r"\A(auto|[1-9]\d{1,4}x[1-9]\d{1,4})\Z")] = "1024x1024"
    """Width and height in pixels, as the model takes them, or `auto`."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 120.0
    """Seconds for one picture."""
    key: Secret = Secret()
    """From the environment only: COPYDESK_IMAGES_A__KEY."""


class ImagesB(_Section, frozen=True, kw_only=True):
    """The image generator AI_PROVIDER_B: a second one of the same kind."""

    base_url: str = ""
    """Of AI_PROVIDER_B: its address."""
    model: str = ""
    """The model's name, as the server has it."""
    size: Annotated[str, msgspec.Meta(pattern=r"\A(auto|[1-9]\d{1,4}x[1-9]\d{1,4})\Z")] = "1024x1024"
    """Width and height in pixels, as the model takes them, or `auto`."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 120.0
    """Seconds for one picture."""
    key: Secret = Secret()
    """From the environment only: COPYDESK_IMAGES_B__KEY."""


class Database(_Section, frozen=True, kw_only=True):
    """Where things are kept."""

    busy_timeout: Annotated[float, msgspec.Meta(ge=0, le=60)] = 5.0
    """Seconds to wait while another process writes."""


class Settings(_Section, frozen=True, kw_only=True):
    """Everything that can be set."""

    network: Network = Network()
    pipeline: Pipeline = Pipeline()
    ranking: Ranking = Ranking()
    schedule: Schedule = Schedule()
    posting: Posting = Posting()
    generation: Generation = Generation()
    jobs: Jobs = Jobs()
    console: Console = Console()
    reddit: Reddit = Reddit()
    twitter: Twitter = Twitter()
    images_a: ImagesA = ImagesA()
    images_b: ImagesB = ImagesB()
    secrets: Secrets = Secrets()
    database: Database = Database()
    keys: dict[str, str] = {}
    """Of an action of the console -> its keys: `review.approve = "y"`. Which actions there are the console knows."""
    config_home: Path = Path()
    data_home: Path = Path()

    @property
    def file(self) -> Path:
        """The settings file, which need not exist."""
        return self.config_home / FILE

    @property
    def database_file(self) -> Path:
        """The database."""
        return self.data_home / "copydesk.db"

    @property
    def pictures_folder(self) -> Path:
        """Where the bytes of pictures are kept; it need not exist."""
        return self.data_home / "pictures"


SECTIONS: dict[str, type[_Section]] = {
    "network": Network,
    "pipeline": Pipeline,
    "ranking": Ranking,
    "schedule": Schedule,
    "posting": Posting,
    "generation": Generation,
    "jobs": Jobs,
    "console": Console,
    "reddit": Reddit,
    "twitter": Twitter,
    "images_a": ImagesA,
    "images_b": ImagesB,
    "secrets": Secrets,
    "database": Database,
}


def load(environ: Mapping[str, str] = os.environ, home: Path | None = None) -> Settings:
    """The settings of this machine; `home` is the flag that goes over the environment.

    Raises SettingsError with the line, or the variable, and what would be right.
    """
    config, data = homes(home, environ)
    source = _Source(config / FILE)
    sections = source.sections()
    keys = source.keys(sections.pop(KEYS, {}))
    _add_environment(sections, environ)
    try:
        settings = msgspec.convert(sections | {KEYS: keys}, Settings, strict=True, dec_hook=_secret)
    except msgspec.ValidationError as error:
        raise source.explain(str(error), environ) from None
    source.check_expressions(settings.pipeline)
    return msgspec.structs.replace(settings, config_home=config, data_home=data)


def homes(home: Path | None = None, environ: Mapping[str, str] = os.environ) -> tuple[Path, Path]:
    """The folders of settings and data."""
    chosen = home or (Path(environ["COPYDESK_HOME"]) if environ.get("COPYDESK_HOME") else None)
    if chosen is not None:
        chosen = chosen.expanduser().absolute()
        return chosen, chosen
    import platformdirs  # noqa: PLC0415 - half of what this module costs at start

    folders = platformdirs.PlatformDirs("copydesk", appauthor=False)
    return folders.user_config_path, folders.user_data_path


def _secret(kind: type, value: object) -> object:
    """Make a Secret of a string."""
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise NotImplementedError(kind)


def _add_environment(sections: dict[str, dict[str, object]], environ: Mapping[str, str]) -> None:
    """Lay `COPYDESK_SECTION__NAME` over the file; raises SettingsError for a name that does not exist."""
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        section, name = variable.removeprefix(PREFIX).lower().split("__", 1)
        if section not in SECTIONS or name not in SECTIONS[section].__struct_fields__:
            raise SettingsError(
                f"{variable} is set, but there is no setting {section}.{name}.", hint=_nearest(section, name)
            )
        sections.setdefault(section, {})[name] = _value(variable, SECTIONS[section], name, text)


def _value(variable: str, section: type[_Section], name: str, text: str) -> object:
    """The value that `text` stands for: as it is for a string, words between commas for a list, else as in TOML."""
    hint = get_type_hints(section)[name]
    if hint is Secret and not (text.isascii() and text.isprintable()):
        raise SettingsError(
            f"{variable} holds a character that no secret has.", hint="Copy it again: letters, digits and signs only."
        )
    if hint in (str, Secret):
        return text
    if tuple in (hint, getattr(hint, "__origin__", None)):
        return [word.strip() for word in text.split(",") if word.strip()]
    import tomllib  # noqa: PLC0415 - as below

    try:
        return tomllib.loads(f"value = {text.strip().lower()}")["value"]
    except tomllib.TOMLDecodeError:
        raise SettingsError(f"{variable} is {text!r}.", hint=f"It takes {_kind(hint)}.") from None


def _kind(hint: object) -> str:
    """A type in words."""
    base = get_args(hint)[0] if get_args(hint) else hint
    if base is bool:
        return "true or false"
    return "a whole number" if base is int else "a number"


def _nearest(section: str, name: str) -> str:
    """What was probably meant."""
    import difflib  # noqa: PLC0415

    known = [f"{title}.{field}" for title, kind in SECTIONS.items() for field in kind.__struct_fields__]
    near = difflib.get_close_matches(f"{section}.{name}", known, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]}?"
    if section in SECTIONS:
        return f"Settings of [{section}]: {', '.join(SECTIONS[section].__struct_fields__)}."
    return f"Sections: {', '.join(SECTIONS)}."


class _Source:
    """The settings file: what it says, and on which line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = ""

    def sections(self) -> dict[str, dict[str, object]]:
        """What the file says; empty without one."""
        try:
            body = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SettingsError(f"{self.path} cannot be read: {error.strerror}.") from None
        import tomllib  # noqa: PLC0415 - most have no such file, and the console paints the sooner

        try:
            self.text = body.decode("utf-8-sig")
            found = tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            hint = 'Each line is `name = value`, below a [section]; text stands in "quotes".'
            raise SettingsError(f"{self.path} is not TOML: {error}.", hint=hint) from None
        for section, values in found.items():
            if section == KEYS and isinstance(values, dict):
                continue
            if section not in SECTIONS or not isinstance(values, dict):
                raise self._error(section, "", f"there is no section [{section}].", _nearest(section, ""))
            for name in values:
                self._check(section, name)
        return found

    def keys(self, values: Mapping[str, object], above: str = "") -> dict[str, str]:
        """Id -> keys of the console, whether an id is written in quotes or, with its dot, without."""
        found: dict[str, str] = {}
        for name, value in values.items():
            key = f"{above}{name}"
            if isinstance(value, dict):
                found |= self.keys(value, f"{key}.")
            elif isinstance(value, str):
                found[key] = value
            else:
                raise self._error(KEYS, key, f"keys.{key} is no text.", 'Keys stand in quotes, such as "a" or "a,f2".')
        return found

    def _check(self, section: str, name: str) -> None:
        if name not in SECTIONS[section].__struct_fields__:
            raise self._error(section, name, f"there is no setting {section}.{name}.", _nearest(section, name))
        if get_type_hints(SECTIONS[section])[name] is Secret:
            variable = f"{PREFIX}{section}__{name}".upper()
            raise self._error(
                section,
                name,
                f"{section}.{name} is a secret and does not belong in a file.",
                f"Set {variable} instead.",
            )

    def check_expressions(self, pipeline: Pipeline) -> None:
        """Refuse a /regular expression/ that is none, rather than let every run fail of it."""
        for name in ("include", "exclude"):
            for word in getattr(pipeline, name):
                if len(word) > 2 and word.startswith("/") and word.endswith("/"):
                    self._check_expression(name, word)

    def _check_expression(self, name: str, word: str) -> None:
        import regex  # noqa: PLC0415 - only where there are expressions

        try:
            regex.compile(word[1:-1])
        except regex.error as error:
            says = f"pipeline.{name}: {word} is no regular expression: {error}."
            raise self._error("pipeline", name, says, "Words stand there without slashes.") from None

    def explain(self, problem: str, environ: Mapping[str, str]) -> SettingsError:
        """The error for what msgspec found, `... - at `$.network.timeout``."""
        what, _, where = problem.partition(" - at ")
        section, name = [*re.findall(r"[a-z_]+", where), "", ""][:2]
        says = what[:1].lower() + what[1:]
        right = _documentation(section, name)
        variable = f"{PREFIX}{section}__{name}".upper()
        if variable in environ:
            return SettingsError(f"{variable}: {says}.", hint=right)
        return self._error(section, name, f"{section}.{name}: {says}.", right)

    def _error(self, section: str, name: str, problem: str, hint: str) -> SettingsError:
        return SettingsError(f"{self.path}, line {self._line(section, name)}: {problem}", hint=hint)

    def _line(self, section: str, name: str) -> int:
        """Where `name` of `section` is set; its section, or line 1, where that is not found."""
        current, found = "", 1
        for number, line in enumerate(self.text.splitlines(), 1):
            if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
                current = header[1].strip("\"'")
                found = number if current == section else found
            path = re.match(r"\s*([\w.\"'-]+)\s*=", line)
            key = path[1].replace('"', "").replace("'", "") if path else ""
            if name and (key == f"{section}.{name}" or (current == section and key == name)):
                return number
            if not name and key.split(".")[0] == section and not current:
                return number
        return found


def _documentation(section: str, name: str) -> str:
    """What the setting is for, as its docstring has it."""
    return f"{section}.{name}: {documentation().get((section, name), '')}".rstrip(": ")


def documentation() -> dict[tuple[str, str], str]:
    """The docstring under each setting; read from the source, so only where an error or the README wants it."""
    import ast  # noqa: PLC0415
    import inspect  # noqa: PLC0415

    found = {}
    for section, kind in SECTIONS.items():
        body = ast.parse(inspect.getsource(kind)).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, doc in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant):
                assert isinstance(field.target, ast.Name)
                found[section, field.target.id] = " ".join(str(doc.value.value).split())
    return found
