//! Many runs whose clients go away at random points leave nothing behind.
//!
//! `ROSCIUS_SOAK_SEED` repeats a run of the test, `ROSCIUS_SOAK_RUNS` makes it longer.

#![allow(clippy::print_stdout, reason = "the seed is printed")]

use std::{
    env, fs,
    process::Command,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    chat_http::{chat, hanging_tool, input},
    served::{PATIENCE, Served, Wire, eventually, pause, request},
};
use roscius::web;
use roscius_actors::gauge::{ActorKind, alive};
use serde_json::json;

const RUNS: usize = 1_000;
const CLIENTS: usize = 16;
const FINITE: &str = "/api/finite";
const ENDLESS: &str = "/api/endless";

/// A generator that repeats itself from its seed (xorshift64*).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap() % bound
    }
}

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// File descriptors of this process, where it can be told.
pub(crate) fn descriptors() -> Option<usize> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count())
}

/// What is alive in this process.
#[derive(Debug)]
struct Alive {
    runs: i64,
    /// What still holds a request: the task that begins its run, the run, its tools. Tasks of a
    /// thread are counted by nobody, so each request carries something that is.
    requests: usize,
    descriptors: Option<usize>,
}

/// Gauges are of the whole process, so the runs get one of their own.
#[test]
fn a_thousand_runs_with_disconnects_leave_nothing_behind() {
    let seed = setting("ROSCIUS_SOAK_SEED").unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::from(since.subsec_nanos()) | 1
    });
    println!("ROSCIUS_SOAK_SEED={seed}");
    let child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "soak::in_a_process_of_its_own",
            "--ignored",
            "--nocapture",
        ])
        .env("ROSCIUS_SOAK_SEED", seed.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "seed {seed}:\n{said}\n{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

#[test]
#[ignore = "started by a_thousand_runs_with_disconnects_leave_nothing_behind"]
fn in_a_process_of_its_own() {
    let seed = setting("ROSCIUS_SOAK_SEED").unwrap_or(1);
    let runs = setting("ROSCIUS_SOAK_RUNS").map_or(RUNS, |runs| usize::try_from(runs).unwrap());
    let turns = json!([
        {"text": ["one ", "two ", "three "], "delayMs": 1,
         "toolCalls": [{"id": "a", "name": "hang", "arguments": {"ms": 3}}]},
        {"text": ["four ", "five"], "delayMs": 1},
    ]);
    let finite = chat(&turns, vec![hanging_tool()]);
    // These runs end only because their client goes away.
    let endless = json!([
        {"text": ["one ", "two "],
         "toolCalls": [{"id": "a", "name": "hang", "arguments": {"ms": 3_600_000}}]},
    ]);
    let endless = chat(&endless, vec![hanging_tool()]);
    let carried: Arc<()> = Arc::default();
    let served = {
        let (finite, endless) = (finite.clone(), endless.clone());
        let carried = Arc::downgrade(&carried);
        Served::start(move |config| {
            for (path, chat) in [(FINITE, &finite), (ENDLESS, &endless)] {
                let carried = Weak::clone(&carried);
                let routes = web::ChatRoutes::new(path, chat)
                    .keep_alive(Duration::from_millis(1))
                    .authorize(move |_| {
                        let carried = carried.upgrade().unwrap();
                        async move { Ok(web::Caller::anonymous().with(carried)) }
                    });
                config.service(routes);
            }
        })
    };
    let measure = || Alive {
        runs: alive(ActorKind::Run),
        requests: Arc::strong_count(&carried) - 1,
        descriptors: descriptors(),
    };
    // The first run makes what stays: the actor of the thread.
    let (_, mut wire) = served.post(ENDLESS, &input("first"));
    wire.until("TOOL_CALL_END");
    drop(wire);
    eventually("the endless run is over", || endless.open_runs() == 0);
    let (head, mut wire) = served.post(FINITE, &input("first"));
    wire.body(&head);
    // Both ends of this connection are in this process.
    let silent = descriptors().map(|count| count - 2);
    drop(wire);
    eventually("the first runs and connections are gone", || {
        alive(ActorKind::Run) == 0 && descriptors() <= silent
    });
    let before = measure();
    assert_eq!(before.requests, 0);

    let next = AtomicUsize::new(0);
    let whole = AtomicUsize::new(0);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (served, next, whole) = (&served, &next, &whole);
            scope.spawn(move || {
                let mut chance = Chance(seed.wrapping_add(client as u64 * 7_919) | 1);
                loop {
                    let run = next.fetch_add(1, Ordering::SeqCst);
                    if run >= runs {
                        return;
                    }
                    if one_client(served, run, &mut chance) {
                        whole.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    println!(
        "{} of {runs} runs were read to their end",
        whole.load(Ordering::SeqCst)
    );
    eventually("every run is over", || {
        finite.open_runs() == 0 && endless.open_runs() == 0
    });
    let start = Instant::now();
    loop {
        let after = measure();
        if after.runs <= before.runs
            && after.requests <= before.requests
            && after.descriptors <= before.descriptors
        {
            return;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "before {before:?}, after {after:?}"
        );
        pause(Duration::from_millis(10));
    }
}

/// Sends a run and goes away somewhere; tells whether it stayed to the end.
fn one_client(served: &Served, run: usize, chance: &mut Chance) -> bool {
    let stays = chance.below(4) == 0;
    let path = if stays || chance.below(2) == 0 {
        FINITE
    } else {
        ENDLESS
    };
    let whole = request(
        served.addr,
        "POST",
        path,
        &[("content-type", "application/json")],
        &input(&format!("run-{run}")),
    );
    let mut wire: Wire = served.connect();
    if stays {
        wire.send(&whole);
        let head = wire.head();
        assert_eq!(head.status, 200);
        let body = wire.body(&head);
        assert!(body.contains("RUN_FINISHED"), "{body}");
        return true;
    }
    match chance.below(6) {
        // In the middle of the request.
        0 => wire.send(&whole[..chance.below(whole.len())]),
        // Before the head.
        1 => wire.send(&whole),
        // After some of the chunks, of which an endless run sends comments for ever. What is
        // unread when the socket is dropped makes it a reset, else it is a plain end.
        _ => {
            wire.send(&whole);
            assert_eq!(wire.head().status, 200);
            for _ in 0..chance.below(24) {
                if wire.chunk().is_none() {
                    break;
                }
            }
        }
    }
    false
}
