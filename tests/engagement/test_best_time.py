"""Tests for the time of the week at which posts do better, on simulated posts."""

from datetime import UTC, datetime, timedelta
from math import exp, log, log1p
from random import Random
from zoneinfo import ZoneInfo

import pytest

from copydesk.engagement import best_time
from copydesk.engagement.best_time import MAX_POSTS, MIN_POSTS, TimedValue, find_best_time
from copydesk.model.engagement import BestTime, EngagementMetric, HourLift
from sampling import sample_size

HOURS = (7, 8, 9, 10, 12, 13, 15, 17, 18, 20, 21, 22)


def find(posts: list[TimedValue]) -> tuple[BestTime, tuple[HourLift, ...]]:
    return find_best_time(posts, EngagementMetric.INTERACTIONS)


def simulate_posts(
    seed: int, count: int, *, factor: float = 1.0, growth: float = 0.003, noise: float = 0.8, habit: bool = False
) -> list[TimedValue]:
    """Return posts of a growing account on two platforms; `factor` applies on working days from 9:00 to 12:00.

    With `habit` the user posts later and later in the day.
    """
    random, at, posts = Random(seed), datetime(2025, 1, 1, tzinfo=UTC), []
    for number in range(count):
        at += timedelta(hours=random.expovariate(1 / 15))
        hours = HOURS[: 4 + 8 * number // count] if habit else HOURS
        local, platform = at.replace(hour=random.choice(hours)), random.choice(("x", "bluesky", "bluesky"))
        effect = log(factor) if local.isoweekday() < 6 and 9 <= local.hour < 12 else 0.0
        likes = exp(log(20 if platform == "x" else 6) + growth * number + effect + random.gauss(0, noise))
        posts.append(TimedValue(local, platform, "SHORT", log1p(int(likes))))
    return posts


@pytest.mark.parametrize("count", [40, 150])
@pytest.mark.parametrize("options", [{}, {"growth": 0.02, "noise": 1.5}, {"habit": True, "growth": 0.01}])
def test_at_most_one_in_twenty_random_desks_names_a_time(count, options):
    rounds = sample_size(100)
    named = sum(find(simulate_posts(seed, count, **options))[0].best is not None for seed in range(rounds))
    assert named <= 0.05 * rounds


def test_planted_time_is_found():
    found = [find(simulate_posts(seed, 300, factor=2.0))[0].best for seed in range(10)]
    named = [block for block in found if block is not None]
    assert len(named) >= 8
    assert all((block.weekend, block.first_hour, block.last_hour) == (False, 9, 12) for block in named)
    assert all(block.low < block.lift < block.high for block in named)
    # Relative to the mean of all posts, which includes these.
    assert 0.3 < sum(block.lift for block in named) / len(named) < 1.2


def test_few_posts_are_not_tested():
    result, lifts = find(simulate_posts(1, MIN_POSTS - 1, factor=9.0))
    assert (result.posts, result.needed, result.p_value, result.best) == (MIN_POSTS - 1, MIN_POSTS, None, None)
    assert sum(lift.posts for lift in lifts) == MIN_POSTS - 1


def test_no_posts():
    result, lifts = find([])
    assert (result.posts, result.p_value, lifts) == (0, None, ())


def test_only_newest_posts_are_tested():
    posts = simulate_posts(1, MAX_POSTS + 100)
    assert find(posts) == find(posts[100:])
    assert find(posts)[0].posts == MAX_POSTS


def test_same_posts_are_tested_once(monkeypatch):
    tests = []
    monkeypatch.setattr(best_time, "permutation_p", lambda *arguments: tests.append(arguments) or 0.5)
    best_time.compare_blocks.cache_clear()
    # The first periods have all posts that are tested; in another time zone they have other hours.
    posts = simulate_posts(5, MAX_POSTS + 100)
    moved = [post._replace(at=post.at.astimezone(ZoneInfo("Asia/Tokyo"))) for post in posts]
    for given in (posts, posts[50:], moved, posts):
        find(given)
    best_time.compare_blocks.cache_clear()

    assert len(tests) == 2


def test_order_of_posts_does_not_matter():
    posts = simulate_posts(3, 80, factor=2.0)
    assert find(posts[::-1]) == find(posts)


def test_platform_mix_is_no_effect_of_time():
    """Mornings on the platform with more interactions are no better than evenings on the other one."""
    random, posts = Random(4), []
    for day in range(120):
        at = datetime(2025, 1, 1, 9, tzinfo=UTC) + timedelta(days=day)
        posts.append(TimedValue(at, "x", "SHORT", 5.0 + random.gauss(0, 0.5)))
        posts.append(TimedValue(at.replace(hour=20), "bluesky", "SHORT", 1.0 + random.gauss(0, 0.5)))
    assert find(posts)[0].best is None


def test_one_viral_post_names_no_time():
    """A post of Monday to Friday at nine has a million interactions, on twenty desks."""
    before = after = 0
    for seed in range(20):
        posts = simulate_posts(seed, 100)
        before += find(posts)[0].best is not None
        index = next(number for number, post in enumerate(posts) if post.at.hour == 9 and post.at.isoweekday() < 6)
        posts[index] = posts[index]._replace(value=14.0)
        after += find(posts)[0].best is not None
    assert after <= before + 1


def test_hours_are_counted_from_sunday():
    sunday = datetime(2025, 1, 5, 23, tzinfo=UTC)
    (lift,) = find([TimedValue(sunday, "x", "SHORT", 1.0)])[1]
    assert (lift.day_of_week, lift.hour, lift.posts, lift.lift) == (0, 23, 1, 0.0)


def test_posts_at_one_time_show_no_best_time():
    at = datetime(2025, 1, 6, 9, tzinfo=UTC)
    result, _ = find([TimedValue(at + timedelta(weeks=week), "x", "SHORT", week % 3) for week in range(50)])
    assert (result.p_value, result.best) == (1.0, None)
