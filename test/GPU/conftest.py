"""Options, the device, a watchdog, and kernels compiled ahead of their tests.

    python3 -m pytest test/GPU [--device=cuda|cpu|numpy] [--seed=N] [-k NAME]

Without a GPU that kernels run on, all is skipped. `--device=cpu` and
`--device=numpy` run what a CPU can: to try out the tests themselves.
"""

import concurrent.futures
import faulthandler
import os
import sys

import pytest

import attn
import backends
import running

# No test takes longer than seconds once its kernel is compiled.
_LIMIT_S = 120


def pytest_addoption(parser):
    parser.addoption("--device", default="cuda", choices=["cuda", "cpu", "numpy"])
    parser.addoption("--seed", type=int, default=0, help="of all random inputs")


def pytest_report_header(config):
    return f"attn {attn.version()}, seed {config.getoption('--seed')}"


def _why_not(device):
    """Why tests do not run on a device, or None."""
    if device == "numpy":
        return None
    try:
        import torch
    except ImportError:
        return "needs PyTorch"
    if device == "cpu":
        return None
    if not torch.cuda.is_available():
        return "needs a GPU"
    if torch.cuda.get_device_capability() != (9, 0):
        return "needs a GPU of compute capability 9.0"
    return None


def pytest_collection_modifyitems(config, items):
    device = config.getoption("--device")
    reason = _why_not(device)
    for item in items:
        if reason and "no_device" not in item.keywords:
            item.add_marker(pytest.mark.skip(reason=reason))
        elif device != "cuda" and "cuda_only" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs --device=cuda"))


def pytest_configure(config):
    config.addinivalue_line("markers", "cuda_only: needs a GPU")
    config.addinivalue_line("markers", "no_device: runs without a GPU, too")


def pytest_generate_tests(metafunc):
    """Tests with `case` run for all cases."""
    if "case" in metafunc.fixturenames:
        import cases

        seed = metafunc.config.getoption("--seed")
        all_cases = cases.all_cases(seed)
        if metafunc.config.getoption("--device") != "cuda":
            all_cases = cases.small_cases(seed)
        metafunc.parametrize("case", all_cases, ids=str)


@pytest.fixture(scope="session")
def backend(request):
    return backends.make(request.config.getoption("--device"))


@pytest.fixture(scope="session")
def seed(request):
    return request.config.getoption("--seed")


@pytest.fixture(scope="session", autouse=True)
def compile_ahead(request):
    """Compiles the kernels of all cases, in the order of the tests and on all
    processors, while tests run; one that comes too early waits for its own."""
    device = request.config.getoption("--device")
    if _why_not(device):
        yield
        return
    kernels = {}
    for item in request.session.items:
        case = getattr(item, "callspec", None) and item.callspec.params.get("case")
        if case:
            kernels[case.kernel] = None
    library = backends.make(device).target
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    for kernel in kernels:
        # What does not compile fails its tests, which ask again.
        pool.submit(running.compile_kernel, kernel, library)
    yield
    pool.shutdown(cancel_futures=True)


@pytest.fixture(autouse=True)
def watchdog():
    """Ends the process if a test hangs: nothing else ends a kernel that does."""
    faulthandler.dump_traceback_later(_LIMIT_S, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()
