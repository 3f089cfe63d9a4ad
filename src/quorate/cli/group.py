"""The group of all commands: which one is meant, and how a failure is told."""

from __future__ import annotations

import atexit
import gc
import io
import os
import re
import sys
from typing import Any

import click

from quorate.arguments import nearest
from quorate.cli.commands import SUMMARIES
from quorate.cli.stopping import TERMINATED, stopping_tidily, tidy_in_peace
from quorate.errors import QuorateError, UsageError, masked, printable

DEFAULT = "aggregate"
INTERRUPTED = 130
NOBODY_READS = 141  # what a shell reports of a program that a closed pipe has ended
# Imports make many objects and no garbage: they are not searched for any.
OBJECTS_TO_START = 100_000
COMPLETING = "_QUORATE_COMPLETE"  # set by the shell that wants to know what may follow
LIKE_A_FILE = re.compile(r"[./\\*?]|://")


class Commands(click.Group):
    """Every failure is one sentence, and an exit code that says whose fault it is. What is no
    command is votes to aggregate."""

    def main(  # type: ignore[override]
        self, args: Any = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        """Run the command that is asked for, and exit."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        if COMPLETING in os.environ:
            from quorate.cli.completing import register

            register()
        gc.set_threshold(OBJECTS_TO_START)
        _open_closed_streams()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show every letter
                stream.reconfigure(errors="backslashreplace")
        with stopping_tidily():
            code = self._run(args, **extra)
        atexit.register(tidy_in_peace)
        sys.exit(code)

    def _run(self, args: Any, **extra: Any) -> int:
        """The exit code, after one sentence if it is not 0."""
        try:
            code = super().main(args, standalone_mode=False, **extra)
            return code if isinstance(code, int) else 0
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return error.exit_code
        except click.ClickException as error:
            return _fail(_sentence(error), error.exit_code)
        except QuorateError as error:
            return _fail(str(error), error.exit_code)
        except MemoryError:
            return _fail("There is not enough memory for this.", 1)
        except click.Abort:
            return _fail("Interrupted.", INTERRUPTED)
        except SystemExit as error:
            if error.code == TERMINATED:
                return TERMINATED
            write_nowhere()  # it is what click makes of a closed pipe
            return NOBODY_READS
        except OSError as error:
            write_nowhere()
            return _fail(_of_the_system(error), 1)
        except BaseException as error:
            return _stopped_in_a_library(error)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and have all of it read; being interrupted is no failure."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            if sys.stderr.isatty():
                click.echo(err=True)  # after the terminal's own ^C
            ctx.exit(_fail("Interrupted.", INTERRUPTED))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with what it does, none of which is imported for that."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(SUMMARIES.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Votes, or options, without a command are for `aggregate`."""
        if args and self._means_votes(ctx, args[0]):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def _means_votes(self, ctx: click.Context, first: str) -> bool:
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if first in self.commands or first in own:
            return False
        is_file = bool(LIKE_A_FILE.search(first)) or os.path.exists(first)  # noqa: PTH110
        return first.startswith("-") or is_file

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of that name, or the one that may be meant."""
        name = args[0]
        if name not in self.commands and not ctx.resilient_parsing:
            meant = nearest(name, self.commands)
            advice = f"did you mean `quorate {meant}`?" if meant else "see `quorate --help`."
            what = "command" if meant else "command and no file"
            raise UsageError(f"There is no {what} {name!r}: {advice}")
        return super().resolve_command(ctx, args)


def write_nowhere() -> None:
    """Send what is still to be printed nowhere, as nobody reads it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is no file
        return


def _fail(sentence: str, exit_code: int) -> int:
    say(f"quorate: {sentence}", err=True)
    return exit_code


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may hold names or addresses: text that is data, without secrets."""
    click.echo(printable(masked(text)), err=err)


def _of_the_system(error: OSError) -> str:
    """What the system refused: a file, or standard output, which has no name."""
    why = error.strerror or str(error)
    if error.filename is None:
        return f"Standard output cannot be written: {why}."
    return f"{error.filename} cannot be used: {why}."


def _open_closed_streams() -> None:
    """Give standard output and error that are closed a place, so that no file takes theirs. What
    is written to such an output fails, as with other programs."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_WRONLY)
            if nowhere != number:
                os.dup2(nowhere, number)
            setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115


def _sentence(error: click.ClickException) -> str:
    """What the parser has to say, in one sentence."""
    if isinstance(error, click.NoSuchOption):
        return _no_such_option(error)
    message = " ".join(error.format_message().split())
    path = getattr(getattr(error, "ctx", None), "command_path", None)
    if isinstance(error, click.MissingParameter) and path:
        return f"{message.rstrip('.')}: see `{path} --help`."
    return message


def _no_such_option(error: click.NoSuchOption) -> str:
    """The option that may be meant: another of the command, or one of a method."""
    from quorate.cli.values import methods_with

    given = error.option_name
    command = error.ctx.command if error.ctx else None
    name = given.lstrip("-").replace("-", "_")
    takes_settings = command is not None and any(p.name == "settings" for p in command.params)
    owners = methods_with(name) if takes_settings else []
    if owners:
        return f"{name} is an option of {', '.join(owners)}: give it as --set {name}=VALUE."
    known = [] if command is None else [o for p in command.params for o in p.opts if o[:2] == "--"]
    meant = nearest(given, known)
    path = error.ctx.command_path if error.ctx else "quorate"
    advice = f"did you mean {meant}?" if meant else f"see `{path} --help`."
    return f"There is no option {given}: {advice}"


def _stopped_in_a_library(error: BaseException) -> int:
    """Polars panics when it is interrupted while it loads NumPy, and repeats by what."""
    if type(error).__name__ == "PanicException" and "KeyboardInterrupt" in str(error):
        return _fail("Interrupted.", INTERRUPTED)
    if type(error).__name__ == "PanicException" and f"SystemExit({TERMINATED})" in str(error):
        return TERMINATED
    raise error
