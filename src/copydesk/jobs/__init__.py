"""Background jobs: the database says what is due, and one process at a time does it."""

from copydesk.jobs.jobs import Jobs, Listener, JobMessage, run_jobs

__all__ = ["Jobs", "Listener", "JobMessage", "run_jobs"]
