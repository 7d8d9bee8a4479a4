#!/bin/sh
# Checks the layout of sources: C++ with clang-format, all text for trailing
# blanks and tabs, shell scripts with shellcheck where it is installed.
#
#   scripts/format-check.sh [--fix]      --fix lets clang-format rewrite files
set -eu
cd "$(dirname "$0")/.."

fix=
case ${1:-} in
'') ;;
--fix) fix=1 ;;
*)
  echo "usage: scripts/format-check.sh [--fix]" >&2
  exit 2
  ;;
esac

clang_format=
for name in clang-format-22 /usr/lib/llvm-22/bin/clang-format; do
  if command -v "$name" >/dev/null 2>&1; then
    clang_format=$name
    break
  fi
done
if [ -z "$clang_format" ]; then
  echo "format-check: expects clang-format-22, but found none;" \
    "run scripts/setup.sh" >&2
  exit 1
fi

dirs=
for dir in include lib tools test benchmarks; do
  [ -d $dir ] && dirs="$dirs $dir"
done
# shellcheck disable=SC2046,SC2086 # lists
set -- $(find $dirs -name '*.h' -o -name '*.cpp' -o -name '*.c' |
  LC_ALL=C sort)

status=0
if [ -n "$fix" ]; then
  "$clang_format" -i "$@"
elif ! "$clang_format" --dry-run -Werror "$@"; then
  echo "format-check: run scripts/format-check.sh --fix" >&2
  status=1
fi

# Generated pages and binary inputs are not ours to lay out.
tab=$(printf '\t')
if grep -rnI --exclude-dir=.git --exclude-dir=build --exclude-dir=.cache \
  --exclude-dir=__pycache__ --exclude-dir=Dialects --exclude-dir=Passes \
  -e '[[:blank:]]$' -e "^ *$tab" . >&2; then
  echo "format-check: expects no trailing blanks and no tabs" >&2
  status=1
fi

if command -v shellcheck >/dev/null 2>&1; then
  # shellcheck disable=SC2046 # a list
  shellcheck $(grep -lE '^#!/bin/(sh|bash)' scripts/* .ci/*) || status=1
fi

[ $status -ne 0 ] || echo "format-check: clean"
exit $status
