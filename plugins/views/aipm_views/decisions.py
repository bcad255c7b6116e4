"""Decisions as items of an inbox, also those of plugins that give no inbox items."""

from __future__ import annotations

from aipm_sessions.api import PendingDecision

from aipm_core import Json


def item_of(decision: PendingDecision) -> dict[str, Json]:
    """Return the item of a decision."""
    answer = {"item_id": decision.id}
    return {
        "id": decision.id,
        "kind": decision.kind,
        "since": decision.created_at,
        "deadline": decision.expires_at,
        "agent_id": decision.agent_id or None,
        "task_id": None,
        "title": decision.summary,
        "detail": "",
        "level": "INFO",
        "actions": [
            {"name": name, "tool": "answer_item", "arguments": {**answer, "approved": approved}}
            for name, approved in (("approve", True), ("deny", False))
        ],
        "personal": False,
        "snoozed_until": None,
        "handed_over_by": None,
        "hand_over_note": None,
        "project_id": decision.project_id,
        "summary": decision.summary,
    }


def summed_up(item: dict[str, Json]) -> dict[str, Json]:
    """Return an item with the names under which commands have always shown it."""
    return {
        "summary": item["title"],
        **item,
        "created_at": item["since"],
        "expires_at": item["deadline"],
    }
