"""Print metrics of the code base beside their targets: `code_metrics.py`; exit with 1 if one is missed.

They guard what linters do not see: names outside the field's vocabulary, docstrings that do not say what is returned,
modules that are only a slice of their single importer, import cycles, long inheritance chains.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"

_UNUSUAL_WORDS = """
    alike anew anyway apart ask asked asking asks begin begun beside did doing done each ended ending errand every
    figures forth glance glanced gone ground happened heed hurries keeping kept known lane lanes lately lets likest
    little look looked looking looks made meant meanwhile mine moment named nobody others parting place places rests
    said saying says seek seen shown somebody somewhere standing steady tells telling there told trouble turn turns
    unread wanted way ways whereabouts whose wish wishes words worked written wrong again
"""
UNUSUAL_WORDS = frozenset(_UNUSUAL_WORDS.split())
"""Words that well-known Python projects hardly use in identifiers (1.6 to 1.8 in 1,000)."""
USUAL_IN = {"words": {"text", "ranking", "drafting"}}
"""Packages in which such a word is the field's own: a text does consist of words."""
RIDDLES = frozenset({"What", "Whether", "Who", "Where", "How"})
"""First words of docstrings that describe a value as a question instead of saying what is returned."""


class Metric(NamedTuple):
    """A measured value and the range it has to lie in."""

    name: str
    value: float
    minimum: float = 0
    maximum: float = float("inf")

    @property
    def is_met(self) -> bool:
        """Whether the value lies in its range."""
        return self.minimum <= self.value <= self.maximum


class Module(NamedTuple):
    """A parsed module of the package."""

    name: str
    package: str
    """The top-level package it is in: `store` for `copydesk.store.items`."""
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    """All nodes of the tree; walking it takes longer than parsing it."""


def load_modules() -> list[Module]:
    """Return every module below src."""
    modules = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        modules.append(Module(name, parts[1] if len(parts) > 2 else "", text, tree, tuple(ast.walk(tree))))
    return modules


def identifiers(module: Module) -> Iterator[str]:
    """Yield each name that the module defines: itself, classes, functions, parameters, variables, attributes."""
    yield module.name.rpartition(".")[2]
    for node in module.nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def unusual_words_per_thousand(modules: Iterable[Module]) -> float:
    """Return how many of 1,000 words inside identifiers are in UNUSUAL_WORDS."""
    total = unusual = 0
    for module in modules:
        for name in identifiers(module):
            for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name):
                total += 1
                lower = word.lower()
                unusual += lower in UNUSUAL_WORDS and module.package not in USUAL_IN.get(lower, ())
    return 1000 * unusual / total


def riddling_docstrings(modules: Iterable[Module]) -> int:
    """Count docstrings whose first word is in RIDDLES."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return sum(
        docstring.split()[0] in RIDDLES
        for module in modules
        for node in module.nodes
        if isinstance(node, kinds) and (docstring := ast.get_docstring(node))
    )


def comments_per_hundred_lines(modules: Iterable[Module]) -> float:
    """Return comment lines per 100 lines that are neither blank nor comments."""
    comments = code = 0
    for module in modules:
        for line in module.text.splitlines():
            comments += bool(re.search(r"(^|\s)# (?!noqa|type:)", line))
            code += bool(line.strip()) and not line.lstrip().startswith("#")
    return 100 * comments / code


def imported_modules(module: Module, names: set[str], *, nested: bool = True) -> set[str]:
    """Return the modules of the package that `module` imports; without `nested` only when it is imported itself."""
    found = set()
    for node in module.nodes if nested else module.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in names else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found & names - {module.name}


def single_importer_modules(modules: list[Module], names: set[str]) -> int:
    """Count modules that only one other module of the same package imports, and nothing outside it."""
    importers = defaultdict(set)
    for module in modules:
        for name in imported_modules(module, names):
            importers[name].add(module.name)
    return sum(
        len(importers[name]) == 1 and next(iter(importers[name])).rpartition(".")[0] == name.rpartition(".")[0]
        for name in names
    )


def import_cycles(modules: list[Module], names: set[str]) -> int:
    """Count groups of modules that import each other, imports for types and inside functions included."""
    graph = {module.name: imported_modules(module, names) for module in modules}
    reachable = {name: _reachable(graph, name) for name in graph}
    cycles = {frozenset(other for other in reachable[name] if name in reachable[other]) for name in graph}
    return sum(len(cycle) > 1 for cycle in cycles)


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found, stack = set[str](), [start]
    while stack:
        for name in graph[stack.pop()]:
            if name not in found:
                found.add(name)
                stack.append(name)
    return found


def function_imports(modules: Iterable[Module]) -> int:
    """Count imports of our own modules inside functions: each needs start-up time as its reason."""
    return sum(
        isinstance(node, ast.ImportFrom) and (node.module or "").startswith("copydesk")
        for module in modules
        for function in module.nodes
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    )


def deepest_inheritance(modules: Iterable[Module]) -> int:
    """Return the longest chain of our own classes, errors and messages not counted."""
    bases: dict[str, list[str]] = {}
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.endswith("Error"):
                unwrapped = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
                bases[node.name] = [base.id for base in unwrapped if isinstance(base, ast.Name)]

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases and base != name), default=0)

    return max(depth(name) for name in bases)


def collect() -> list[Metric]:
    """Return every metric with its target."""
    modules = load_modules()
    names = {module.name for module in modules}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return [
        Metric("unusual words in identifiers, per 1,000", unusual_words_per_thousand(modules), maximum=5),
        Metric("docstrings that begin with What, Whether, Who, Where or How", riddling_docstrings(modules), maximum=19),
        Metric("comments per 100 lines", comments_per_hundred_lines(modules), minimum=3, maximum=8),
        Metric("modules", len(modules)),
        # Relative, as the number of modules grows with what Copydesk does. 39 of 335 was the first target.
        Metric(
            "of 100 modules, those with a single importer in the same package",
            100 * single_importer_modules(modules, names) / len(modules),
            maximum=11.7,
        ),
        Metric("import cycles", import_cycles(modules, names), maximum=0),
        Metric("imports of our own modules inside functions", function_imports(modules)),
        Metric("deepest chain of our own classes", deepest_inheritance(modules), maximum=3),
        Metric("lines of README.md", len(readme.splitlines()), maximum=199),
    ]


def main() -> None:
    """Print the table; exit with 1 if a target is missed."""
    metrics = collect()
    for metric in metrics:
        target = " ".join(
            text
            for text, limit in ((f">= {metric.minimum:g}", metric.minimum), (f"<= {metric.maximum:g}", metric.maximum))
            if limit not in (0, float("inf")) or text == "<= 0"
        )
        print(f"{metric.name:62} {metric.value:8.4g}  {target:14} {'' if metric.is_met else 'MISSED'}")  # noqa: T201
    sys.exit(not all(metric.is_met for metric in metrics))


if __name__ == "__main__":
    main()
