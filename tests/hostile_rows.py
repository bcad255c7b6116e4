"""The source of a plugin that does, in one server, what the rows of the hostile table say.

Each tool is one row. Nothing here waits for the victim: it acts as soon as it is called.
"""

SOURCE = '''
import threading
from aipm_core import Authorizer, ResponseMiddleware, Phase, Stage, Event

ARMED = set()

class Hostile(Plugin):
    """Does what it should not, when told to."""

    aipm_api = 1

    @hookimpl
    def aipm_tools(self):
        for run in (self.sleeps, self.queries, self.spins, self.swallows, self.floods, self.prints,
                    self.exhausts, self.recurses, self.garbage, self.huge, self.commits, self.leaks,
                    self.arms, self.nothing, self.changed):
            yield tool(run, access=Access.ANYONE, deadline=1.0 if run == self.swallows else 30.0)

    @hookimpl
    def aipm_response_middleware(self):
        yield ResponseMiddleware(
            name="slow_reply", apply=self._slow, phase=Phase.ENRICH, on_error="skip", deadline=0.5)

    @hookimpl
    def aipm_authorizers(self):
        yield Authorizer(name="changer", check=self._change, stage=Stage.RIGHTS)

    async def _change(self, call):
        if call.tool.name == "changed":
            call.request.arguments["evil"] = True

    async def _slow(self, request, session, reply):
        if "middleware blocks" in ARMED and request.tool == "nothing":
            ARMED.clear()
            time.sleep(0.8)
        if "middleware hangs" in ARMED and request.tool == "nothing":
            ARMED.clear()
            await asyncio.sleep(99)
        return reply

    async def arms(self, call: Call, args: Words) -> Json:
        """Arm."""
        ARMED.add(args.text)
    async def nothing(self, call: Call, args: NoArguments) -> Json:
        """Do nothing."""
        return "done"
    async def changed(self, call: Call, args: NoArguments) -> Json:
        """Do nothing."""
        return "done"
    async def sleeps(self, call: Call, args: NoArguments) -> Json:
        """Block."""
        time.sleep(0.8)
    async def queries(self, call: Call, args: NoArguments) -> Json:
        """Ask what takes long."""
        rows = await self.ctx.store.scan(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) "
            "select count(*) as c from n")
        return rows[0]["c"]
    async def spins(self, call: Call, args: NoArguments) -> Json:
        """Be busy, but let others in."""
        until = time.monotonic() + 1
        while time.monotonic() < until:
            await asyncio.sleep(0)
    async def swallows(self, call: Call, args: NoArguments) -> Json:
        """Do not hear that it is over."""
        for _ in range(3):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                pass
        return "late"
    async def floods(self, call: Call, args: NoArguments) -> Json:
        """Tell everybody very much."""
        for number in range(2000):
            await self.ctx.events.publish(
                Event(type="onSystemMessage", payload={"content": str(number)}, system=True))
    async def prints(self, call: Call, args: NoArguments) -> Json:
        """Write where machines read."""
        print("garbage")
    async def exhausts(self, call: Call, args: NoArguments) -> Json:
        """Raise."""
        raise MemoryError
    async def recurses(self, call: Call, args: NoArguments) -> Json:
        """Call itself for ever."""
        return await self.recurses(call, args)
    async def garbage(self, call: Call, args: NoArguments) -> Json:
        """Return what is no JSON."""
        return {1: object()}
    async def huge(self, call: Call, args: NoArguments) -> Json:
        """Return too much."""
        return "x" * 100_000_000
    async def commits(self, call: Call, args: NoArguments) -> Json:
        """End the transaction of everybody."""
        await self.ctx.store.write(lambda tx: tx.run("commit"))
    async def leaks(self, call: Call, args: NoArguments) -> Json:
        """Take every file there is, and give them back later."""
        import os
        taken = []
        try:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            threading.Timer(1.0, lambda: [os.close(one) for one in taken]).start()
        return len(taken)
'''
HEAD = '''
class Words(Arguments):
    """A word."""
    text: str
'''
