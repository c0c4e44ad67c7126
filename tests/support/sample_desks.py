"""States of the sample desk for the screenshots, at a fixed time."""

from console_driver import NOW
from copydesk.sample.desk import open_sample
from copydesk.settings import Settings
from posted_desk import ZONE

__all__ = ["NOW"]

SAMPLE_DRAFTS = 18
"""Drafts of the sample desk in terminals: fewer than there are, so that it does not matter what the writer declines."""


async def leave_empty(settings: Settings) -> None:
    """Leave the desk empty."""


async def run_pipeline(settings: Settings) -> None:
    """Run the pipeline."""
    async with open_sample(settings, clock=lambda: NOW) as desk:
        await desk.pipeline.run()


async def furnish(settings: Settings) -> None:
    """Open the desk as `copydesk --sample` does on its first start."""
    async with open_sample(settings, clock=lambda: NOW) as desk:
        # Before the week is planned: drafts would keep their times, and slots move with the zone.
        await desk.schedule.set_zone(ZONE)
    async with open_sample(settings, clock=lambda: NOW, with_history=True):
        pass
