"""Entry point of `copydesk` and of `python -m copydesk`."""

import gc

# Modules live until exit, but collecting garbage visits what their import creates again and again: a tenth of the
# console's start. The command line enables it again before there is work to do.
gc.disable()

from copydesk.cli import main  # noqa: E402 - see above

if __name__ == "__main__":
    main()
