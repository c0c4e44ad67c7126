"""The pipeline on the captured feeds: everything it does, against what `reader` takes to fetch and store them.

Each side runs in a process of its own, with the same server in a third one; the times are of the run alone, without
the imports: `reader` has done its own by then, and so have we.
"""

import asyncio
import contextlib
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

from benchmarks_table import Row

FEEDS = Path(__file__).resolve().parents[3] / "shared" / "feeds"
CAPTURED = datetime(2026, 2, 17, 18, 0, tzinfo=UTC)
ROUNDS = 15
QUIET = 5
"""Runs with nothing new in a round, of which the median counts."""
IMPORTED = (
    "copydesk.desk.stages",
    "copydesk.drafting.checks",
    "copydesk.drafting.extractive",
    "copydesk.ingest.fetch",
    "copydesk.ingest.reading",
)
"""What a run imports on its way."""


def serve() -> None:
    """Serve the feeds on every loopback address, with validators, and print the port."""
    answers = dict(_answer(path) for path in sorted(FEEDS.glob("*.xml")))

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                tag, whole, same = answers[request.split(b" ", 2)[1]]
                writer.write(same if tag in request else whole)
                await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(client, "0.0.0.0", 0, backlog=256)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


def _answer(path: Path) -> tuple[bytes, tuple[bytes, bytes, bytes]]:
    """The path of a feed, its validator, and both answers, ready to send: the server should not be what is measured."""
    body = path.read_bytes()
    tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'.encode()
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nETag: %b\r\nContent-Length: %d\r\n\r\n%b"
    same = b"HTTP/1.1 304 Not Modified\r\nETag: %b\r\n\r\n" % tag
    return f"/{path.name}".encode(), (tag, whole % (tag, len(body), body), same)


def addresses(port: int) -> list[str]:
    """The feeds' addresses, each on a host of its own, as they are in life."""
    return [f"http://127.0.0.{number}:{port}/{path.name}" for number, path in enumerate(sorted(FEEDS.glob("*.xml")), 2)]


def ours(port: int) -> None:
    """A run of the pipeline that brings everything, and some that bring nothing; print what they took and made."""
    for module in IMPORTED:
        import_module(module)
    from copydesk.desk import open_desk
    from copydesk.settings import load

    async def work(home: Path) -> None:
        settings = load({"COPYDESK_NETWORK__ALLOW_PRIVATE": "true"}, home)
        started = datetime.now(UTC)
        async with open_desk(settings, clock=lambda: CAPTURED + (datetime.now(UTC) - started)) as desk:
            for address in addresses(port):
                await desk.sources.create("rss", address, name=address, test=False)
            gc.freeze()
            first = await _timed(desk)
            # What the first run left waiting is drafted or too old by then: nothing is new, nothing waits.
            started -= timedelta(days=10)
            await desk.pipeline.run()
            quiet = [await _timed(desk) for _ in range(QUIET)]
        print(json.dumps([first, *quiet]))

    async def _timed(desk: object) -> dict[str, object]:
        began = time.perf_counter()
        run = await desk.pipeline.run()
        took = time.perf_counter() - began
        stats = run.stats
        return {"s": took, "new": stats.items_new, "drafts": stats.drafts_created, "same": stats.sources_unchanged}

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(work(Path(home)))


def theirs(port: int) -> None:
    """One update of `reader` with ten workers; print what it took."""
    import reader

    with tempfile.TemporaryDirectory() as home:
        feeds = reader.make_reader(f"{home}/db.sqlite")
        for address in addresses(port):
            feeds.add_feed(address)
        gc.freeze()
        began = time.perf_counter()
        feeds.update_feeds(workers=10)
        took = time.perf_counter() - began
        print(json.dumps([{"s": took, "entries": feeds.get_entry_counts().total}]))


def _call(side: str, port: int) -> list[dict[str, float]]:
    command = [sys.executable, __file__, side, str(port)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def _quiet(runs: list[dict[str, float]]) -> float:
    """Seconds of a run with nothing new."""
    return statistics.median(run["s"] for run in runs[1:])


def measure() -> list[Row]:
    """First and second run, medians of interleaved rounds."""
    if not FEEDS.is_dir():
        return []
    with subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline())
            rounds = [(_call("ours", port), _call("theirs", port)) for _ in range(ROUNDS)]
        finally:
            server.terminate()
    first = statistics.median(mine[0]["s"] for mine, _ in rounds)
    second = statistics.median(_quiet(mine) for mine, _ in rounds)
    reader = statistics.median(other["s"] for _, (other,) in rounds)
    # Of each round, for the machine is not as fast in all of them.
    faster = statistics.median(other["s"] / mine[0]["s"] for mine, (other,) in rounds)
    share = statistics.median(_quiet(mine) / mine[0]["s"] for mine, _ in rounds)
    made, *quiet = rounds[-1][0]
    unparsed = all(run["same"] == len(addresses(0)) for run in quiet)
    return [
        Row(
            f"first run of 29 feeds: {made['new']:.0f} items stored, {made['drafts']:.0f} drafts",
            f"{first:.2f} s",
            f"reader: fetch and store {reader:.2f} s",
            f"{faster:.1f} times faster",
            "5 times faster",
            faster >= 5,
        ),
        Row(
            f"second run, nothing new{'' if unparsed else ' (BODIES WERE PARSED)'}",
            f"{second * 1000:.0f} ms",
            f"the first run {first * 1000:.0f} ms",
            f"{share:.2f} of it",
            "under a tenth, no body parsed",
            share < 0.1 and unparsed,
        ),
    ]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["ours", port]:
            ours(int(port))
        case ["theirs", port]:
            theirs(int(port))
        case _:
            print(*measure(), sep="\n")
