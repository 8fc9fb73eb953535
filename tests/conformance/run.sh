#!/usr/bin/env bash
# Runs the scenarios of scenarios.txt against our conformance server and client.
#
#   run.sh                 the list
#   run.sh server|client   one side of the list
#   run.sh rest            every scenario of the suite that is not in the list: what a later line could be
#
# Needs Rust, npm and, on other systems than Linux, a Node of at least 22.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
target="${CARGO_TARGET_DIR:-$root/target}"
case "$target" in /*) ;; *) target="$root/$target" ;; esac
want="${1:-all}"
out="$root/.cache/conformance"
rm -rf "$out"; mkdir -p "$out"

(cd "$root" && cargo build --quiet --locked --workspace --features roscius/full --bins --examples)
server_bin="$target/debug/examples/conformance_server"
client_bin="$target/debug/examples/conformance_client"
suite="$here/run-conformance.sh"

listed() { # listed <side> <spec> -> names
  awk -v side="$1" -v spec="$2" '$1 == side && $2 == spec { print $3 }' "$here/scenarios.txt"
}
specs() { awk -v side="$1" '$1 == side { print $2 }' "$here/scenarios.txt" | sort -u; }

names_for() { # names_for <side> <spec>: the list, or with `rest` what the list leaves out
  if [ "$want" = rest ]; then
    comm -23 <("$suite" list "$1" "$2" | sort) <(listed "$1" "$2" | sort)
  else
    listed "$1" "$2"
  fi
}

# A free port: the server is told its port by the environment, so somebody has to choose one.
free_port() { "$("$suite" node)" -e 'const s=require("net").createServer();s.listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }

"$suite" install
failed=0
if [ "$want" != client ]; then
  for spec in $(specs server); do
    port="$(free_port)"
    names="$(names_for server "$spec")"
    [ -n "$names" ] || continue
    "$suite" server --url "http://127.0.0.1:$port/mcp" --start "env PORT=$port '$server_bin'" \
      --spec "$spec" --scenario "$names" --strict --out "$out/server-$spec" || failed=1
  done
fi
# What a server has to offer is served: only what the suite itself leaves out may be skipped.
"$("$suite" node)" -e '
  const fs=require("fs"),p=require("path");let bad=0;
  const walk=d=>{for(const e of fs.readdirSync(d,{withFileTypes:true})){const f=p.join(d,e.name);
    if(e.isDirectory())walk(f);else if(e.name==="checks.json")for(const c of JSON.parse(fs.readFileSync(f,"utf8")))
      if(c.status==="SKIPPED"&&c.id!=="tasks-status-notifications"){bad=1;console.log("SKIPPED "+c.id+" in "+f);}}};
  for(const e of fs.readdirSync(process.argv[1]))if(e.startsWith("server-"))walk(p.join(process.argv[1],e));
  process.exit(bad);' "$out" || [ "$want" = rest ] || failed=1
if [ "$want" != server ]; then
  for spec in $(specs client); do
    names="$(names_for client "$spec")"
    [ -n "$names" ] || continue
    "$suite" client --command "$client_bin" --spec "$spec" --scenario "$names" --strict \
      --out "$out/client-$spec" || failed=1
  done
fi

# One line of totals over all legs, for the table of the whole run.
cat "$out"/*/summary.txt | awk '
  match($0, /[0-9]+ passed, [0-9]+ failed/) { split(substr($0, RSTART, RLENGTH), part, /[ ,]+/); passed += part[1]; failed += part[3] }
  END { printf "conformance scenarios: %d passed, %d failed\n", passed, failed; exit (passed == 0) }' || failed=1
exit "$failed"
