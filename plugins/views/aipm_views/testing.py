"""For tests of plugins with views: a reader that folds, and the law it must find true."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_devkit.testing import TestRuntime

from aipm_core import Json
from aipm_views.api import VIEWS, ProjectViews, ViewChange


class Follower:
    """Keeps a copy of what one person sees, from a state and the changes behind it."""

    def __init__(self, person_id: str, project_id: str = "p") -> None:
        self.person_id = person_id
        self.project_id = project_id
        self.cursor: str | None = None
        self.views: dict[str, dict[str, Json]] = {}
        self.resyncs = 0

    async def follow(self, views: ProjectViews) -> None:
        """Go on from where it was, or start anew."""
        changes: list[ViewChange] | None = None
        if self.cursor is not None:
            changes = await views.changes_after(self.project_id, self.person_id, self.cursor)
            self.resyncs += changes is None
        if changes is None:
            state = await views.snapshot(self.project_id, self.person_id)
            self.cursor, self.views = state.cursor, state.views
            return
        for change in changes:
            self.put(change)

    def put(self, change: ViewChange) -> None:
        """Put one record in its place."""
        self.cursor = change.cursor
        records = self.views.setdefault(change.view, {})
        if change.record is None:
            records.pop(change.id, None)
        else:
            records[change.id] = change.record


async def check_fold_law(aipm: TestRuntime, followers: Iterable[Follower]) -> None:
    """Hold a copy, the state and the data against each other, for every follower.

    A copy that followed the changes equals the state, and the state equals what the views say when
    they are read from scratch: so a change that woke no topic of its view is found too.
    """
    views = aipm.runtime.services.use(VIEWS)
    for follower in followers:
        await follower.follow(views)
        state = await views.snapshot(follower.project_id, follower.person_id)
        _compare(follower, "the state", follower.views, state.views)
        fresh = await views.read_anew(follower.project_id, follower.person_id)
        _compare(follower, "what is stored", follower.views, fresh)


def _compare(
    follower: Follower,
    other: str,
    mine: dict[str, dict[str, Json]],
    theirs: dict[str, dict[str, Json]],
) -> None:
    for view in sorted({*mine, *theirs}):
        left, right = mine.get(view, {}), theirs.get(view, {})
        for record_id in sorted({*left, *right}):
            if left.get(record_id) != right.get(record_id):
                raise AssertionError(
                    f"{view} {record_id} of {follower.person_id}: the copy has "
                    f"{left.get(record_id)}, {other} {right.get(record_id)}"
                )
