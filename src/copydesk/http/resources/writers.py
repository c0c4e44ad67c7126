"""Writers: who is asked for drafts, and what language models were asked.

Endpoints are added in the console and on the command line only: whoever could add one over the network could send
requests to any server in the desk's own network.
"""

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.token import Scope
from copydesk.model.writer import ChooseWriters, ModelRequest, Writers

operations = Operations("Writers")


@operations.add("GET", "/writers", scope=Scope.READ, response=Writers)
async def list_writers(call: Call) -> Writers:
    """List the writers in the order in which they are tried, with their costs this month."""
    return await call.desk.writers.list()


@operations.add(
    "PUT", "/writers", scope=Scope.REVIEW, body=ChooseWriters, response=Writers, example={"names": ["offline"]}
)
async def choose_writers(call: Call) -> Writers:
    """Choose the writers to try for each draft, in this order, until one has written it."""
    return await call.desk.writers.use(call.body.get("names"))


@operations.add("GET", "/drafts/{id}/requests", scope=Scope.READ, response=tuple[ModelRequest, ...], errors=(404,))
async def list_model_requests(call: Call) -> tuple[ModelRequest, ...]:
    """Return what language models were asked for a draft, in order: prompt, parameters, model, tokens and cost."""
    return await call.desk.writers.requests(call.id)
