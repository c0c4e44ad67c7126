"""The source types that Copydesk reads, for front ends: values that need no open desk.

Importing this is cheap, because the console does it before its first paint.
"""

from copydesk.ingest.registry import DEFAULT_TYPE, SOURCE_TYPES, get_source_type, guess_source_type

__all__ = ["DEFAULT_TYPE", "SOURCE_TYPES", "get_source_type", "guess_source_type"]
