"""Tests for errors of msgspec in words."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
import pytest

from copydesk.type_problems import describe_type_problem, list_choices


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ("soon", float, "takes a number, not text"),
        (-1, Annotated[int, msgspec.Meta(ge=0)], "takes a whole number of at least 0"),
        (11, Annotated[float, msgspec.Meta(le=10)], "takes a number of at most 10"),
        (0.5, Annotated[float, msgspec.Meta(gt=0.5)], "takes a number of more than 0.5"),
        ("", Annotated[str, msgspec.Meta(min_length=1)], "takes text of at least 1 character"),
        ("abc", Annotated[str, msgspec.Meta(max_length=2)], "takes text of at most 2 characters"),
        ([], Annotated[list[int], msgspec.Meta(min_length=2)], "takes a list of at least 2 items"),
        ("1", int | None, "takes a whole number, not text"),
        (None, bool, "takes true or false, not null"),
        ("x", Annotated[str, msgspec.Meta(pattern="y")], "is not valid"),
        ("x", Literal["y"], "does not take 'x'"),
    ],
)
def test_problem_is_in_words(value: object, target: type, expected: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, target)
    assert describe_type_problem(str(caught.value)) == expected


class _Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class _Pen(msgspec.Struct, rename="camel"):
    ink_colours: Sequence[_Colour] = ()
    ink: _Colour | None = None
    owner: str = ""


@pytest.mark.parametrize(
    ("target", "path", "expected"),
    [
        (_Colour, "", ["red", "blue"]),
        (_Colour | None, "", ["red", "blue"]),
        (list[_Colour], "[3]", ["red", "blue"]),
        (_Pen, "inkColours[0]", ["red", "blue"]),
        (list[_Pen], "[0].ink", ["red", "blue"]),
        (_Pen, "owner", []),
    ],
)
def test_choices_of_a_type(target: object, path: str, expected: list[str]) -> None:
    assert list_choices(target, path) == expected
