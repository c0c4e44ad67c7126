"""The user's own rules for posts, independent of the platform."""

from copydesk.posting.platform import Post
from copydesk.settings import Posting


def rule_violations(post: Post, rules: Posting) -> tuple[str, ...]:
    """Return a message for each rule that `post` violates."""
    if not rules.require_alt:
        return ()
    missing = [f"{number}" for number, alt in enumerate(post.alts, 1) if not alt.strip()]
    if not missing:
        return ()
    subject = f"Picture {missing[0]} has" if len(missing) == 1 else f"Pictures {', '.join(missing)} have"
    return (f"{subject} no description, which posting.require_alt in the settings asks for.",)
