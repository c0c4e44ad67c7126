"""Paths beside the operations: health, metrics, and the description of the interface.

The page at `/docs` has no scripts and needs nothing from the network.
"""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from copydesk.errors import CopydeskError
from copydesk.http import errors
from copydesk.http.metrics import MEDIA_TYPE as METRICS_TYPE
from copydesk.http.openapi import build_document
from copydesk.http.operations import Operation
from copydesk.http.responses import error_response, json_response

if TYPE_CHECKING:
    from copydesk.http.service import Service

_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
"""Content Security Policy of the page: its own style, nothing else."""
Json = Mapping[str, Any]
STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; padding: 2rem 1rem 6rem; }
h2 { border-bottom: 1px solid var(--line); margin-top: 3rem; padding-bottom: .3rem; }
h3 { margin: 2.2rem 0 .3rem; font-size: 1.05rem; }
h4 { margin: 1rem 0 .2rem; font-size: .85rem; text-transform: uppercase; letter-spacing: .04em; opacity: .7; }
code, pre { font: .875em/1.45 ui-monospace, monospace; }
pre { border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; padding: .7rem .9rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-top: 1px solid var(--line); padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; }
.method { display: inline-block; min-width: 4.2em; font-weight: 700; }
.scope { border: 1px solid var(--line); border-radius: 1em; font-size: .8rem; padding: .05rem .6rem; }
nav { columns: 3 14rem; } nav a { display: block; } a { color: inherit; }
"""

_LIMITS = {
    "format": "{}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "minimum": "from {}",
    "maximum": "to {}",
    "default": "default {}",
}


def meta_routes(service: "Service", operations: Sequence[Operation]) -> list[Route]:
    """Return the routes."""

    # Made when it is first read: most servers start without anybody reading it.
    @cache
    def document() -> dict[str, Any]:
        return build_document(operations)

    async def openapi(_: Request) -> Response:
        return Response(msgspec.json.encode(document()), media_type="application/json")

    async def docs(_: Request) -> Response:
        return HTMLResponse(render_page(document()), headers={"Content-Security-Policy": _PAGE_POLICY})

    # No token and no database: a supervisor restarts the process on failure, which does not repair a database.
    async def health(_: Request) -> Response:
        return json_response({"status": "ok"}, 200)

    async def readiness(_: Request) -> Response:
        return await _or_problem(_check(service))

    async def metrics(request: Request) -> Response:
        return await _or_problem(_read_metrics(service, request))

    return [
        Route("/openapi.json", openapi),
        Route("/docs", docs),
        Route("/healthz", health),
        Route("/readyz", readiness),
        Route("/metrics", metrics),
    ]


async def _check(service: "Service") -> Response:
    if service.stopping.is_set():
        raise errors.shutting_down()
    # Unlike /healthz this reads the database, so that a proxy sends requests elsewhere while it cannot be read.
    await service.desks.check()
    return json_response({"status": "ready"}, 200)


async def _read_metrics(service: "Service", request: Request) -> Response:
    access = await service.authenticate(request.headers.get("authorization", ""))
    if not access.user.is_owner:
        # They count what all users do.
        raise errors.forbidden("Only a token of the owner can read the metrics.")
    text = service.metrics.render(await service.desks.totals(), service.open_streams.total)
    return Response(text, media_type=METRICS_TYPE)


async def _or_problem(response: Awaitable[Response]) -> Response:
    """Return the response, or the problem that is raised instead."""
    try:
        return await response
    except (errors.RefusedError, CopydeskError) as error:
        return error_response(error)


def render_page(document: Json) -> str:
    """Return the page."""
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    tags = [tag["name"] for tag in document["tags"]]
    info = document["info"]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])} API</title>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<style>{STYLE}</style>",
        f"<h1>{escape(info['title'])} API <small>{escape(info['version'])}</small></h1>",
        *(f"<p>{_inline(text)}</p>" for text in info["description"].split("\n\n")),
        "<p>Machine-readable: <a href=openapi.json>openapi.json</a></p><nav>",
        *(
            f"<a href='#{escape(operation['operationId'])}'>{_title(path, method)}</a>"
            for path, method, operation in operations
        ),
        "</nav>",
    ]
    for tag in tags:
        parts.append(f"<h2>{escape(tag)}</h2>")
        for path, method, operation in operations:
            if tag in operation["tags"]:
                parts += _operation(path, method, operation)
    parts += _errors(document)
    parts.append("<h2>Objects</h2>")
    for name, schema in document["components"]["schemas"].items():
        parts += [
            f"<h3 id='schema-{escape(name)}'>{escape(name)}</h3>",
            f"<p>{_inline(schema.get('description', ''))}</p>",
        ]
        parts += _properties(schema)
    return "\n".join(parts)


def _title(path: str, method: str) -> str:
    return f"<code><span class=method>{method.upper()}</span> {escape(path)}</code>"


def _operation(path: str, method: str, operation: Json) -> Iterator[str]:
    yield f"<h3 id='{escape(operation['operationId'])}'>{_title(path, method)}"
    yield f" <span class=scope>{escape(operation['x-scope'])}</span></h3>"
    yield f"<p>{_inline(operation['summary'])}</p>"
    for paragraph in operation["description"].split("\n\n"):
        yield f"<p>{_inline(paragraph)}</p>"
    if operation["parameters"]:
        yield "<h4>Parameters</h4><table>"
        for parameter in operation["parameters"]:
            required = "required" if parameter["required"] else ""
            yield (
                f"<tr><td><code>{escape(parameter['name'])}</code><td>{parameter['in']} {required}"
                f"<td>{_type(parameter['schema'])}<td>{_inline(parameter.get('description', ''))}"
            )
        yield "</table>"
    if body := operation.get("requestBody"):
        content = body["content"]
        for media_type, media in content.items():
            yield f"<h4>Body ({escape(media_type)}{'' if body['required'] else ', optional'})</h4>"
            yield f"<p>{_type(media['schema'])}</p>"
            if "example" in media:
                yield f"<pre>{escape(_pretty(media['example']))}</pre>"
    responses = operation["responses"]
    problems = [status for status, response in responses.items() if "$ref" in response]
    for status in responses.keys() - problems:
        yield from _success(status, responses[status])
    links = (f"<a href='#error-{status}'>{status}</a>" for status in problems)
    yield f"<p>Errors: {' '.join(links)}</p>"


def _success(status: str, response: Json) -> Iterator[str]:
    for media in response["content"].values():
        yield f"<h4>Response</h4><p>{status} {escape(response['description'])}: {_type(media.get('schema', {}))}</p>"
        for name, example in media.get("examples", {}).items():
            yield _example(example["value"], f"Example: {name}")


def _example(value: object, title: str = "Example") -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(_pretty(value))}</pre></details>"


def _errors(document: Json) -> Iterator[str]:
    yield "<h2>Errors</h2><table>"
    for name, response in document["components"]["responses"].items():
        status = name.removeprefix("Problem")
        (media,) = response["content"].values()
        yield f"<tr id='error-{status}'><td>{status}<td>{_inline(response['description'])}{_example(media['example'])}"
    yield "</table><h2>Headers of responses</h2><table>"
    for name, header in document["components"]["headers"].items():
        example = f"<code>{escape(header['example'])}</code>"
        yield f"<tr><td><code>{escape(name)}</code><td>{_inline(header['description'])}<td>{example}"
    yield "</table>"


def _properties(schema: Json) -> Iterator[str]:
    if "enum" in schema:
        yield f"<p>{', '.join(f'<code>{escape(str(value))}</code>' for value in schema['enum'])}</p>"
    if not (properties := schema.get("properties")):
        return
    required = set(schema.get("required", ()))
    yield "<table>"
    for name, property_schema in properties.items():
        text = _inline(property_schema.get("description", ""))
        yield (
            f"<tr><td><code>{escape(name)}</code><td>{'required' if name in required else ''}"
            f"<td>{_type(property_schema)}<td>{text}"
        )
    yield "</table>"


def _type(schema: Json) -> str:
    """Return a schema's type with its limits, in one line."""
    if reference := schema.get("$ref"):
        name = str(reference).rpartition("/")[2]
        return f"<a href='#schema-{escape(name)}'>{escape(name)}</a>"
    if members := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(member) for member in members)
    kind = schema.get("type", "any")
    name = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if kind == "array":
        name = f"array of {_type(schema.get('items', {}))}"
    if values := schema.get("enum"):
        name = " or ".join(f"<code>{escape(str(value))}</code>" for value in values)
    limits = [
        template.format(f"{schema[key]:,}" if type(schema[key]) is int else escape(str(schema[key])))
        for key, template in _LIMITS.items()
        # Most texts must not be empty; saying so everywhere hides the limits that matter.
        if key in schema and (key, schema[key]) != ("minLength", 1)
    ]
    return f"{name} ({', '.join(limits)})" if limits else name


def _inline(text: str) -> str:
    """Return text with words in backquotes as code."""
    parts = escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
