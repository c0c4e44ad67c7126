"""Tests that README.md, CONTRIBUTING.md and docs/ are true: examples run; links, files, names and commands exist."""

import ast
import asyncio
import contextlib
import importlib
import importlib.util
import io
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from copydesk import settings
from copydesk.cli import copydesk
from copydesk.drafting.check_context import CheckContext, Rule
from copydesk.drafting.rules.analyzed_text import AnalyzedText
from copydesk.model.draft import Format
from copydesk.posting.registry import PLATFORMS
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.tui import labels
from copydesk.tui.keymap import apply_custom_keys

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
NOW = datetime(2026, 2, 10, 12, tzinfo=UTC)
PLACEHOLDER = re.compile(r"[A-Z]+\d?")
"""A word that the reader replaces, such as ID or NAME."""


class Block(NamedTuple):
    """A fenced code block."""

    page: Path
    line: int
    language: str
    code: str

    @property
    def where(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in read_blocks(page) if block.language == language]


def read_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield Block(page, text[: match.start()].count("\n") + 1, match[1], match[2])


def prose(page: Path) -> str:
    """Return the page without its code blocks."""
    return re.sub(r"^```\w*\n.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def inline_code(page: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", prose(page))


def expected_output(code: str) -> list[str]:
    """Return the lines that a block says it prints: in a comment after the print, or in comments of their own below."""
    lines = []
    for line in code.splitlines():
        if line.lstrip().startswith("print("):
            _, found, comment = line.rpartition("  # ")
            lines += [comment] if found else []
        elif line.startswith("# "):
            lines.append(line.removeprefix("# "))
    return lines


def library_blocks(*, scripts: bool) -> list[Block]:
    """Return the Python blocks of library.md: whole scripts, or the steps that share one desk."""
    page = ROOT / "docs" / "library.md"
    return [block for block in read_blocks(page) if block.language == "python" and is_script(block) == scripts]


def is_script(block: Block) -> bool:
    return "asyncio.run(" in block.code


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a temporary folder, in which the examples create their desks."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("block", library_blocks(scripts=True), ids=lambda block: block.where)
def test_library_script_prints_what_it_says(block: Block) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block.code, block.where, "exec"), {"__name__": "__main__"})
    assert expected_output(block.code)
    assert output.getvalue().splitlines() == expected_output(block.code)


async def test_library_steps_print_what_they_say(tmp_path: Path) -> None:
    steps = library_blocks(scripts=False)
    assert len(steps) >= 5
    async with open_sample(sample_settings(settings.load({}, tmp_path)), clock=lambda: NOW) as desk:
        namespace: dict[str, object] = {"desk": desk}
        for block in steps:
            output = io.StringIO()
            code = compile(block.code, block.where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            with contextlib.redirect_stdout(output):
                result = eval(code, namespace)
                if asyncio.iscoroutine(result):
                    await result
            assert output.getvalue().splitlines() == expected_output(block.code), block.where


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    for target in targets:
        if target.startswith(("https://", "http://")):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not fragment or fragment in anchors(file), target


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_paths_exist(page: Path) -> None:
    for code in inline_code(page):
        if re.fullmatch(r"(src|tests|docs|styles|screenshots|\.ci)/[\w./-]+", code):
            assert (ROOT / code).exists(), code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_modules_and_attributes_exist(page: Path) -> None:
    for code in inline_code(page):
        if re.fullmatch(r"copydesk(\.\w+)+", code):
            resolve(code)


def resolve(name: str) -> object:
    """Return the module or attribute with this dotted name."""
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        raise AssertionError(name)
    module, attributes = name, list[str]()
    while True:
        try:
            found: object = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, attribute = module.rpartition(".")
            assert module, name
            attributes.insert(0, attribute)
        else:
            for attribute in attributes:
                found = getattr(found, attribute)
            return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_symbols_are_defined_in_their_files(page: Path) -> None:
    """`NAME` in `src/…`: the architecture page and the recipes point to places this way."""
    for symbol, path in re.findall(r"`(\w+)`\s+in\s+\[?`(src/[\w./]+\.py)`", prose(page)):
        assert symbol in defined_names(path), f"{symbol} in {path}"


def defined_names(path: str) -> set[str]:
    """Return the names of functions, classes, methods and variables that a file defines."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
    return names


def test_guides_point_to_symbols() -> None:
    """The test above finds nothing to check if the pages are worded differently."""
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"):
        assert len(re.findall(r"`(\w+)`\s+in\s+\[?`(src/[\w./]+\.py)`", prose(page))) >= 4


def command_lines() -> list[tuple[str, str]]:
    """Return (place, command line) of every `copydesk …` in code blocks and inline code."""
    lines = []
    for page in PAGES:
        fenced = [line for block in read_blocks(page) if not block.language for line in block.code.splitlines()]
        for line in [*fenced, *inline_code(page)]:
            command = line.split(" #")[0].strip()
            if re.match(r"copydesk( |$)", command) and "[" not in command:
                lines.append((page.name, command))
    return lines


@pytest.mark.parametrize(("page", "line"), command_lines(), ids=lambda value: value)
def test_command_exists(page: str, line: str) -> None:
    words = iter(shlex.split(line)[1:])
    command: click.Command = copydesk
    options = option_names(command)
    for word in words:
        if word.startswith("-"):
            assert word.partition("=")[0] in options, word
            if isinstance(command, click.Group) and takes_value(command, word):
                next(words, None)
        elif isinstance(command, click.Group) and not PLACEHOLDER.fullmatch(word):
            found = command.get_command(click.Context(command), word)
            assert found, word
            command = found
            options = options | option_names(command)


def takes_value(command: click.Command, name: str) -> bool:
    """Return True if the word after the option is its value, not a command."""
    return any(
        name in option.opts and not option.is_flag for option in command.params if isinstance(option, click.Option)
    )


def option_names(command: click.Command) -> set[str]:
    # The command caches its help option, so the context needs the console's names for it.
    parameters = command.get_params(click.Context(command, help_option_names=["-h", "--help"]))
    return {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}


@cache
def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_named_make_targets_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", text, re.MULTILINE)
    assert {name for pair in targets for name in pair if name} <= make_targets()


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: block.where)
def test_settings_example_loads(block: Block, tmp_path: Path) -> None:
    (tmp_path / settings.FILE_NAME).write_text(block.code, encoding="utf-8")
    loaded = settings.load({}, tmp_path)
    assert loaded != settings.load({}, tmp_path / "without")
    apply_custom_keys(loaded.keys, loaded.settings_file)


def test_check_recipe_makes_a_rule() -> None:
    """The rule that CONTRIBUTING.md adds as its example finds what it says it finds."""
    (block,) = [block for block in read_blocks(ROOT / "CONTRIBUTING.md") if block.language == "python"]
    namespace: dict[str, tuple[Rule, ...]] = {}
    exec(compile(block.code, block.where, "exec"), namespace)
    (rule,) = namespace["RULES"]
    context = CheckContext(format=Format.SHORT)
    assert rule.applies(context)
    assert len(list(rule.check(AnalyzedText("THIS IS LOUD.", Format.SHORT), context))) == 1
    assert list(rule.check(AnalyzedText("NASA is not.", Format.SHORT), context)) == []


def test_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200


def test_each_page_is_linked_from_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").iterdir() if f"(docs/{page.name})" not in readme] == []


@pytest.mark.parametrize("part", ["commands", "options", "keys", "settings", "interface", "benchmarks"])
def test_generated_part_has_its_place(part: str) -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    pattern = re.compile(f"<!-- {part} -->(.*)<!-- /{part} -->", re.DOTALL)
    (found,) = [match[1] for text in texts for match in pattern.finditer(text)]
    assert found.count("\n|") >= 10


def test_readme_and_console_name_every_platform():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    posts = readme[readme.index("- **Posts** to") :].partition("\n- ")[0].casefold()
    for info in PLATFORMS.values():
        assert info.label.casefold() in posts
        assert info.label in labels.connect_hint()
