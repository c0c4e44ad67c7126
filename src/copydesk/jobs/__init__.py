"""When things happen: APScheduler wakes the work, the database says what is due."""
