"""The table of all operations."""

from copydesk.http.operations import Operation
from copydesk.http.resources import (
    drafts,
    engagement,
    events,
    experiments,
    images,
    pipeline,
    ranking,
    reviewers,
    rules,
    schedule,
    sources,
    voice,
    webhooks,
    writers,
)

RESOURCES = (
    drafts,
    reviewers,
    schedule,
    pipeline,
    ranking,
    rules,
    voice,
    writers,
    engagement,
    experiments,
    sources,
    images,
    events,
    webhooks,
)
OPERATIONS: tuple[Operation, ...] = tuple(operation for resource in RESOURCES for operation in resource.operations)
