"""The six acts: a message, a marker, an interrupt, a delegation, a confirmation, a run."""

from __future__ import annotations

import asyncio
from typing import Any

from aipm_demo.setup import Actor, DemoFailed, Stage

ROUNDS = (("apple", "elephant"), ("tiger", "rabbit"), ("tree", "egg"))


async def play(stage: Stage) -> None:
    """Play all acts in order."""
    async with stage.actors("worker-1", "worker-1", "worker-2") as (task, chat, other):
        await chat.log_in("chat")
        await other.log_in("chat")
        await message(chat, other)
        await marker(stage, chat)
        await interrupt(stage, task)
        await delegation(stage, task, chat, other)
        await confirmation(stage, other)
    await run(stage)


async def message(chat: Actor, other: Actor) -> None:
    """Worker 2 writes while worker 1 waits: the wait ends at once."""
    act = "message"
    waiting = asyncio.create_task(chat.call("get_next_action", timeout_seconds=30))
    await other.call("send_message", target_agent_id="worker-1", content="Is the login page yours?")
    await other.say(act, "sends worker-1 a message: “Is the login page yours?”")
    await expect(waiting, "get_pending_messages")
    await chat.call("get_pending_messages")
    await chat.say(act, "was waiting in get_next_action and wakes up to read it")
    await chat.call("respond_chat", content="Yes, I start on it now.")
    await chat.say(act, "answers: “Yes, I start on it now.”")
    await other.call("get_pending_messages")


async def marker(stage: Stage, chat: Actor) -> None:
    """A task from chat needs a person's marker, and one marker makes one task."""
    act = "marker"
    text = "@@create-task: Build the login page"
    await stage.command("say", "worker-1", "--project", "demo", "--as", "anna", text)
    await stage.tell(act, "anna", f"writes to worker-1: “{text}”")
    await chat.call("get_pending_messages")
    made = await chat.call("request_task", title="Build the login page")
    await chat.say(act, "turns the marker into a task", f"{made['task_id']}, approved")
    try:
        await chat.call("request_task", title="Build the login page")
    except DemoFailed:
        await chat.say(act, "tries again, and is refused: one marker, one task")
    else:
        raise DemoFailed("a marker was accepted twice")
    await stage.command("task", "status", made["task_id"], "in_progress")


async def interrupt(stage: Stage, task: Actor) -> None:
    """A person blocks the task of a working agent; its next call does not run."""
    act = "interrupt"
    opened = await task.log_in("task")
    await task.call("get_next_action", timeout_seconds=5)
    await task.say(act, "opens a task session and starts to work", opened.get("task_id", ""))
    await stage.command("task", "status", opened["task_id"], "blocked")
    await stage.tell(act, "anna", "blocks the task: aipm task status … blocked")
    replaced = await task.call("create_task", title="One more subtask")
    if not isinstance(replaced, str):
        raise DemoFailed("a tool ran although an interrupt was unread")
    await task.say(
        act, "calls create_task; it does not run, the reply is:", replaced.split("\n")[0]
    )
    notice = (await task.call("get_notifications"))["notifications"][0]
    await task.say(act, "reads the notification", notice["message"])
    await task.call("report_completed", result="blocked", summary="stopped by a person")
    await task.say(act, "reports and ends; the task stays blocked")
    stage.narrator.state(task.name, "session over")


async def delegation(stage: Stage, task: Actor, chat: Actor, other: Actor) -> None:
    """A task session hands talking over to the agent's chat session, which converses."""
    act = "delegation"
    made = await stage.command(
        *("task", "add", "--project", "demo", "--title", "Play a word chain with worker-2"),
        *("--assignee", "worker-1", "--status", "in_progress"),
    )
    task.token = ""  # filled in at the login  # nosec B105
    await task.log_in("task")
    await task.say(act, "gets a task that needs talking", made["id"])
    await task.call(
        "delegate_to_chat_session", target_agent_id="worker-2", purpose="A word chain, three rounds"
    )
    await task.say(act, "may not talk in a task session, so it delegates and goes on")
    [asked] = (await chat.call("get_pending_messages"))["pending_delegations"]
    await chat.say(act, "its chat session takes the delegation over", asked["delegation_id"])
    await _converse(act, chat, other)
    await chat.call(
        "report_delegation_completed", delegation_id=asked["delegation_id"], result="ok"
    )
    seen = await task.call("get_task_conversations", wait_seconds=10)
    count = len(seen["conversations"][0]["messages"])
    await task.call("get_notifications")
    await task.say(act, f"is told, reads all {count} messages and goes on")
    await task.call("report_completed", result="success", summary="played")
    await task.say(act, "reports success; the task is done")


async def _converse(act: str, chat: Actor, other: Actor) -> None:
    first, *_ = ROUNDS
    started = await chat.call(
        "start_conversation", participant_agent_id="worker-2", initial_message=first[0]
    )
    talk = {"conversation_id": started["conversation_id"]}
    await expect(other.call("get_next_action", timeout_seconds=10), "conversation_request")
    for number, (word, answer) in enumerate(ROUNDS):
        if number:
            await chat.call("send_conversation_message", **talk, content=word)
        await other.call("respond_conversation_message", **talk, content=answer)
        await other.say(act, f"{word} → {answer}")
    await chat.call("end_conversation", **talk)
    await expect(other.call("get_next_action", timeout_seconds=10), "conversation_ended")


async def confirmation(stage: Stage, other: Actor) -> None:
    """A rule says that a person must agree; the agent waits until one does."""
    act = "confirmation"
    asking = asyncio.create_task(other.call("broadcast_message", content="Tea is ready"))
    await other.say(act, "wants to broadcast; a rule asks a person first")
    while not (waiting := await stage.command("inbox")):
        if asking.done():
            raise DemoFailed("the call did not wait for a person")
        await asyncio.sleep(0.1)
    await stage.tell(act, "anna", "finds it with aipm inbox", waiting[0]["summary"])
    await stage.command("approve", waiting[0]["id"])
    sent = await asking
    await stage.tell(act, "anna", f"approves; {len(sent['message_ids'])} messages go out")
    stage.narrator.state(other.name, "done")


async def run(stage: Stage) -> None:
    """An agent with a program is started when it is needed, by nobody in particular."""
    act = "run"
    await stage.command("agent", "edit", "worker-2", "--program", "script")
    made = await stage.command(
        *("task", "add", "--project", "demo", "--title", "Water the plants"),
        *("--assignee", "worker-2", "--status", "todo"),
    )
    await stage.tell(act, "anna", "gives worker-2 a program and a task", made["id"])
    while not (ended := [r for r in await stage.command("runs", "list") if r["ended_at"]]):
        stage.narrator.state("worker-2", "its program runs")
        await asyncio.sleep(0.1)
    if ended[0]["end_reason"] != "ok":
        raise DemoFailed(f"the run ended as {ended[0]['end_reason']}: {ended[0]['detail']}")
    await stage.tell(act, "worker-2", "was started by the runner, did it and ended", ended[0]["id"])


async def expect(call: Any, action: str) -> None:  # noqa: ANN401
    """Await a ``get_next_action`` and check what it says."""
    found = await call
    if not isinstance(found, dict) or found.get("action") != action:
        raise DemoFailed(f"get_next_action said {found!r}, not {action}")
