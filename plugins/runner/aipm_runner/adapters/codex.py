"""Codex, through its app server."""

from __future__ import annotations

import json

from aipm_runner.api import Abilities, Launch, RunnerAdapter, RunStart, private_environment
from aipm_runner.drivers.codex_server import CodexDriver

# Every command and every change of a file is asked about, because the thread is opened with the
# policy "untrusted"; what would act without that question is switched off.
_OFF = ("plugins", "apps", "multi_agent", "browser_use", "computer_use", "image_generation")


def launch(start: RunStart) -> Launch:
    """Start it in a home in which the working copy is not trusted."""
    features = [word for name in _OFF for word in ("--disable", name)]
    words = (*(start.command or ("codex",)), "app-server", *features)
    environment = {**private_environment(start), "CODEX_HOME": str(start.home / ".codex")}
    return Launch(
        words=words, environment=environment, files={".codex/config.toml": _config(start)}
    )


def _config(start: RunStart) -> str:
    """Write its settings: where our tools are, and what its shells and the repository may not."""
    quoted = json.dumps  # a JSON text is a TOML text
    return "\n".join(
        (
            'web_search = "disabled"',
            "[analytics]",
            "enabled = false",
            "[mcp_servers.aipm]",
            f"url = {quoted(start.mcp_url)}",
            f"http_headers = {{ Authorization = {quoted(f'Bearer {start.token}')} }}",
            "required = true",
            'default_tools_approval_mode = "approve"',
            "[shell_environment_policy]",
            "ignore_default_excludes = false",
            'exclude = ["AIPM_*"]',
            f"set = {{ AIPM_RUN_ID = {quoted(start.run_id)} }}",
            f"[projects.{quoted(str(start.directory))}]",
            'trust_level = "untrusted"',
            "",
        )
    )


CODEX = RunnerAdapter(
    name="codex",
    launch=launch,
    protocol="app-server",
    bare=True,
    drive=CodexDriver,
    abilities=Abilities(guard=True, reason=True, interrupt=True, resume=True),
    variables=("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"),
    login_files=(".codex/auth.json",),
)
