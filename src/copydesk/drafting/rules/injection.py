"""Text in a source that talks to whoever writes about it, as an injected prompt does.

A list of patterns, as the templates in the wild are few: 54 of them made up 95 % of 15,387 injections found in 1.2
billion pages. It warns a reviewer; it is no fence. The fence is that nothing in a source is ever obeyed.
"""

import re

from copydesk.model.draft import Finding, Severity

_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|skip)\s(?:(?:all|any|the|your|these|those|of|my)\s){0,3}"
    r"(?:previous|prior|above|earlier|preceding|existing|other)\s(?:\w+\s)?"
    r"(?:instructions?|prompts?|rules|directions|text|context)"
    r"|\b(?:system|developer)\sprompt\b|\byou\sare\snow\s(?:a|an|in|the)\b|\bnew\sinstructions?\s?:"
    r"|\bdo\snot\s(?:tell|mention|reveal|inform)\b[^.\n]{0,40}\buser\b"
    r"|\b(?:ai|language)\s(?:assistants?|models?|agents?)\s?[,:]\s?(?:please|you\smust|ignore|do\snot)"
    r"|\bif\syou\sare\san?\s(?:ai|llm|language\smodel|bot|assistant)\b"
    r"|<\|?(?:im_start|im_end|system|assistant|endoftext)\|?>|\[/?INST\]",
    re.IGNORECASE | re.MULTILINE,
)
# No pattern matches a text without one of these: a cheap look before the long one.
_HINTS = (
    "ignore|disregard|forget|override|skip |prompt|are now|instruction|do not|if you are|ai assistant|ai model|ai agent"
    "|language assistant|language model|language agent|<|inst]"
)


def source_findings(text: str) -> tuple[Finding, ...]:
    """What in a source's text reads like an instruction to whoever writes about it; places are those of `text`."""
    lower = re.sub(r"\s", " ", text.lower())
    if not any(hint in lower for hint in _HINTS.split("|")):
        return ()
    return tuple(
        Finding(
            rule="injection",
            severity=Severity.WARNING,
            message=f"Reads like an instruction: “{' '.join(match[0].split())}”.",
            start=match.start(),
            end=match.end(),
        )
        for match in _INSTRUCTION.finditer(text)
    )
