"""Make the sheets on which drafts of feeds are judged, and the corpus from the verdicts of two judges.

    python tests/support/judged_drafts.py sheets FOLDER
    python tests/support/judged_drafts.py corpus FOLDER

`sheets` runs the pipeline on the feeds of the corpus and on the captured ones where available, and writes into FOLDER
a sample of the drafts: for each judge a `sheet-N.md` in an order of its own and a `verdicts-N.tsv` to fill in, and
`drafts.jsonl` for `corpus`. The same feeds and the same writer give the same sample. `corpus` adds the verdicts, writes
the corpus, and prints the shares per format and the agreement of the judges. rubric.md beside the corpus defines the
verdicts.
"""

import argparse
import asyncio
import csv
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from copydesk.desk import Desk
from copydesk.ingest.registry import DEFAULT_TYPE, guess_source_type
from copydesk.model.draft import Format, ListedDraft
from copydesk.model.item import Entry, Item
from copydesk.model.run import RunRequest
from desk_fixtures import RSS, list_drafts, open_desk_at
from draft_corpus import (
    CAPTURED_FEEDS,
    CORPUS,
    FEEDS,
    Record,
    Source,
    Verdict,
    agreement,
    of_format,
    read_records,
    share,
    write_records,
)

NOW = datetime(2026, 2, 18, 6, 0, tzinfo=UTC)
"""After the newest entry of the feeds."""
JUDGES = (1, 2)
SAMPLE_SIZES = {Format.SHORT: 135, Format.THREAD: 50, Format.BLOG: 50}
MAX_PER_FEED = {Format.SHORT: 5, Format.THREAD: 2, Format.BLOG: 50}
"""A long feed must not fill the sample. A round-up has several feeds, of which only the first would be counted."""
SHOWN_TEXT = {Format.SHORT: 2_500, Format.THREAD: 6_000, Format.BLOG: 1_200}
"""Characters of an item's text on a sheet."""
BEGINNING = 60
"""Characters by which a summary is recognized as the beginning of the text."""
MAX_DRAFTS = 2_000
INTERESTS = (
    *("open source", "databases", "rail", "ferry", "energy", "heat pumps", "libraries", "data breach"),
    *("artificial intelligence", "climate", "Python", "elections", "Iran", "Ukraine", "Gaza", "China", "Japan"),
    *("Epstein", "Olympics", "tariffs", "Venezuela", "Cuba", "seagrass", "Tavora", "Lockbird"),
)
"""For round-ups; a user who wants these has interests."""
SETTINGS = {
    # Blogs have few entries a month, and the age of an item is not what is judged.
    "pipeline__first_fetch_hours": "200000",
    "pipeline__max_age_hours": "200000",
}
_OWN_URL = re.compile(r"""<(?:atom:)?link\b(?=[^<>]*\brel=["']self["'])[^<>]*\bhref=["'](https?://[^"']+)""")
_SITE_URL = re.compile(r"<link>\s*(https?://[^<\s]+)")
_ENTRY = re.compile(r"<(?:item|entry)\b")


class FeedFile(NamedTuple):
    """A feed and the URL of which it is the response."""

    name: str
    url: str
    body: bytes


def read_feeds(folders: Iterable[Path]) -> list[FeedFile]:
    """Return the feeds in `folders`."""
    return [_read_feed(path) for folder in folders for path in sorted(folder.glob("*.xml"))]


def _read_feed(path: Path) -> FeedFile:
    body = path.read_bytes()
    head = _ENTRY.split(body.decode("utf-8", "replace"), maxsplit=1)[0]
    own, site = _OWN_URL.search(head), _SITE_URL.search(head)
    assert own or site, path
    # A feed that does not name its own address gets one at its site.
    url = own[1] if own else f"https://{urlsplit(site[1]).hostname}/{path.name}"
    return FeedFile(path.name, unescape(url), body)


class FeedTransport(httpx.AsyncBaseTransport):
    """Serves the feeds. Everything else, such as the pages of their sites, does not exist."""

    def __init__(self, feeds: Iterable[FeedFile]) -> None:
        self._pages: dict[str, bytes] = {}
        for feed in feeds:
            parts = urlsplit(feed.url)
            self._pages[f"{parts.hostname}{parts.path}"] = feed.body
            if guess_source_type(feed.url).name != DEFAULT_TYPE:
                # Other types ask for an address that they compose.
                self._pages[str(parts.hostname)] = feed.body

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the feed at the requested address, whatever the query."""
        body = self._pages.get(f"{request.url.host}{request.url.path}") or self._pages.get(request.url.host)
        if body is None:
            return httpx.Response(404, stream=httpx.ByteStream(b""))
        return httpx.Response(200, headers={"content-type": RSS}, stream=httpx.ByteStream(body))


class DraftedItems(NamedTuple):
    """A draft and the items it was made from."""

    draft: ListedDraft
    items: tuple[tuple[str, Item], ...]
    """Name of the feed, and item: the draft's own one, then the others of a draft that links to several."""

    @property
    def id(self) -> str:
        """Return the id of the draft in sheets and in the corpus."""
        return draft_id(self.items[0][1].entry.url, self.draft.format, self.draft.text)


def draft_id(url: str | None, format: Format, text: str) -> str:
    """Return what identifies a text about an item, the same in any desk."""
    return sha256("\n".join([url or "", format, text]).encode()).hexdigest()[:10]


class PipelineDrafts(NamedTuple):
    """The drafts of a run, and the number of stories it could draft from."""

    drafts: list[DraftedItems]
    stories: int


async def write_drafts(feeds: Sequence[FeedFile], format: Format) -> PipelineDrafts:
    """Return the drafts that a run on `feeds` writes, in a desk of its own.

    For round-ups there is a second run for a user with interests, who gets none of other subjects.
    """
    written = await _run_pipeline(feeds, format, {})
    if format is not Format.BLOG:
        return written
    by_interest = await _run_pipeline(feeds, format, {"ranking__interests": ",".join(INTERESTS)})
    drafts = {drafted.id: drafted for drafted in (*written.drafts, *by_interest.drafts)}
    return PipelineDrafts(list(drafts.values()), written.stories)


async def _run_pipeline(feeds: Sequence[FeedFile], format: Format, interests: Mapping[str, str]) -> PipelineDrafts:
    with tempfile.TemporaryDirectory() as folder:
        settings = {**SETTINGS, **interests}
        async with open_desk_at(Path(folder), FeedTransport(feeds), clock=lambda: NOW, **settings) as desk:
            names = await _add_sources(desk, feeds)
            run = await desk.pipeline.run(RunRequest(formats=(format,), max_drafts=MAX_DRAFTS))
            drafts = [await _load_items(desk, draft, names) for draft in await list_drafts(desk)]
            return PipelineDrafts(drafts, run.stats.items_ranked)


async def _add_sources(desk: Desk, feeds: Iterable[FeedFile]) -> dict[str, str]:
    """Add the feeds as sources, named as they name themselves; return the names of their files by source id."""
    names = {}
    for feed in feeds:
        source = await desk.sources.create({"type": guess_source_type(feed.url).name, "url": feed.url})
        names[source.id] = feed.name
    return names


async def _load_items(desk: Desk, draft: ListedDraft, names: Mapping[str, str]) -> DraftedItems:
    item_ids = dict.fromkeys([draft.item_id, *(source.id for source in draft.items)])
    items = [await desk.drafts.item(item_id) for item_id in item_ids]
    return DraftedItems(draft, tuple((names[item.source_id], item) for item in items))


def sample(drafted: Iterable[DraftedItems], format: Format) -> list[DraftedItems]:
    """Return drafts of as many feeds as possible, chosen by a hash of their item."""
    chosen: list[DraftedItems] = []
    per_feed: Counter[str] = Counter()
    for candidate in sorted(drafted, key=lambda one: sha256(one.items[0][1].entry.ident.encode()).digest()):
        feed = candidate.items[0][0]
        if per_feed[feed] < MAX_PER_FEED[format] and len(chosen) < SAMPLE_SIZES[format]:
            per_feed[feed] += 1
            chosen.append(candidate)
    return chosen


def to_record(drafted: DraftedItems) -> Record:
    """Return the record of a draft that nobody has judged yet."""
    sources = tuple(Source(feed, item.source_name, item.entry.title, item.entry.url) for feed, item in drafted.items)
    return Record(drafted.id, drafted.draft.format, drafted.draft.text, sources, features(drafted))


def features(drafted: DraftedItems) -> dict[str, int | float | str | list[str]]:
    """Return the properties of a draft and its item from which a confidence can be computed."""
    draft, item = drafted.draft, drafted.items[0][1]
    entry = item.entry
    return {
        "source_type": item.source_type or "",
        "language": entry.language or "",
        "author": "yes" if entry.author else "no",
        "publisher": entry.publisher or "",
        "summary_length": len(entry.summary),
        "text_length": len(entry.text),
        "age_hours": round((NOW - item.published).total_seconds() / 3600, 1),
        "confidence": draft.confidence,
        "checks_ran": draft.checks.ran,
        "findings": [f"{finding.rule}: {finding.severity}" for finding in draft.checks.findings],
        "fields": [trace.field for trace in draft.sentences],
        "claims": [claim.verdict for claim in draft.checks.claims],
        "images": len(draft.images),
        "tags": list(entry.tags),
    } | {f"score.{part.name}": round(part.points, 4) for part in (draft.score.parts if draft.score else ())}


def sheet_order(drafted: Iterable[DraftedItems], judge: int) -> list[DraftedItems]:
    """Return the drafts in the order in which a judge sees them, which is another one for each judge."""
    return sorted(drafted, key=lambda one: sha256(f"{judge} {one.id}".encode()).digest())


def format_draft(drafted: DraftedItems) -> str:
    """Return a draft and its items as a judge reads them."""
    draft = drafted.draft
    images = [f"(image) {image.url}" for image in draft.images]
    items = [_format_item(item, SHOWN_TEXT[draft.format]) for _, item in drafted.items]
    # Fenced: the headings of a BLOG would look like those of the sheet.
    text = "\n".join(["~~~", draft.text, *images, "~~~"])
    return "\n\n".join([f"# {drafted.id} {draft.format}", text, "Made from:", *items])


def _format_item(item: Item, limit: int) -> str:
    entry = item.entry
    facts = [f"Title: {entry.title}", f"Source: {item.source_name}", f"URL: {entry.url}"]
    facts += [f"Author: {entry.author}"] if entry.author else []
    facts += [f"Published: {item.published:%Y-%m-%d %H:%M}"]
    text = _item_text(entry)
    rest = f" [{len(text) - limit:,} more characters]" if len(text) > limit else ""
    return "\n".join(f"> {line}" for line in "\n".join([*facts, "", text[:limit] + rest]).split("\n"))


def _item_text(entry: Entry) -> str:
    # A summary is often the beginning of the text.
    repeated = entry.text.startswith(entry.summary[:BEGINNING])
    return (entry.text if repeated else f"{entry.summary}\n\n{entry.text}").strip() or "(no text)"


def write_sheets(folder: Path, feeds: Sequence[FeedFile]) -> None:
    """Write the sheets, the forms for verdicts, and the records without verdicts."""
    folder.mkdir(parents=True, exist_ok=True)
    drafted: list[DraftedItems] = []
    for kind in Format:
        written = asyncio.run(write_drafts(feeds, kind))
        chosen = sample(written.drafts, kind)
        print(f"{kind}: {len(written.drafts)} drafts from {written.stories} stories, {len(chosen)} to judge")
        drafted += chosen
    write_records(folder / "drafts.jsonl", map(to_record, drafted))
    for judge in JUDGES:
        ordered = sheet_order(drafted, judge)
        sheet = "\n\n".join(map(format_draft, ordered))
        (folder / f"sheet-{judge}.md").write_text(f"{sheet}\n", encoding="utf-8")
        form = "".join(f"{line}\n" for line in ["id\tverdict\treason", *(f"{one.id}\t\t" for one in ordered)])
        (folder / f"verdicts-{judge}.tsv").write_text(form, encoding="utf-8")


def read_verdicts(path: Path) -> dict[str, Verdict]:
    """Return the verdicts of a judge by draft. Raise SystemExit naming the first line that has none."""
    verdicts: dict[str, Verdict] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 2):
            try:
                verdicts[row["id"]] = Verdict((row["verdict"] or "").strip().lower())
            except ValueError:
                accepted = ", ".join(Verdict)
                raise SystemExit(f"{path}:{number}: {row['verdict']!r} is not one of: {accepted}") from None
    return verdicts


def join_verdicts(records: Iterable[Record], verdicts: Sequence[Mapping[str, Verdict]]) -> list[Record]:
    """Return the records with the verdict of each judge. Raise SystemExit naming a draft that one has not judged."""
    judged = []
    for record in records:
        missing = [number for number, given in enumerate(verdicts, 1) if record.id not in given]
        if missing:
            raise SystemExit(f"Draft {record.id} was not judged by judge {missing[0]}.")
        fields = {name: getattr(record, name) for name in Record.__struct_fields__}
        judged.append(Record(**fields | {"verdicts": tuple(given[record.id] for given in verdicts)}))
    return judged


def write_corpus(folder: Path, target: Path) -> None:
    """Write the corpus from the records and the verdicts in `folder`, and print its figures."""
    verdicts = [read_verdicts(folder / f"verdicts-{judge}.tsv") for judge in JUDGES]
    records = join_verdicts(read_records(folder / "drafts.jsonl"), verdicts)
    write_records(target, records)
    for line in describe(records):
        print(line)


def describe(records: Sequence[Record]) -> list[str]:
    """Return the figures of the corpus, a line for each format and one for the agreement of the judges."""
    lines = []
    for kind in Format:
        if some := of_format(records, kind):
            shares = ", ".join(f"{verdict} {share(some, verdict)}" for verdict in Verdict)
            lines.append(f"{kind}: {len(some)} drafts, {shares}")
    return [*lines, f"agreement of the judges: Cohen's kappa {agreement(records):.2f}"]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sheets = commands.add_parser("sheets", help="write sheets and forms for two judges into FOLDER")
    sheets.add_argument("folder", type=Path, metavar="FOLDER")
    sheets.add_argument("--feeds", type=Path, action="append", metavar="DIRECTORY", help="other feeds than the default")
    corpus = commands.add_parser("corpus", help="write the corpus from the filled forms in FOLDER")
    corpus.add_argument("folder", type=Path, metavar="FOLDER")
    corpus.add_argument("--output", type=Path, default=CORPUS, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.command == "sheets":
        write_sheets(arguments.folder, read_feeds(arguments.feeds or (FEEDS, CAPTURED_FEEDS)))
    else:
        write_corpus(arguments.folder, arguments.output)


if __name__ == "__main__":
    main()
