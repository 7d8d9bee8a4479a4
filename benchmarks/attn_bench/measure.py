"""Times of several functions on one device, measured in turn.

Each round runs each function once, and each round starts with another one, so
that a change of clock, temperature or load meets all of them.
"""

import time

_WARM_UP = 3
# Threads of OpenMP spin for so long after a function of PyTorch, and would take
# processors from the one that is timed next.
_SPIN_S = 0.25
# More than any cache.
_FLUSH_BYTES = 256 << 20
# Keeps the GPU busy while the host launches what is timed.
_BUSY_CYCLES = 1_000_000


class CudaTimer:
    """Of functions that run one after the other, as those of a model do; or, with
    `is_cold`, of each by itself, with nothing of its inputs in a cache."""

    def __init__(self, torch, device, is_cold=False):
        self.torch = torch
        self.flush = None
        if is_cold:
            self.flush = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device=device)

    def synchronize(self):
        self.torch.cuda.synchronize()

    def _keep_busy(self):
        if hasattr(self.torch.cuda, "_sleep"):
            self.torch.cuda._sleep(_BUSY_CYCLES)

    def start_round(self):
        self._keep_busy()

    def start(self, function):
        """Enqueues a function between two events."""
        cuda = self.torch.cuda
        events = [cuda.Event(enable_timing=True) for _ in range(2)]
        if self.flush is not None:
            self.flush.zero_()
            self._keep_busy()
        events[0].record()
        function()
        events[1].record()
        return events

    def finish(self, events):
        return events[0].elapsed_time(events[1])


class CpuTimer:
    def synchronize(self):
        pass

    def start_round(self):
        pass

    def start(self, function):
        time.sleep(_SPIN_S)
        function()  # wakes the threads
        begin = time.perf_counter()
        function()
        return 1e3 * (time.perf_counter() - begin)

    def finish(self, milliseconds):
        return milliseconds


def make_timer(torch, device, is_cold=False):
    return CudaTimer(torch, device, is_cold) if device == "cuda" else CpuTimer()


def measure(timer, functions, rounds):
    """The milliseconds of each round for each of the named functions."""
    for function in functions.values():
        for _ in range(_WARM_UP):
            function()
    timer.synchronize()
    names = list(functions)
    times = {name: [] for name in names}
    for number in range(rounds):
        shift = number % len(names)
        timer.start_round()
        started = [
            (name, timer.start(functions[name]))
            for name in names[shift:] + names[:shift]
        ]
        timer.synchronize()
        for name, handle in started:
            times[name].append(timer.finish(handle))
    return times


def kernels(torch, function, calls=5):
    """The milliseconds of each kernel that a call starts on a GPU, by its name, as
    the profiler of PyTorch has them; none where it cannot say."""
    try:
        profiler = torch.profiler
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
            for _ in range(calls):
                function()
            torch.cuda.synchronize()
        times = {
            event.key: event.self_device_time_total / calls / 1e3
            for event in profile.key_averages()
        }
    # It depends on libraries and permissions of the machine.
    except (AttributeError, ImportError, RuntimeError):
        return {}
    return {name: ms for name, ms in times.items() if ms}
