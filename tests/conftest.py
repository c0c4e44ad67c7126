"""Settings for all tests: reproducible hypothesis examples, and a working Ctrl-C."""

import signal

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

# Hypothesis also draws constants from the modules loaded so far, so that examples would depend
# on the tests run before.
assert callable(providers._get_local_constants)
providers._get_local_constants = lambda: providers._local_constants

# A shell makes its background jobs ignore SIGINT, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
