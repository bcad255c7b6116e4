"""opencode, over ACP, with permissions by which it asks before it uses any tool of its own."""

from __future__ import annotations

import json
import secrets

from aipm_runner.api import Abilities, Launch, RunnerAdapter, RunStart, private_environment
from aipm_runner.drivers.acp import AcpDriver


def launch(start: RunStart) -> Launch:
    """Start it with our settings in the place of the repository's, and its own door locked."""
    config = {
        "permission": {"*": "ask", "aipm_*": "allow"},
        "autoupdate": False,
        "share": "disabled",
        **({"model": start.model} if start.model else {}),
    }
    environment = {
        **private_environment(start),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_SERVER_PASSWORD": secrets.token_urlsafe(16),
    }
    words = (*(start.command or ("opencode",)), "acp")
    return Launch(words=words, environment=environment)


OPENCODE = RunnerAdapter(
    name="opencode",
    launch=launch,
    protocol="acp",
    bare=True,
    drive=AcpDriver,
    abilities=Abilities(guard=True, interrupt=True, resume=True),
    variables=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    login_files=(".local/share/opencode/auth.json",),
)
