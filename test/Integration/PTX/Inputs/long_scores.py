"""Writes a program whose score is a long sum, without a loop.

Usage: long_scores.py cosines TERMS      of cosines of the distance
       long_scores.py ranks TERMS TYPE   of products of captures of that type
"""

import sys

KEYS = 40


def cosines(terms):
    lines = [
        "%scale = tensor.extract %f[%h] : tensor<2xf32>",
        "%d = arith.subi %i, %j : index",
        "%n = arith.index_cast %d : index to i64",
        "%x = arith.sitofp %n : i64 to f32",
    ]
    for n in range(terms):
        lines += [
            f"%w{n} = arith.constant {10 ** (-4 * n / terms):.8e} : f32",
            f"%m{n} = arith.mulf %x, %w{n} : f32",
            f"%t{n} = math.cos %m{n} : f32",
        ]
    return {"f": "tensor<2xf32>"}, lines


def ranks(terms, element):
    shape = f"2x{KEYS}x{terms}x{element}"
    captures = {"a": f"tensor<{shape}>", "c": f"tensor<{shape}>"}
    lines = ["%scale = arith.constant 2.5e-1 : f32"]
    for n in range(terms):
        lines.append(f"%r{n} = arith.constant {n} : index")
        for name, place in (("a", "i"), ("c", "j")):
            read = f"tensor.extract %{name}[%h, %{place}, %r{n}] : tensor<{shape}>"
            if element == "f32":
                lines.append(f"%{name}{n} = {read}")
            else:
                lines.append(f"%{name}l{n} = {read}")
                lines.append(f"%{name}{n} = arith.extf %{name}l{n} : {element} to f32")
        lines.append(f"%t{n} = arith.mulf %a{n}, %c{n} : f32")
    return captures, lines


def main():
    kind, terms, *element = sys.argv[1:]
    captures, lines = {"cosines": cosines, "ranks": ranks}[kind](int(terms), *element)
    total = "%t0"
    for n in range(1, int(terms)):
        lines.append(f"%u{n} = arith.addf {total}, %t{n} : f32")
        total = f"%u{n}"
    lines.append(f"%bias = arith.mulf %scale, {total} : f32")
    names = ", ".join(f"%{name}" for name in captures)
    parameters = ", ".join(f"%{name}: {type_}" for name, type_ in captures.items())
    body = "\n        ".join(lines)
    print(
        f"""!head = tensor<1x2x{KEYS}x64xf16>
!lse = tensor<1x2x{KEYS}xf32>
func.func @f(%q: !head, %k: !head, %v: !head, {parameters})
    -> (!head {{attn.name = "o"}}, !lse {{attn.name = "lse"}}) {{
  %oi = tensor.empty() : !head
  %li = tensor.empty() : !lse
  %o, %l = attn.attention ins(%q, %k, %v : !head, !head, !head)
      captures({names} : {", ".join(captures.values())})
      outs(%oi, %li : !head, !lse)
      score(%s, %b, %h, %i, %j, {names}) {{
        {body}
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }}
      mask(%b, %h, %i, %j, {names}) {{
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }}
  return %o, %l : !head, !lse
}}"""
    )


main()
