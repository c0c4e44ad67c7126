"""An invented source, with which an endpoint is tried."""

from copydesk.drafting.writer import Brief
from copydesk.model.draft import Format

SAMPLE_BRIEF = Brief(
    item_id="sample",
    format=Format.SHORT,
    title="The town library of Elmbrook now lends tools",
    url="https://elmbrook.example/library-tools",
    text=(
        "The town library of Elmbrook has lent drills, saws and sewing machines since Monday. Forty tools were given by"
        " residents. “Most drills are used for a few minutes in their whole life,” says librarian Ada Lind. A tool can"
        " be borrowed for seven days with an ordinary library card."
    ),
    language="en",
    source_name="Elmbrook Gazette",
)
