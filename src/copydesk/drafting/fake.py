"""A writer for tests: it remembers what it was asked for and writes what it was told to."""

from copydesk.drafting.writer import Brief, Written
from copydesk.errors import WriterError


class FakeWriter:
    """Writes the title and the link, or whatever `answers` holds, one after the other; an error there is raised."""

    name = "fake"

    def __init__(self, *answers: str | WriterError) -> None:
        self.answers = list(answers)
        self.briefs: list[Brief] = []
        """Every brief that it was given, in order."""

    async def write(self, brief: Brief) -> Written:
        """The next of `answers`, or a plain text of its own when they are used up."""
        self.briefs.append(brief)
        answer = self.answers.pop(0) if self.answers else "\n\n".join(filter(None, (brief.title, brief.url)))
        if isinstance(answer, WriterError):
            raise answer
        return Written(text=answer)

    def fail(self, message: str = "The writer was told to fail.") -> None:
        """Make the next call fail."""
        self.answers.insert(0, WriterError(message))
