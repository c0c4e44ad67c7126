"""The voice profile and its preview."""
