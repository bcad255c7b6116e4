"""``aipm open``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, load_settings, say, show, target, with_service

if TYPE_CHECKING:
    from aipm_sessions.api import PeopleLogins

    from aipm_core import ServiceKey


def open_(
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the address, start no browser.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Open the page of the running server, logged in: the address works once, for five minutes."""
    who = target().person or load_settings(config).person
    code, person = with_service(config, _logins, lambda logins, _: logins.new_code(who))
    address = f"{_server(config)}/#code={code}"
    if not (print_only or as_json):
        import webbrowser

        webbrowser.open(address)
    show(
        {"url": address, "code": code, "person": person.id},
        as_json=as_json,
        human=lambda: say(address),
    )


def _server(config: Any) -> str:  # noqa: ANN401
    """Return where the server answers that runs; without one, where it would."""
    from aipm_http_server.api import ServerSettings, find_running

    settings = load_settings(config)
    if (running := find_running(settings.data_dir)) is not None:
        return running.url
    server = settings.section(ServerSettings)
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}"


def _logins() -> ServiceKey[PeopleLogins]:
    from aipm_sessions.api import PEOPLE_LOGINS

    return PEOPLE_LOGINS
