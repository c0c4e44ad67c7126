"""`copydesk doctor`: diagnose the desk."""

import asyncio
import sys

import click
import msgspec

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import print_table
from copydesk.errors import CopydeskError
from copydesk.model.check_finding import CheckFinding, Verdict

MARKS = {Verdict.OK: "ok", Verdict.WARNING: "warning", Verdict.ERROR: "ERROR"}


@command(examples=("copydesk doctor", "copydesk doctor --restore-test"))
@click.option("--restore-test", is_flag=True, help="Also restore the newest backup to a temporary folder.")
@click.option("--full", is_flag=True, help="Check all of a large database; it may take minutes.")
@json_options(CheckFinding)
@pass_context
def doctor(context: Context, *, restore_test: bool, full: bool, as_json: bool) -> None:
    """Check the installation and suggest fixes. Exit code 1 if something is wrong."""
    from copydesk.cli.console import check_console_files, check_console_settings  # noqa: PLC0415 - as below
    from copydesk.desk.doctor import examine  # noqa: PLC0415 - brings in the store

    settings, settings_error = None, None
    try:
        settings = context.settings()
        if settings.keys or settings.tabs or settings.commands:
            check_console_settings(settings)
    except CopydeskError as error:
        settings_error = error
    # Not `Context.run`: it exits on an error, which the doctor should report as a finding.
    findings = asyncio.run(
        examine(
            settings or context.default_settings(),
            context.desk if settings else None,
            settings_error=settings_error,
            restore_test=restore_test,
            full=full,
            on_progress=_print_progress,
        )
    )
    if settings:
        findings = (*findings, *check_console_files(settings, context.user))
    findings = tuple(
        msgspec.structs.replace(
            finding, found=context.with_desk_options(finding.found), advice=context.with_desk_options(finding.advice)
        )
        for finding in findings
    )
    if as_json:
        print_json(findings)
    else:
        rows = [
            (MARKS[finding.verdict], finding.what, f"{finding.found} {finding.advice}".strip()) for finding in findings
        ]
        print_table(rows, empty="")
    sys.exit(1 if any(finding.verdict is Verdict.ERROR for finding in findings) else 0)


def _print_progress(check: str) -> None:
    # On a terminal only, and on stderr: stdout may be JSON.
    if sys.stderr.isatty():
        click.echo(f"Checking {check}…", err=True)
