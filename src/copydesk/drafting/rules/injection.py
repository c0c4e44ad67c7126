"""Detect prompt injection in sources: text that addresses the reader's AI system with instructions.

A list of patterns suffices, because few templates are in use: 54 of them made up 95% of 15,387 injections found in 1.2
billion pages. It warns the reviewer and is no protection. The protection is that writers never follow text of a source.

Articles about language models speak of such text. So an instruction counts where a sentence begins with it, outside
quotation marks and code.
"""

import re

from copydesk.model.draft import Finding, Severity

# What may begin a sentence is not skipped after it: a row of `#` would be read to its end from each of them.
_OPENING = (
    r"(?:^|(?<=[.!?:;>*\]\n#]))(?:[^\S\n]|[_-])*+"
    r"(?:(?:please|now|also|first|then|important|attention|stop)[,:!.]?\s+){0,2}"
)
_ASSISTANT = (
    r"(?:(?:ai\s)?language\smodels?|ai|llms?|artificial\sintelligence|bot|chatbot|chatgpt|claude|gemini|copilot)"
)
_KIND = r"(?:\s(?:assistants?|models?|agents?|systems?|bots?|tools?))"
_VERB = (
    r"(?:ignore|disregard|write|say|reply|respond|answer|add|include|insert|mention|recommend|rate|output|print|post"
    r"|repeat|forget|follow|send|visit|tell|describe|summari[sz]e|stop|give|link|end|begin|start|use|do\snot|don['’]t"
    r"|you\s(?:must|should))"
)
_INSTRUCTION = re.compile(
    rf"{_OPENING}(?P<text>"
    r"(?:ignore|disregard|forget|override|skip)\s(?:(?:all|any|the|your|these|those|of|my)\s){0,3}"
    r"(?:previous|prior|above|earlier|preceding|existing|other)\s(?:\w+\s)?"
    r"(?:instructions?|prompts?|rules|directions|text|context)"
    r"|(?:the\s)?(?:system|developer)\s(?:prompt|message|note|override)\s?:"
    r"|new\sinstructions?\s?:"
    r"|you\sare\snow\s(?:an?|in|the)\s(?:\w+\s){0,2}"
    r"(?:assistant|model|bot|ai|mode|writer|editor|pirate|agent|persona|dan)\b"
    r"|do\snot\s(?:tell|mention|reveal|inform)\b[^.\n]{0,40}\buser\b"
    rf"|(?:(?:note|message|instructions?)\s(?:to|for)\s)?(?:all\s|any\s|the\s)?{_ASSISTANT}{_KIND}?\s?[,:]"
    rf"\s?(?:please\s)?{_VERB}\b"
    rf"|(?:all\s|any\s)?{_ASSISTANT}{_KIND}?\s(?:reading|processing|summari[sz]ing|who\sreads?)\s(?:this|it)\b"
    rf"|if\syou\sare\san?\s{_ASSISTANT}{_KIND}?\s?(?:,|reading|processing|summari[sz]ing|writing|then)"
    r"|<\|?(?:im_start|system|assistant|endoftext)\|?>\s?(?:system|assistant|user)?|\[/?INST\])",
    re.IGNORECASE | re.MULTILINE,
)
# Every match contains one of these. Searching for them first is much cheaper than the pattern.
_HINTS = (
    "ignore", "disregard", "forget", "override", "skip ", "system", "developer", "are now", "instruction", "do not",
    "if you are", "ai ", "ai:", "ai,", "assistant", "agent", "language model", "llm", "bot", "claude", "gemini",
    "copilot", "chatgpt", "<", "inst]",
)  # fmt: skip
# Quotations within one line, and code.
_QUOTED = re.compile(
    r"“[^“”\n]*”|\"[^\"\n]*\"|‘[^‘’\n]*’(?!\w)|«[^«»\n]*»|„[^„“”\n]*[“”]|```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL
)


def find_injections(text: str) -> tuple[Finding, ...]:
    """Return a warning for each passage that reads like an instruction to a writer; spans refer to `text`."""
    # As in the pattern, any white space may separate the words.
    lower = re.sub(r"\s", " ", text.lower())
    if not any(hint in lower for hint in _HINTS):
        return ()
    own_words = _QUOTED.sub(lambda match: "_" * len(match[0]), text)
    return tuple(
        Finding(
            rule="injection",
            severity=Severity.WARNING,
            message=f"Reads like an instruction: “{' '.join(text[start:end].split())}”.",
            start=start,
            end=end,
        )
        for match in _INSTRUCTION.finditer(own_words)
        for start, end in [match.span("text")]
    )
