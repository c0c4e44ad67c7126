"""The desk of one user: every operation, grouped by resource."""

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from copydesk.desk.clock_guard import ClockGuard
from copydesk.desk.context import Clock, DeskContext
from copydesk.desk.drafts.review import Review
from copydesk.desk.drafts.service import Drafts
from copydesk.desk.pipeline.service import Pipeline
from copydesk.desk.voice import Voices
from copydesk.errors import StoreError
from copydesk.model.user import User
from copydesk.settings import Settings

if TYPE_CHECKING:
    from copydesk.credentials.vault import PassphrasePrompt
    from copydesk.desk.accounts.service import Accounts
    from copydesk.desk.backups import Backups
    from copydesk.desk.engagement import Engagements
    from copydesk.desk.events import Events
    from copydesk.desk.experiments import Experiments
    from copydesk.desk.generation.service import Generation
    from copydesk.desk.idempotency import Idempotency
    from copydesk.desk.ids import Ids
    from copydesk.desk.job_leases import JobLeases
    from copydesk.desk.learning import Learning
    from copydesk.desk.publishing.service import Posting
    from copydesk.desk.ranking import Rankings
    from copydesk.desk.retention import Retention
    from copydesk.desk.reviewers import Reviewers
    from copydesk.desk.rules import Rules
    from copydesk.desk.schedule import Schedule
    from copydesk.desk.sources.service import Sources
    from copydesk.desk.stories import Stories
    from copydesk.desk.tokens import Tokens
    from copydesk.desk.webhooks.service import Webhooks
    from copydesk.desk.writers.service import WriterSettings
    from copydesk.model.desk_status import DeskStatus


class Desk:
    """Every operation of Copydesk for one user.

    The resources that need httpx or the ingest, drafting and posting packages are imported on first access, so that the
    console can paint its first rows without them.
    """

    def __init__(self, context: DeskContext) -> None:
        self._context = context
        self._clock_guard = ClockGuard(context)
        self._review = Review(context)
        self.drafts = Drafts(context, self._review, lambda: self.posting)
        """Drafts: create, review, undo, list, search."""
        self.pipeline = Pipeline(context)
        """Runs from sources to drafts."""
        self.voice = Voices(context)
        """The voice profile."""

    @cached_property
    def sources(self) -> "Sources":
        """Sources, test fetches, lists of feeds."""
        from copydesk.desk.sources.service import Sources  # noqa: PLC0415

        return Sources(self._context)

    @cached_property
    def stories(self) -> "Stories":
        """The items that tell one event: merge, split."""
        from copydesk.desk.stories import Stories  # noqa: PLC0415

        return Stories(self._context)

    @cached_property
    def engagement(self) -> "Engagements":
        """Metrics of posts and their summaries."""
        from copydesk.desk.engagement import Engagements  # noqa: PLC0415

        return Engagements(self._context)

    @cached_property
    def generation(self) -> "Generation":
        """Drafts that wait to be written."""
        from copydesk.desk.generation.service import Generation  # noqa: PLC0415

        return Generation(self._context)

    @cached_property
    def writers(self) -> "WriterSettings":
        """Writers: endpoints of language models, their order, their requests and costs."""
        from copydesk.desk.writers.service import WriterSettings  # noqa: PLC0415

        return WriterSettings(self._context)

    @cached_property
    def schedule(self) -> "Schedule":
        """Slots, the time zone, conflicts, the automatic schedule."""
        from copydesk.desk.schedule import Schedule  # noqa: PLC0415

        return Schedule(self._context, self._review, self._clock_guard)

    @cached_property
    def posting(self) -> "Posting":
        """Posting, deliveries, previews, prices."""
        from copydesk.desk.publishing.service import Posting  # noqa: PLC0415

        return Posting(self._context, self._clock_guard)

    @cached_property
    def accounts(self) -> "Accounts":
        """Accounts that posts go to."""
        from copydesk.desk.accounts.service import Accounts  # noqa: PLC0415

        return Accounts(self._context)

    @cached_property
    def job_leases(self) -> "JobLeases":
        """Leases of the background jobs, and what is due."""
        from copydesk.desk.job_leases import JobLeases  # noqa: PLC0415

        return JobLeases(self._context)

    @cached_property
    def idempotency(self) -> "Idempotency":
        """Requests with a key, each carried out once."""
        from copydesk.desk.idempotency import Idempotency  # noqa: PLC0415

        return Idempotency(self._context)

    @cached_property
    def retention(self) -> "Retention":
        """Deletion of old data."""
        from copydesk.desk.retention import Retention  # noqa: PLC0415

        return Retention(self._context)

    @cached_property
    def backups(self) -> "Backups":
        """Backups of the database."""
        from copydesk.desk.backups import Backups  # noqa: PLC0415

        return Backups(self._context)

    @cached_property
    def tokens(self) -> "Tokens":
        """API tokens of the HTTP service."""
        from copydesk.desk.tokens import Tokens  # noqa: PLC0415

        return Tokens(self._context)

    @cached_property
    def reviewers(self) -> "Reviewers":
        """The roles of the reviewers."""
        from copydesk.desk.reviewers import Reviewers  # noqa: PLC0415

        return Reviewers(self._context)

    @cached_property
    def events(self) -> "Events":
        """Events: read them, wait for the next ones."""
        from copydesk.desk.events import Events  # noqa: PLC0415

        return Events(self._context)

    @cached_property
    def webhooks(self) -> "Webhooks":
        """Webhooks, to which events are sent."""
        from copydesk.desk.webhooks.service import Webhooks  # noqa: PLC0415

        return Webhooks(self._context)

    @cached_property
    def experiments(self) -> "Experiments":
        """Experiments and their results."""
        from copydesk.desk.experiments import Experiments  # noqa: PLC0415

        return Experiments(self._context)

    @cached_property
    def learning(self) -> "Learning":
        """The preferences and the confidence learnt from decisions."""
        from copydesk.desk.learning import Learning  # noqa: PLC0415

        return Learning(self._context)

    @cached_property
    def ranking(self) -> "Rankings":
        """The ranking, explained and previewed."""
        from copydesk.desk.ranking import Rankings  # noqa: PLC0415

        return Rankings(self._context)

    @cached_property
    def rules(self) -> "Rules":
        """Rules made from the reasons of rejections."""
        from copydesk.desk.rules import Rules  # noqa: PLC0415

        return Rules(self._context)

    @cached_property
    def ids(self) -> "Ids":
        """Ids by their ends, and short ids for lists."""
        from copydesk.desk.ids import Ids  # noqa: PLC0415

        return Ids(self._context)

    async def close(self) -> None:
        """Cancel runs, wait for requests in flight, and refuse every operation from then on.

        A request that is interrupted would leave its outcome unknown.
        """
        if self._context.is_closed:
            return
        await self.pipeline.stop()
        if "posting" in self.__dict__:
            await self.posting.drain()
        with suppress(StoreError):  # the next start recovers runs that are still open
            await self.pipeline.save_pending_results()
        self._context.is_closed = True
        await self._context.platforms.close()

    async def change_counter(self) -> int:
        """Return a number that differs after every change to the database, whichever process made it."""
        self._context.check_open()
        return await self._context.database.change_counter()

    async def wait_for_change(self, counter: int) -> None:
        """Wait until `change_counter` may differ from `counter`: on PostgreSQL for a notification, else a moment."""
        self._context.check_open()
        await self._context.database.wait_for_change(counter)

    async def status(self) -> "DeskStatus":
        """Return the state of the desk beside its drafts; cheap enough for every change."""
        from copydesk.desk.status import load_status  # noqa: PLC0415

        return await self._context.read(load_status, self._context, self._clock_guard)

    async def release_memory(self) -> bool:
        """Release cached memory while the desk is idle; return True if there was any to release."""
        self._context.check_open()
        return await self._context.database.close_idle()

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._context.settings

    @property
    def user(self) -> User:
        """The user whose desk this is."""
        return self._context.user

    @property
    def clock(self) -> Clock:
        """Returns the current time, in UTC."""
        return self._context.clock

    def set_interactive(self, prompt_passphrase: "PassphrasePrompt") -> None:
        """Tell the desk that a user works at it in this process, and can be asked for the passphrase of the vault.

        Background work then yields to the handling of keys.
        """
        self._context.is_interactive = True
        self._context.shared.prompt_passphrase = prompt_passphrase
