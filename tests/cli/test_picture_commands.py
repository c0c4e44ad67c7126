"""Pictures on the command line: from files and from the web, with what they show."""

import base64
import json

import httpx
import pytest

from command_line import assert_one_line, call_here
from copydesk.desk.drafts import Drafts
from copydesk.errors import StoreBusyError
from copydesk.network.transport import GuardedTransport
from desk_fixtures import rows
from some_pictures import drawing, moving

WEB = "https://pictures.example/a.png"
SET = {
    "copydesk_images_a__base_url": "https://a.example", "copydesk_images_a__model": "painter",
    "copydesk_images_b__base_url": "https://b.example", "copydesk_images_b__model": "brush",
}  # fmt: skip


def file(folder, content, name="quay.png"):
    path = folder / name
    path.write_bytes(content)
    return str(path)


def made(home, *args, **named):
    said = call_here(home, "draft", "new", "The harbour opens.", *args, "--json", **named)
    assert said.code == 0, said
    return json.loads(said.out)["drafts"][0]["images"]


def test_files_and_addresses_go_with_a_draft_with_what_they_show(tmp_path):
    path = file(tmp_path, drawing())
    one, two = made(tmp_path, "--image", path, "--image", WEB, "--alt", "The quay at noon")

    assert one["url"].startswith("copydesk:picture/")
    assert (tmp_path / "pictures" / one["url"].rpartition("/")[2]).read_bytes() == drawing()
    assert (two["url"], two["alt"], two["source"]) == (WEB, None, "UPLOAD")
    assert (one["alt"], one["source"], one["position"]) == ("The quay at noon", "UPLOAD", 0)


def test_no_path_of_this_machine_is_kept(tmp_path):
    made(tmp_path, "--image", file(tmp_path, drawing(), "secret-name.png"))

    assert all(b"secret-name" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_kept_picture_goes_with_another_draft(tmp_path):
    (first,) = made(tmp_path, "--image", file(tmp_path, drawing()))
    (again,) = made(tmp_path, "--image", first["url"])

    assert again["url"] == first["url"]


def test_home_is_known(tmp_path, monkeypatch):
    file(tmp_path, drawing())
    monkeypatch.setenv("HOME", str(tmp_path))

    assert len(made(tmp_path, "--image=~/quay.png")) == 1


def test_a_file_that_cannot_be_posted_is_said_and_no_draft_is_made(tmp_path):
    for path in (file(tmp_path, b"<html>", "page.png"), file(tmp_path, moving(), "moving.gif"), "nowhere.png"):
        said = call_here(tmp_path, "draft", "new", "The harbour opens.", "--image", path)
        assert_one_line(said, 1)
        assert path in said.err
    assert rows(tmp_path, "SELECT count(*) FROM draft") == [(0,)]


def test_a_description_needs_its_picture(tmp_path):
    said = call_here(tmp_path, "draft", "new", "The harbour opens.", "--image", WEB, "--alt", "a", "--alt", "b")

    assert said.code == 2
    assert "more --alt than pictures" in said.err


def test_a_description_that_is_missing_is_asked_for_and_nothing_is_blocked(tmp_path):
    for args, asked in (
        (("--image", WEB), "Picture 1 has no description"),
        (("--image", WEB, "--image", WEB, "--image", WEB, "--alt", "A quay"), "Pictures 2, 3 have no description"),
        (("--image", WEB, "--alt", "A quay"), ""),
        ((), ""),
    ):
        said = call_here(tmp_path, "draft", "new", "The harbour opens.", *args)
        assert said.code == 0
        assert said.err.startswith(asked)
        assert bool(asked) == ("copydesk draft describe ID TEXT" in said.err)


def test_a_draft_is_shown_with_what_its_pictures_lack(tmp_path):
    args = ("--image", WEB, "--image", f"{WEB}?2", "--alt", "A quay")
    said = call_here(tmp_path, "draft", "new", "The harbour opens.", *args)
    shown = call_here(tmp_path, "draft", "show", said.out.split()[0]).out

    assert f"picture  {WEB} A quay\n" in shown
    assert f"picture  {WEB}?2 (no description)\n" in shown


class TestMadeOnRequest:
    @pytest.fixture
    def generator(self, monkeypatch):
        """An image generator in the place of the network; what was asked of it."""
        asked = []
        answer = json.dumps({"data": [{"b64_json": base64.b64encode(drawing()).decode()}]}).encode()

        async def handle(_, request):
            asked.append((str(request.url), json.loads(request.content)["prompt"]))
            return httpx.Response(200, stream=httpx.ByteStream(answer))

        monkeypatch.setattr(GuardedTransport, "handle_async_request", handle)
        return asked

    def test_a_picture_is_made_of_a_prompt_and_comes_after_the_others(self, tmp_path, generator):
        one, two = made(
            tmp_path, "--ai-image", "A crane at dawn", "--image", WEB, "--alt", "A quay", "--alt", "A crane", **SET
        )

        assert (one["url"], one["alt"], one["source"]) == (WEB, "A quay", "UPLOAD")
        assert (two["alt"], two["source"], two["position"]) == ("A crane", "AI_PROVIDER_A", 1)
        assert (tmp_path / "pictures" / two["url"].rpartition("/")[2]).read_bytes() == drawing()
        assert generator == [("https://a.example/images/generations", "A crane at dawn")]

    def test_the_other_provider_is_asked_where_it_is_named(self, tmp_path, generator):
        (one,) = made(tmp_path, "--ai-image", "A crane", "--provider", "b", **SET)

        assert (one["source"], one["alt"]) == ("AI_PROVIDER_B", None)
        assert generator == [("https://b.example/images/generations", "A crane")]

    def test_what_is_wrong_is_said_before_anything_is_paid_for(self, tmp_path, generator):
        for wrong, says in (
            (("--image", "nowhere.png"), "nowhere.png"),
            (("--tag", "x" * 60), "tags[0]"),
            (("--alt", "x" * 3_000), "images[0].alt"),
        ):
            said = call_here(tmp_path, "draft", "new", "The harbour opens.", "--ai-image", "A crane", *wrong, **SET)
            assert said.code != 0
            assert says in said.err
        assert generator == []
        assert rows(tmp_path, "SELECT count(*) FROM draft") == [(0,)]

    def test_without_a_generator_it_is_said_what_to_set(self, tmp_path, generator):
        said = call_here(tmp_path, "draft", "new", "The harbour opens.", "--ai-image", "A crane", "--provider", "b")

        assert_one_line(said, 1)
        assert "images_b.base_url is not set" in said.err
        assert "COPYDESK_IMAGES_B__KEY" in said.err
        assert rows(tmp_path, "SELECT count(*) FROM draft") == [(0,)]

    def test_what_was_paid_for_is_not_lost_with_the_draft(self, tmp_path, generator, monkeypatch):
        async def fail(*_):
            raise StoreBusyError("The database is busy.")

        monkeypatch.setattr(Drafts, "create", fail)
        said = call_here(tmp_path, "draft", "new", "The harbour opens.", "--ai-image", "A crane", **SET)
        (kept,) = (tmp_path / "pictures").iterdir()

        assert said.code == 1
        assert f"--image copydesk:picture/{kept.name}" in said.err

    def test_a_provider_alone_is_wrong_usage(self, tmp_path):
        said = call_here(tmp_path, "draft", "new", "The harbour opens.", "--provider", "a")

        assert said.code == 2
        assert "--provider is for --ai-image" in said.err
