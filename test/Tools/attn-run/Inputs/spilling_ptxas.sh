#!/bin/sh
# An assembler that spills 96 bytes of any kernel.
if [ "$1" = --version ]; then
  echo spilling
  exit
fi
cat <<'END'
ptxas info    : Compiling entry function 'f' for 'sm_90a'
ptxas info    : Function properties for f
    0 bytes stack frame, 40 bytes spill stores, 56 bytes spill loads
ptxas info    : Used 168 registers, 400 bytes cmem[0]
END
for binary; do :; done
echo code >"$binary"
