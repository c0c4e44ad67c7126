"""Names, the roles that a text gives them, and who says what."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from copydesk.drafting.claims.statement import Name, Quotation, Statement, Token

_ROLE_WORDS = 4
"""Words of a role phrase at most."""
_ARTICLES = frozenset(["the", "a", "an", "who", "is", "was", "its", "their", "his", "her", "s", "then", "former"])
_ADVERBS = frozenset(["said", "says", "told", "wrote", "by", "and", "with", "that", "called", "added"])


_MIN_SHARED_WORDS = 0.5
"""Share of a quotation's words that a similar one has too."""

_SPACES = re.compile(r"[^\w]+")


class Role(NamedTuple):
    """A role beside a name: "transport minister" for Viktor Dahl."""

    surname: str
    head: str
    """The role that its last words name."""
    modifiers: frozenset[str]
    text: str


def find_roles(statement: Statement) -> Iterator[Role]:
    """Yield the roles beside the names of a sentence."""
    if not statement.language.roles:
        return
    for name in statement.names:
        yield from _role_before(statement, name)
        yield from _role_after(statement, name)


def _role_before(statement: Statement, name: Name) -> Iterator[Role]:
    tokens = statement.tokens
    words: list[Token] = []
    position = name.first - 1
    # "Benfica's coach, Helena Pires": a comma may stand between them.
    if position >= 1 and tokens[position].text == "," and tokens[position - 1].word in statement.language.roles:
        position -= 1
    while position >= 0 and len(words) < _ROLE_WORDS and tokens[position].text[0].isalnum():
        token = tokens[position]
        if token.word in _ARTICLES or token.word in _ADVERBS or token.word in statement.language.speech_verbs:
            break
        words.insert(0, token)
        position -= 1
    yield from _role(statement, name, words)


def _role_after(statement: Statement, name: Name) -> Iterator[Role]:
    tokens = statement.tokens
    position = name.last + 1
    if position >= len(tokens) or tokens[position].text not in (",", "("):
        return
    words: list[Token] = []
    for token in tokens[position + 1 : position + 9]:
        if not token.text[0].isalnum():
            break
        if token.word in _ARTICLES and not words:
            continue
        if token.word in _ADVERBS or token.word in ("of", "at", "for", "from", "in", "which"):
            break
        words.append(token)
    yield from _role(statement, name, words)


def _role(statement: Statement, name: Name, words: Sequence[Token]) -> Iterator[Role]:
    roles = statement.language.roles
    # Names of two words are capitalized role words too: "Prime Minister".
    while words and words[-1].word not in roles:
        words = words[:-1]
    if not words:
        return
    text = " ".join(token.word for token in words)
    head = _head(text, roles)
    rest = frozenset(token.stem for token in words[:-1] if token.word not in roles and token.is_content)
    rest -= frozenset(["chief", "executiv", "financial", "technologi", "operat"])
    yield Role(name.words[-1], head, rest, text)


def _head(text: str, roles: Mapping[str, str]) -> str:
    for phrase, role in (
        ("chief executive", "ceo"), ("chief financial", "cfo"), ("chief technology", "cto"), ("chief operating", "coo"),
        ("prime minister", "prime-minister"), ("deputy mayor", "deputy-mayor"), ("vice president", "vice-president"),
    ):  # fmt: skip
        if phrase in text:
            return role
    last = text.rpartition(" ")[2]
    return roles.get(last, last)


def find_role_conflict(ours: Statement, roles_in_source: Callable[[str], Sequence[Role]]) -> str:
    """Return why a role of the draft is not the source's; empty if none is another one."""
    for role in find_roles(ours):
        source_roles = roles_in_source(role.surname)
        if source_roles and not any(_is_same_role(role, other) for other in source_roles):
            return f"The source says “{source_roles[0].text} {source_roles[0].surname.title()}”, not “{role.text}”."
    return ""


def _is_same_role(role: Role, other: Role) -> bool:
    if role.head != other.head:
        return False
    return not role.modifiers or not other.modifiers or bool(role.modifiers & other.modifiers)


def find_speakers(statement: Statement, names: Collection[str] = ()) -> list[str]:
    """Return the surnames of those who are said to speak in a sentence, by the verb beside their name."""
    return [name.words[-1] for name in statement.names_with(names) if _speaks(statement, name)]


def _speaks(statement: Statement, name: Name) -> bool:
    verbs, tokens = statement.language.speech_verbs, statement.tokens
    before, after = _nearby(tokens, name.first, -1), _nearby(tokens, name.last, 1)
    if any(token.word in verbs for token in before) or any(token.word in verbs for token in after):
        return True
    following = tokens[name.last + 1].text if name.last + 1 < len(tokens) else ""
    preceding = tokens[name.first - 1].text if name.first else ""
    return following == ":" or preceding in ("—", "–", "-")


def _nearby(tokens: Sequence[Token], index: int, step: int) -> list[Token]:
    """Return the words from `index` on, up to six, as far as no quotation is in between."""
    found: list[Token] = []
    position = index + step
    while 0 <= position < len(tokens) and len(found) < 7 and not tokens[position].is_quoted:
        found.append(tokens[position])
        position += step
    return found


def has_speaking_pronoun(statement: Statement) -> bool:
    """Return True if a pronoun stands beside a verb of speech: "she said"."""
    tokens, language = statement.tokens, statement.language
    for token in tokens:
        if token.word in language.speech_verbs and not token.is_quoted:
            for other in tokens[max(0, token.position - 2) : token.position + 2]:
                if other.word in language.pronouns:
                    return True
    return False


def people_in(statements: Iterable[Statement], names: Collection[str] = ()) -> set[str]:
    """Return the last words of all names of the sentences."""
    return {name.words[-1] for statement in statements for name in statement.names_with(names)}


def normalize_quotation(text: str) -> str:
    """Return the words of a quotation, for a comparison that ignores punctuation."""
    return _SPACES.sub(" ", text.lower().replace("’", "'").replace("'", "")).strip()


def similar_quotation(quotation: str, statement: Statement) -> Quotation | None:
    """Return the quotation of a source sentence that `quotation` was meant to be; None if none is similar."""
    words = set(normalize_quotation(quotation).split())
    for other in statement.quotations:
        if len(words & set(normalize_quotation(other.text).split())) >= _MIN_SHARED_WORDS * len(words):
            return other
    return None
