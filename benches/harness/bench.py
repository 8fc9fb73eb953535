#!/usr/bin/env python3
"""Side-by-side MCP performance harness. See ../README.md.   bench.py PHASE [--only a,b] [--rounds N] [--secs S] [--out DIR]
phases: http unpinned sessions cold all report.  Only 127.0.0.1; ends only the processes it started."""
import argparse, json, os, re, resource, shlex, socket, statistics as st, subprocess, sys, tempfile, time
H = os.path.dirname(os.path.abspath(__file__))
CFG = json.load(open(os.environ.get("SERVERS", H + "/servers.json")))
V = dict(CFG["vars"]); V["H"] = H
for k in list(V):
    V[k] = os.environ.get("PERF_" + k, V[k])
def fmt(s, **kw):
    d = {**V, **kw}
    for _ in range(3):
        for k, v in d.items(): s = s.replace("{" + k + "}", str(v))
    return s
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
CORE_S, CORE_L = os.environ.get("CORE_SERVER", "0"), os.environ.get("CORE_LOAD", "1")
PORT = [int(os.environ.get("PORT0", "19100"))]
TEXT = "hello world, this is a small payload"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0"}, "io.modelcontextprotocol/clientCapabilities": {}}

def body(test, era, rid=1):
    if test in ("echo", "lat"): m, p = "tools/call", {"name": "echo", "arguments": {"text": TEXT}}
    elif test == "big": m, p = "tools/call", {"name": "echo", "arguments": {"text": "x" * 102400}}
    elif test == "list": m, p = "tools/list", {}
    if era == "2026": p["_meta"] = META
    return json.dumps({"jsonrpc": "2.0", "id": rid, "method": m, "params": p}, separators=(",", ":")), m, p.get("name")
def headers(era, m, name):
    h = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era == "2025": h["MCP-Protocol-Version"] = "2025-06-18"
    if era == "2026":
        h.update({"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": m})
        if name: h["Mcp-Name"] = name
    return h

def kids(pid):
    out = [pid]
    try:
        for t in os.listdir(f"/proc/{pid}/task"):
            for c in open(f"/proc/{pid}/task/{t}/children").read().split(): out += kids(int(c))
    except OSError: pass
    return out
def cpu(pid):
    s = 0
    for p in kids(pid):
        try: f = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split(); s += int(f[11]) + int(f[12])
        except OSError: pass
    return s / os.sysconf("SC_CLK_TCK")
def rss(pid):
    s = 0
    for p in kids(pid):
        try: s += int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{p}/status").read()).group(1))
        except (OSError, AttributeError): pass
    return s / 1024
def post(port, path, b, h, timeout=10, method="POST"):
    s = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    d = b.encode()
    s.sendall((f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n" + "".join(f"{k}: {v}\r\n" for k, v in h.items()) + f"Content-Length: {len(d)}\r\n\r\n").encode() + d)
    r = b""
    while True:
        x = s.recv(1 << 20)
        if not x: break
        r += x
        i = r.find(b"\r\n\r\n")   # some servers hold SSE/keep-alive open: stop at the end of the body
        if i >= 0:
            hd = r[:i].lower(); m = re.search(rb"content-length: (\d+)", hd)
            if m and len(r) >= i + 4 + int(m.group(1)): break
            if b"chunked" in hd and r.endswith(b"0\r\n\r\n"): break
    s.close()
    i = r.find(b"\r\n\r\n")
    return int(r[9:12] or 0), r[:i].decode("latin1"), r[i + 4:]
INIT = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}})
def mksession(port, path):
    h = headers("2025", "", None)
    s, hd, b = post(port, path, INIT, h)
    sid = re.search(r"(?im)^mcp-session-id:\s*(\S+)", hd).group(1)
    h["Mcp-Session-Id"] = sid
    post(port, path, '{"jsonrpc":"2.0","method":"notifications/initialized"}', h)
    return sid

class Srv:
    def __init__(self, e, pin=True):
        self.e, self.port = e, PORT[0]; PORT[0] += 1
        cmd = shlex.split(fmt(e["cmd"], port=self.port))
        if pin and e.get("pin", True): cmd = ["taskset", "-c", CORE_S] + cmd
        self.t0 = time.perf_counter()
        self.p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(os.devnull, "w"))
        self.pid = self.p.pid
    def ready(self, probe, timeout=60):
        while time.perf_counter() - self.t0 < timeout:
            if self.p.poll() is not None: raise RuntimeError(f"{self.e['id']} exited {self.p.returncode}")
            try:
                if probe(): self.start_ms = (time.perf_counter() - self.t0) * 1e3; return self
            except OSError: pass
            time.sleep(0.0005)
        raise RuntimeError(f"{self.e['id']} not ready")
    def stop(self):
        self.p.terminate()
        try: self.p.wait(5)
        except subprocess.TimeoutExpired: self.p.kill(); self.p.wait()
    def __enter__(self): return self
    def __exit__(self, *a): self.stop()
def probe_fn(e, s):
    if e.get("session"): return lambda: post(s.port, e["path"], INIT, headers("2025", "", None))[0] == 200
    if "era" not in e: return lambda: post(s.port, e["path"], "{}", {}) [0] == 200
    b, m, n = body("echo", e["era"])
    return lambda: post(s.port, e["path"], b, headers(e["era"], m, n))[0] == 200

def check(e, s, test, sid=None):
    """The reply must be right, not merely 200."""
    if e["era"] == "raw": return None
    b, m, n = body(test, e["era"], 77)
    h = headers(e["era"], m, n)
    if sid: h["Mcp-Session-Id"] = sid
    c, hd, r = post(s.port, e["path"], b, h)
    assert c == 200, (e["id"], test, c, r[:300])
    if test == "list": ok = r.count(b'"inputSchema"') == 50
    elif test == "big": ok = r.count(b"x") >= 102400
    else: ok = TEXT.encode() in r and b'"error"' not in r
    assert ok, (e["id"], test, hd, r[:300])
    return len(r)

def wrk(e, s, test, secs, conns, pin, sids=None):
    b, m, n = body(test, e["era"] if e["era"] != "raw" else "2025")
    d = tempfile.mkdtemp()
    open(d + "/b", "w").write(b); open(d + "/h", "w").write("".join(f"{k}: {v}\n" for k, v in headers(e["era"], m, n).items()))
    env = {**os.environ, "BODY": d + "/b", "HDRS": d + "/h"}
    if sids: open(d + "/s", "w").write("\n".join(sids)); env["SIDS"] = d + "/s"
    cmd = (["taskset", "-c", CORE_L] if pin else []) + ["wrk", "-t1", f"-c{conns}", f"-d{secs}s", "--timeout", "30s", "-s", H + "/lua/post.lua", f"http://127.0.0.1:{s.port}{e['path']}"]
    c0, t0 = cpu(s.pid), time.perf_counter()
    o = subprocess.run(cmd, env=env, capture_output=True, text=True)
    el, c1 = time.perf_counter() - t0, cpu(s.pid)
    j = re.search(r"JSON (\{.*\})", o.stdout)
    if not j: raise RuntimeError(o.stdout + o.stderr)
    r = json.loads(j.group(1))
    r.update(rps=r["requests"] / r["secs"], cpu_100k=(c1 - c0) * 1e5 / max(r["requests"], 1), util=(c1 - c0) / el, rss_mb=rss(s.pid))
    return r

OUT = None
def rec(phase, **kw):
    kw = {"phase": phase, "t": round(time.time(), 1), "load1": os.getloadavg()[0], **kw}
    open(OUT + "/results.jsonl", "a").write(json.dumps(kw) + "\n")
    print(phase, kw.get("id"), {k: (round(v, 3) if isinstance(v, float) else v) for k, v in kw.items() if k not in ("phase", "t", "id", "label", "load1", "secs", "bytes", "p90_us", "max_us")}, flush=True)

def ph_http(es, a, pin=True):
    """All servers of a round are up at once and are loaded one after the other, test by test: the
    speed of a shared machine drifts, and what is compared should lie next to each other in time."""
    es = [e for e in es if pin or e.get("unpinned", True)]
    for rnd in range(a.rounds):
        up = []
        try:
            for e in es:
                s = Srv(e, pin); up.append((e, s, None))
                try:
                    s.ready(probe_fn(e, s)); s.idle = rss(s.pid)
                    sids = [mksession(s.port, e["path"]) for _ in range(32)] if e.get("session") else None
                    up[-1] = (e, s, sids); wrk(e, s, "echo", 1, 32, pin, sids)
                except Exception as x: s.idle = None; rec("error", id=e["id"], where="http", err=str(x)[:400])
            for t in (["echo", "lat", "list", "big"] if pin else ["echo"]):
                for e, s, sids in (up if rnd % 2 == 0 else up[::-1]):
                    if s.idle is None or t not in e["tests"]: continue
                    try:
                        n = check(e, s, t, sids and sids[0])
                        r = wrk(e, s, t, a.secs, 1 if t == "lat" else 32, pin, sids)
                        rec("http" if pin else "unpinned", id=e["id"], test=t, round=rnd, start_ms=s.start_ms, idle_mb=s.idle, reply_bytes=n, **r)
                    except Exception as x: rec("error", id=e["id"], where="http", err=str(x)[:400])
        finally:
            for _, s, _ in up: s.stop()

def ph_sessions(es, a):
    L = fmt("{T}/release/mcpload")
    for rnd in range(a.srounds):
        for e in [e for e in es if e.get("session")]:
            try:
                with Srv(e) as s:
                    s.ready(probe_fn(e, s)); base = rss(s.pid); holds = []
                    for tot, n, sse in ((1000, 1000, 100), (10000, 9000, 900)):
                        c0 = cpu(s.pid)
                        p = subprocess.Popen(["taskset", "-c", CORE_L, L, "sessions", str(s.port), e["path"], str(n), "16", str(sse)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True); holds.append(p)
                        r = json.loads(p.stdout.readline()); c1 = cpu(s.pid); time.sleep(1)
                        r.pop("phase"); rec("sessions", id=e["id"], total=tot, round=rnd, idle_mb=base, rss_mb=rss(s.pid), kb_per_session=(rss(s.pid) - base) * 1024 / tot, cpu_ms_per_session=(c1 - c0) * 1e3 / n, **r)
                        # traffic still works with the sessions open
                    sid = mksession(s.port, e["path"]); check(e, s, "echo", sid)
                    for p in holds: p.stdin.close(); p.wait(20)
            except Exception as x: rec("error", id=e["id"], where="sessions", err=str(x)[:400])

def ph_cold(es, a):
    for rnd in range(a.crounds):
        for e in es:
            try:
                with Srv(e) as s: s.ready(probe_fn(e, s)); time.sleep(0.05); rec("cold", id=e["id"], start_ms=s.start_ms, idle_mb=rss(s.pid), cpu_ms=cpu(s.pid) * 1e3)
            except Exception as x: rec("error", id=e["id"], where="cold", err=str(x)[:400])

def med(xs): xs = [x for x in xs if x is not None]; return st.median(xs) if xs else float("nan")
def f(x, d=1): return "-" if x != x else (f"{x:,.0f}" if d == 0 else f"{x:,.{d}f}")
def report(a):
    R = [json.loads(l) for l in open(OUT + "/results.jsonl")]
    lab = {e["id"]: e["label"] for e in CFG["servers"]}
    o = []
    def sel(**kw): return [r for r in R if all(r.get(k) == v for k, v in kw.items())]
    def ids(ph): return [i for i in lab if any(r["id"] == i for r in R if r["phase"] == ph)]
    era = {e["id"]: e["era"] for e in CFG["servers"]}
    bare = {"2025": "limit-parse", "2026": "limit-parse-2026"}
    def ratio(i, test, what):
        """The median of what each round says against the bare handler of the same era."""
        base = {r["round"]: r[what] for r in sel(phase="http", id=bare.get(era[i]), test=test)}
        return med([r[what] / base[r["round"]] for r in sel(phase="http", id=i, test=test) if base.get(r["round"])])
    for test, title in (("echo", "tools/call echo, small payload, 32 connections"), ("list", "tools/list, 50 tools, 32 connections"), ("big", "tools/call echo, 100 KB text, 32 connections")):
        o.append(f"\n### {title} (server pinned to one core)\n\n| server | CPU-s / 100k req | x bare handler | req/s measured | req/s one full core | p50 ms | p99 ms | util | reply bytes | min..max CPU | errs |\n|---|---|---|---|---|---|---|---|---|---|---|")
        for i in ids("http"):
            r = sel(phase="http", id=i, test=test)
            if not r: continue
            c = [x["cpu_100k"] for x in r]
            o.append(f"| {lab[i]} | {f(med(c),2)} | {f(ratio(i, test, 'cpu_100k'),2)} | {f(med([x['rps'] for x in r]),0)} | {f(1e5/med(c),0)} | {f(med([x['p50_us'] for x in r])/1e3,2)} | {f(med([x['p99_us'] for x in r])/1e3,2)} | {f(med([x['util'] for x in r]),2)} | {r[0]['reply_bytes'] or '-'} | {f(min(c),2)}..{f(max(c),2)} | {sum(x['err_status']+x['err_sock'] for x in r)} |")
    o.append("\n### Latency with one connection (echo, pinned)\n\n| server | p50 us | x bare handler | p99 us | req/s |\n|---|---|---|---|---|")
    for i in ids("http"):
        r = sel(phase="http", id=i, test="lat")
        if r: o.append(f"| {lab[i]} | {f(med([x['p50_us'] for x in r]),0)} | {f(ratio(i, 'lat', 'p50_us'),2)} | {f(med([x['p99_us'] for x in r]),0)} | {f(med([x['rps'] for x in r]),0)} |")
    o.append("\n### Un-pinned: echo, 32 connections, server and loader share both cores\n\n| server | req/s | CPU-s / 100k | p50 ms | p99 ms | util |\n|---|---|---|---|---|---|")
    for i in ids("unpinned"):
        r = sel(phase="unpinned", id=i, test="echo")
        o.append(f"| {lab[i]} | {f(med([x['rps'] for x in r]),0)} | {f(med([x['cpu_100k'] for x in r]),2)} | {f(med([x['p50_us'] for x in r])/1e3,2)} | {f(med([x['p99_us'] for x in r])/1e3,2)} | {f(med([x['util'] for x in r]),2)} |")
    o.append("\n### 2025 sessions: initialize + notifications/initialized on a fresh TCP connection; 10% also hold a GET SSE stream\n\n| server | total open | sessions/s | CPU-ms / session | p50 ms | p99 ms | idle MB | RSS MB | KB / session | failed |\n|---|---|---|---|---|---|---|---|---|---|")
    for i in ids("sessions"):
        for tot in (1000, 10000):
            r = sel(phase="sessions", id=i, total=tot)
            if r: o.append(f"| {lab[i]} | {tot:,} | {f(med([x['per_s'] for x in r]),0)} | {f(med([x['cpu_ms_per_session'] for x in r]),3)} | {f(med([x['p50_ms'] for x in r]),2)} | {f(med([x['p99_ms'] for x in r]),2)} | {f(med([x['idle_mb'] for x in r]),1)} | {f(med([x['rss_mb'] for x in r]),1)} | {f(med([x['kb_per_session'] for x in r]),1)} | {max(x['err'] for x in r)} |")
    o.append("\n### Cold start and memory\n\n| server | start -> first good reply ms | CPU ms to there | idle RSS MB | RSS MB after load (echo/list/big) |\n|---|---|---|---|---|")
    for i in ids("cold"):
        r = sel(phase="cold", id=i); h = sel(phase="http", id=i)
        al = [med([x["rss_mb"] for x in h if x["test"] == t]) for t in ("echo", "list", "big")]
        o.append(f"| {lab[i]} | {f(med([x['start_ms'] for x in r]),1)} | {f(med([x['cpu_ms'] for x in r]),0)} | {f(med([x['idle_mb'] for x in r]),1)} | {' / '.join(f(x,0) for x in al)} |")
    er = [r for r in R if r["phase"] == "error"]
    if er: o.append("\n### Errors\n"); o += [f"- {r['id']} {r['where']}: {r['err'][:200]}" for r in er]
    open(OUT + "/tables.md", "w").write("\n".join(o) + "\n"); print("\n".join(o))

if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("phase", nargs="+"); p.add_argument("--only"); p.add_argument("--rounds", type=int, default=3); p.add_argument("--srounds", type=int, default=3); p.add_argument("--crounds", type=int, default=7); p.add_argument("--secs", type=int, default=3); p.add_argument("--out", default=H + "/../out")
    a = p.parse_args(); a.only = set(a.only.split(",")) if a.only else None
    OUT = a.out; os.makedirs(OUT, exist_ok=True)
    es = [e for e in CFG["servers"] if not a.only or e["id"] in a.only]
    for ph in (["http", "unpinned", "sessions", "cold", "report"] if a.phase == ["all"] else a.phase):
        if ph == "http": ph_http(es, a)
        elif ph == "unpinned": ph_http(es, a, False)
        elif ph == "sessions": ph_sessions(es, a)
        elif ph == "cold": ph_cold(es, a)
        elif ph == "report": report(a)
        else: sys.exit("unknown phase " + ph)
