"""The result of the test of the times of posting in words."""

from copydesk.model.engagement import EngagementMetric, TimeBlock
from copydesk.text.formatting import plural

_GAINS = {
    EngagementMetric.INTERACTIONS: "about {lift:.0%} more interactions",
    EngagementMetric.RATE: "an engagement rate about {lift:.0%} higher",
}


def describe_best_time(posts: int, needed: int, p_value: float | None, best: TimeBlock | None, metric: str) -> str:
    """Return the sentence: the time that stands out with its interval, or why none does."""
    if p_value is None:
        return f"No time stands out yet: {posts} of {plural(needed, 'post')} needed for a test."
    chance = f"p = {p_value:.2f}" if p_value >= 0.01 else "p < 0.01"
    if best is None:
        return f"No time stands out yet: in {plural(posts, 'post')} the differences may be chance ({chance})."
    days = "Saturday and Sunday" if best.weekend else "Monday to Friday"
    gain = _GAINS[EngagementMetric(metric)].format(lift=best.lift)
    return (
        f"{days} {best.first_hour:02}:00 to {best.last_hour:02}:00 stands out: {gain} than similar posts"
        f" ({best.low:.0%} to {best.high:.0%}; {plural(best.posts, 'post')}; {chance})."
    )
