"""The offline writer: quotes whole sentences of the source in templates. It needs no model, network or account.

It invents nothing: every sentence is the source's own, quoted and attributed, with its position in the source. It
follows the voice's lengths, hashtags, emoji, link and avoid list. It cannot imitate a style or follow instructions, so
`style`, `examples` and `instructions` have no effect. It understands a few feedback requests, see `extract.feedback`,
and returns a text different from all previous versions, or none.

The output is deterministic: the same item, voice and previous versions give the same draft on every machine.
"""

from msgspec.structs import replace

from copydesk.drafting.extract.blog import write_blog
from copydesk.drafting.extract.feedback import apply_requests, parse_feedback, unfulfilled_notes
from copydesk.drafting.extract.material import read_material
from copydesk.drafting.extract.short import write_short
from copydesk.drafting.extract.threaded import write_thread
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.model.draft import Format

_WRITERS = {Format.SHORT: write_short, Format.THREAD: write_thread, Format.BLOG: write_blog}


class OfflineWriter:
    """Writes drafts from the sources' own sentences, in a few milliseconds each."""

    name = "offline"

    async def write(self, brief: Brief) -> WriterResult:
        """Return the requested draft. Raise WriterError if the item has too little text."""
        requests, unknown = parse_feedback(brief.feedback or "")
        result = _WRITERS[brief.format](read_material(apply_requests(brief, requests)))
        notes = (*_prompt_notes(brief), *_feedback_notes(unknown), *unfulfilled_notes(requests, brief, result.text))
        return replace(result, notes=notes)


def _prompt_notes(brief: Brief) -> tuple[str, ...]:
    if not brief.instructions:
        return ()
    outcome = "this is made of the page alone" if brief.url else "this is made of the prompt's own words"
    return (f"The offline writer cannot follow a prompt: {outcome}.",)


def _feedback_notes(unknown: tuple[str, ...]) -> tuple[str, ...]:
    supported = "shorter, longer, no hashtags, no emoji, no link"
    return tuple(f"The offline writer does not understand “{clause}”; it knows: {supported}." for clause in unknown)
