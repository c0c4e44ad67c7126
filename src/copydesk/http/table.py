"""The table of all operations."""

from copydesk.http.operations import Operation
from copydesk.http.resources import drafts, engagement, experiments, images, pipeline, schedule, sources, voice

RESOURCES = (drafts, schedule, pipeline, voice, engagement, experiments, sources, images)
OPERATIONS: tuple[Operation, ...] = tuple(operation for resource in RESOURCES for operation in resource.operations)
