"""What stops a post by the user's own rules, wherever it goes. Pure."""

from copydesk.posting.platform import Post
from copydesk.settings import Posting


def broken_rules(post: Post, rules: Posting) -> tuple[str, ...]:
    """A sentence for each rule of the user's that `post` breaks."""
    if not rules.require_alt:
        return ()
    missing = [f"{place}" for place, alt in enumerate(post.alts, 1) if not alt.strip()]
    if not missing:
        return ()
    which = f"Picture {missing[0]} has" if len(missing) == 1 else f"Pictures {', '.join(missing)} have"
    return (f"{which} no description, which posting.require_alt in the settings asks for.",)
