"""Background jobs: the database says what is due, and one process at a time does it."""

from copydesk.jobs.jobs import Jobs, Listener, Said, running

__all__ = ["Jobs", "Listener", "Said", "running"]
