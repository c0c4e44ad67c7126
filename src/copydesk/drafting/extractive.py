"""The offline writer: whole sentences of the source, chosen and framed. It needs no model, no network and no account.

It makes up nothing: every sentence is the source's own, quoted and attributed, and each comes with the place it was
taken from. It keeps the voice's lengths, hashtags, emoji, link and avoid list. It cannot write in a style or follow
instructions and feedback, which takes understanding: `style`, `examples` and `instructions` have no effect, and
feedback only makes it quote something else than the last time.

The same item, voice and previous text make the same draft, on every machine.
"""

from copydesk.drafting.extract.blog import write_blog
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
        return _WRITE[brief.format](read(brief))
