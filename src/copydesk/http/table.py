"""The table of all operations."""

from copydesk.http.operations import Operation
from copydesk.http.resources import (
    drafts,
    engagement,
    events,
    experiments,
    images,
    pipeline,
    schedule,
    sources,
    voice,
    webhooks,
)

RESOURCES = (drafts, schedule, pipeline, voice, engagement, experiments, sources, images, events, webhooks)
OPERATIONS: tuple[Operation, ...] = tuple(operation for resource in RESOURCES for operation in resource.operations)
