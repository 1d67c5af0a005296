"""A driver that speaks the link and touches no desktop; what it does is asked for by the name of the window.

Run as source text (``python -c``), because a sandbox does not show the folder of the tests.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from typing import Any

from alongside.core.errors import Ambiguous
from alongside.link.channel import Link, Reply, Say


class Driver:
    def __init__(self) -> None:
        self.numbers: dict[str, Any] = {"next_ref": 1, "next_window": 1}

    async def answer(self, method: str, params: dict[str, Any], say: Say) -> Reply:
        try:
            return await self.do(method, params, say)
        finally:
            say(dict(self.numbers))

    async def do(self, method: str, params: dict[str, Any], say: Say) -> Reply:
        if (log := os.environ.get("FAKE_LOG")) and method != "ping":
            with open(log, "a") as file:  # noqa: ASYNC230, PTH123 - a test
                file.write(json.dumps({"method": method, "pid": os.getpid(), **params}) + "\n")
        match method:
            case "hello":
                self.numbers = {"next_ref": params["first_ref"], "next_window": params["first_window"]}
                return Reply({"pid": os.getpid()})
            case "ping":
                return Reply({})
            case "stop":
                print("stopped at the driver", file=sys.stderr, flush=True)  # noqa: T201 - what the test waits for
                return Reply({})
            case "windows":
                return self.said(f"windows of pid {os.getpid()}", windows=[])
            case "status":
                return self.said("✓ fake", rows=[{"name": "fake", "ok": True, "told": "", "mend": ""}])
            case "launch":
                return self.said(f"launched {params['app']}", window="s1.1")
        return await self.on_window(method, params, say)

    async def on_window(self, method: str, params: dict[str, Any], say: Say) -> Reply:
        self.numbers["next_ref"] += 10
        match params["window"]:
            case "die":
                os._exit(1)
            case "freeze":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "slow":
                try:
                    await asyncio.sleep(0.5)
                except asyncio.CancelledError:
                    print("cancelled at the driver", file=sys.stderr, flush=True)  # noqa: T201 - what the test waits for
                    raise
            case "print":
                print("a line on stdout", flush=True)  # noqa: T201 - must not reach the client
                os.write(1, b"and another\n")
            case "odd":
                return self.said("half a pair: \ud83d, a line\r\nand \u2028 more")
            case "many":
                self.numbers |= {"next_window": 5, "ids": [[77, 7, "user.4"]]}
                raise Ambiguous("Two match: [11], [12].")
        if method == "look":
            image = {"mime": "image/png", "width": 1, "height": 1} if params.get("image") != "none" else None
            answer = self.said("[12] button", **({"image": image} if image else {}))
            return Reply(answer.result, b"\x89PNG fake" if image else b"")
        steps = params["steps"]
        for number, step in enumerate(steps, 1):
            say({"step": number, "of": len(steps), "what": step["do"]})
            if step.get("target") == "Crash":
                os._exit(1)
        outcomes = [
            {"mark": {"Broken": "✗", "Dark": "~"}.get(step.get("target"), "✓"), "what": step["do"], "ms": 1.0}
            for step in steps
        ]
        return self.said(
            "\n".join(f"{one['mark']} {one['what']}" for one in outcomes),
            outcomes=outcomes,
            failed=any(one["mark"] == "✗" for one in outcomes),
        )

    def said(self, text: str, **more: Any) -> Reply:
        return Reply({"text": text, **more})


async def main() -> None:
    link = await Link.over(socket.socket(fileno=int(os.environ["ALONGSIDE_LINK_FD"])), Driver().answer)
    await link.closed.wait()


asyncio.run(main())
