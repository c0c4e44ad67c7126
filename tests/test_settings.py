"""Tests for settings from file and environment, and their error messages."""

from pathlib import Path

import pytest

from copydesk.errors import SettingsError
from copydesk.settings import SECTIONS, Secret, get_directories, load, setting_descriptions


def write(home: Path, text: str) -> Path:
    (home / "settings.toml").write_text(text, encoding="utf-8")
    return home


def problem(home: Path, text: str = "", **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(environ, write(home, text))
    return str(caught.value)


def test_defaults_apply_without_file(tmp_path):
    settings = load({}, tmp_path)
    assert settings.pipeline.max_drafts == 10
    assert settings.pipeline.first_fetch_hours == 48
    assert not settings.network.allow_private


def test_file_is_read(tmp_path):
    settings = load({}, write(tmp_path, '[pipeline]\nmax_drafts = 3\ninclude = ["sqlite", "/v\\\\d+/"]\n'))
    assert settings.pipeline.max_drafts == 3
    assert settings.pipeline.include == ("sqlite", r"/v\d+/")


def test_environment_overrides_file(tmp_path):
    write(tmp_path, "[network]\nallow_private = false\ntimeout = 5.0\n")
    settings = load({"COPYDESK_NETWORK__ALLOW_PRIVATE": "true"}, tmp_path)
    assert settings.network.allow_private
    assert settings.network.timeout == 5.0


def test_list_in_environment_is_comma_separated(tmp_path):
    settings = load({"COPYDESK_RANKING__INTERESTS": "sqlite, terminal ui ,"}, tmp_path)
    assert settings.ranking.interests == ("sqlite", "terminal ui")


def test_byte_order_mark_is_ignored(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\xef\xbb\xbf[pipeline]\nmax_drafts = 1\n")
    assert load({}, tmp_path).pipeline.max_drafts == 1


def test_home_precedence(tmp_path):
    assert get_directories(tmp_path, {"COPYDESK_HOME": "/elsewhere"}) == (tmp_path, tmp_path)
    assert get_directories(None, {"COPYDESK_HOME": str(tmp_path)}) == (tmp_path, tmp_path)
    config, data = get_directories(None, {})
    assert config.name == data.name == "copydesk"


def test_wrong_column_names_line_and_accepted_values(tmp_path):
    message = problem(tmp_path, '[console]\ncolumns = ["state", "colour"]\n')
    assert "line 2: console.columns[1] does not take 'colour'" in message
    message = problem(tmp_path, '[console]\ndetails = ["tags", "age", "tags"]\n')
    assert "line 2: console.details contains tags twice." in message
    assert "state, check, source" in message


def test_unknown_setting_names_line_and_suggestion(tmp_path):
    message = problem(tmp_path, "# mine\n[network]\nallow_privat = true\n")
    assert "line 3" in message
    assert "Did you mean network.allow_private?" in message


def test_unknown_section_names_line(tmp_path):
    message = problem(tmp_path, "\n\n[netwrk]\ntimeout = 3\n")
    assert "line 3" in message
    assert "[netwrk]" in message


@pytest.mark.parametrize("text", ["network = 5", "[[network]]\ntimeout = 5", "keys = 'a'", "tabs = []"])
def test_section_that_is_written_as_a_setting_is_named(tmp_path, text):
    section = text.strip("[").split()[0].rstrip("]")
    message = problem(tmp_path, text)
    assert f"line 1: {section} is a section, not a setting. Write [{section}] on a line of its own" in message


def test_setting_outside_of_its_section_is_named(tmp_path):
    message = problem(tmp_path, "max_drafts = 3\n")
    assert "line 1: unknown setting max_drafts. Did you mean pipeline.max_drafts?" in message


def test_home_of_unknown_user_is_refused():
    with pytest.raises(SettingsError, match="There is no home folder ~nobody-of-this-name"):
        get_directories(None, {"COPYDESK_HOME": "~nobody-of-this-name/desk"})


def test_invalid_value_names_line_and_allowed_values(tmp_path):
    message = problem(tmp_path, "[pipeline]\nformats = ['SHORT']\nmax_drafts = -1\n")
    assert "line 3" in message
    assert "takes a whole number of at least 0" in message
    assert "New drafts of one run" in message


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
@pytest.mark.parametrize(("section", "name"), [("writing", "monthly_budget"), ("ranking", "half_life_hours")])
def test_number_that_is_not_finite_is_refused(tmp_path, section, name, value):
    variable = f"COPYDESK_{section}__{name}".upper()
    assert f"{variable} takes a number of " in problem(tmp_path, **{variable: value})
    message = problem(tmp_path, f"[{section}]\n{name} = {value}\n")
    assert f"line 2: {section}.{name} takes a number of " in message


@pytest.mark.parametrize(("section", "name"), [("writing", "monthly_budget"), ("ranking", "half_life_hours")])
def test_large_number_is_accepted(tmp_path, section, name):
    path = write(tmp_path, f"[{section}]\n{name} = 250000\n")
    assert getattr(getattr(load({}, path), section), name) == 250_000
    environ = {f"COPYDESK_{section}__{name}".upper(): "1000000000"}
    assert getattr(getattr(load(environ, path), section), name) == 10**9


@pytest.mark.parametrize("name", ["first_fetch_hours", "max_age_hours"])
def test_age_before_the_calendar_begins_is_refused(tmp_path, name):
    message = problem(tmp_path, f"[pipeline]\n{name} = 100_000_000\n")
    assert f"pipeline.{name} takes a whole number of at most 876000" in message


def test_invalid_regex_is_refused_on_load(tmp_path):
    message = problem(tmp_path, "[pipeline]\nexclude = ['fine', '/(/']\n")
    assert "line 2" in message
    assert "/(/" in message
    assert load({}, write(tmp_path, "[pipeline]\nexclude = ['/\\\\p{L}+/']\n")).pipeline.exclude


def test_expression_nested_too_deeply_is_rejected(tmp_path):
    message = problem(tmp_path, f"[pipeline]\nexclude = ['/{'(' * 3000}{')' * 3000}/']\n")
    assert "is not a valid regular expression: " in message


@pytest.mark.parametrize("language", ["english", "EN", "en-US"])
def test_invalid_language_code_is_refused(tmp_path, language):
    assert "line 2" in problem(tmp_path, f"[pipeline]\nlanguage = '{language}'\n")


def test_dotted_key_names_line(tmp_path):
    assert "line 2" in problem(tmp_path, "\nnetwork.timeout = 'soon'\n")


def test_unknown_format_is_refused(tmp_path):
    assert "line 2" in problem(tmp_path, "[pipeline]\nformats = ['LONG']\n")


def test_invalid_toml_names_line(tmp_path):
    message = problem(tmp_path, "[network\nallow_private = true\n")
    assert "is not TOML" in message
    assert "line 1" in message


def test_binary_file_is_refused(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\x00\xff\xfe\x80")
    with pytest.raises(SettingsError, match="is not UTF-8 text"):
        load({}, tmp_path)


def test_folder_at_file_path_is_refused(tmp_path):
    (tmp_path / "settings.toml").mkdir()
    with pytest.raises(SettingsError, match="Cannot read "):
        load({}, tmp_path)


def test_invalid_variable_is_reported(tmp_path):
    message = problem(tmp_path, COPYDESK_NETWORK__ALLOW_PRIVATE="yes")
    assert "COPYDESK_NETWORK__ALLOW_PRIVATE" in message
    assert "true or false" in message


def test_unknown_variable_is_reported(tmp_path):
    assert "COPYDESK_NETWORK__ALLOW" in problem(tmp_path, COPYDESK_NETWORK__ALLOW="true")


def test_out_of_range_variable_is_reported(tmp_path):
    assert "COPYDESK_NETWORK__TIMEOUT" in problem(tmp_path, COPYDESK_NETWORK__TIMEOUT="0")


def test_secret_in_file_is_refused_and_not_repeated(tmp_path):
    message = problem(tmp_path, "[twitter]\nbearer_token = 'AAAA1234'\n")
    assert "COPYDESK_TWITTER__BEARER_TOKEN" in message
    assert "AAAA1234" not in message


@pytest.mark.parametrize("secret", ["AAAA\n1234", "AAAA 1234\r", "AAAA\u20131234", "AAAA\x7f1234"])
def test_secret_invalid_in_header_is_refused_and_not_repeated(tmp_path, secret):
    """A token copied with a line break or a typographic dash failed every fetch without an explanation."""
    message = problem(tmp_path, COPYDESK_TWITTER__BEARER_TOKEN=secret)
    assert "COPYDESK_TWITTER__BEARER_TOKEN" in message
    assert "1234" not in message


@pytest.mark.parametrize(
    ("text", "environ"), [("[pipeline]\nformats = []\n", {}), ("", {"COPYDESK_PIPELINE__FORMATS": ","})]
)
def test_empty_format_list_is_refused(tmp_path, text, environ):
    """Otherwise each run would silently leave all items waiting."""
    message = problem(tmp_path, text, **environ)
    assert "takes a list of at least 1 item" in message
    assert "SHORT, THREAD, BLOG; at least one" in message


@pytest.mark.parametrize(
    ("url", "shown", "password"),
    [
        ("postgresql://ada:s%2Fcret@db.example:5433/desk", "postgresql://ada@db.example:5433/desk", "s/cret"),
        ("postgresql://ada@/desk?host=/run/pg&password=secret", "postgresql://ada@/desk?host=/run/pg", "secret"),
        ("postgresql:///desk", "postgresql:///desk", ""),
        ("postgres://ada@db.example/desk?sslmode=require", "postgres://ada@db.example/desk?sslmode=require", ""),
    ],
)
def test_password_of_database_is_kept_apart(tmp_path, url, shown, password):
    database = load({"COPYDESK_DATABASE__URL": url}, tmp_path).database
    assert (database.url, database.password) == (shown, password)
    assert not password or password not in repr(database)


def test_password_of_database_in_its_own_variable_counts(tmp_path):
    variables = {"COPYDESK_DATABASE__URL": "postgresql://ada:old@db/desk", "COPYDESK_DATABASE__PASSWORD": "new"}
    assert load(variables, tmp_path).database.password == "new"


def test_password_of_database_in_file_is_refused_and_not_repeated(tmp_path):
    message = problem(tmp_path, "[database]\nurl = 'postgresql://ada:AAAA1234@db.example/desk'\n")
    assert "line 2" in message
    assert "COPYDESK_DATABASE__PASSWORD" in message
    assert "AAAA1234" not in message


@pytest.mark.parametrize("password", ["AAAA/1234", "AAAA@1234", "AAAA?1234", "AAAA#1234"])
def test_password_that_breaks_the_url_is_not_repeated(tmp_path, password):
    message = problem(tmp_path, COPYDESK_DATABASE__URL=f"postgresql://ada:{password}@db.example/desk")
    assert "%2F" in message
    assert "AAAA" not in message
    assert "1234" not in message


def test_password_of_proxy_is_taken_from_the_environment_only(tmp_path):
    url = "http://ada:AAAA1234@proxy.example:3128"
    assert load({"COPYDESK_NETWORK__PROXY": url}, tmp_path).network.proxy == url
    message = problem(tmp_path, f"[network]\nproxy = '{url}'\n")
    assert "line 2: network.proxy contains a password, which cannot be set in a file." in message
    assert "COPYDESK_NETWORK__PROXY" in message
    assert "AAAA" not in message


def test_user_of_proxy_without_password_may_be_in_the_file(tmp_path):
    (tmp_path / "settings.toml").write_text("[network]\nproxy = 'http://ada@proxy.example:3128'\n")
    assert load({}, tmp_path).network.proxy == "http://ada@proxy.example:3128"


@pytest.mark.parametrize("address", ["proxy:port", "proxy:99999", "proxy:0", "[::1", ":3128"])
def test_proxy_that_cannot_be_connected_to_is_refused(tmp_path, address):
    message = "network.proxy needs a host, and a port from 1 to 65535 if there is one."
    assert f"line 2: {message}" in problem(tmp_path, f"[network]\nproxy = 'http://{address}'\n")
    message = problem(tmp_path, COPYDESK_NETWORK__PROXY=f"http://ada:AAAA1234@{address}")
    assert message.startswith("COPYDESK_NETWORK__PROXY needs a host")
    assert "AAAA" not in message


@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1", "proxy.example"])
@pytest.mark.parametrize("port", ["", ":1", ":65535", ":3128/"])
def test_proxy_with_and_without_port_is_accepted(tmp_path, host, port):
    url = f"http://ada:pass@word@{host}{port}"
    assert load({"COPYDESK_NETWORK__PROXY": url}, tmp_path).network.proxy == url


@pytest.mark.parametrize(
    ("variable", "value"), [("COPYDESK_PIPELINE__INCLUDE", "/(/"), ("COPYDESK_CONSOLE__COLUMNS", "state,state")]
)
def test_invalid_list_in_environment_names_the_variable(tmp_path, variable, value):
    message = problem(tmp_path, **{variable: value})
    assert message.startswith(f"{variable} contains {value.partition(',')[0]}")
    assert "settings.toml" not in message


def test_url_of_another_database_is_refused(tmp_path):
    assert "database.url" in problem(tmp_path, "[database]\nurl = 'mysql://db.example/desk'\n")


def test_repr_hides_secret(tmp_path):
    settings = load({"COPYDESK_TWITTER__BEARER_TOKEN": "AAAA1234"}, tmp_path)
    assert settings.twitter.bearer_token == "AAAA1234"
    assert isinstance(settings.twitter.bearer_token, Secret)
    assert "AAAA1234" not in repr(settings)


def test_settings_are_all_documented():
    fields = {(title, name) for title, kind in SECTIONS.items() for name in kind.__struct_fields__}
    assert set(setting_descriptions()) == fields


def test_prices_are_read_by_model(tmp_path):
    write(tmp_path, '[prices]\n"gpt-5.2" = [1.75, 14]\nclaude-x.1 = [3, 15, 0.3]\n')
    assert load({}, tmp_path).prices == {"gpt-5.2": (1.75, 14), "claude-x.1": (3, 15, 0.3)}


@pytest.mark.parametrize(
    "price", ["5", "[5]", "[1, 2, 3, 4]", "[-1, 2]", '["1", 2]', "[true, 2]", "[nan, 1]", "[inf, 1]"]
)
def test_invalid_price_names_line_and_form(tmp_path, price):
    message = problem(tmp_path, f'[network]\ntimeout = 5\n[prices]\n"gpt-5.2" = {price}\n')
    assert "line 4: the price of gpt-5.2 is not valid" in message
    assert '"model" = [input, output]' in message
