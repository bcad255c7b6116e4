"""Claude Code, asked over its control protocol before it uses a tool of its own."""

from __future__ import annotations

import json

from aipm_runner.api import Abilities, Launch, RunnerAdapter, RunStart, private_environment
from aipm_runner.drivers.claude_stream import ClaudeDriver

# What it may use at all, and what it asks about each time: left alone it runs reads, and commands
# it takes for harmless, without a question.
_TOOLS = (
    *("Bash", "Read", "Glob", "Grep", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"),
    *("Task", "TaskOutput", "TaskStop", "BashOutput", "KillShell"),
)


def launch(start: RunStart) -> Launch:
    """Start it with no settings but ours, and with this server as its only MCP server."""
    server = {
        "type": "http",
        "url": start.mcp_url,
        "headers": {"Authorization": f"Bearer {start.token}"},
    }
    again = (f"--resume={start.resume}",) if start.resume else ()
    model = (f"--model={start.model}",) if start.model else ()
    words = (
        *(start.command or ("claude",)),
        *("-p", "--verbose", "--input-format=stream-json", "--output-format=stream-json"),
        *("--permission-prompt-tool=stdio", "--permission-mode=default"),
        *(f"--mcp-config={start.home / 'mcp.json'}", "--strict-mcp-config"),
        *("--setting-sources=", f"--settings={start.home / 'settings.json'}"),
        *(f"--tools={','.join(_TOOLS)}", "--allowedTools=mcp__aipm"),
        *again,
        *model,
    )
    settings = {"permissions": {"ask": list(_TOOLS)}, "enableAllProjectMcpServers": False}
    environment = {
        **private_environment(start),
        "CLAUDE_CONFIG_DIR": str(start.home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "MCP_CONNECTION_NONBLOCKING": "0",
    }
    files = {
        "mcp.json": json.dumps({"mcpServers": {"aipm": server}}),
        "settings.json": json.dumps(settings),
    }
    return Launch(words=words, environment=environment, files=files)


CLAUDE = RunnerAdapter(
    name="claude",
    launch=launch,
    protocol="stream-json",
    bare=True,
    drive=lambda start, client: ClaudeDriver(client),
    abilities=Abilities(guard=True, reason=True, interrupt=True, resume=True, cost=True),
    variables=(
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"),
        *("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_SMALL_FAST_MODEL"),
    ),
    login_files=(".claude/.credentials.json",),
)
