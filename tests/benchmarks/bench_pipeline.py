"""Fetching and storing 200 feeds, and the complete pipeline on them, against `reader` fetching and storing them.

The feeds are copies of the captured ones (of the sample desk's where those are not beside the checkout) under other
hosts and with other titles, texts, links and ids, so that no story is in two of them. Each side runs in a process of
its own, with the same server in a third one. Imports are not measured on either side.
"""

import asyncio
import contextlib
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path

from table_row import Row

import copydesk
from copydesk.ingest.registry import load_readers
from copydesk.ranking.tokens import STOP_WORDS
from copydesk.sample.server import fill
from store_fixtures import database_variables

FEEDS = Path(__file__).resolve().parents[3] / "shared" / "feeds"
SAMPLES = Path(copydesk.__file__).parent / "sample" / "feeds"
CAPTURED = datetime(2026, 2, 17, 18, 0, tzinfo=UTC)
FEED_COUNT = 200
ROUNDS = 7
UNCHANGED_RUNS = 5
"""Runs without new entries per round, of which the median counts."""
MIN_FETCH_RATIO = 7
"""Times as fast as `reader` in what both do: fetch, parse and store."""
MIN_RUN_RATIO = 4
"""The same for a whole run, which also matches the items to stories, ranks these and writes drafts."""
MAX_PEAK = 110
"""MB of resident memory at the end of the first run."""
CONSONANTS = "bcdfghjklmnpqrstvwxz"
_ADDRESS = re.compile(r"""<(?:link|guid|id)\b[^<>]*>(?:<!\[CDATA\[)?\s*https?://|<link\b[^<>]*href=["']https?://""")
_TEXT = re.compile(r"<(title|description|summary|content(?::encoded)?)\b[^<>]*(?<!/)>.*?</\1>", re.DOTALL)
_WORD = re.compile(r"<!\[CDATA\[|<[^<>]*>|&lt;.*?&gt;|&#?\w+;|https?://\S+|([A-Za-z]+)", re.DOTALL)
"""A word, after everything in a text that is no word: tags, escaped ones too, character references, addresses."""


def serve() -> None:
    """Serve the feeds on every loopback address, with validators, and print the port."""
    responses = dict(_build_responses(number, body) for number, body in enumerate(build_feeds()))

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                etag, full_response, not_modified = responses[request.split(b" ", 2)[1]]
                writer.write(not_modified if etag in request else full_response)
                await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(client, "0.0.0.0", 0, backlog=256)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


def build_feeds() -> list[bytes]:
    """Return FEED_COUNT feeds, each document in turn with its entries varied."""
    documents = [path.read_text(encoding="utf-8") for path in sorted(FEEDS.glob("*.xml"))]
    if not documents:
        documents = [fill(path.read_text(encoding="utf-8"), CAPTURED) for path in sorted(SAMPLES.glob("*.xml"))]
    return [vary(documents[number % len(documents)], number // len(documents)).encode() for number in range(FEED_COUNT)]


def vary(document: str, copy: int) -> str:
    """Return the feed with other titles, texts, links and ids; copy 0 is the document itself."""
    if copy == 0:
        return document
    document = _ADDRESS.sub(rf"\g<0>copy{copy}.", document)
    shifted = CONSONANTS[copy:] + CONSONANTS[:copy]
    letters = str.maketrans(CONSONANTS + CONSONANTS.upper(), shifted + shifted.upper())

    def vary_word(match: re.Match[str]) -> str:
        # Articles and the like stay: a text without them would be like none.
        return match[0] if not match[1] or match[1].lower() in STOP_WORDS else match[1].translate(letters)

    return _TEXT.sub(lambda text: _WORD.sub(vary_word, text[0]), document)


def _build_responses(number: int, body: bytes) -> tuple[bytes, tuple[bytes, bytes, bytes]]:
    """Return a feed's path, its ETag, and both responses in full: the server's own work is not to be measured."""
    etag = f'"{blake2b(body, digest_size=8).hexdigest()}"'.encode()
    template = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nETag: %b\r\nContent-Length: %d\r\n\r\n%b"
    not_modified = b"HTTP/1.1 304 Not Modified\r\nETag: %b\r\n\r\n" % etag
    return f"/{number}.xml".encode(), (etag, template % (etag, len(body), body), not_modified)


def feed_urls(port: int) -> list[str]:
    """Return the feeds' URLs, each on its own host as in reality."""
    return [f"http://127.0.0.{number + 2}:{port}/{number}.xml" for number in range(FEED_COUNT)]


def measure_copydesk(port: int) -> None:
    """Run the pipeline once with everything new and then without news; print times and counts."""
    # Modules that a run imports on its way.
    import anyio._backends._asyncio  # noqa: F401 - for its side effect

    import copydesk.desk.pipeline.fetch_sources
    import copydesk.desk.pipeline.select_stories
    import copydesk.desk.pipeline.service
    import copydesk.desk.pipeline.write_drafts
    import copydesk.drafting.checks
    import copydesk.drafting.offline_writer
    import copydesk.network.fetcher
    import copydesk.posting.registry  # noqa: F401 - for its side effect
    from copydesk.desk import open_desk
    from copydesk.model.run import Stage
    from copydesk.settings import load

    load_readers()

    async def work(home: Path) -> None:
        settings = load(os.environ | {"COPYDESK_NETWORK__ALLOW_PRIVATE": "true"}, home)
        started = datetime.now(UTC)
        async with open_desk(settings, clock=lambda: CAPTURED + (datetime.now(UTC) - started)) as desk:
            for number, url in enumerate(feed_urls(port), 1):
                await desk.sources.create({"type": "rss", "url": url, "name": f"Feed {number}"}, test=False)
            gc.freeze()
            first = await _timed(desk)
            # After ten days, entries left over from the first run have expired, so that nothing is new or waiting.
            started -= timedelta(days=10)
            await desk.pipeline.run()
            quiet = [await _timed(desk) for _ in range(UNCHANGED_RUNS)]
        print(json.dumps([first, *quiet]))

    async def _timed(desk: object) -> dict[str, object]:
        began = time.perf_counter()
        run = await desk.pipeline.run()
        took = time.perf_counter() - began
        stats = run.stats
        return {
            "s": took,
            "fetched": stats.stage_timing[Stage.INGEST],
            "peak": _peak_memory(),
            "new": stats.items_new,
            "drafts": stats.drafts_created,
            "same": stats.sources_unchanged,
        }

    with tempfile.TemporaryDirectory() as home:
        asyncio.run(work(Path(home)))


def measure_reader(port: int) -> None:
    """Update all feeds with `reader` and ten workers; print the time."""
    import xml.sax.expatreader  # noqa: F401 - for its side effect

    import reader

    with tempfile.TemporaryDirectory() as home:
        feeds = reader.make_reader(f"{home}/db.sqlite")
        for url in feed_urls(port):
            feeds.add_feed(url)
        gc.freeze()
        started = time.perf_counter()
        feeds.update_feeds(workers=10)
        seconds = time.perf_counter() - started
        print(json.dumps([{"s": seconds, "peak": _peak_memory(), "entries": feeds.get_entry_counts().total}]))


def _peak_memory() -> float:
    """Return the peak of this process's resident memory in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1000


def _run_side(side: str, port: int, number: int) -> list[dict[str, float]]:
    command = [sys.executable, __file__, side, str(port)]
    # On PostgreSQL each round has a database of its own.
    environment = os.environ | database_variables(Path(f"round-{number}"))
    finished = subprocess.run(command, check=True, env=environment, capture_output=True, text=True, timeout=120)
    return json.loads(finished.stdout)


def _median_unchanged(runs: list[dict[str, float]]) -> float:
    """Return the median seconds of a run without new entries."""
    return statistics.median(run["s"] for run in runs[1:])


def measure() -> list[Row]:
    """Return the first and the second run, medians of interleaved rounds."""
    with subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline())
            rounds = [(_run_side("ours", port, number), _run_side("theirs", port, number)) for number in range(ROUNDS)]
        finally:
            server.terminate()
    first = statistics.median(runs[0]["s"] for runs, _ in rounds)
    second = statistics.median(_median_unchanged(runs) for runs, _ in rounds)
    reader_time = statistics.median(reader_run["s"] for _, (reader_run,) in rounds)
    # Ratios within each round: the machine's speed varies between rounds.
    faster = statistics.median(reader_run["s"] / runs[0]["s"] for runs, (reader_run,) in rounds)
    fetched = statistics.median(runs[0]["fetched"] for runs, _ in rounds)
    fetched_faster = statistics.median(reader_run["s"] / runs[0]["fetched"] for runs, (reader_run,) in rounds)
    peak = statistics.median(runs[0]["peak"] for runs, _ in rounds)
    reader_peak = statistics.median(reader_run["peak"] for _, (reader_run,) in rounds)
    second_share = statistics.median(_median_unchanged(runs) / runs[0]["s"] for runs, _ in rounds)
    first_run, *unchanged_runs = rounds[-1][0]
    unparsed = all(run["same"] == len(feed_urls(0)) for run in unchanged_runs)
    return [
        Row(
            f"fetch and store {FEED_COUNT} feeds, the first time: {first_run['new']:,.0f} items",
            f"{fetched:.2f} s",
            f"reader: the same {reader_time:.2f} s",
            f"{fetched_faster:.1f} times faster",
            f"{MIN_FETCH_RATIO} times faster",
            fetched_faster >= MIN_FETCH_RATIO,
            fetched,
        ),
        Row(
            f"the whole first run: fetch and store, match stories, rank, write {first_run['drafts']:.0f} drafts",
            f"{first:.2f} s",
            f"reader: only fetch and store {reader_time:.2f} s",
            f"{faster:.1f} times faster",
            f"{MIN_RUN_RATIO} times faster",
            faster >= MIN_RUN_RATIO,
            first,
        ),
        Row(
            f"first run of {FEED_COUNT} feeds: peak memory of the process",
            f"{peak:.0f} MB",
            f"reader {reader_peak:.0f} MB",
            f"{peak / reader_peak:.1f} times as much",
            "at most 110 MB",
            peak <= MAX_PEAK,
            peak,
        ),
        Row(
            f"second run, nothing new{'' if unparsed else ' (BODIES WERE PARSED)'}",
            f"{second * 1000:.0f} ms",
            f"the first run {first * 1000:.0f} ms",
            f"{second_share:.2f} of it",
            "under a tenth, no body parsed",
            second_share < 0.1 and unparsed,
            second * 1000,
        ),
    ]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["ours", port]:
            measure_copydesk(int(port))
        case ["theirs", port]:
            measure_reader(int(port))
        case _:
            print(*measure(), sep="\n")
