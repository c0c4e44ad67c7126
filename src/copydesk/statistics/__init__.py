"""Statistics that several packages use. Pure; random numbers come from a generator that the caller seeds."""
