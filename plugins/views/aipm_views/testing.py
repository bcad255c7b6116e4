"""For tests of plugins with views: a reader that folds, and the law it must find true."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

from aipm_devkit.testing import TestRuntime

from aipm_core import Json
from aipm_views.api import VIEWS, ProjectViews, Snapshot, ViewChange

_T = TypeVar("_T")
_LONGEST_UNREST = 200  # readings; more than any test has calls in the background


class Follower:
    """Keeps a copy of what one person sees, from a state and the changes behind it."""

    def __init__(self, person_id: str, project_id: str = "p") -> None:
        self.person_id = person_id
        self.project_id = project_id
        self.cursor: str | None = None
        self.views: dict[str, dict[str, Json]] = {}
        self.resyncs = 0

    async def follow(self, views: ProjectViews, until: str | None = None) -> bool:
        """Go on from where it was, or start anew; return whether there was anything to follow.

        With ``until`` it goes no farther than that cursor, though more may have happened since.
        """
        changes: list[ViewChange] | None = None
        if self.cursor is not None:
            changes = await views.changes_after(self.project_id, self.person_id, self.cursor)
            self.resyncs += changes is None
        if changes is None:
            self._take(await views.snapshot(self.project_id, self.person_id))
            return True
        for change in changes:
            if until is None or int(change.cursor) <= int(until):
                self.put(change)
        return bool(changes)

    def _take(self, state: Snapshot) -> None:
        self.cursor, self.views = state.cursor, state.views

    def put(self, change: ViewChange) -> None:
        """Put one record in its place."""
        self.cursor = change.cursor
        records = self.views.setdefault(change.view, {})
        if change.record is None:
            records.pop(change.id, None)
        else:
            records[change.id] = change.record

    async def at_rest(self, views: ProjectViews, read: Callable[[], Awaitable[_T]]) -> _T:
        """Return what was read while nothing changed that this follower sees.

        Calls that wait in the background go on when they are woken, so the data may become other
        between two questions; what is compared has to be of one moment.
        """
        for _ in range(_LONGEST_UNREST):
            await self.follow(views)
            found = await read()
            if not await self.follow(views):
                return found
        raise AssertionError(f"what {self.person_id} sees never comes to rest")


async def check_fold_law(aipm: TestRuntime, followers: Iterable[Follower]) -> None:
    """Hold a copy, the state and the data against each other, for every follower.

    A copy that followed the changes up to a state's cursor equals that state, whatever happens
    meanwhile; and it equals what the views say when they are read from scratch: so a change that
    woke no topic of its view is found too.
    """
    views = aipm.runtime.services.use(VIEWS)
    for follower in followers:
        where = (follower.project_id, follower.person_id)
        state = await views.snapshot(*where)
        resyncs = follower.resyncs
        if follower.cursor is not None:
            await follower.follow(views, state.cursor)
            if follower.resyncs == resyncs:
                _compare(follower, "the state", follower.views, state.views)
                _compare_places(follower, state.cursor)
        fresh = await follower.at_rest(views, partial(views.read_anew, *where))
        _compare(follower, "what is stored", follower.views, fresh)


def _compare_places(follower: Follower, cursor: str) -> None:
    if follower.cursor != cursor:
        raise AssertionError(
            f"{follower.person_id} stands at {follower.cursor} and never arrives at {cursor}"
        )


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
