"""The source types that Copydesk reads and the platforms it posts to, for front ends: values that need no open desk.

Importing this is cheap, because the console does it before its first paint.
"""

from copydesk.ingest.registry import DEFAULT_TYPE, SOURCE_TYPES, get_source_type, guess_source_type
from copydesk.posting.registry import PLATFORMS

__all__ = ["DEFAULT_TYPE", "PLATFORMS", "SOURCE_TYPES", "get_source_type", "guess_source_type"]
