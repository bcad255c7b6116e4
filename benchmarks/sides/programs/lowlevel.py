"""The official SDK's low-level server with four small tools: PORT or ``stdio``, and DATABASE."""

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server

from benchmarks.sides.programs.mailbox import Mailbox

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = {
    name: types.Tool(name=name, description=name, input_schema=schema)
    for name, schema in (
        ("nothing", {"type": "object"}),
        ("send", TEXT),
        ("wait", {"type": "object"}),
        ("ring", {"type": "object"}),
    )
}
mailbox = Mailbox(sys.argv[2])


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[*TOOLS.values()])


async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
    if params.name == "send":
        mailbox.keep(params.arguments["text"])
    elif params.name == "wait":
        await mailbox.wait()
    elif params.name == "ring":
        mailbox.ring()
    text = types.TextContent(type="text", text='{"ok":true}')
    return types.CallToolResult(content=[text], structured_content={"ok": True})


server: Server[Any] = Server(
    "bare",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    get_tool_input_schema=lambda name: TOOLS[name].input_schema,
)


async def stdio() -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(stdio)
    else:
        import uvicorn

        app = server.streamable_http_app()
        uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
