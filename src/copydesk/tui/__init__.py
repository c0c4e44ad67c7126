"""The console: asks the desk, draws what it says, and never waits for it."""
