"""Pictures on the command line: from files and from the web, with what they show."""

import json

from command_line import assert_one_line, call_here
from desk_fixtures import rows
from some_pictures import drawing, moving

WEB = "https://pictures.example/a.png"


def file(folder, content, name="quay.png"):
    path = folder / name
    path.write_bytes(content)
    return str(path)


def made(home, *args):
    said = call_here(home, "draft", "new", "The harbour opens.", *args, "--json")
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
    assert "more --alt than --image" in said.err
