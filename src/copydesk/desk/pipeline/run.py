"""The stages of a pipeline run. Imported when a run starts, because it loads the ingest, ranking and
drafting packages.
"""

from copydesk.desk.context import DeskContext
from copydesk.desk.pipeline.fetch_sources import fetch_sources
from copydesk.desk.pipeline.progress import RunProgress
from copydesk.desk.pipeline.select_stories import select_stories
from copydesk.desk.pipeline.write_drafts import write_drafts
from copydesk.model.run import RunRequest, Stage
from copydesk.switch_interval import short_switch_interval


async def run_stages(ctx: DeskContext, request: RunRequest, progress: RunProgress) -> None:
    """Fetch the sources, select stories and write drafts, reporting progress to `progress`."""
    # CPU-heavy work in this process: give the console's thread its turn more often.
    with short_switch_interval():
        with progress.track_stage(Stage.INGEST):
            new = await fetch_sources(ctx, request, progress)
        stories = await select_stories(ctx, request, progress, new)
        with progress.track_stage(Stage.DRAFT):
            await write_drafts(ctx, stories, request, progress)
