"""A writer for tests of programs that use Copydesk: records its briefs and returns prepared answers."""

from collections.abc import Callable

from copydesk.drafting.writer import Brief, WriterResult
from copydesk.errors import WriterError


class FakeWriter:
    """Returns `answers` one after the other and raises those that are errors; then the brief's title and link."""

    name = "fake"

    def __init__(self, *answers: str | WriterResult | WriterError) -> None:
        self.answers = list(answers)
        self.briefs: list[Brief] = []
        """Every brief that it was given, in order."""

    async def write(self, brief: Brief) -> WriterResult:
        """Return the next of `answers`, or the title and the link once they are used up."""
        self.briefs.append(brief)
        answer = self.answers.pop(0) if self.answers else "\n\n".join(filter(None, (brief.title, brief.url)))
        if isinstance(answer, WriterError):
            raise answer
        return WriterResult(text=answer) if isinstance(answer, str) else answer

    async def stream(self, brief: Brief, on_text: Callable[[str], None]) -> WriterResult:
        """Return the same as `write`; call `on_text` after each word."""
        result = await self.write(brief)
        for end, char in enumerate(result.text):
            if char == " ":
                on_text(result.text[:end])
        return result

    def fail(self, message: str = "The writer was told to fail.") -> None:
        """Make the next call fail."""
        self.answers.insert(0, WriterError(message))
