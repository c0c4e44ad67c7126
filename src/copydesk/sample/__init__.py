"""The sample desk: sources of every type, bundled with Copydesk and served in-process to the real pipeline.

Projects, people, places, papers and numbers in them are fictional. The sites use reserved names (RFC 2606); the
accounts and threads at real services do not exist.
"""

from copydesk.model.serialization import Json, Struct

BEARER = "bearer-of-the-fictional-x"
"""Bearer token that the simulated X API expects. No word of a message: secrets are masked in all of them."""
UNKNOWN_POST = "Reader survey: what would you miss if this desk fell silent? Answers until Friday. #unknown"
"""The tag makes the simulated platform lose its response, so the user has to say whether it was posted."""

INTERESTS: tuple[str, ...] = (
    "open source",
    "maintainers",
    "databases",
    "terminal",
    "accessibility",
    "publishing",
    "newsroom",
    "outage",
    "magazine",
    "changelog",
    "style guides",
    "cron jobs",
    "newsletters",
    "feeds",
    "security",
)

VOICE: dict[str, Json] = {
    "style": (
        "Plain and concrete. The fact first, then why it matters to people who make software or publish on the"
        " web. Short sentences, numbers where there are some, no exclamation marks."
    ),
    "avoid": ["game-changer", "revolutionary", "excited to announce", "deep dive", "seamless", "unlock"],
    "examples": [
        "Our docs search was slow for a year. The fix was one missing index. Measure first, even when you are sure.",
        "A feed asks nothing of the reader. That is why it outlives every app built on top of it.",
        "The best postmortem I read this year names no culprit and ends with two things they will not change.",
        "Alt text takes forty seconds to write. I timed it over fifty pictures; the dull ones were the hardest.",
    ],
    "formats": {
        "SHORT": {"maxLength": 280, "hashtags": 1, "emoji": "never", "link": "always"},
        "THREAD": {"maxLength": 280, "maxParts": 5, "hashtags": 0, "emoji": "never", "link": "auto"},
        "BLOG": {"targetWords": 250, "hashtags": 0, "emoji": "never", "link": "always"},
    },
}
"""A voice profile in the JSON format of the API, without id and times."""


class SampleSource(Struct, frozen=True):
    """A source as the user would add it; `config` in the JSON format of the API."""

    type: str
    name: str
    url: str
    config: dict[str, Json] = {}

    @property
    def request(self) -> dict[str, object]:
        """The request that adds the source."""
        return {"type": self.type, "url": self.url, "name": self.name, "config": self.config}


SOURCES: tuple[SampleSource, ...] = (
    SampleSource(
        type="rss",
        name="The Lighthouse",
        url="https://lighthouse.example/feed.xml",
        config={"weight": 1.5, "tags": ["open-source"]},
    ),
    SampleSource(
        type="rss",
        name="Small Hours",
        url="https://smallhours.example/feed",
        config={"tags": ["terminal"]},
    ),
    SampleSource(
        type="rss",
        name="Harbour Notes",
        url="https://harbour-notes.example/feed.json",
        config={"weight": 1.2, "language": "en", "tags": ["web"]},
    ),
    SampleSource(
        type="rss",
        name="Paper Trail",
        url="https://papertrail.example/",
        config={"tags": ["publishing"]},
    ),
    SampleSource(
        type="rss",
        name="Signal Mast",
        url="https://signal-mast.example/feed.xml",
    ),
    SampleSource(
        type="substack",
        name="Field Notes",
        url="https://fieldnotes.example",
        config={"tags": ["publishing"]},
    ),
    SampleSource(
        type="reddit",
        name="r/harbourdev",
        url="https://www.reddit.com/r/harbourdev/",
        config={"weight": 0.6, "listing": "new", "exclude": ["hiring"]},
    ),
    SampleSource(
        type="hackernews",
        name="Hacker News",
        url="https://news.ycombinator.com/",
        config={"list": "top", "maxItems": 30},
    ),
    SampleSource(
        type="google_news",
        name="Google News: open source",
        url="https://news.google.com/",
        config={"weight": 0.8, "query": "open source", "hl": "en-US", "gl": "US", "ceid": "US:en"},
    ),
    SampleSource(
        type="twitter",
        name="@quarrystonedb",
        url="https://x.com/quarrystonedb",
        config={"replies": False, "reposts": False, "tags": ["databases"]},
    ),
)
"""Sources of every type, including Signal Mast, whose server answers 503 to demonstrate a failing source."""
