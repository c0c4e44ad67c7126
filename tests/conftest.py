"""For every test: hypothesis tries the same examples each time, and Ctrl-C reaches whom it is sent to."""

import signal

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

# It also tries constants that it finds in whatever modules are loaded by then: with other tests before, other examples.
assert callable(providers._get_local_constants)
providers._get_local_constants = lambda: providers._local_constants

# A shell lets what it runs in the background ignore it, and what that starts ignores it too.
signal.signal(signal.SIGINT, signal.default_int_handler)
