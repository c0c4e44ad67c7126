"""Tests for the subject that titles of several sources share."""

import pytest

from copydesk.ranking.subjects import find_subject, shared_words
from copydesk.ranking.title_similarity import parse_title


def subject(*titles: str) -> str:
    return find_subject([parse_title(title) for title in titles])


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (("Hungary votes as Orban trails", "In Budapest, rivals of Orban court Hungary"), "Hungary and Orban"),
        (("No DNA found in Nancy Guthrie case", "What police know of Nancy Guthrie"), "Nancy Guthrie"),
        (
            (
                "Court in Israel rules on new roads through the West Bank",
                "Settlers plan a town in the West Bank, Israel confirms",
            ),
            "Israel and West Bank",
        ),
        (("Night train from Lisbon to Madrid returns", "Lisbon–Madrid train to restart"), "Lisbon and Madrid"),
        (("Ferry to Aros opens in May", "Aros: what the ferry to Aros costs"), "Aros"),
    ],
)
def test_names_of_a_subject(titles: tuple[str, ...], expected: str) -> None:
    assert subject(*titles) == expected


@pytest.mark.parametrize(
    "titles",
    [
        ("Trump meets the king in the US", "US court rejects a bid by Trump"),
        ("Canada curbs reliance on the US", "US and Canada face measles"),
        ("A ferry opens on the quay", "The ferry at the quay is late"),
        ("Ferry to Aros opens", "Tram in Lyon is late"),
        ("Ferry to Aros opens",),
    ],
)
def test_too_little_in_common_is_no_subject(titles: tuple[str, ...]) -> None:
    assert subject(*titles) == ""


def test_first_word_is_no_name_unless_it_is_one_elsewhere() -> None:
    assert subject("Suspect in Lyon is arrested by police", "Police of Lyon name the arrested suspect") == "Lyon"
    assert (
        subject("Orban trails in the polls of Hungary", "Now voters in Hungary hear from Orban") == "Orban and Hungary"
    )


def test_all_titles_share_the_same_words() -> None:
    first, second, third = map(
        parse_title, ("Navy of Iran closes Hormuz", "How Iran closes Hormuz to tankers", "Embassy of Iran closes")
    )
    words = shared_words(first, second)
    assert words == {"iran", "close", "hormuz"}
    assert shared_words(first, third, words) == frozenset()
