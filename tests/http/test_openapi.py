"""The OpenAPI document: valid, complete, and with the limits of the validators."""

import msgspec
import pytest
import schemathesis

from copydesk.http.examples import EXAMPLES, PROBLEMS
from copydesk.http.meta import render_page
from copydesk.http.openapi import error_statuses
from copydesk.http.table import OPERATIONS
from copydesk.model.draft import Draft
from copydesk.model.serialization import to_json_value
from openapi_document import DOCUMENT, validate

SCHEMAS = DOCUMENT["components"]["schemas"]
PROPERTIES = [
    (name, field, schema) for name, each in SCHEMAS.items() for field, schema in each.get("properties", {}).items()
]


def operation_schemas():
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield pytest.param(operation, id=f"{method} {path}")


def test_document_is_valid():
    schemathesis.openapi.from_dict(DOCUMENT).validate()


@pytest.mark.parametrize("operation", operation_schemas())
def test_examples_match_their_schemas(operation):
    contents = [operation.get("requestBody", {}).get("content", {})]
    contents += [response["content"] for response in operation["responses"].values() if "content" in response]
    media = [content["application/json"] for content in contents if "application/json" in content]
    assert media or operation["operationId"] == "stream_events"
    for described in media:
        examples = [each["value"] for each in described.get("examples", {}).values()] or [described["example"]]
        for example in examples:
            validate(described["schema"], example)


def test_response_types_have_examples():
    for kind, example in EXAMPLES.items():
        validate({"$ref": f"#/components/schemas/{kind.__name__}"}, to_json_value(example))


def test_every_error_has_an_example():
    statuses = {status for operation in OPERATIONS for status in error_statuses(operation)}
    assert statuses == set(PROBLEMS)
    for status, problem in PROBLEMS.items():
        assert problem.status == status
        validate({"$ref": "#/components/schemas/Problem"}, to_json_value(problem))


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (403, "reviewer's role"),
        (403, "host name"),
        (403, "`/metrics`"),
        (503, "connections"),
        (503, "clock"),
        (503, "image"),
    ],
)
def test_errors_are_described_with_their_causes(status, cause):
    assert cause in DOCUMENT["components"]["responses"][f"Problem{status}"]["description"]


@pytest.mark.parametrize(
    ("field", "limits"),
    [
        ("CreateDraft.text", {"minLength": 1, "maxLength": 50_000}),
        ("CreateDraft.prompt", {"minLength": 1, "maxLength": 5_000}),
        ("CreateDraft.formats", {"minItems": 1, "maxItems": 3}),
        ("CreateDraft.images", {"maxItems": 10}),
        ("CreateDraft.tags", {"maxItems": 20}),
        ("CreateDraft.url", {"format": "uri"}),
        ("ChangeDraft.scheduledAt", {"format": "date-time"}),
        ("BulkChange.ids", {"minItems": 1, "maxItems": 100}),
        ("BulkChange.action", {"enum": ["approve", "reject", "archive", "schedule", "reschedule", "cancel_schedule"]}),
        ("NewExperiment.name", {"minLength": 1, "maxLength": 100}),
        ("NewExperiment.variants", {"minItems": 2, "maxItems": 5}),
        ("CreateSource.name", {"minLength": 1, "maxLength": 200}),
        ("CreateSource.type", {"enum": ["rss", "twitter", "reddit", "hackernews", "google_news", "substack"]}),
        ("UpdateSource.name", {"minLength": 1, "maxLength": 200}),
        ("Slot.dayOfWeek", {"minimum": 0, "maximum": 6}),
        ("Slot.hour", {"minimum": 0, "maximum": 23}),
        ("Slot.minute", {"minimum": 0, "maximum": 59}),
        ("RecordEngagement.likes", {"minimum": 0}),
        ("RecordEngagement.draftId", {"minLength": 1}),
    ],
)
def test_field_has_the_limits_of_the_interface(field, limits):
    name, _, property_name = field.partition(".")
    schema = SCHEMAS[name]["properties"][property_name]
    value = schema["anyOf"][0] if "anyOf" in schema else schema
    assert limits.items() <= value.items()


@pytest.mark.parametrize(
    ("path", "parameter", "limits"),
    [
        ("/drafts", "limit", {"minimum": 1, "maximum": 100, "default": 25}),
        ("/pipeline/runs", "limit", {"minimum": 1, "maximum": 100, "default": 10}),
        ("/engagement", "top", {"minimum": 1, "maximum": 50, "default": 10}),
        ("/drafts", "scheduledAfter", {"format": "date-time"}),
    ],
)
def test_parameter_has_the_limits_of_the_interface(path, parameter, limits):
    (schema,) = [each["schema"] for each in DOCUMENT["paths"][path]["get"]["parameters"] if each["name"] == parameter]
    assert limits.items() <= schema.items()


def test_tags_are_limited():
    tag = SCHEMAS["CreateDraft"]["properties"]["tags"]["items"]
    assert (tag["minLength"], tag["maxLength"]) == (1, 50)


def test_unknown_fields_of_requests_are_allowed():
    assert not [name for name, schema in SCHEMAS.items() if schema.get("additionalProperties") is False]


def test_times_are_date_times():
    assert not [
        (name, field)
        for name, field, schema in PROPERTIES
        if field.endswith("At") and "date-time" not in msgspec.json.encode(schema).decode()
    ]


def test_fields_of_responses_are_required():
    assert set(SCHEMAS["Draft"]["required"]) == {field.encode_name for field in msgspec.structs.fields(Draft)}


def test_descriptions_use_the_words_of_json():
    assert "Incremented by each change" in SCHEMAS["Draft"]["properties"]["version"]["description"]
    assert SCHEMAS["Run"]["properties"]["duration"]["description"] == "Seconds; null until it has ended."
    assert "`itemsConsidered`" in SCHEMAS["RunStats"]["description"]
    assert not [(name, field) for name, field, schema in PROPERTIES if "None" in schema.get("description", "")]


def test_conditional_change_is_described():
    change = DOCUMENT["paths"]["/drafts/{id}"]["patch"]
    assert "If-Match" in [parameter["name"] for parameter in change["parameters"]]
    assert "ETag" in change["responses"]["200"]["headers"]
    assert "Location" in DOCUMENT["paths"]["/sources"]["post"]["responses"]["201"]["headers"]


def test_statuses_that_cannot_occur_are_not_listed():
    assert "404" not in DOCUMENT["paths"]["/drafts"]["post"]["responses"]
    assert {"400", "404", "409", "415"}.isdisjoint(DOCUMENT["paths"]["/schedule/slots"]["get"]["responses"])


def test_page_links_only_to_what_it_has():
    page = render_page(DOCUMENT)
    links = {part.split("'")[0] for part in page.split("href='#")[1:]}
    assert links
    assert not [link for link in links if f"id='{link}'" not in page]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_idempotency_key_is_described(operation):
    document = DOCUMENT["paths"][operation.path][operation.method.lower()]
    keys = [parameter for parameter in document["parameters"] if parameter["name"] == "Idempotency-Key"]
    success = document["responses"][str(operation.status)]
    assert bool(keys) == ("Idempotent-Replayed" in success["headers"]) == (operation.method != "GET")
    for parameter in keys:
        assert {"400", "409", "422"} <= set(document["responses"])
        for example in parameter["schema"]["examples"]:
            validate(parameter["schema"], example)
