"""Tests for images of drafts: files, URLs and generated images."""

import base64
import json
from datetime import UTC, datetime

import httpx
import pytest

from cli_runner import assert_one_line_error, run_in_process
from copydesk.desk.drafts.service import Drafts
from copydesk.errors import StoreBusyError
from copydesk.network.transport import GuardedTransport
from desk_fixtures import entry, feed, query_db
from feed_server import FeedServer
from image_samples import animation, drawing

IMAGE_URL = "https://pictures.example/a.png"
PROVIDER_SETTINGS = {
    "copydesk_images_a__base_url": "https://a.example", "copydesk_images_a__model": "painter",
    "copydesk_images_b__base_url": "https://b.example", "copydesk_images_b__model": "brush",
}  # fmt: skip


def write_image(folder, content, name="quay.png"):
    path = folder / name
    path.write_bytes(content)
    return str(path)


def create_images(home, *args, **env):
    result = run_in_process(home, "draft", "new", "The harbour opens.", *args, "--json", **env)
    assert result.code == 0, result
    return json.loads(result.out)["drafts"][0]["images"]


def test_images_from_files_and_urls(tmp_path):
    path = write_image(tmp_path, drawing())
    uploaded, remote = create_images(tmp_path, "--image", path, "--image", IMAGE_URL, "--alt", "The quay at noon")

    assert uploaded["url"].startswith("copydesk:picture/")
    assert (tmp_path / "pictures" / uploaded["url"].rpartition("/")[2]).read_bytes() == drawing()
    assert (remote["url"], remote["alt"], remote["source"]) == (IMAGE_URL, None, "UPLOAD")
    assert (uploaded["alt"], uploaded["source"], uploaded["position"]) == ("The quay at noon", "UPLOAD", 0)


def test_local_path_is_not_stored(tmp_path):
    create_images(tmp_path, "--image", write_image(tmp_path, drawing(), "secret-name.png"))

    assert all(b"secret-name" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_stored_image_can_be_reused(tmp_path):
    (first,) = create_images(tmp_path, "--image", write_image(tmp_path, drawing()))
    (second,) = create_images(tmp_path, "--image", first["url"])

    assert second["url"] == first["url"]


def test_tilde_is_expanded(tmp_path, monkeypatch):
    write_image(tmp_path, drawing())
    monkeypatch.setenv("HOME", str(tmp_path))

    assert len(create_images(tmp_path, "--image=~/quay.png")) == 1


def test_unusable_file_creates_no_draft(tmp_path):
    for path in (
        write_image(tmp_path, b"<html>", "page.png"),
        write_image(tmp_path, animation(), "moving.gif"),
        "nowhere.png",
    ):
        result = run_in_process(tmp_path, "draft", "new", "The harbour opens.", "--image", path)
        assert_one_line_error(result, 1)
        assert path in result.err
    assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(0,)]


def test_more_alts_than_images_is_usage_error(tmp_path):
    result = run_in_process(
        tmp_path, "draft", "new", "The harbour opens.", "--image", IMAGE_URL, "--alt", "a", "--alt", "b"
    )

    assert result.code == 2
    assert "More --alt options than images" in result.err


def test_missing_alt_text_is_reported(tmp_path):
    for args, message in (
        (("--image", IMAGE_URL), "Image 1 has no alt text"),
        (
            ("--image", IMAGE_URL, "--image", IMAGE_URL, "--image", IMAGE_URL, "--alt", "A quay"),
            "Images 2, 3 have no alt text",
        ),
        (("--image", IMAGE_URL, "--alt", "A quay"), ""),
        ((), ""),
    ):
        result = run_in_process(tmp_path, "draft", "new", "The harbour opens.", *args)
        assert result.code == 0
        assert result.err.startswith(message)
        assert bool(message) == ("copydesk draft describe ID TEXT" in result.err)


def test_show_lists_images_and_missing_alt(tmp_path):
    args = ("--image", IMAGE_URL, "--image", f"{IMAGE_URL}?2", "--alt", "A quay")
    result = run_in_process(tmp_path, "draft", "new", "The harbour opens.", *args)
    output = run_in_process(tmp_path, "draft", "show", result.out.split()[1]).out

    assert f"image  {IMAGE_URL} A quay\n" in output
    assert f"image  {IMAGE_URL}?2 (no alt text)\n" in output


class TestGeneratedImages:
    @pytest.fixture
    def generator(self, monkeypatch):
        """A fake image generator in place of the network; the list of its requests as (URL, prompt)."""
        requests = []
        body = json.dumps({"data": [{"b64_json": base64.b64encode(drawing()).decode()}]}).encode()

        async def handle(_, request):
            requests.append((str(request.url), json.loads(request.content)["prompt"]))
            return httpx.Response(200, stream=httpx.ByteStream(body))

        monkeypatch.setattr(GuardedTransport, "handle_async_request", handle)
        return requests

    def test_generated_image_comes_last(self, tmp_path, generator):
        remote, generated = create_images(
            tmp_path,
            "--ai-image",
            "A crane at dawn",
            "--image",
            IMAGE_URL,
            "--alt",
            "A quay",
            "--alt",
            "A crane",
            **PROVIDER_SETTINGS,
        )

        assert (remote["url"], remote["alt"], remote["source"]) == (IMAGE_URL, "A quay", "UPLOAD")
        assert (generated["alt"], generated["source"], generated["position"]) == ("A crane", "AI_PROVIDER_A", 1)
        assert (tmp_path / "pictures" / generated["url"].rpartition("/")[2]).read_bytes() == drawing()
        assert generator == [("https://a.example/images/generations", "A crane at dawn")]

    def test_provider_option_selects_provider(self, tmp_path, generator):
        (image,) = create_images(tmp_path, "--ai-image", "A crane", "--provider", "b", **PROVIDER_SETTINGS)

        assert (image["source"], image["alt"]) == ("AI_PROVIDER_B", None)
        assert generator == [("https://b.example/images/generations", "A crane")]

    def test_invalid_options_are_refused_before_generation(self, tmp_path, generator):
        for options, message in (
            (("--image", "nowhere.png"), "nowhere.png"),
            (("--tag", "x" * 60), "--tag takes 1 to 50"),
            (("--alt", "x" * 3_000), "Error: --alt takes at most 2,000"),
        ):
            result = run_in_process(
                tmp_path, "draft", "new", "The harbour opens.", "--ai-image", "A crane", *options, **PROVIDER_SETTINGS
            )
            assert result.code != 0
            assert message in result.err
        assert generator == []
        assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(0,)]

    def test_unconfigured_provider_names_settings(self, tmp_path, generator):
        result = run_in_process(
            tmp_path, "draft", "new", "The harbour opens.", "--ai-image", "A crane", "--provider", "b"
        )

        assert_one_line_error(result, 1)
        assert "images_b.base_url is not set" in result.err
        assert "COPYDESK_IMAGES_B__KEY" in result.err
        assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(0,)]

    def test_generated_image_survives_failed_draft(self, tmp_path, generator, monkeypatch):
        async def fail(*_):
            raise StoreBusyError("The database is busy.")

        monkeypatch.setattr(Drafts, "create", fail)
        result = run_in_process(
            tmp_path, "draft", "new", "The harbour opens.", "--ai-image", "A crane", **PROVIDER_SETTINGS
        )
        (stored,) = (tmp_path / "pictures").iterdir()

        assert result.code == 1
        assert f"--image copydesk:picture/{stored.name}" in result.err

    def test_provider_without_prompt_is_usage_error(self, tmp_path):
        result = run_in_process(tmp_path, "draft", "new", "The harbour opens.", "--provider", "a")

        assert result.code == 2
        assert "--provider needs --ai-image" in result.err


def test_proposed_image_is_attached(tmp_path):
    with FeedServer() as server:
        picture = "https://pictures.example/GettyImages-1.jpg"
        enclosure = f'<enclosure url="{picture}" type="image/jpeg"/></item>'
        body = feed(entry(1, now=datetime.now(UTC))).decode().replace("</item>", enclosure)
        server.serve("/feed", body.encode())
        run_in_process(tmp_path, "source", "add", "rss", server.url("/feed"))
        run_in_process(tmp_path, "run", "start", "--max-drafts", "1")
    (draft,) = json.loads(run_in_process(tmp_path, "draft", "list", "--json").out)["drafts"]
    assert f"proposed image  {picture}" in run_in_process(tmp_path, "draft", "show", draft["id"]).out

    result = run_in_process(tmp_path, "draft", "attach", draft["id"], "--alt", "A ferry")
    assert (result.code, result.out) == (0, f"Attached image 1 to {draft['id'][-6:]}.\n")
    assert result.err == "The image seems to be from Getty Images: posting it may need a licence.\n"
    shown = run_in_process(tmp_path, "draft", "show", draft["id"]).out
    assert f"image  {picture} A ferry (from Getty Images: may need a licence)" in shown

    assert_one_line_error(run_in_process(tmp_path, "draft", "attach", draft["id"]), 2)
