"""What a variant is, and its program as MLIR."""

import dataclasses
import typing


class Capture(typing.NamedTuple):
    """An input next to q, k and v.

    `{t}` in the type is the element type of q. `make(draw, case)` is an array
    of NumPy, or a number for a scalar; `draw` is a numpy.random.Generator.
    """

    name: str
    type: str
    make: typing.Callable

    def element_type(self, dtype):
        """Of a tensor."""
        return self.type.replace("{t}", dtype).rstrip(">").split("x")[-1]


class Variant(typing.NamedTuple):
    """One variant, as MLIR and as the same maths on arrays.

    `score` and `mask` are bodies of the regions, on %s, %b, %h, %i, %j and the
    captures; they define %y and %p. `score_of(x, s, b, h, i, j, c)` and
    `mask_of(x, b, h, i, j, c)` say the same of arrays that broadcast to
    (batch, heads, queries, keys): `x` is the module, numpy or torch, and `c`
    has the captures by name.
    """

    name: str
    captures: tuple = ()
    score: str = ""
    score_of: typing.Callable = None
    mask: str = ""
    mask_of: typing.Callable = None
    # An attribute whose operand is the capture `bits`, which regions do not
    # read then, but mask_of does.
    sparsity: str = ""
    # None is 1 / sqrt(D).
    scale: float = None
    lse: bool = True
    # Of the tensors in the program: "bhsd" or "bshd".
    layout: str = "bhsd"
    # Heads as the types have them, (query heads, key heads), or None for any.
    heads: tuple = None


@dataclasses.dataclass(frozen=True)
class Case:
    """A variant on tensors of given types and sizes."""

    variant: Variant
    dtype: str
    dim: int
    value_dim: int
    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    seed: int = 0
    # What normal numbers are multiplied by.
    amplitude: float = 1.0

    @property
    def scale(self):
        scale = self.variant.scale
        return self.dim**-0.5 if scale is None else scale

    @property
    def kernel(self):
        """What the code depends on."""
        return self.variant, self.dtype, self.dim, self.value_dim

    def __str__(self):
        dims = f"D{self.dim}"
        if self.value_dim != self.dim:
            dims += f"-{self.value_dim}"
        return (
            f"{self.variant.name}-{self.dtype}-{dims}-B{self.batch}H{self.heads}"
            f"K{self.kv_heads}-{self.queries}x{self.keys}"
        )


def _tensor(variant, heads, last):
    head = "?" if variant.heads is None else variant.heads[heads]
    middle = f"{head}x?" if variant.layout == "bhsd" else f"?x{head}"
    return f"tensor<?x{middle}x{last}>"


def _region(keyword, arguments, captures, body, result):
    names = ", ".join(["%b", "%h", "%i", "%j"] + [f"%{c.name}" for c in captures])
    lines = "\n".join("        " + line.strip() for line in body.strip().split("\n"))
    return (
        f"      {keyword}({arguments}{names}) {{\n{lines}\n"
        f"        attn.yield {result}\n      }}\n"
    )


def program(variant, dtype, dim, value_dim):
    """The MLIR text, which is the same for all sizes."""
    types = {
        "q": _tensor(variant, 0, f"{dim}x{dtype}"),
        "k": _tensor(variant, 1, f"{dim}x{dtype}"),
        "v": _tensor(variant, 1, f"{value_dim}x{dtype}"),
        "o": _tensor(variant, 0, f"{value_dim}x{dtype}"),
        "l": _tensor(variant, 0, "f32"),
    }
    captures = [(c.name, c.type.replace("{t}", dtype)) for c in variant.captures]
    parameters = "".join(f", %{name}: {type_}" for name, type_ in captures)
    outs, out_types = "%oi", "!o"
    results = '(!o {attn.name = "o"}'
    if variant.lse:
        outs, out_types = "%oi, %li", "!o, !l"
        results += ', !l {attn.name = "lse"}'
    results += ")"
    # Dimensions 1 and 2 are heads and queries, or the other way round, and a
    # number of heads that the type tells is no operand.
    open_dims = [1, 2] if variant.heads is None else [2]
    if variant.layout == "bshd" and variant.heads is not None:
        open_dims = [1]
    sizes = ", ".join(["%n0"] + [f"%n{dim}" for dim in open_dims])
    lines = [f"!{name} = {type_}" for name, type_ in types.items()]
    lines.append(f"func.func @attention(%q: !q, %k: !k, %v: !v{parameters})")
    lines.append(f"    -> {results} {{")
    for number in [0] + open_dims:
        lines.append(f"  %c{number} = arith.constant {number} : index")
        lines.append(f"  %n{number} = tensor.dim %q, %c{number} : !q")
    lines.append(f"  %oi = tensor.empty({sizes}) : !o")
    if variant.lse:
        lines.append(f"  %li = tensor.empty({sizes}) : !l")
    scale = "" if variant.scale is None else f" scale {variant.scale:e}"
    layout = "" if variant.layout == "bhsd" else f" layout({variant.layout})"
    count = ":2" if variant.lse else ""
    lines.append(f"  %r{count} = attn.attention{scale}{layout}")
    lines.append("      ins(%q, %k, %v : !q, !k, !v)")
    bits = [capture for capture in captures if variant.sparsity]
    captures = [capture for capture in captures if capture not in bits]
    if captures:
        names = ", ".join(f"%{name}" for name, _ in captures)
        kinds = ", ".join(type_ for _, type_ in captures)
        lines.append(f"      captures({names} : {kinds})")
    for name, type_ in bits:
        lines.append(f"      sparsity({variant.sparsity} %{name} : {type_})")
    lines.append(f"      outs({outs} : {out_types})")
    text = "\n".join(lines) + "\n"
    for keyword, arguments, body, result in [
        ("score", "%s, ", variant.score, "%y : f32"),
        ("mask", "", variant.mask, "%p : i1"),
    ]:
        if body:
            body = body.replace("{t}", dtype)
            read = () if variant.sparsity else variant.captures
            text += _region(keyword, arguments, read, body, result)
    returned = "%r#0, %r#1 : !o, !l" if variant.lse else "%r : !o"
    return text + f"  return {returned}\n}}\n"
