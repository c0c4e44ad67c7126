"""Statistics that several crafts use. Pure; random numbers come from a generator that the caller seeds."""
