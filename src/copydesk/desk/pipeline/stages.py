"""The stages of a run: fetch the sources, select stories, write drafts.

Importing this takes long enough to delay keys, so `service` does it in a thread, when the first run begins.
"""

from copydesk.desk.confidence import refresh_if_due
from copydesk.desk.context import DeskContext
from copydesk.desk.pipeline.fetch_sources import fetch_sources
from copydesk.desk.pipeline.progress import RunProgress
from copydesk.desk.pipeline.select_stories import select_stories
from copydesk.desk.pipeline.write_drafts import write_drafts
from copydesk.drafting import checks, offline_writer  # noqa: F401 - else the first draft would import them, in the loop
from copydesk.model.run import RunRequest, Stage
from copydesk.switch_interval import short_switch_interval


async def run_stages(ctx: DeskContext, request: RunRequest, progress: RunProgress) -> None:
    """Run all stages; what one has stored stays if a later one fails."""
    # CPU-heavy work in this process: give the console's thread its turn more often.
    with short_switch_interval():
        await refresh_if_due(ctx)
        with progress.track_stage(Stage.INGEST):
            new = await fetch_sources(ctx, request, progress)
        stories = await select_stories(ctx, request, progress, new)
        with progress.track_stage(Stage.DRAFT):
            await write_drafts(ctx, stories, request, progress)
