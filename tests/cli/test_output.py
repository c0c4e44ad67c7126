"""Tests for what commands print."""

from copydesk.cli.output import print_table


def test_columns_are_aligned_after_wide_characters(capsys):
    print_table([("船の時刻表", "1"), ("Ferry times", "2"), ("🚢 new", "3")], empty="")

    assert capsys.readouterr().out == "船の時刻表   1\nFerry times  2\n🚢 new       3\n"
