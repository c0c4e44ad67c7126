"""Blog platforms."""
