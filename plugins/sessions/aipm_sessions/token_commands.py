"""``aipm token``."""

from __future__ import annotations

from typing import Annotated

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    call_tool,
    matching,
    say,
    short_ids,
    show,
    since,
    table,
    with_people,
    words,
)

from aipm_sessions.shown import print_secret

_PACKAGE = "aipm_sessions"
token = typer.Typer(
    help="Tokens for people's user interfaces.", rich_markup_mode=None, no_args_is_help=True
)
Whose = Annotated[
    str | None, typer.Option("--agent", metavar="PERSON", help="Whose [default: your own].")
]


@token.command("create")
def create_token(
    agent_id: Whose = None,
    days: Annotated[
        float | None, typer.Option(help="Days until it ends [default: 30, or as the settings say].")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a user-interface token for a person; it is shown once."""
    data = call_tool(config, "create_token", agent_id=agent_id, days=days)
    text = words(_PACKAGE, config)
    title = text("cli.token_made", token=data["id"], person=data["agent_id"])
    show(data, as_json=as_json, human=lambda: print_secret(title, "token", data["token"], text))


@token.command("list")
def list_tokens(agent_id: Whose = None, config: Config = None, as_json: AsJson = False) -> None:
    """List user-interface tokens, without their secrets."""
    rows = call_tool(config, "list_tokens", agent_id=agent_id)["tokens"]
    text, short = words(_PACKAGE, config), short_ids(r["id"] for r in rows)
    names = ("token", "person", "made", "ends", "used", "state")
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            [text(f"cli.heads.{name}") for name in names],
            (
                (
                    *(short[r["id"]], r["agent_id"], since(r["created_at"])),
                    *(since(r["expires_at"]), since(r["used_at"])),
                    text(f"cli.states.{r['state']}"),
                )
                for r in rows
            ),
            empty=text("cli.no_token"),
        ),
    )


@token.command("revoke")
def revoke_token(
    id: Annotated[str, typer.Argument(metavar="TOKEN", help="The token's id, or its beginning.")],  # noqa: A002
    agent_id: Whose = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a token worthless from now on."""

    async def work(people: People) -> str:
        rows = (await people.call("list_tokens", agent_id=agent_id))["tokens"]
        known = [row for row in rows if row["state"] != "revoked" and row["id"].startswith(id)]
        named = str(matching(rows, id, "token")["id"]) if known else id
        await people.call("revoke_token", token_id=named)
        return named

    gone, text = with_people(config, work), words(_PACKAGE, config)
    show({"id": gone}, as_json=as_json, human=lambda: say(text("cli.token_revoked", token=gone)))
