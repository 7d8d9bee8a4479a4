"""Streams, threads and graphs: several runs at once do not mix."""

import threading

import pytest

import attn
import cases
import running

pytestmark = pytest.mark.cuda_only


def _prepare(backend, name, number, sizes=(2, 8, 2, 700, 700)):
    case = cases.make_case(name, dim=128, sizes=sizes, seed=number)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    return kernel, inputs, inputs.run(kernel)


def _assert_same(backend, expected, results):
    for (a, _), (b, _) in zip(expected, results):
        assert backend.same_bits(a, b)


@pytest.mark.parametrize("name", ["full", "causal"])
def test_two_streams(backend, seed, name):
    """The same kernel on two streams at once, on different inputs, and again and
    again: what one run leaves on the GPU is not taken by the other."""
    torch = backend.x
    runs = []
    for number in range(2):
        kernel, inputs, expected = _prepare(backend, name, seed + number)
        runs.append((torch.cuda.Stream(), kernel, inputs, expected))
    for _ in range(20):
        got = []
        # Results are poisoned before, on the stream that all wait for.
        for stream, kernel, inputs, expected in runs:
            results = inputs.poisoned_results()
            call = kernel.bind(
                *inputs.arguments(inputs.tensors),
                out=tuple(inputs.arguments(results)),
                stream=stream,
            )
            got.append((call, expected, results))
        torch.cuda.synchronize()
        for call, _, _ in got * 5:
            call()
        torch.cuda.synchronize()
        for _, expected, results in got:
            _assert_same(backend, expected, results)


def test_current_stream(backend, seed):
    """A call is ordered after what its stream has been given."""
    torch = backend.x
    kernel, inputs, expected = _prepare(backend, "causal", seed)
    stream = torch.cuda.Stream()
    late = [(torch.zeros_like(t), dtype) for t, dtype in inputs.tensors]
    results = inputs.poisoned_results()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        # The inputs are written after the call has returned.
        torch.cuda._sleep(20_000_000)
        for (tensor, _), (source, _) in zip(late, inputs.tensors):
            tensor.copy_(source)
        kernel(*inputs.arguments(late), out=tuple(inputs.arguments(results)))
    torch.cuda.synchronize()
    _assert_same(backend, expected, results)


@pytest.mark.parametrize("same_kernel", [True, False])
def test_two_threads(backend, seed, same_kernel):
    names = ["causal", "causal"] if same_kernel else ["full", "alibi"]
    torch, failures = backend.x, []
    runs = [
        _prepare(backend, name, seed + number) for number, name in enumerate(names)
    ]
    barrier = threading.Barrier(2)

    def work(kernel, inputs, expected):
        try:
            barrier.wait(timeout=60)
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    results = inputs.run(kernel)
                    _assert_same(backend, expected, results)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("name", ["full", "causal", "relative-table"])
def test_graphs(backend, seed, name):
    """A captured run, replayed on other inputs."""
    torch = backend.x
    kernel, inputs, expected = _prepare(backend, name, seed)
    _, other, other_expected = _prepare(backend, name, seed + 1)
    static = [
        (tensor.clone(), dtype) if dtype else (tensor, dtype)
        for tensor, dtype in inputs.tensors
    ]
    results = inputs.poisoned_results()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(*inputs.arguments(static), out=tuple(inputs.arguments(results)))
    for source, wanted in [(inputs, expected), (other, other_expected)] * 3:
        for (tensor, dtype), (value, _) in zip(static, source.tensors):
            if dtype:
                tensor.copy_(value)
        for tensor, dtype in results:
            tensor.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        _assert_same(backend, wanted, results)


def test_first_run_in_a_capture(backend, seed):
    """The code is loaded while a stream is captured."""
    torch = backend.x
    # A program that no other test has.
    case = cases.make_case("union", dim=72, sizes=(1, 2, 2, 129, 129), seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    results = inputs.poisoned_results()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(*inputs.arguments(inputs.tensors), out=tuple(inputs.arguments(results)))
    graph.replay()
    torch.cuda.synchronize()
    assert inputs.explain(results, inputs.reference()) is None


def test_kernels_that_go_in_a_capture(backend, seed):
    """A garbage collector may drop a kernel at any time."""
    torch = backend.x
    kernel, inputs, expected = _prepare(backend, "causal", seed)
    # attn.compile keeps what it returns.
    other = attn.load(kernel.save())
    inputs.run(other)
    results = inputs.poisoned_results()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        del other
        kernel(*inputs.arguments(inputs.tensors), out=tuple(inputs.arguments(results)))
    graph.replay()
    torch.cuda.synchronize()
    _assert_same(backend, expected, results)
