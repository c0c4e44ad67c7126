"""The offline writer: whole sentences of the source, chosen and framed. It needs no model, no network and no account.

It makes up nothing: every sentence is the source's own, quoted and attributed, and each comes with the place it was
taken from. It keeps the voice's lengths, hashtags, emoji, link and avoid list. It cannot write in a style or follow
instructions, which takes understanding: `style`, `examples` and `instructions` have no effect. Of feedback it knows a
few wishes, see `extract.feedback`; in any case it makes another text than all versions before, or none.

The same item, voice and earlier versions make the same draft, on every machine.
"""

from msgspec.structs import replace

from copydesk.drafting.extract.blog import write_blog
from copydesk.drafting.extract.feedback import missed, understood, wished
from copydesk.drafting.extract.material import read
from copydesk.drafting.extract.short import write_short
from copydesk.drafting.extract.threaded import write_thread
from copydesk.drafting.writer import Brief, Written
from copydesk.model.draft import Format

_WRITE = {Format.SHORT: write_short, Format.THREAD: write_thread, Format.BLOG: write_blog}


class OfflineWriter:
    """Writes drafts out of their sources' own sentences; a few milliseconds each."""

    name = "offline"

    async def write(self, brief: Brief) -> Written:
        """The draft that `brief` asks for. Raises WriterError where the item has nothing to make it of."""
        wishes, foreign = understood(brief.feedback or "")
        written = _WRITE[brief.format](read(wished(brief, wishes)))
        notes = (*_of_prompt(brief), *_of_feedback(foreign), *missed(wishes, brief, written.text))
        return replace(written, notes=notes)


def _of_prompt(brief: Brief) -> tuple[str, ...]:
    if not brief.instructions:
        return ()
    done = "this is made of the page alone" if brief.url else "this is made of the prompt's own words"
    return (f"The offline writer cannot follow a prompt: {done}.",)


def _of_feedback(foreign: tuple[str, ...]) -> tuple[str, ...]:
    known = "shorter, longer, no hashtags, no emoji, no link"
    return tuple(f"The offline writer does not understand “{words}”; it knows: {known}." for words in foreign)
