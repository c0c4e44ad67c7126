"""`copydesk completion`: print the script that completes commands, options and ids in a shell."""

import click
from click.shell_completion import get_completion_class

from copydesk.cli.command import command

SHELLS = ("bash", "zsh", "fish")


@command(
    examples=(
        "copydesk completion bash > ~/.local/share/bash-completion/completions/copydesk",
        "copydesk completion zsh > ~/.zfunc/_copydesk",
        "copydesk completion fish > ~/.config/fish/completions/copydesk.fish",
    )
)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the completion script for a shell: bash, zsh or fish.

    Write it to the file that your shell reads for `copydesk`, as below, and start a new shell. Bash needs the package
    bash-completion; without it, put eval "$(copydesk completion bash)" into ~/.bashrc. For zsh, ~/.zshrc has to contain
    fpath=(~/.zfunc $fpath) before compinit.

    Ids are offered by their ends, newest first. zsh and fish show the status and the first words beside them.
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    root = ctx.find_root()
    program = root.info_name or "copydesk"
    click.echo(completion_class(root.command, {}, program, f"_{program.upper()}_COMPLETE").source())
