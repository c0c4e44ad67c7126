"""Findings of the doctor."""

from enum import StrEnum

from copydesk.model.serialization import Struct


class Verdict(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class CheckFinding(Struct, frozen=True):
    """The result of one check."""

    what: str
    verdict: Verdict
    found: str
    advice: str = ""
