"""What is to be done without being asked, and who does it: one process at a time, whichever asks first."""

from datetime import timedelta

from copydesk.desk.grace import late_before
from copydesk.desk.ground import Ground
from copydesk.desk.process import is_gone, me
from copydesk.errors import CopydeskError
from copydesk.model.job import Claim, JobName, JobState, Outlook
from copydesk.store import jobs
from copydesk.store.ids import new_id
from copydesk.text import clean

LEASE = timedelta(seconds=60)
"""For so long a process is thought to be at a job after its last sign of life, where it cannot be asked."""
LONGEST_ERROR = 500


class Work:
    """The jobs of one desk. The database says what is due; a claim in it says who is at it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def outlook(self) -> Outlook:
        """What is due now, and when the next draft is: one look into the database, which changes nothing."""
        now = self._ground.clock()
        return await self._ground.read(jobs.outlook, now, late_before(self._ground.settings.schedule, now))

    async def states(self) -> tuple[JobState, ...]:
        """Every job that was ever begun: who is at it, when it last ended, and its last error."""
        return await self._ground.read(jobs.states)

    async def begin(self, name: JobName) -> Claim | None:
        """Claim a job; None where somebody who lives is at it."""
        now = self._ground.clock()
        at_it = next((state for state in await self.states() if state.name == name and state.owner), None)
        gone = at_it.owner if at_it and is_gone(at_it.owner, at_it.lease_until, now, LEASE) else None
        if at_it and at_it.lease_until and at_it.lease_until >= now and gone is None:
            return None
        claim = Claim(id=new_id(now), job=name, owner=me(), lease_until=now + LEASE)
        mine = await self._ground.write(jobs.claim, claim, now, instead_of=gone)
        return claim if mine else None

    async def renew(self, claim: Claim) -> bool:
        """Give a sign of life; False where somebody else took the job over."""
        return await self._ground.write(jobs.renew, claim, self._ground.clock() + LEASE)

    async def end(self, claim: Claim, *, finished: bool = True, error: Exception | None = None) -> None:
        """Let go of a job that `finished`, well or with an error, or that was broken off."""
        says = _says(error) if error is not None else None
        await self._ground.write(jobs.end, claim, self._ground.clock(), finished=finished, error=says)


def _says(error: Exception) -> str:
    """What is shown of an error that ended a job."""
    return clean(str(error) if isinstance(error, CopydeskError) else repr(error))[:LONGEST_ERROR]
