"""Tests of the figures of judged drafts, and of how verdicts are read and joined."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from copydesk.model.draft import Format
from draft_corpus import (
    Record,
    Verdict,
    agreement,
    false_alarms,
    read_records,
    share,
    wilson_interval,
    write_records,
)
from judged_drafts import describe, join_verdicts, read_verdicts

AS_IS, SMALL_EDIT, NEVER = Verdict


def make_records(*verdicts: tuple[Verdict, ...]) -> list[Record]:
    """Return a record for each of `verdicts`."""
    return [Record(f"draft-{n}", Format.SHORT, "Text", (), {}, given) for n, given in enumerate(verdicts)]


def repeat(count: int, first: Verdict, second: Verdict) -> Iterable[tuple[Verdict, Verdict]]:
    """Return `count` pairs of verdicts."""
    return [(first, second)] * count


def test_share_is_the_mean_of_both_judges() -> None:
    records = make_records(*repeat(2, AS_IS, AS_IS), *repeat(2, AS_IS, NEVER))
    assert share(records, AS_IS).value == 0.75
    assert share(records, NEVER).value == 0.25
    assert share(records, SMALL_EDIT).value == 0


def test_false_alarms_are_warnings_about_quotations() -> None:
    features = {
        "claims": ["supported", "contradicts", "cannot_tell"],
        "findings": ["contradiction: warning", "length: x"],
    }
    records = [Record("draft", Format.SHORT, "Text", (), features), Record("other", Format.SHORT, "Text", (), features)]
    assert false_alarms(records) == (2, 6)


def test_wilson_interval_of_a_published_example() -> None:
    # Newcombe 1998, table I: 81 of 263.
    interval = wilson_interval(81 / 263, 263)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


def test_wilson_interval_of_none_begins_at_zero() -> None:
    interval = wilson_interval(0, 20)
    assert interval.low == 0
    assert 0.16 < interval.high < 0.17


def test_kappa_of_a_published_example() -> None:
    # 20 and 15 of 50 proposals on which two readers agree, 5 and 10 on which they do not.
    pairs = [*repeat(20, AS_IS, AS_IS), *repeat(5, AS_IS, NEVER), *repeat(10, NEVER, AS_IS), *repeat(15, NEVER, NEVER)]
    assert agreement(make_records(*pairs)) == pytest.approx(0.4)


def test_kappa_of_judges_who_always_agree_is_one() -> None:
    assert agreement(make_records(*repeat(3, AS_IS, AS_IS))) == 1
    assert agreement(make_records(*repeat(3, AS_IS, AS_IS), *repeat(1, NEVER, NEVER))) == 1


def test_verdicts_are_read_from_the_form(tmp_path: Path) -> None:
    form = tmp_path / "verdicts.tsv"
    form.write_text('id\tverdict\treason\na\tas is\t\nb\tNever \tquotes "Read more\nc\tsmall edit\n', encoding="utf-8")
    assert read_verdicts(form) == {"a": AS_IS, "b": NEVER, "c": SMALL_EDIT}


@pytest.mark.parametrize("verdict", ["", "good", "as-is"])
def test_line_without_a_verdict_is_named(tmp_path: Path, verdict: str) -> None:
    form = tmp_path / "verdicts.tsv"
    form.write_text(f"id\tverdict\treason\na\tas is\t\nb\t{verdict}\t\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"verdicts\.tsv:3: .* is not one of: as is, small edit, never"):
        read_verdicts(form)


def test_verdicts_are_joined_by_draft() -> None:
    records = make_records((), ())
    joined = join_verdicts(records, [{"draft-1": NEVER, "draft-0": AS_IS}, {"draft-0": SMALL_EDIT, "draft-1": NEVER}])
    assert [record.verdicts for record in joined] == [(AS_IS, SMALL_EDIT), (NEVER, NEVER)]


def test_draft_without_a_verdict_is_named() -> None:
    with pytest.raises(SystemExit, match=r"Draft draft-1 was not judged by judge 2\."):
        join_verdicts(make_records((), ()), [{"draft-0": AS_IS, "draft-1": AS_IS}, {"draft-0": AS_IS}])


def test_records_survive_the_file(tmp_path: Path) -> None:
    records = make_records((AS_IS, NEVER), (NEVER, NEVER))
    write_records(tmp_path / "corpus.jsonl", records)
    assert read_records(tmp_path / "corpus.jsonl") == records


def test_description_has_formats_that_were_judged() -> None:
    lines = describe(make_records(*repeat(9, AS_IS, AS_IS), *repeat(1, NEVER, NEVER)))
    assert lines == [
        "SHORT: 10 drafts, as is 90% (60% to 98%), small edit 0% (0% to 28%), never 10% (2% to 40%)",
        "agreement of the judges: Cohen's kappa 1.00",
    ]
