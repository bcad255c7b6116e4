"""Cuts the oldest entries off the audit trail, and notes the cut so that it can be checked."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_core import PluginContext, Row, Tx, iso
from aipm_policy.config import PolicyConfig
from aipm_policy.digest import canonical, sha256

_BATCH = 1000  # entries in one transaction


class Pruning:
    """Forgets entries in the order they were written, up to the first that is young."""

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        self._ctx = ctx

    async def forget(self, tx: Tx, before: float) -> int:
        """Cut off entries from before a moment; the chain goes on from the cut."""
        cut = await tx.one("select newest_at from policy_audit_cut where id = 1")
        rows = await tx.all("select seq, at, hash from policy_audit order by seq limit ?", _BATCH)
        old, newest_at = self._old(rows, cut["newest_at"] if cut else "", iso(before))
        if not old:
            return 0
        last = old[-1]
        await tx.run(
            "update policy_audit_head set first_seq = ?, first_hash = ? where id = 1",
            *(last["seq"], last["hash"]),
        )
        await self._note(tx, last, newest_at)
        await tx.run("delete from policy_audit where seq <= ?", last["seq"])
        tx.wake("policy_audit")
        return len(old)

    def _old(self, rows: Sequence[Row], newest_at: str, before: str) -> tuple[Sequence[Row], str]:
        """Return the entries that are old, and the time of the last.

        Entries stand in the order they were written: one that claims to be older than the one
        before it, or to be from the future, was written under a wrong clock and is as old as its
        predecessor.
        """
        now = self._ctx.now()
        time = newest_at or next((row["at"] for row in rows if row["at"] <= now), now)
        for place, row in enumerate(rows):
            since = row["at"] if time < row["at"] <= now else time
            if since >= before:
                return rows[:place], time
            time = since
        return rows, time

    async def _note(self, tx: Tx, last: Row, newest_at: str) -> None:
        at = self._ctx.now()
        await tx.run("delete from policy_audit_cut")
        await tx.run(
            "insert into policy_audit_cut (id, seq, hash, cut_at, newest_at, link) "
            "values (1, ?, ?, ?, ?, ?)",
            *(last["seq"], last["hash"], at, newest_at),
            cut_link(last["seq"], last["hash"], at, newest_at),
        )


def cut_link(seq: int, last_hash: str, cut_at: str, newest_at: str) -> str:
    """Return the digest that shows who made a cut."""
    return sha256(canonical(["cut", seq, last_hash, cut_at, newest_at]))
