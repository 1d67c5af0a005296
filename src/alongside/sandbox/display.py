"""The services of a sandbox desktop: their command lines, their settings, and the environment of what runs there."""
# The imports of pathlib cost every start milliseconds. Inside, /tmp is private.
# ruff: noqa: PTH103, PTH123, S108

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from alongside.sandbox.plan import Plan

# Only the accessibility bus can be started by name: everything else an application asks for is refused at once. With
# the system's service files GTK waits for portals that wait for a session (measured: 25 s).
_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={runtime}/bus</listen>
  <auth>EXTERNAL</auth>
  <servicedir>{base}/services</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
# For the application that asks before the launcher that the first process started has taken the name.
_ACCESSIBILITY_SERVICE = """[D-BUS Service]
Name=org.a11y.Bus
Exec={launcher} --launch-immediately --a11y=1
"""
# Windows keep their size and frame, dialogs are centred, new windows get the focus; no key and no click on the desktop
# belongs to the window manager.
_WINDOW_MANAGER = """<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <focus><focusNew>yes</focusNew><followMouse>no</followMouse><raiseOnFocus>yes</raiseOnFocus></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <theme><name>Clearlooks</name><titleLayout>LIMC</titleLayout><animateIconify>no</animateIconify></theme>
  <desktops><number>1</number><popupTime>0</popupTime></desktops>
  <resize><drawContents>yes</drawContents><popupShow>Never</popupShow></resize>
  <keyboard/>
  <mouse>
    <dragThreshold>4</dragThreshold>
    <doubleClickTime>500</doubleClickTime>
    <screenEdgeWarpTime>0</screenEdgeWarpTime>
    <context name="Client">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Middle" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Right" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
    <context name="Titlebar">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
      <mousebind button="Left" action="Drag"><action name="Move"/></mousebind>
      <mousebind button="Left" action="DoubleClick"><action name="ToggleMaximize"/></mousebind>
    </context>
    <context name="Top Bottom Left Right TLCorner TRCorner BLCorner BRCorner">
      <mousebind button="Left" action="Drag"><action name="Resize"/></mousebind>
    </context>
    <context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
    <context name="Maximize">
      <mousebind button="Left" action="Click"><action name="ToggleMaximize"/></mousebind>
    </context>
    <context name="Iconify"><mousebind button="Left" action="Click"><action name="Iconify"/></mousebind></context>
  </mouse>
  <applications>
    <application type="dialog"><position force="yes"><x>center</x><y>center</y></position></application>
  </applications>
</openbox_config>
"""
_COOKIE_BYTES = 16
_ANY_FAMILY = 0xFFFF


class Layout(NamedTuple):
    """Where a desktop's own things lie, as its processes see them."""

    base: str
    """settings and logs of the services"""
    home: str
    runtime: str
    """XDG_RUNTIME_DIR"""
    temporary: str


def write_settings(plan: Plan, layout: Layout) -> None:
    """Write what the services read when they start."""
    services = f"{layout.base}/services"
    os.makedirs(services, mode=0o700)
    launcher = plan["programs"]["at-spi-bus-launcher"]
    _write(f"{layout.base}/bus.conf", _BUS.format(runtime=layout.runtime, base=layout.base))
    _write(f"{services}/org.a11y.Bus.service", _ACCESSIBILITY_SERVICE.format(launcher=launcher))
    _write(f"{layout.base}/openbox.xml", _WINDOW_MANAGER)
    _write_cookie(f"{layout.base}/xauthority")


def commands(plan: Plan, layout: Layout, display: int) -> dict[str, list[str]]:
    """Command lines of the services, by name."""
    width, height = plan["size"]
    programs = plan["programs"]
    return {
        # Without the abstract socket ("-nolisten local") every sandbox can be :1 whatever runs on the host.
        "Xvfb": [
            *(programs["Xvfb"], f":{display}", "-screen", "0", f"{width}x{height}x24", "-noreset"),
            *("-nolisten", "tcp", "-nolisten", "local", "-auth", f"{layout.base}/xauthority"),
        ],
        "dbus-daemon": [programs["dbus-daemon"], f"--config-file={layout.base}/bus.conf", "--nofork", "--nopidfile"],
        # Chromium and Firefox build their trees only where accessibility is announced as switched on: --a11y=1.
        "at-spi-bus-launcher": [programs["at-spi-bus-launcher"], "--launch-immediately", "--a11y=1"],
        "openbox": [programs["openbox"], "--sm-disable", "--config-file", f"{layout.base}/openbox.xml"],
    }


def environment(plan: Plan, layout: Layout, display: int) -> dict[str, str]:
    """Environment of everything in the desktop: nothing of the person's but what the plan names."""
    home = layout.home
    return {
        **plan["environment"],
        "HOME": home,
        "TMPDIR": layout.temporary,
        "XDG_RUNTIME_DIR": layout.runtime,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_SESSION_TYPE": "x11",
        "DISPLAY": f":{display}",
        "XAUTHORITY": f"{layout.base}/xauthority",
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={layout.runtime}/bus",
        "GTK_MODULES": "gail:atk-bridge",
        "GTK_A11Y": "atspi",
        "GNOME_ACCESSIBILITY": "1",
        "QT_ACCESSIBILITY": "1",
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "GDK_BACKEND": "x11",
        "QT_QPA_PLATFORM": "xcb",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        # No settings, portal or file service answers on this bus: nobody should ask for one.
        "GSETTINGS_BACKEND": "memory",
        "GTK_USE_PORTAL": "0",
        "ADW_DISABLE_PORTAL": "1",
        "GIO_USE_VFS": "local",
        "GIO_USE_VOLUME_MONITOR": "unix",
        "ALONGSIDE_SANDBOX": plan["mark"] or plan["id"],
    }


def note_display(base: str, number: int, pid: int) -> None:
    """Note which X server is this sandbox's, for whoever cleans up."""
    with open(f"{base}/display", "w", encoding="ascii") as file:
        file.write(f"{number} {pid}")


def display_socket(number: int) -> str:
    """Path at which the X server of a display listens."""
    return f"/tmp/.X11-unix/X{number}"


def display_lock(number: int) -> str:
    """Path of the file that says which process serves a display."""
    return f"/tmp/.X{number}-lock"


def display_holder(number: int) -> int:
    """Pid of the X server that holds a display; 0 when none does."""
    try:
        with open(display_lock(number), encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _write_cookie(path: str) -> None:
    """Write an Xauthority file with one cookie that fits every display of every host."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(struct.pack(">H", _ANY_FAMILY))
        fields = (b"", b"", b"MIT-MAGIC-COOKIE-1", os.urandom(_COOKIE_BYTES))
        file.writelines(struct.pack(">H", len(field)) + field for field in fields)
