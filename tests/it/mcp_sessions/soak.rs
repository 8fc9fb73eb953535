//! Many sessions, a tenth of them with a stream, all end by themselves and leave nothing behind.
//!
//! `ROSCIUS_SOAK_SESSIONS` sets how many.

#![allow(clippy::print_stdout, reason = "how many there were is printed")]

use std::{
    env,
    process::Command,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use roscius::prelude::*;
use roscius_actors::gauge::{ActorKind, alive};

use super::client::{Client, EVERYTHING, Gate, NEWEST, builder, initialize, serve};
use crate::{
    served::{Served, Wire, eventually, pause, request},
    soak::descriptors,
};

const SESSIONS: usize = 400;
const CLIENTS: usize = 8;
/// Sessions that tell how long opening one takes here and now.
const TRIAL: usize = 80;
/// The shortest idle time.
const IDLE: Duration = Duration::from_secs(2);
/// The clock of the first session must not run out while the last is opened, so the idle time is
/// this many times what opening all of them should take.
const MARGIN: u32 = 3;

/// Gauges are of the whole process, so the sessions get one of their own.
#[test]
fn many_sessions_end_when_idle_and_when_drained() {
    let child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "mcp_sessions::soak::in_a_process_of_its_own",
            "--ignored",
            "--nocapture",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    print!("{said}");
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

fn how_many() -> usize {
    let count = env::var("ROSCIUS_SOAK_SESSIONS").ok();
    count.map_or(SESSIONS, |count| count.parse().unwrap())
}

/// Opens sessions from several clients; every tenth keeps its stream.
fn open(served: &Served, count: usize) -> Vec<Wire> {
    let streams = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let streams = &streams;
            scope.spawn(move || {
                let mut wire = served.connect();
                for at in (client..count).step_by(CLIENTS) {
                    let session = open_on(&mut wire, served);
                    if at % 10 == 0 {
                        let (head, wire) = session.get(&[]);
                        assert_eq!(head.status, 200);
                        streams.lock().unwrap().push(wire);
                    }
                }
            });
        }
    });
    streams.into_inner().unwrap()
}

/// Opens a session on a connection that is there already, so that many are open soon.
fn open_on<'a>(wire: &mut Wire, served: &'a Served) -> Client<'a> {
    let json = ("content-type", "application/json");
    let accept = ("accept", "application/json, text/event-stream");
    let body = initialize(NEWEST, EVERYTHING);
    wire.send(&request(
        served.addr,
        "POST",
        "/mcp",
        &[json, accept],
        &body,
    ));
    let head = wire.head();
    assert_eq!(head.status, 200, "{}", wire.body(&head));
    wire.body(&head);
    let session = head.header("mcp-session-id").unwrap().to_owned();
    let named = [
        json,
        accept,
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", NEWEST),
    ];
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    wire.send(&request(served.addr, "POST", "/mcp", &named, body));
    assert_eq!(wire.head().status, 202);
    Client {
        served,
        session,
        version: NEWEST,
    }
}

/// Tells how long opening so many should take, from a few.
fn to_open(count: usize) -> Duration {
    let served = serve(&builder(&Gate::default()).build().unwrap());
    drop(open(&served, CLIENTS));
    let started = Instant::now();
    drop(open(&served, TRIAL));
    started.elapsed().mul_f64(count as f64 / TRIAL as f64)
}

/// A task that stayed would show: that of a session owns an actor that is counted, and that of a
/// connection a file.
#[test]
#[ignore = "started by many_sessions_end_when_idle_and_when_drained"]
fn in_a_process_of_its_own() {
    let count = how_many();
    let started = Instant::now();
    let idle = IDLE.max(to_open(count) * MARGIN);
    let limits = SessionLimits::new().idle(idle);
    let server = builder(&Gate::default())
        .keep_alive(Duration::from_secs(1))
        .session_limits(limits)
        .build()
        .unwrap();
    let served = serve(&server);
    // Its worker is up when it answers; both ends of this connection are counted.
    let mut probe = served.connect();
    let first = open_on(&mut probe, &served);
    let quiet = descriptors().map(|files| files - 2);
    first.delete();
    drop(probe);
    eventually("the first session and its connections are gone", || {
        alive(ActorKind::Session) == 0 && descriptors() <= quiet
    });
    let files_before = descriptors();

    let streams = open(&served, count);
    assert_eq!(server.open_sessions(), count, "the idle time is too short");
    let files_open = descriptors();
    assert!(files_open >= files_before.map(|files| files + streams.len()));
    // Their time has to pass first.
    pause(idle);
    eventually("sessions without a stream end", || {
        server.open_sessions() == streams.len()
    });
    assert_eq!(
        alive(ActorKind::Session),
        i64::try_from(streams.len()).unwrap()
    );
    drop(streams);
    // Their time has to pass first.
    pause(idle);
    eventually("all sessions have ended", || alive(ActorKind::Session) == 0);

    let mut streams = open(&served, count);
    assert_eq!(server.open_sessions(), count, "the idle time is too short");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime
        .unwrap()
        .block_on(server.drain(Duration::from_secs(10)));
    assert_eq!(server.open_sessions(), 0);
    for stream in &mut streams {
        while stream.chunk().is_some() {}
    }
    drop(streams);
    eventually("nothing is left", || {
        alive(ActorKind::Session) == 0 && descriptors() <= files_before
    });
    println!(
        "{count} sessions, twice: {files_open:?} files open, {files_before:?} before and after, {idle:?} idle, {:?} in all",
        started.elapsed()
    );
}
