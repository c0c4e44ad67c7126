"""A writer for tests: records its briefs and returns prepared answers."""

from copydesk.drafting.writer import Brief, WriterResult
from copydesk.errors import WriterError


class FakeWriter:
    """Returns `answers` one after the other and raises those that are errors; then the brief's title and link."""

    name = "fake"

    def __init__(self, *answers: str | WriterError) -> None:
        self.answers = list(answers)
        self.briefs: list[Brief] = []
        """Every brief that it was given, in order."""

    async def write(self, brief: Brief) -> WriterResult:
        """Return the next of `answers`, or the title and the link once they are used up."""
        self.briefs.append(brief)
        answer = self.answers.pop(0) if self.answers else "\n\n".join(filter(None, (brief.title, brief.url)))
        if isinstance(answer, WriterError):
            raise answer
        return WriterResult(text=answer)

    def fail(self, message: str = "The writer was told to fail.") -> None:
        """Make the next call fail."""
        self.answers.insert(0, WriterError(message))
