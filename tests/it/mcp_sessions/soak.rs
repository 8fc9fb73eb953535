//! Many sessions, a tenth of them with a stream, all end by themselves and leave nothing behind.
//!
//! `ROSCIUS_SOAK_SESSIONS` sets how many.

use std::{
    env,
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use roscius::{prelude::*, web};
use roscius_actors::gauge::{ActorKind, alive};
use tokio::runtime::Handle;

use super::client::{Client, EVERYTHING, Gate, NEWEST, builder};
use crate::served::{Served, Wire, eventually, pause};

const SESSIONS: usize = 400;
const CLIENTS: usize = 8;
const IDLE: Duration = Duration::from_secs(2);

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
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

fn count() -> usize {
    let count = env::var("ROSCIUS_SOAK_SESSIONS").ok();
    count.map_or(SESSIONS, |count| count.parse().unwrap())
}

/// Opens sessions from several clients; every tenth keeps its stream.
fn open(served: &Served) -> Vec<Wire> {
    let streams = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let streams = &streams;
            scope.spawn(move || {
                for at in (client..count()).step_by(CLIENTS) {
                    let session = Client::open_as(served, NEWEST, EVERYTHING);
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

#[test]
#[ignore = "started by many_sessions_end_when_idle_and_when_drained"]
fn in_a_process_of_its_own() {
    // The clock of an idle session must not run out while the others are opened.
    let idle = IDLE.max(Duration::from_millis(3 * count() as u64));
    let limits = SessionLimits::new().idle(idle);
    let server = builder(&Gate::default())
        .keep_alive(Duration::from_secs(1))
        .session_limits(limits)
        .build()
        .unwrap();
    let workers: Arc<Mutex<Vec<Handle>>> = Arc::default();
    let served = {
        let (server, workers) = (server.clone(), Arc::clone(&workers));
        Served::start(move |config| {
            workers.lock().unwrap().push(Handle::current());
            config.configure(web::mcp("/mcp", &server));
        })
    };
    let tasks = || -> usize {
        let workers = workers.lock().unwrap();
        let alive = workers
            .iter()
            .map(|worker| worker.metrics().num_alive_tasks());
        alive.sum()
    };
    Client::open(&served).delete();
    eventually("the first session is gone", || {
        alive(ActorKind::Session) == 0
    });
    let before = tasks();

    let streams = open(&served);
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

    let mut streams = open(&served);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime
        .unwrap()
        .block_on(server.drain(Duration::from_secs(1)));
    assert_eq!(server.open_sessions(), 0);
    for stream in &mut streams {
        while stream.chunk().is_some() {}
    }
    drop(streams);
    eventually("nothing is left", || {
        alive(ActorKind::Session) == 0 && tasks() <= before
    });
}
