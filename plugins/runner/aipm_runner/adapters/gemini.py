"""Gemini CLI, over ACP, with a policy by which it asks before it uses any tool of its own."""

from __future__ import annotations

import json

from aipm_runner.api import Abilities, Client, Launch, RunnerAdapter, RunStart, private_environment
from aipm_runner.drivers.acp import AcpDriver

_POLICY = """
[[rule]]
mcpName = "aipm"
toolName = "*"
decision = "allow"
priority = 900

[[rule]]
toolName = "*"
decision = "ask_user"
priority = 500
"""


def launch(start: RunStart) -> Launch:
    """Start it with settings of our own; our tools are named to it over the protocol."""
    environment = {
        **private_environment(start),
        "GEMINI_CLI_HOME": str(start.home),
        "GEMINI_CLI_NO_RELAUNCH": "1",
        "GEMINI_TELEMETRY_ENABLED": "false",
    }
    model = ("-m", start.model) if start.model else ()
    words = (
        *(start.command or ("gemini",)),
        *("--acp", "--skip-trust", "--approval-mode", "default"),
        *("--policy", str(start.home / "policy"), "--allowed-mcp-server-names", "aipm"),
        *("-e", "none", *model),
    )
    way = "gemini-api-key" if "GEMINI_API_KEY" in environment else "oauth-personal"
    settings = {
        "security": {"auth": {"selectedType": way}},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True},
        "hooksConfig": {"enabled": False},
    }
    files = {"policy/aipm.toml": _POLICY, ".gemini/settings.json": json.dumps(settings)}
    return Launch(words=words, environment=environment, files=files)


def drive(start: RunStart, client: Client) -> AcpDriver:
    """Speak ACP in the mode in which it asks."""
    return AcpDriver(start, client, mode="default")


GEMINI = RunnerAdapter(
    name="gemini",
    launch=launch,
    protocol="acp",
    bare=True,
    drive=drive,
    abilities=Abilities(guard=True, interrupt=True),
    variables=(
        *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_CLOUD_PROJECT"),
        "GOOGLE_CLOUD_LOCATION",
    ),
    login_files=(".gemini/oauth_creds.json", ".gemini/google_accounts.json"),
)
