"""The accounts that a draft goes to, and why it does not go to the others: one decision for all who need it.

Posting, approvals, checks, previews, the schedule and the console read it, so none of them names other accounts than
the draft is posted to.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import inf

from msgspec.structs import replace

from copydesk.model.delivery import ConnectedAccount, account_keys, name_accounts, select_accounts
from copydesk.model.draft import Format
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct


class SkipReason(StrEnum):
    """The reason for which a draft does not go to a connected account."""

    TARGET = "target"
    """The draft names other platforms or accounts."""
    FORMAT = "format"
    """The draft names none, and the account's platform does not take its format."""
    PLATFORM = "platform"
    """The draft names none, and the account's platform is unknown: a plug-in or a newer version connected it."""
    POSTED = "posted"
    """It is posted there."""
    IN_DOUBT = "in_doubt"
    """It may be posted there."""


class SkippedAccount(Struct, frozen=True):
    """A connected account that a draft does not go to."""

    account: ConnectedAccount
    reason: SkipReason


class PostingTargets(Struct, frozen=True):
    """The accounts that a draft goes to, and those that it does not go to. Each connected account is in one of them."""

    accounts: tuple[ConnectedAccount, ...]
    skipped: tuple[SkippedAccount, ...] = ()
    disconnected: tuple[str, ...] = ()
    """The platforms and accounts that the draft names of which none is connected."""

    @property
    def approvals(self) -> int:
        """The largest number of approvals that one of the accounts asks for; 0 without accounts."""
        return max((account.approvals for account in self.accounts), default=0)

    @property
    def names(self) -> dict[str, str]:
        """The names by which the user tells all connected accounts apart, by their ids."""
        return name_accounts((*self.accounts, *(skipped.account for skipped in self.skipped)))

    def skip(self, reasons: Mapping[str, SkipReason]) -> "PostingTargets":
        """Return the targets without the accounts whose ids are in `reasons`."""
        return replace(
            self,
            accounts=tuple(account for account in self.accounts if account.id not in reasons),
            skipped=self.skipped
            + tuple(SkippedAccount(account, reasons[account.id]) for account in self.accounts if account.id in reasons),
        )

    def skipped_for(self, *reasons: SkipReason) -> tuple[ConnectedAccount, ...]:
        """Return the accounts that the draft does not go to for one of these reasons."""
        return tuple(skipped.account for skipped in self.skipped if skipped.reason in reasons)


def select_targets(
    connected: Sequence[ConnectedAccount],
    names: Sequence[str],
    format: Format,
    platforms: Mapping[str, PlatformInfo],
) -> PostingTargets:
    """Return the accounts that a draft goes to: those that `names` select, else all whose platform takes its format.

    A named account is not skipped for the format: its platform refuses the draft, and the user reads why.
    """
    selected = {account.id for account in select_accounts(connected, names)}
    accounts, skipped = [], []
    for account in connected:
        if account.id not in selected:
            skipped.append(SkippedAccount(account, SkipReason.TARGET))
        elif not names and (reason := _refused_for(platforms.get(account.details.platform), format)):
            skipped.append(SkippedAccount(account, reason))
        else:
            accounts.append(account)
    return PostingTargets(tuple(accounts), tuple(skipped), find_disconnected(connected, names))


def find_disconnected(connected: Sequence[ConnectedAccount], names: Sequence[str]) -> tuple[str, ...]:
    """Return those of `names` that select no connected account."""
    # Without names there is nothing to find: it is called for thousands of drafts at once.
    existing = set().union(*account_keys(connected).values()) if names else set()
    return tuple(name for name in names if name.strip().lower() not in existing)


def _refused_for(info: PlatformInfo | None, format: Format) -> SkipReason | None:
    if info is None:
        return SkipReason.PLATFORM
    return None if format in info.limits.formats else SkipReason.FORMAT


def target_platforms(targets: PostingTargets, platforms: Mapping[str, PlatformInfo]) -> tuple[PlatformInfo, ...]:
    """Return the platforms that a draft goes to, also those without an account yet, the one that takes least first.

    Each has the lowest limit of its accounts, whose servers may have limits of their own.
    """
    infos = [
        replace(info, limits=replace(info.limits, max_length=account.details.max_length or info.limits.max_length))
        for account in targets.accounts
        if (info := platforms.get(account.details.platform))
    ]
    disconnected = (name.partition(":")[0].strip().lower() for name in targets.disconnected)
    infos += [platforms[name] for name in disconnected if name in platforms]
    lowest: dict[str, PlatformInfo] = {}
    for info in sorted(infos, key=lambda info: info.limits.max_length or inf):
        lowest.setdefault(info.name, info)
    return tuple(lowest.values())


class TextLimit(Struct, frozen=True):
    """The longest post that a platform takes of a draft."""

    platform: str
    max_length: int
    """In the platform's own units."""
