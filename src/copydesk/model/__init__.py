"""The domain's values. No I/O and no clock: the current time is passed in as an argument."""
