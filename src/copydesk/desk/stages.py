"""The stages of a pipeline run. Imported when a run starts, because it loads the ingest, ranking and
drafting packages.
"""

from copydesk.desk.choosing import choose
from copydesk.desk.ground import Ground
from copydesk.desk.ingesting import ingest
from copydesk.desk.report import Report
from copydesk.desk.writing import write_drafts
from copydesk.model.run import RunRequest, Stage
from copydesk.turns import short_turns


async def work(ground: Ground, request: RunRequest, report: Report) -> None:
    """Fetch the sources, select stories and write drafts, reporting progress to `progress`."""
    # CPU-heavy work in this process: give the console's thread its turn more often.
    with short_turns():
        with report.during(Stage.INGEST):
            new = await ingest(ground, request, report)
        stories = await choose(ground, request, report, new)
        with report.during(Stage.DRAFT):
            await write_drafts(ground, stories, request, report)
