"""An A2A agent: PORT DATABASE. ``echo`` is answered at once, the rest becomes stored tasks."""

import sys
from typing import Any

import uvicorn
from a2a.helpers import (  # type: ignore[import-not-found]
    get_message_text,
    new_task_from_user_message,
    new_text_message,
    new_text_status_update_event,
)
from a2a.server.agent_execution import AgentExecutor  # type: ignore[import-not-found]
from a2a.server.request_handlers import DefaultRequestHandler  # type: ignore[import-not-found]
from a2a.server.routes import create_jsonrpc_routes  # type: ignore[import-not-found]
from a2a.server.tasks import DatabaseTaskStore  # type: ignore[import-not-found]
from a2a.types import AgentCard, TaskState  # type: ignore[import-not-found]
from sqlalchemy.ext.asyncio import create_async_engine  # type: ignore[import-not-found]
from starlette.applications import Starlette


class Agent(AgentExecutor):  # type: ignore[misc]
    """Answers, or completes a task, without doing anything."""

    async def execute(self, context: Any, event_queue: Any) -> None:
        if get_message_text(context.message) == "echo":
            await event_queue.enqueue_event(new_text_message("echo"))
            return
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        done = new_text_status_update_event(
            task.id, task.context_id, TaskState.TASK_STATE_COMPLETED, "taken"
        )
        await event_queue.enqueue_event(done)

    async def cancel(self, context: Any, event_queue: Any) -> None:
        raise NotImplementedError


def main(port: int, database: str) -> None:
    store = DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{database}"))
    card = AgentCard(name="bench", description="bench", version="1")
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=store, agent_card=card)
    app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    uvicorn.run(app, port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
