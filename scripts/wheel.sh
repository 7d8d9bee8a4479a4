#!/bin/sh
# Makes one wheel for all versions of Python: the package, libattn.so of the portable
# build, and the operators for PyTorch, where its headers are (scripts/torch-library,
# or the folder of the package torch in the variable TORCH). Then tries it in a fresh virtual environment.
#
#   scripts/wheel.sh           prints the name of the wheel
#   scripts/wheel.sh LIBRARY   with another libattn.so
set -eu
cd "$(dirname "$0")/.."

library=${1:-build/portable/lib/libattn.so}
limit_mb=40
python=python3
[ ! -x /usr/bin/python3 ] || python=/usr/bin/python3
[ $# -gt 0 ] || scripts/build.sh portable attn >&2

stage=build/wheel
rm -rf $stage
mkdir -p $stage/files
strip=/usr/lib/llvm-22/bin/llvm-strip
[ -x $strip ] || strip="strip"
(cd python && find attn '(' -name '*.py' -o -name '*.pyi' -o -name py.typed ')' -exec cp --parents '{}' ../$stage/files ';')
$strip -o $stage/files/attn/libattn.so "$library"

torch=${TORCH:-build/torch/torch}
if [ -d "$torch/include" ]; then
  scripts/torch-library $stage/files/attn/libattn_torch.so "$torch" >&2
else
  echo "wheel: no operators in C++, as there is no PyTorch in '$torch'" >&2
fi

# Only functions of our C interface may be seen by others in a process.
for file in "$stage"/files/attn/*.so; do
  if nm -D --defined-only "$file" | grep -v -E ' (T|A) (attn|ATTN)' >&2; then
    echo "wheel: expects '$file' to export functions of attn alone" >&2
    exit 1
  fi
done

# What is not on every Linux must not be needed, but by a library that was given.
if [ $# -eq 0 ] && readelf -d $stage/files/attn/libattn.so | grep NEEDED |
  grep -v -E 'lib(c|m|dl|rt|pthread)\.so|ld-linux' >&2; then
  echo "wheel: expects '$library' to need no such library" >&2
  exit 1
fi

wheel=$("$python" - $stage <<'EOF'
import base64, hashlib, pathlib, re, subprocess, sys, zipfile

stage = pathlib.Path(sys.argv[1])
files = stage / "files"
library = files / "attn/libattn.so"
text = (files / "attn/__init__.py").read_text()
version = re.search(r'__version__ = "(.+)"', text).group(1)
# The newest glibc that the libraries need says on which systems they run.
symbols = subprocess.run(
    ["readelf", "-V", "-W", *sorted(library.parent.glob("*.so"))],
    capture_output=True,
    text=True,
    check=True,
).stdout
needed = max(tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", symbols))
tag = "py3-none-manylinux_{}_{}_x86_64".format(*needed)
info = f"attn-{version}.dist-info"
(files / info).mkdir()
(files / info / "METADATA").write_text(
    f"Metadata-Version: 2.1\nName: attn\nVersion: {version}\n"
    "Summary: A compiler for attention kernels\nRequires-Python: >=3.10\n"
    "Provides-Extra: torch\nRequires-Dist: torch>=2.9; extra == 'torch'\n"
    "Provides-Extra: jax\nRequires-Dist: jax>=0.8; extra == 'jax'\n"
    "Provides-Extra: numpy\nRequires-Dist: numpy; extra == 'numpy'\n"
)
(files / info / "WHEEL").write_text(
    f"Wheel-Version: 1.0\nGenerator: attn\nRoot-Is-Purelib: false\nTag: {tag}\n"
)
name = stage / f"attn-{version}-{tag}.whl"
record = []
with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

    def add(path, data):
        # The same bytes from the same files.
        member = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
        member.compress_type = zipfile.ZIP_DEFLATED
        member.external_attr = 0o644 << 16
        archive.writestr(member, data)

    for path in sorted(p for p in files.rglob("*") if p.is_file()):
        data, inside = path.read_bytes(), path.relative_to(files).as_posix()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
        record.append(f"{inside},sha256={digest.decode()},{len(data)}\n")
        add(inside, data)
    add(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")
print(name)
EOF
)

size=$(stat -c %s "$wheel")
if [ "$size" -gt $((limit_mb * 1000000)) ]; then
  echo "wheel: expects at most $limit_mb MB, but '$wheel' has $size bytes" >&2
  exit 1
fi

# Nothing of the sources, of NumPy or of a toolkit is within reach.
"$python" -m venv $stage/venv
$stage/venv/bin/python -m pip -q --disable-pip-version-check install \
  --no-index "$wheel"
cp docs/examples/causal.mlir $stage
(
  cd $stage
  env -i HOME="$PWD" venv/bin/python -m attn.info >&2
  env -i HOME="$PWD" venv/bin/python - >&2 <<'EOF'
import os, attn

assert os.path.dirname(attn.__file__).endswith("site-packages/attn"), attn.__file__
kernel = attn.compile("causal.mlir", target="cpu")
shape = [4 if n is None else n for n in kernel.inputs[0].shape]
count = 1
for extent in shape:
    count *= extent
size = {"f32": 4, "f16": 2, "bf16": 2}[kernel.inputs[0].dtype]
zeros = memoryview(bytearray(count * size)).cast({4: "f", 2: "H"}[size], shape)
if size == 2:
    zeros = attn.bitcast(zeros, kernel.inputs[0].dtype)
o = kernel(zeros, zeros, zeros)
assert bytes(getattr(o, "array", o)) == bytes(count * size)
print(f"wheel: {kernel!r} runs")
EOF
)
echo "$wheel"
