"""The four stages of a run, one after the other. Imported when a run begins: whoever only reads needs none of it."""

from copydesk.desk.choosing import choose
from copydesk.desk.ground import Ground
from copydesk.desk.ingesting import ingest
from copydesk.desk.report import Report
from copydesk.desk.writing import write_drafts
from copydesk.model.run import RunRequest, Stage
from copydesk.turns import short_turns


async def work(ground: Ground, request: RunRequest, report: Report) -> None:
    """From what the sources bring to drafts."""
    with short_turns():
        with report.during(Stage.INGEST):
            new = await ingest(ground, request, report)
        stories = await choose(ground, request, report, new)
        with report.during(Stage.DRAFT):
            await write_drafts(ground, stories, request, report)
