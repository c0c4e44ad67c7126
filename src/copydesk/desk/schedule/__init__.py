"""The schedule: slots, due times, automatic scheduling."""
