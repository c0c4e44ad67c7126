"""Subprocess that runs trafilatura: started with `python -m`, a UTF-8 page in, plain HTML out.

It is isolated because a hostile page of 1 MB keeps trafilatura busy for ten seconds, holding the GIL, and takes 0.5 GB.
"""

import sys

from trafilatura import extract

from copydesk.ingest.subprocess_parser import apply_resource_limits, signal_ready

SNIFFED_LENGTH = 50
"""Characters in which trafilatura looks for the doctype or the `<html>` tag."""


def main() -> None:
    """Read a page from standard input and write its article to standard output."""
    apply_resource_limits()
    signal_ready()
    page = sys.stdin.buffer.read().decode()
    sys.stdout.buffer.write(extract_article(page).encode("utf-8", "replace"))


def extract_article(page: str) -> str:
    """Return the article in `page` as HTML of paragraphs, headings and lists; empty if there is none.

    Fast mode without comments and tables scored best on Zyte's benchmark of 181 pages: F1 0.959, 11 ms a page. HTML
    output, because plain text output does not tell a paragraph from a line.
    """
    # HTML may leave out both, but trafilatura refuses such pages.
    if "html" not in page[:SNIFFED_LENGTH].lower():
        page = f"<!DOCTYPE html>{page}"
    return extract(page, output_format="html", fast=True, include_comments=False, include_tables=False) or ""


if __name__ == "__main__":
    main()
