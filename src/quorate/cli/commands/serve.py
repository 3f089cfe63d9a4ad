"""`quorate serve`: a server for votes, its tokens and its backups."""

from __future__ import annotations

import os
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quorate.cli.group import say
from quorate.errors import UsageError

if TYPE_CHECKING:
    from quorate.service.running import Push
    from quorate.service.service import Service

DEFAULT = "project.db"
RUN = "run"
DATABASE = click.argument("database", default=DEFAULT, metavar="[DATABASE]")


class Serving(click.Group):
    """What is no command is the database to serve."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command in that need not be named."""
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = [RUN, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Serving)
def serve() -> None:
    """Take votes over HTTP, and hand out the next task.

    `quorate serve [DATABASE]` serves a SQLite file (project.db unless given), or a PostgreSQL
    database, postgresql://user@host/name: see `quorate serve run --help`.
    """
    try:
        import quorate.service.store  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The server needs more packages ({error.name}): pip install 'quorate[serve]'."
        ) from None


@serve.command(RUN)
@DATABASE
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port."
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Name the server is called by.")
@click.option("--rate", type=click.FloatRange(min=0.1), help="Requests a second of a worker.")
@click.option(
    "--label-studio",
    metavar="URL",
    help="Label Studio to push answers to, with the token in LABEL_STUDIO_TOKEN.",
)
@click.option(
    "--push-seconds",
    type=click.FloatRange(min=0.1),
    default=30,
    show_default=True,
    help="Seconds between two pushes.",
)
@click.option("-o", "--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def run(database: str, **given: Any) -> None:
    """Serve a SQLite file, or a PostgreSQL database, until it is told to stop."""
    from quorate.service.running import Place, serve

    def started(service: Service, place: Place) -> None:
        if not given["quiet"]:
            leads = "" if service.leads else ", read only until the other server is gone"
            say(f"Serving {service.store.place} on {place.url}{leads}; stop it with Ctrl-C.")
        if given["opens"]:
            webbrowser.open(place.url)

    place = Place(given["host"], given["port"], given["allow_host"])
    push = _push(given["label_studio"], given["push_seconds"])
    serve(database, place, rate=given["rate"], push=push, started=started)


def _push(url: str | None, seconds: float) -> Push | None:
    """Whom to tell how projects stand."""
    from quorate.service.label_studio import LabelStudio

    if url is None:
        return None
    token = os.environ.get("LABEL_STUDIO_TOKEN")
    if not token:
        raise UsageError("Label Studio wants a token: put it into LABEL_STUDIO_TOKEN.")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url} is no address of a Label Studio server: http://... or https://...")
    return LabelStudio(url.rstrip("/"), token), seconds


@serve.group()
def token() -> None:
    """Make, list and revoke tokens."""


@token.command("new")
@DATABASE
@click.option(
    "--role",
    required=True,
    type=click.Choice(["admin", "requester", "worker"]),
    help="What it lets its bearer do.",
)
@click.option("--name", required=True, help="Whose it is, for the audit log.")
@click.option("--project", help="The only project it is for.")
@click.option("--worker", help="The only worker it is for.")
def new(database: str, **grant: Any) -> None:
    """Make a token, and print it: it is not kept, and cannot be shown again."""
    from quorate.service.store.database import beside
    from quorate.service.tokens import Grant, make_token

    with beside(database) as connection:
        made = make_token(connection, Grant(**grant), int(time.time() * 1000))
    click.echo(made)


@token.command("list")
@DATABASE
def list_tokens(database: str) -> None:
    """List the tokens, without their secrets."""
    from quorate.service.store.database import beside
    from quorate.service.tokens import tokens_of

    with beside(database) as connection:
        rows = tokens_of(connection)
    for row in rows:
        bound = "".join(f", {k} {row[k]}" for k in ("project", "worker") if row[k])
        state = "revoked" if row["revoked"] else "valid"
        say(f"{row['id']}  {row['role']:9}  {row['name']}{bound}  ({state})")
    if not rows:
        say("There are no tokens.")


@token.command("revoke")
@click.argument("id")
@DATABASE
def revoke_token(id: str, database: str) -> None:
    """Revoke the token with that ID: see `quorate serve token list`."""
    from quorate.service.store.database import beside
    from quorate.service.tokens import revoke

    with beside(database) as connection:
        if not revoke(connection, id, int(time.time() * 1000)):
            raise UsageError(f"There is no valid token {id!r}.")
    say(f"Token {id} is revoked.")


@serve.command()
@DATABASE
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the copy goes.")
def backup(database: str, output: str) -> None:
    """Copy a SQLite database as of one moment, also while it is served."""
    from quorate.service.store import is_postgresql
    from quorate.service.store.database import back_up

    if is_postgresql(database):
        raise UsageError("PostgreSQL has a program for that: pg_dump.")
    back_up(Path(database), Path(output))
    say(f"{database} is copied to {output}; to restore it, serve that file.")
