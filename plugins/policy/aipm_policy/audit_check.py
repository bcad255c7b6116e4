"""Checks that nobody has edited, removed or added audit entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from aipm_core import Json, PluginContext, Row
from aipm_policy.audit import link_of, plain
from aipm_policy.config import PolicyConfig
from aipm_policy.pruning import cut_link

HEAD: Final = r"[0-9]{1,18}:[0-9a-f]{0,64}"
_PAGE = 5000
_HIGHEST = 2**62
# One statement sees one state of the store: head and entries always belong together.
_SELECT = (
    "select h.last_seq, h.last_hash, h.first_seq, h.first_hash, c.seq as cut_seq, "
    "c.hash as cut_hash, c.cut_at, c.newest_at, c.link, a.seq, a.at, a.entry, a.hash "
    "from policy_audit_head h left join policy_audit_cut c on c.id = h.id "
    "left join (select * from policy_audit where seq > ? "
    "order by seq limit ?) a on 1 = 1 order by a.seq"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What a verification found. ``head`` can be kept elsewhere and compared later.

    ``pruned`` counts the entries that were deleted because of their age. ``outdated`` says that
    nothing is wrong but that the expected head is of one of those.
    """

    ok: bool
    entries: int
    head: str
    problem: str | None = None
    pruned: int = 0
    outdated: bool = False


class AuditCheck:
    """Reads the audit trail. Used by the command line and by the health check."""

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        self._ctx = ctx

    async def of_projects(
        self, projects: Sequence[str] | None, before: int | None, limit: int
    ) -> list[dict[str, Json]]:
        """List the newest entries of projects, or of all, before a number, newest first."""
        found: list[dict[str, Json]] = []
        last = before if before is not None else _HIGHEST
        while len(found) < limit:
            rows = await self._ctx.store.scan(
                "select seq, at, entry from policy_audit where seq < ? order by seq desc limit ?",
                *(last, _PAGE),
            )
            entries = [plain(r["seq"], r["at"], json.loads(r["entry"])) for r in rows]
            found += [
                entry for entry in entries if projects is None or entry["project_id"] in projects
            ]
            if len(rows) < _PAGE:
                break
            last = rows[-1]["seq"]
        return found[:limit]

    async def verify(self, expected: str | None = None) -> AuditReport:
        """Walk the chain from its first entry to its head; ``expected`` is an earlier head.

        Heads have the form ``HEAD``.
        """
        walk = _Walk(expected)
        while True:
            rows = await self._ctx.store.scan(_SELECT, walk.seq, _PAGE)
            if not rows:
                return walk.report("the head of the trail is missing")
            problem = walk.over(rows)
            if problem is not None:
                return walk.report(problem)
            if sum(row["seq"] is not None for row in rows) < _PAGE:
                return walk.report(walk.end(rows[0]))


class _Walk:
    """One pass over the chain."""

    def __init__(self, expected: str | None) -> None:
        self.seq = 0
        self._hash = ""
        self._entries = 0
        self._started = False
        self._expected = expected
        self._met = False
        self._pruned = 0
        self._outdated = False

    def over(self, rows: Iterable[Row]) -> str | None:
        for row in rows:
            if not self._started:
                self._started = True
                self.seq, self._hash = row["first_seq"], row["first_hash"]
                self._pruned = row["first_seq"]
                self._meet()
                if not _cut_by_us(row):
                    return f"what stood before entry {self.seq + 1} was not deleted by this program"
            if row["seq"] is None:
                continue
            if row["seq"] != self.seq + 1:
                return f"entry {self.seq + 1} is missing"
            if link_of(self._hash, row["seq"], row["at"], row["entry"]) != row["hash"]:
                return f"entry {row['seq']} is not what was written"
            self.seq, self._hash = row["seq"], row["hash"]
            self._entries += 1
            self._meet()
        return None

    def _meet(self) -> None:
        self._met = self._met or self._expected == f"{self.seq}:{self._hash}"

    def end(self, head: Row) -> str | None:
        """Compare the end of the walk with the head that was kept."""
        if head["last_seq"] > self.seq:
            return f"the trail ends at entry {self.seq}, but {head['last_seq']} were written"
        if (head["last_seq"], head["last_hash"]) != (self.seq, self._hash):
            return f"entry {self.seq} was not written by this program"
        if self._expected is not None and not self._met:
            number = self._expected.partition(":")[0]
            if int(number) < self._pruned:
                self._outdated = True
                return (
                    f"the expected head is entry {number}, and the entries up to {self._pruned} "
                    "were deleted because of their age: compare with a newer head"
                )
            return "the trail does not contain the expected head: it was written anew"
        return None

    def report(self, problem: str | None) -> AuditReport:
        return AuditReport(
            ok=problem is None,
            entries=self._entries,
            head=f"{self.seq}:{self._hash}",
            problem=problem,
            pruned=self._pruned,
            outdated=self._outdated,
        )


def _cut_by_us(row: Row) -> bool:
    """Return whether the start of the trail is where the program noted its last cut."""
    if (row["cut_seq"] or 0, row["cut_hash"] or "") != (row["first_seq"], row["first_hash"]):
        return False
    if not row["link"]:  # never cut, or cut before cuts were noted
        return not row["cut_at"]
    noted = cut_link(row["cut_seq"], row["cut_hash"], row["cut_at"], row["newest_at"])
    return bool(row["link"] == noted)
