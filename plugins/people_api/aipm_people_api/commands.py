"""``aipm open``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, call_tool, load_settings, say, show, target


def open_(
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the address, start no browser.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Open the page of the running server, logged in: the address works once, for five minutes."""
    made = call_tool(config, "create_login_code")
    address = f"{_server(config)}/#code={made['code']}"
    if not (print_only or as_json):
        import webbrowser

        webbrowser.open(address)
    show(
        {"url": address, "code": made["code"], "person": made["person_id"]},
        as_json=as_json,
        human=lambda: say(address),
    )


def _server(config: Any) -> str:  # noqa: ANN401
    """Return where the server answers that runs; without one, where it would."""
    from aipm_http_server.api import ServerSettings, find_running

    if (elsewhere := target().server) is not None:
        return elsewhere.rstrip("/")
    settings = load_settings(config)
    if (running := find_running(settings.data_dir)) is not None:
        return running.url
    server = settings.section(ServerSettings)
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}"
