"""A parser for `run_in_subprocess` that uses no processor time: it waits, then returns its input."""

import sys
import time

from copydesk.ingest.subprocess_parser import apply_resource_limits, signal_ready

if __name__ == "__main__":
    apply_resource_limits()
    signal_ready()
    body = sys.stdin.buffer.read()
    time.sleep(float(sys.argv[2]))
    sys.stdout.buffer.write(body)
