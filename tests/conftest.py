"""For every test: hypothesis tries the same examples each time, as long as it needs for them."""

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
