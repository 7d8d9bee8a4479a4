"""Tensors that a GPU cannot take are errors that tell the way out, and leave the
results as they were."""

import pytest

import attn
import cases
import programs
import running

pytestmark = pytest.mark.cuda_only


_SCHEDULE = (
    "#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240,"
    " head_swizzle = 1>"
)


class _Call:
    def __init__(self, backend, name="causal", sizes=(2, 4, 2, 65, 65)):
        self.backend = backend
        case = cases.make_case(name, sizes=sizes)
        self.kernel = running.compile_kernel(case.kernel, "cuda")
        self.inputs = running.Inputs(backend, case)
        self.tensors = [tensor for tensor, _ in self.inputs.tensors]
        self.results = [tensor for tensor, _ in self.inputs.poisoned_results()]

    def expect(self, error, message):
        with pytest.raises(error, match=message):
            self.kernel(*self.tensors, out=tuple(self.results))
        self.backend.synchronize()
        for result in self.results:
            assert bool(result.isnan().all()), "a result was written"


@pytest.fixture
def call(backend):
    call = _Call(backend)
    yield call
    # The kernel still runs what is right.
    inputs = call.inputs
    assert inputs.explain(inputs.run(call.kernel), inputs.reference()) is None


@pytest.fixture
def one_schedule(call):
    """A kernel with one schedule, which copies tiles by hardware: without one it
    would have another for tensors of any strides."""
    program = programs.program(*call.inputs.case.kernel)
    call.kernel = attn.compile(program, target="cuda", schedule=_SCHEDULE)
    return call


def test_element_type(call):
    call.tensors[1] = call.tensors[1].half()
    call.expect(
        attn.InvalidArgument,
        "expects input 'k' to have element type bf16, but got f16",
    )


def test_element_type_of_a_result(call):
    call.results[0] = call.results[0].float()
    call.expect(attn.InvalidArgument, "result 'o' to have element type bf16, but got f32")


def test_innermost_stride(call):
    q = call.tensors[0]
    call.tensors[0] = q.repeat_interleave(2, -1)[..., ::2]
    call.expect(
        attn.InvalidArgument, "input 'q' to have an innermost stride of 1, but got 2"
    )


@pytest.mark.parametrize("number, name", list(enumerate("qkv")))
def test_address(one_schedule, number, name):
    call = one_schedule
    tensor = call.tensors[number]
    flat = tensor.new_empty(tensor.numel() + 8)
    for offset in (1, 4):
        view = flat[offset : offset + tensor.numel()].view(tensor.shape)
        view.copy_(tensor)
        call.tensors[number] = view
        call.expect(
            attn.InvalidArgument,
            f"'{name}' to start at a multiple of 16 bytes, .*; copy it",
        )


@pytest.mark.parametrize("number, name", list(enumerate("qkv")))
def test_row_stride(one_schedule, number, name):
    call = one_schedule
    tensor = call.tensors[number]
    *outer, dim = tensor.shape
    wide = tensor.new_empty((*outer, dim + 4))[..., :dim]
    call.tensors[number] = wide.copy_(tensor)
    call.expect(
        attn.InvalidArgument,
        f"'{name}' to have a stride of a multiple of 16 bytes, .*; copy it",
    )


def test_tensor_of_the_host(call):
    call.tensors[2] = call.tensors[2].cpu()
    call.expect(attn.InvalidArgument, "input 'v' on cuda:0, where the first input is")


def test_all_tensors_of_the_host(call):
    call.tensors = [tensor.cpu() for tensor in call.tensors]
    with pytest.raises(attn.Unsupported, match="memory of a GPU.*target='cpu'"):
        call.kernel(*call.tensors)


def test_result_of_the_host(call):
    call.results[1] = call.results[1].cpu()
    call.expect(attn.InvalidArgument, "result 'lse' on cuda:0, where the first input is")


def test_kernel_of_the_host(call):
    variant, *types = call.inputs.case.kernel
    kernel = running.compile_kernel((variant, *types), "cpu")
    with pytest.raises(attn.Unsupported, match="memory of the CPU.*target='cuda'"):
        kernel(*call.tensors)


def test_shapes(call):
    call.tensors[1] = call.tensors[1][:, :, :64]
    call.expect(
        attn.InvalidArgument, "k and v to have the same length, but got 64 and 65"
    )


def test_shape_of_a_result(call):
    call.results[0] = call.results[0][:, :, :64]
    call.expect(attn.InvalidArgument, "expects result 'o' to have shape")


def test_number_of_heads(call):
    """Query heads that are no multiple of key heads."""
    call.tensors[1] = call.tensors[1].repeat(1, 2, 1, 1)[:, :3]
    call.tensors[2] = call.tensors[2].repeat(1, 2, 1, 1)[:, :3]
    call.expect(
        attn.InvalidArgument, "q to be a multiple of the heads of k and v, but got 4 and"
    )


def test_rank(call):
    call.tensors[0] = call.tensors[0][0]
    call.expect(attn.InvalidArgument, "input 'q' to have rank 4, but got rank 3")


def test_number_of_inputs(call):
    call.tensors.pop()
    call.expect(attn.InvalidArgument, r"expects 3 inputs \(q, k, v\), but got 2")


def test_scalars(backend):
    call = _Call(backend, "window")
    call.tensors[3] = 2.5
    call.expect(attn.InvalidArgument, "input 'size' to be an integer .*, but got 2.5")


def test_gradients(call):
    call.tensors[0] = call.tensors[0].clone().requires_grad_()
    call.expect(attn.InvalidArgument, r"not to require a gradient.*torch.no_grad\(\)")


def test_stream(call):
    with pytest.raises(attn.InvalidArgument, match="stream to be an integer or a"):
        call.kernel(*call.tensors, stream="0")
