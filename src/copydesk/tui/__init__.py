"""The terminal console: a Textual application that calls the desk in background tasks and never blocks on it."""
