"""Tests for the decision which accounts a draft goes to."""

from copydesk.model.delivery import Account, ConnectedAccount
from copydesk.model.draft import Format
from copydesk.model.platform import Limits, PlatformInfo
from copydesk.model.targets import PostingTargets, SkipReason, select_targets, target_platforms
from desk_fixtures import NOW


def info(name: str, *formats: Format, max_length: int | None = None) -> PlatformInfo:
    return PlatformInfo(
        name=name, label=name, adapter="", limits=Limits(formats=frozenset(formats), max_length=max_length)
    )


PLATFORMS = {
    platform.name: platform
    for platform in (
        info("short", Format.SHORT, max_length=500),
        info("tight", Format.SHORT, Format.THREAD, max_length=280),
        info("blog", Format.BLOG),
    )
}


def account(key: str, platform: str, name: str = "me", server: str = "one.test", **more: int) -> ConnectedAccount:
    details = Account(
        platform=platform, server=f"https://{server}", id=key, name=name, max_length=more.pop("max_length", None)
    )
    return ConnectedAccount(id=key, details=details, connected_at=NOW, checked_at=None, login_error=None, **more)


def decide(connected: list[ConnectedAccount], *names: str, format: Format = Format.SHORT) -> PostingTargets:
    return select_targets(connected, names, format, PLATFORMS)


def ids(targets: PostingTargets) -> tuple[list[str], dict[str, SkipReason]]:
    skipped = {skipped.account.id: skipped.reason for skipped in targets.skipped}
    return [account.id for account in targets.accounts], skipped


def test_draft_without_targets_goes_to_accounts_that_take_its_format() -> None:
    connected = [account("a", "short"), account("b", "blog"), account("c", "gone")]
    assert ids(decide(connected)) == (["a"], {"b": SkipReason.FORMAT, "c": SkipReason.PLATFORM})


def test_named_account_is_not_skipped_for_the_format() -> None:
    connected = [account("a", "short"), account("b", "blog"), account("c", "gone")]
    assert ids(decide(connected, "Blog", "gone:ME")) == (["b", "c"], {"a": SkipReason.TARGET})


def test_targets_without_an_account_are_disconnected() -> None:
    targets = decide([account("a", "short")], "short", "tight", "short:you")
    assert (ids(targets)[0], targets.disconnected) == (["a"], ("tight", "short:you"))


def test_one_of_two_accounts_with_one_label_can_be_named() -> None:
    connected = [account("a", "short"), account("b", "short", server="two.test")]
    assert ids(decide(connected, "short:me")) == (["a", "b"], {})
    assert ids(decide(connected, "short:me (two.test)")) == (["b"], {"a": SkipReason.TARGET})


def test_names_tell_skipped_accounts_apart_too() -> None:
    targets = decide([account("a", "short"), account("b", "short", server="two.test")])
    left = targets.skip({"b": SkipReason.POSTED})
    assert ids(left) == (["a"], {"b": SkipReason.POSTED})
    assert left.names == {"a": "short:me (one.test)", "b": "short:me (two.test)"}
    assert [account.id for account in left.skipped_for(SkipReason.POSTED, SkipReason.IN_DOUBT)] == ["b"]


def test_approvals_are_those_of_the_accounts_that_it_goes_to() -> None:
    targets = decide([account("a", "short", approvals=2), account("b", "tight")])
    assert (targets.approvals, targets.skip({"a": SkipReason.POSTED}).approvals, decide([]).approvals) == (2, 1, 0)


def limits(targets: PostingTargets) -> list[tuple[str, int | None]]:
    return [(info.name, info.limits.max_length) for info in target_platforms(targets, PLATFORMS)]


def test_limits_are_those_of_the_servers_of_its_accounts() -> None:
    connected = [
        account("a", "short", max_length=5000),
        account("b", "short", "you", max_length=200),
        account("c", "tight"),
    ]
    assert limits(decide(connected)) == [("short", 200), ("tight", 280)]
    assert limits(decide(connected, format=Format.THREAD)) == [("tight", 280)]


def test_limits_of_targets_without_an_account_apply() -> None:
    assert limits(decide([account("a", "short", max_length=5000)], "short", "Tight:me", "unknown")) == [
        ("tight", 280),
        ("short", 5000),
    ]
