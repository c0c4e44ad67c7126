"""The pages of `copydesk help TOPIC`, at most 80 columns wide."""

from typing import Final

ACCOUNTS = """
Accounts are what Copydesk posts to. Connect one, and test it:

  copydesk account connect bluesky
  copydesk account connect mastodon --url https://mastodon.example
  copydesk account check

Secrets are prompted for, read from standard input (one per line) or taken from
the environment: COPYDESK_CONNECT_PASSWORD and the like. They are never passed
as arguments, which other users of the machine can see.

An account is named by its platform, or in full as `copydesk account list`
prints it: `bluesky:anna.example`. `--to` of `copydesk draft post` takes both.
A platform's name means all of its accounts.

Credentials are kept in the system's keyring, else in a file that your
passphrase encrypts, and without a passphrase only with --plain.
"""
ENVIRONMENT = """
COPYDESK_HOME             The folder for settings and data, as --home.
COPYDESK_USER             The user to work as, as --user.
COPYDESK_SAMPLE           Opens the sample desk if not empty, as --sample. With
                          --home this and COPYDESK_USER are not read.
COPYDESK_SECTION__NAME    Overrides a setting: COPYDESK_PIPELINE__MAX_DRAFTS=5
                          sets pipeline.max_drafts. Lists are separated by
                          commas. docs/settings.md lists all settings.
COPYDESK_PASSPHRASE       The passphrase of the file with the credentials.
COPYDESK_SECRET_PLATFORM  The app password or token of the only account on a
                          platform: COPYDESK_SECRET_BLUESKY.
COPYDESK_CONNECT_FIELD    Answers a question of `copydesk account connect`:
                          COPYDESK_CONNECT_PASSWORD.
COPYDESK_WRITER_KEY       The API key for `copydesk writer add`.
COPYDESK_TOKEN            The token as which `copydesk mcp` works.
VISUAL, EDITOR            The editor for texts, such as `code --wait`.
BROWSER                   The browser in which you sign in to platforms.
NO_COLOR                  Print without colours, if it is not empty.

Options take precedence over the environment, and that over the settings file.
"""
EXIT_CODES = """
0    It worked.
1    It failed, or some of it did: one of several drafts, sources or accounts.
2    Wrong usage: an option, an argument, a field or a setting is invalid.
3    Not found: there is nothing with this id or name.
4    Not allowed in the current state: the draft is posted, or was changed.
130  Interrupted by Ctrl-C.
143  Terminated by SIGTERM. `copydesk daemon`, `worker`, `serve` and `--web`
     end with 0 then, the last two after Ctrl-C too.

If all of several drafts are refused for one cause, the code is 3 or 4 as for
one draft.

Errors are one line on standard error, with --json a problem details object.
Standard output has results only.
"""
FORMATTING = """
Lists are printed in columns, one entry to a line, and cut at the width of the
terminal. In a pipe nothing is cut, and there are no colours. Notes, such as
how to get the next page, go to standard error.

Times are printed with their zone. `copydesk slot zone` sets the zone in which
times are read and those of drafts are printed; others are in the machine's:

  copydesk draft schedule 1f9c2a --at "fri 14:30"
  copydesk draft list --scheduled-after tomorrow

A time is `fri 14:30`, `tomorrow 9`, `in 2 hours`, `2026-11-30` or ISO 8601.

Characters that would act on the terminal or are invisible are removed from
what comes from outside, and shown as codes in drafts: ⟨U+200B⟩.

For scripts there is --json; see `copydesk help json`.
"""
IDS = """
An id can be given by its end, of at least four characters, as long as only one
ends like this. Results show the last six, or more where ids end alike:

  $ copydesk draft list
  1f9c2a  needs review  SHORT  82%  The ferry to the island runs again …
  $ copydesk draft approve 9c2a

If several ids end like this, the error lists them, and nothing is changed.
--json prints whole ids; use these in scripts, because an end that is unique
today may be that of another draft tomorrow.

`copydesk completion` prints the script that completes ids in your shell.
"""
JSON = """
Commands that print something take --json and --jq:

  copydesk draft list --status approved --json
  copydesk draft list --json id,status
  copydesk draft list --all --jq '.drafts[] | select(.confidence > 0.8) | .id'

--json alone prints everything, with names only these fields of each row. The
word after it is its fields, so put --json last, or write --json=id. --jq prints
what the jq expression makes of the JSON, strings without quotation marks.

Names are those of the HTTP service, ids are whole, and times are in UTC. Lists
with pages have a nextCursor for --cursor, null on the last page; --all prints
all pages as one.

Commands that change drafts print the draft, and for several drafts, or with
--bulk, the outcome for each.

An error is a problem details object (RFC 9457) on the last line of standard
error, and the exit code is the same as without --json.
"""
TOPICS: Final = {
    "accounts": ("Connect accounts and name them.", ACCOUNTS),
    "environment": ("Environment variables.", ENVIRONMENT),
    "exit-codes": ("Exit codes of all commands.", EXIT_CODES),
    "formatting": ("How lists and times are printed and read.", FORMATTING),
    "ids": ("Give ids by their ends.", IDS),
    "json": ("Output for scripts.", JSON),
}
"""Topic -> its summary and its page."""
