"""What this machine has of what Alongside needs, found out by trying, with the command that mends what is missing."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import asdict, dataclass
from typing import Any

from alongside.core.errors import AlongsideError

_PATIENCE = 5.0
_APPLICATIONS = {
    "mousepad": "mousepad",
    "libreoffice": "libreoffice-calc libreoffice-gtk3",
    "chromium": "chromium",
    "firefox": "firefox-esr",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One check. ``needed``: sandboxes do not work without it. ``mend``: the command that helps."""

    name: str
    ok: bool
    told: str
    needed: bool = False
    mend: str = ""

    def __str__(self) -> str:
        mark = "✓" if self.ok else "✗" if self.needed else "-"
        return f"{mark} {self.name}: {self.told}" + (f"\n  mend: {self.mend}" if self.mend and not self.ok else "")

    def to_wire(self) -> dict[str, Any]:
        return asdict(self)


async def checks() -> list[Row]:
    """Every check, those that sandboxes need first; takes a fraction of a second and leaves nothing behind."""
    rows = await asyncio.gather(
        *(_within(name, check) for name, check in {
            "X library": _library(),
            "sandbox": _sandbox(),
            "person's display": _display(),
            "person's session bus": _session_bus(),
            "person's accessibility": _accessibility(),
            "applications": _applications(),
        }.items())
    )  # fmt: skip
    return list(rows)


async def _within(name: str, check: Any) -> Row:
    try:
        return await asyncio.wait_for(check, _PATIENCE)
    except TimeoutError:
        return Row(name, ok=False, told=f"no answer in {_PATIENCE:.0f} s")


async def _library() -> Row:
    try:
        await asyncio.to_thread(__import__, "xcffib")
    except (ImportError, OSError) as wrong:
        return Row("X library", ok=False, told=str(wrong), needed=True, mend="sudo apt-get install -y libxcb1")
    return Row("X library", ok=True, told="found", needed=True)


async def _sandbox() -> Row:
    try:
        from alongside.sandbox.desktop import Sandbox  # noqa: PLC0415 - Linux only

        sandbox = await Sandbox.start("check")
        try:
            await sandbox.ready()
        finally:
            await sandbox.stop()
    except (AlongsideError, ImportError, OSError) as wrong:
        told, mend = (wrong.message, wrong.next or "") if isinstance(wrong, AlongsideError) else (str(wrong), "")
        return Row("sandbox", ok=False, told=told, needed=True, mend=mend)
    told = "; ".join([f"starts; containment: {sandbox.containment}", *sandbox.notes])
    return Row("sandbox", ok=True, told=told, needed=True)


async def _display() -> Row:
    name = "person's display"
    display = os.environ.get("DISPLAY")
    if not display:
        wayland = " (Wayland only)" if os.environ.get("WAYLAND_DISPLAY") else ""
        told = f"DISPLAY is not set{wayland}: the desktop `user` has no windows; sandboxes work without"
        return Row(
            name, ok=False, told=told, mend="start the client from the person's session, or pass DISPLAY on to it"
        )
    try:
        await asyncio.to_thread(_connect)
    except Exception as wrong:  # noqa: BLE001 - xcffib is only there where libxcb is, so are its errors
        return Row(name, ok=False, told=f"{display} does not answer: {wrong!r:.200}", mend="pass XAUTHORITY on as well")
    return Row(name, ok=True, told=display)


def _connect() -> None:
    import xcffib  # noqa: PLC0415 - fails where libxcb is missing

    connection: Any = xcffib.Connection()  # type: ignore[no-untyped-call]  # generated code
    connection.disconnect()


_BUS_VARIABLE = "DBUS_SESSION_BUS_ADDRESS"
_NO_BUS = f"{_BUS_VARIABLE} is not set"
_PASS_BUS = f"start the client from the person's session, or pass {_BUS_VARIABLE} on to it"


async def _session_bus() -> Row:
    name = "person's session bus"
    if not os.environ.get(_BUS_VARIABLE):
        told = f"{_NO_BUS}: windows of the desktop `user` cannot be read; sandboxes work without"
        return Row(name, ok=False, told=told, mend=_PASS_BUS)
    try:
        bus = await _bus()
    except Exception as wrong:  # noqa: BLE001 - a dozen ways not to reach a bus, and one answer
        told = f"not reached: {wrong!s:.200}; sandboxes work without"
        return Row(name, ok=False, told=told, mend="sudo apt-get install -y dbus-user-session, and log in again")
    bus.disconnect()
    return Row(name, ok=True, told="reached")


async def _accessibility() -> Row:
    name = "person's accessibility"
    if not os.environ.get(_BUS_VARIABLE):
        return Row(name, ok=False, told=f"not asked for: {_NO_BUS}; sandboxes work without", mend=_PASS_BUS)
    try:
        from dbus_fast import Message, MessageType  # noqa: PLC0415 - see _bus

        bus = await _bus()
        try:
            asked = Message(
                destination="org.a11y.Bus", path="/org/a11y/bus", interface="org.a11y.Bus", member="GetAddress"
            )
            answer = await bus.call(asked)
        finally:
            bus.disconnect()
        if answer is None or answer.message_type is not MessageType.METHOD_RETURN:
            raise OSError(str(answer.body[0]) if answer and answer.body else "no answer")  # noqa: TRY301
    except Exception as wrong:  # noqa: BLE001 - as above
        told = f"not reached: {wrong!s:.200}; sandboxes work without"
        return Row(name, ok=False, told=told, mend="sudo apt-get install -y at-spi2-core")
    return Row(name, ok=True, told="reached")


async def _bus() -> Any:
    from dbus_fast.aio import MessageBus  # noqa: PLC0415 - only for these checks

    return await MessageBus().connect()


async def _applications() -> Row:
    found = [name for name in _APPLICATIONS if shutil.which(name)]
    missing = [package for name, package in _APPLICATIONS.items() if name not in found]
    told = f"found: {', '.join(found) or 'none'} (any other works as well)"
    return Row("applications", ok=bool(found), told=told, mend=f"sudo apt-get install -y {' '.join(missing)}")
