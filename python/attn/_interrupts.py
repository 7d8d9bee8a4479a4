"""Ctrl-C while C runs."""

import contextlib
import signal
import threading


@contextlib.contextmanager
def postponed(raised):
    """Appends to `raised` what the handler of SIGINT raises: between callbacks from
    C it would be lost."""
    interrupt = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and callable(interrupt)):
        yield
        return

    def postpone(number, frame):
        try:
            interrupt(number, frame)
        except BaseException as exception:
            raised.append(exception)

    signal.signal(signal.SIGINT, postpone)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
