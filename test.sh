#!/usr/bin/env bash
# Runs every test that needs nothing but Rust and npm, on Linux and macOS.
#
#   ./test.sh              all sections
#   ./test.sh rust page    only these (build, rust, interop, page)
#
# A section that fails does not stop the others; the exit code says whether any did.
# MCP_SCHEMA_DIR, when set, names a folder with the official MCP schemas, <version>/schema.json each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

target="${CARGO_TARGET_DIR:-$PWD/target}"
case "$target" in /*) ;; *) target="$PWD/$target" ;; esac
export ROSCIUS_BIN="${ROSCIUS_BIN:-$target/debug/roscius}"
export FIXTURE_HOST="${FIXTURE_HOST:-$target/debug/examples/fixture_host}"
export RMCP_CLIENT="${RMCP_CLIENT:-$target/peers/debug/rmcp-client}"

for tool in cargo npm; do
  command -v "$tool" >/dev/null || { echo "test.sh: $tool is needed and not on PATH" >&2; exit 2; }
done

logs="$(mktemp -d "${TMPDIR:-/tmp}/roscius-test.XXXXXX")"
trap 'rm -rf "$logs"' EXIT

# What the tests start has to be there before them, built as the tests are, so that nothing is built twice.
build() {
  cargo build --locked --workspace --features roscius/full --bins --examples
  # A workspace of its own, so that no other MCP library is in ours.
  cargo build --locked --manifest-path tests/peers/rmcp/Cargo.toml --target-dir "$target/peers"
}
rust() { cargo test --locked --workspace --features roscius/full --no-fail-fast; }
npm_tests() { # npm_tests <folder>
  [ -f "$1/package-lock.json" ] || { echo "$1 has no package-lock.json" >&2; return 1; }
  (cd "$1" && npm ci --no-audit --no-fund && npm test)
}
interop() { npm_tests tests/interop; }
page() { npm_tests cli/web; }

# Sums what cargo and node say about their tests: `N passed, N failed`.
totals() {
  awk '
    match($0, /[0-9]+ passed; [0-9]+ failed/) { split(substr($0, RSTART, RLENGTH), part, /[ ;]+/); passed += part[1]; failed += part[3] }
    /^[^a-zA-Z0-9]* pass [0-9]+$/ { passed += $NF }
    /^[^a-zA-Z0-9]* (fail|cancelled) [0-9]+$/ { failed += $NF }
    END { printf "%d passed, %d failed\n", passed, failed }' "$1"
}

status=0
report=""
section() { # section <name>
  local name="$1" begun=$SECONDS result=ok
  echo "=== $name"
  # The status is asked of a subshell in which a failing command ends the section.
  set +e
  (set -e; "$name") 2>&1 | tee "$logs/$name.log"
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then result=FAILED; status=1; fi
  set -e
  report+="$(printf '%-10s %6ss  %-6s  %s' "$name" "$((SECONDS - begun))" "$result" "$(totals "$logs/$name.log")")"$'\n'
}

if [ $# -eq 0 ]; then set -- build rust interop page; fi
for name in "$@"; do
  case "$name" in build | rust | interop | page) section "$name" ;; *) echo "test.sh: no section $name" >&2; exit 2 ;; esac
done

echo
printf '%s' "$report"
cat "$logs"/*.log > "$logs/all"
echo "test.sh: $(totals "$logs/all")"
exit "$status"
