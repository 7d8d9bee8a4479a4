"""key-lists.py FILE FORM: runs programs whose queries have lists of keys, which it
writes to FILE, against the reference, and prints which, and PASS or FAIL. FORM is
that of --sparsity."""

import subprocess
import sys

REGIONS = {
    "none": "",
    "causal": """
    mask(%b0, %h, %i, %j) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }""",
    "captures": """
    score(%x, %b0, %h, %i, %j, %w, %u) {
      %a = tensor.extract %w[%j] : tensor<?xSTATS>
      %c = arith.addf %x, %a : STATS
      %m = math.tanh %c : STATS
      attn.yield %m : STATS
    }
    mask(%b0, %h, %i, %j, %w, %u) {
      %g = tensor.extract %u[%i] : tensor<?xi32>
      %gi = arith.index_cast %g : i32 to index
      %p = arith.cmpi ne, %gi, %j : index
      attn.yield %p : i1
    }""",
    "never": """
    mask(%b0, %h, %i, %j) {
      %p = arith.constant false
      attn.yield %p : i1
    }""",
    "equal": """
    score(%x, %b0, %h, %i, %j) {
      %n = arith.index_cast %i : index to i32
      %y = arith.sitofp %n : i32 to STATS
      attn.yield %y : STATS
    }""",
}


def program(heads, kv_heads, dims, dtype, rows, layout, region):
    """Batches and lengths are dynamic."""

    def tensor(heads, dim=None, dtype=dtype):
        extents = {"b": "?", "h": heads, "s": "?", "d": dim}
        shape = [str(extents[c]) for c in layout if dim or c != "d"]
        return f"tensor<{'x'.join(shape)}x{dtype}>"

    stats = "f64" if dtype == "f64" else "f32"
    q, k, v = tensor(heads, dims[0]), tensor(kv_heads, dims[0]), tensor(kv_heads, dims[1])
    o, lse = tensor(heads, dims[1]), tensor(heads, dtype=stats)
    sizes = ", ".join("%" + c for c in layout if c in "bs")
    index = rows.rsplit("x", 1)[1]
    extra = types = ""
    if region == "captures":
        extra = f", %w: tensor<?x{stats}>, %u: tensor<?xi32>"
        types = f"captures(%w, %u : tensor<?x{stats}>, tensor<?xi32>)"
    return f"""
func.func @f(%q: {q}, %k: {k}, %v: {v}, %rows: tensor<{rows}>, %cols: tensor<?x{index}>{extra})
    -> ({o} {{attn.name = "o"}}, {lse} {{attn.name = "lse"}}) {{
  %cb = arith.constant {layout.index("b")} : index
  %cs = arith.constant {layout.index("s")} : index
  %b = tensor.dim %q, %cb : {q}
  %s = tensor.dim %q, %cs : {q}
  %oi = tensor.empty({sizes}) : {o}
  %li = tensor.empty({sizes}) : {lse}
  %o, %l = attn.attention layout({layout})
    ins(%q, %k, %v : {q}, {k}, {v})
    {types}
    sparsity(#attn.sparsity<lists, block = 1x1> %rows, %cols : tensor<{rows}>, tensor<?x{index}>)
    outs(%oi, %li : {o}, {lse}){REGIONS[region].replace("STATS", stats)}
  return %o, %l : {o}, {lse}
}}
"""


# Batches of q and of k, heads, heads of k, queries, keys; head dimensions; type;
# rows and their leading extents; layout; density; regions.
CASES = [
    (2, 2, 4, 2, 67, 101, (64, 64), "f32", "4x?xi32", "4", "bhsd", 0.2, "none"),
    (2, 2, 4, 2, 67, 101, (64, 64), "f32", "4x?xi32", "4", "bhsd", 1, "causal"),
    (2, 2, 4, 2, 67, 101, (64, 64), "f32", "4x?xi32", "4", "bhsd", 0, "captures"),
    (3, 1, 4, 1, 33, 150, (20, 72), "f32", "?x?xi64", "1", "bhsd", 0.5, "captures"),
    (2, 2, 4, 4, 67, 50, (33, 5), "f32", "?xi32", "", "bhds", 0.5, "captures"),
    (2, 2, 4, 2, 33, 101, (72, 40), "bf16", "1x?x?xi32", "1x4", "bshd", 0.5, "captures"),
    (2, 2, 4, 2, 33, 101, (40, 64), "bf16", "2x1x?xi64", "2x1", "bhds", 0.5, "causal"),
    (1, 1, 2, 2, 17, 300, (128, 256), "bf16", "?x?x?xi32", "1x2", "sbhd", 0.9, "none"),
    (2, 2, 4, 2, 33, 101, (24, 16), "f16", "4x?xi32", "4", "bhsd", 0.3, "captures"),
    (1, 1, 1, 1, 5, 40, (1, 1), "f16", "?xi64", "", "bhsd", 0.5, "none"),
    (2, 2, 4, 2, 33, 101, (20, 28), "f64", "4x?xi32", "4", "bhsd", 0.3, "captures"),
    (1, 1, 2, 1, 1, 1000, (32, 32), "f32", "?xi32", "", "bhsd", 0.9, "captures"),
    (1, 1, 2, 1, 0, 9, (32, 32), "f32", "?xi32", "", "bhsd", 0.5, "none"),
    (1, 1, 2, 1, 9, 0, (32, 32), "f32", "?xi32", "", "bhsd", 0.5, "none"),
    (1, 1, 2, 1, 9, 40, (32, 32), "f32", "?xi32", "", "bhsd", 0.5, "never"),
    (1, 1, 2, 1, 9, 40, (32, 24), "bf16", "?xi32", "", "bhsd", 0.5, "equal"),
]

for case in CASES:
    b, bk, h, hk, queries, keys, dims, dtype, rows, leading, layout, density, region = case
    with open(sys.argv[1], "w") as file:
        file.write(program(h, hk, dims, dtype, rows, layout, region))

    def shape(batch, heads, length, dim):
        extents = {"b": batch, "h": heads, "s": length, "d": dim}
        return "x".join(str(extents[c]) for c in layout)

    lists = "x".join(filter(None, [leading, str(queries + 1)]))
    command = [
        "attn-run",
        sys.argv[1],
        "--check",
        "--sparsity=" + sys.argv[2],
        "--arg=q=randn:" + shape(b, h, queries, dims[0]),
        "--arg=k=randn:" + shape(bk, hk, keys, dims[0]),
        "--arg=v=randn:" + shape(bk, hk, keys, dims[1]),
        f"--arg=rows=blocks({density}):{lists}",
    ]
    if region == "captures":
        command += [f"--arg=w=randn:{keys}", f"--arg=u=randint(0,{keys}):{queries}"]
    run = subprocess.run(command, capture_output=True, text=True)
    print(*case, "PASS" if run.returncode == 0 else "FAIL\n" + run.stdout + run.stderr)
