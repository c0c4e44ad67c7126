"""Background jobs: the database says what is due, and one process at a time does it."""

from copydesk.jobs.runner import JobMessage, Jobs, Listener, run_jobs

__all__ = ["JobMessage", "Jobs", "Listener", "run_jobs"]
