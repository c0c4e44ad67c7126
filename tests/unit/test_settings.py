"""The settings file, the environment over it, and what is said of a mistake."""

from pathlib import Path

import pytest

from copydesk.errors import SettingsError
from copydesk.settings import SECTIONS, Secret, documentation, homes, load


def write(home: Path, text: str) -> Path:
    (home / "settings.toml").write_text(text, encoding="utf-8")
    return home


def problem(home: Path, text: str = "", **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(environ, write(home, text))
    return str(caught.value)


def test_without_a_file_everything_is_at_its_default(tmp_path):
    settings = load({}, tmp_path)
    assert settings.pipeline.max_drafts == 10
    assert settings.pipeline.first_fetch_hours == 48
    assert not settings.network.allow_private


def test_the_file_is_read(tmp_path):
    settings = load({}, write(tmp_path, '[pipeline]\nmax_drafts = 3\ninclude = ["sqlite", "/v\\\\d+/"]\n'))
    assert settings.pipeline.max_drafts == 3
    assert settings.pipeline.include == ("sqlite", r"/v\d+/")


def test_the_environment_goes_over_the_file(tmp_path):
    write(tmp_path, "[network]\nallow_private = false\ntimeout = 5.0\n")
    settings = load({"COPYDESK_NETWORK__ALLOW_PRIVATE": "true"}, tmp_path)
    assert settings.network.allow_private
    assert settings.network.timeout == 5.0


def test_a_list_in_the_environment_has_commas(tmp_path):
    settings = load({"COPYDESK_RANKING__INTERESTS": "sqlite, terminal ui ,"}, tmp_path)
    assert settings.ranking.interests == ("sqlite", "terminal ui")


def test_a_byte_order_mark_does_no_harm(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\xef\xbb\xbf[pipeline]\nmax_drafts = 1\n")
    assert load({}, tmp_path).pipeline.max_drafts == 1


def test_home_is_the_flag_then_the_environment_then_the_platform(tmp_path):
    assert homes(tmp_path, {"COPYDESK_HOME": "/elsewhere"}) == (tmp_path, tmp_path)
    assert homes(None, {"COPYDESK_HOME": str(tmp_path)}) == (tmp_path, tmp_path)
    config, data = homes(None, {})
    assert config.name == data.name == "copydesk"


def test_an_unknown_setting_names_its_line_and_what_was_meant(tmp_path):
    said = problem(tmp_path, "# mine\n[network]\nallow_privat = true\n")
    assert "line 3" in said
    assert "Did you mean network.allow_private?" in said


def test_an_unknown_section_names_its_line(tmp_path):
    said = problem(tmp_path, "\n\n[netwrk]\ntimeout = 3\n")
    assert "line 3" in said
    assert "[netwrk]" in said


def test_a_wrong_value_names_its_line_and_what_would_be_right(tmp_path):
    said = problem(tmp_path, "[pipeline]\nformats = ['SHORT']\nmax_drafts = -1\n")
    assert "line 3" in said
    assert ">= 0" in said
    assert "New drafts of one run" in said


def test_an_expression_that_is_none_is_refused_at_the_start(tmp_path):
    said = problem(tmp_path, "[pipeline]\nexclude = ['fine', '/(/']\n")
    assert "line 2" in said
    assert "/(/" in said
    assert load({}, write(tmp_path, "[pipeline]\nexclude = ['/\\\\p{L}+/']\n")).pipeline.exclude


@pytest.mark.parametrize("wrong", ["english", "EN", "en-US"])
def test_a_language_that_is_no_code_is_refused_at_the_start(tmp_path, wrong):
    assert "line 2" in problem(tmp_path, f"[pipeline]\nlanguage = '{wrong}'\n")


def test_a_dotted_key_is_found_too(tmp_path):
    assert "line 2" in problem(tmp_path, "\nnetwork.timeout = 'soon'\n")


def test_an_unknown_format_is_refused(tmp_path):
    assert "line 2" in problem(tmp_path, "[pipeline]\nformats = ['LONG']\n")


def test_a_file_that_is_no_toml_says_where(tmp_path):
    said = problem(tmp_path, "[network\nallow_private = true\n")
    assert "is not TOML" in said
    assert "line 1" in said


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\x00\xff\xfe\x80")
    with pytest.raises(SettingsError, match="is not TOML"):
        load({}, tmp_path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    (tmp_path / "settings.toml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load({}, tmp_path)


def test_a_wrong_variable_is_named(tmp_path):
    said = problem(tmp_path, COPYDESK_NETWORK__ALLOW_PRIVATE="yes")
    assert "COPYDESK_NETWORK__ALLOW_PRIVATE" in said
    assert "true or false" in said


def test_an_unknown_variable_is_named(tmp_path):
    assert "COPYDESK_NETWORK__ALLOW" in problem(tmp_path, COPYDESK_NETWORK__ALLOW="true")


def test_a_variable_out_of_bounds_is_named(tmp_path):
    assert "COPYDESK_NETWORK__TIMEOUT" in problem(tmp_path, COPYDESK_NETWORK__TIMEOUT="0")


def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path):
    said = problem(tmp_path, "[twitter]\nbearer_token = 'AAAA1234'\n")
    assert "COPYDESK_TWITTER__BEARER_TOKEN" in said
    assert "AAAA1234" not in said


@pytest.mark.parametrize("secret", ["AAAA\n1234", "AAAA 1234\r", "AAAA\u20131234", "AAAA\x7f1234"])
def test_a_secret_that_fits_in_no_header_is_refused_and_not_repeated(tmp_path, secret):
    """One copied with a line's end or a typographer's dash failed every fetch, and nothing said why."""
    said = problem(tmp_path, COPYDESK_TWITTER__BEARER_TOKEN=secret)
    assert "COPYDESK_TWITTER__BEARER_TOKEN" in said
    assert "1234" not in said


@pytest.mark.parametrize(
    ("text", "environ"), [("[pipeline]\nformats = []\n", {}), ("", {"COPYDESK_PIPELINE__FORMATS": ","})]
)
def test_a_pipeline_that_drafts_nothing_is_refused(tmp_path, text, environ):
    """Every run left all items waiting, without a word."""
    said = problem(tmp_path, text, **environ)
    assert "length >= 1" in said
    assert "SHORT, THREAD, BLOG; at least one" in said


def test_a_secret_does_not_show_itself(tmp_path):
    settings = load({"COPYDESK_TWITTER__BEARER_TOKEN": "AAAA1234"}, tmp_path)
    assert settings.twitter.bearer_token == "AAAA1234"
    assert isinstance(settings.twitter.bearer_token, Secret)
    assert "AAAA1234" not in repr(settings)


def test_every_setting_is_documented():
    fields = {(title, name) for title, kind in SECTIONS.items() for name in kind.__struct_fields__}
    assert set(documentation()) == fields
