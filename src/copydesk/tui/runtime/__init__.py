"""Background work of the console: desk tasks, notifications, key buffer, autosave."""
