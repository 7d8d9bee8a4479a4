#!/bin/sh
# Packs all that tests and measures the GPU target into one archive, for a
# machine with an NVIDIA driver and nothing of ours: the portable build, the
# tests, the examples and the benchmark. Its run-gpu-tests runs them.
#
#   scripts/bundle.sh         prints the name of the archive
set -eu
cd "$(dirname "$0")/.."

build=build/portable
name=attn-gpu-tests
limit_mb=40

scripts/build.sh portable attn-run attn-tune-db attn AttnCudaDeviceTests >&2

stage=$build/$name
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib" "$stage/python" "$stage/tests" \
  "$stage/examples" "$stage/benchmarks"
strip=/usr/lib/llvm-22/bin/llvm-strip
[ -x $strip ] || strip="strip"
for tool in attn-run attn-tune-db; do
  $strip -o "$stage/bin/$tool" $build/bin/$tool
done
$strip -o "$stage/bin/AttnCudaDeviceTests" \
  $build/test/Unit/AttnCudaDeviceTests
$strip -o "$stage/lib/libattn.so" $build/lib/libattn.so
cp scripts/run-gpu-tests "$stage"
(cd python && find attn -name '*.py' -exec cp --parents '{}' "../$stage/python" ';')
cp -r benchmarks/attn_bench "$stage/python"
cp benchmarks/tune_*.py "$stage/benchmarks"
rm -rf "$stage/python/attn_bench/__pycache__"
cp test/GPU/*.py test/GPU/pytest.ini "$stage/tests"
cp docs/examples/*.mlir "$stage/examples"
cat >"$stage/README" <<'EOF'
Tests and measurements of attn on a GPU: ./run-gpu-tests RESULTS
needs an NVIDIA driver and Python; with pytest and PyTorch it runs more, and tells.
What tuning is worth: python3 benchmarks/tune_grid.py --out=FOLDER, and, with NumPy,
python3 benchmarks/tune_regret.py --target=cuda
EOF

# What is not on every Linux must not be needed.
for file in "$stage"/bin/* "$stage/lib/libattn.so"; do
  if readelf -d "$file" | grep NEEDED |
    grep -v -E 'lib(c|m|dl|rt|pthread)\.so|ld-linux' >&2; then
    echo "bundle: expects '$file' to need no such library" >&2
    exit 1
  fi
done

archive=$build/$name.tar.xz
tar -C $build -c "$name" | xz -6 -T0 >$archive
size=$(stat -c %s $archive)
if [ "$size" -gt $((limit_mb * 1000000)) ]; then
  echo "bundle: expects at most $limit_mb MB, but '$archive' has $size bytes" >&2
  exit 1
fi
echo $archive
