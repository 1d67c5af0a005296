"""A child that wants to outlive its sandbox; descriptor 3 is told its PID namespace once all of it is up."""

import ctypes
import os
import signal
import time

_PR_SET_PDEATHSIG = 1
_HYDRA_S = 60.0
_HEAD_S = 0.005


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)
    if os.fork() == 0:
        hydra()
    os.write(3, os.readlink("/proc/self/ns/pid").encode())  # noqa: PTH115 - one line, one call
    os.close(3)
    while True:
        signal.pause()


def hydra() -> None:
    """Change the pid every few milliseconds, so that who kills by a list of pids comes too late."""
    os.close(3)
    end = time.monotonic() + _HYDRA_S
    while time.monotonic() < end:
        time.sleep(_HEAD_S)
        if os.fork():
            os._exit(0)
    os._exit(0)


main()
