"""Entry point of `python -m copydesk`."""

from copydesk.cli import main

if __name__ == "__main__":
    main()
