//! The binary as a process.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use crate::wire::{self, Response};

/// Bounds every wait for the process.
const DEADLINE: Duration = Duration::from_secs(20);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A running `roscius`. It is killed when dropped.
pub(crate) struct Served {
    child: Mutex<Child>,
    addr: String,
    said: Arc<(Mutex<String>, Condvar)>,
}

impl Served {
    /// Serves on a free port.
    pub(crate) fn start(args: &[&str]) -> Self {
        let all: Vec<_> = ["serve", "--addr", "127.0.0.1:0"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        Self::run(&all, &[])
    }

    /// Runs the binary as it is told and waits for its address.
    pub(crate) fn run(args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut child = command(args, env).stderr(Stdio::inherit()).spawn().unwrap();
        let said = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let out = BufReader::new(child.stdout.take().unwrap());
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                heard.0.lock().unwrap().push_str(&format!("{line}\n"));
                heard.1.notify_all();
            }
            heard.0.lock().unwrap().push_str("(end)\n");
            heard.1.notify_all();
        });
        let text = said.0.lock().unwrap();
        let (text, late) = said
            .1
            .wait_timeout_while(text, DEADLINE, |text| !text.contains('\n'))
            .unwrap();
        assert!(
            !late.timed_out() && !text.starts_with("(end)"),
            "no address: {text}"
        );
        let addr = text.split_once("http://").expect("an address").1;
        let addr = addr.split(['/', '\n']).next().unwrap().to_owned();
        drop(text);
        Self {
            child: Mutex::new(child),
            addr,
            said,
        }
    }

    pub(crate) fn addr(&self) -> &str {
        &self.addr
    }

    /// Tells whether the terminal shows a text.
    pub(crate) fn said(&self, text: &str) -> bool {
        self.said.0.lock().unwrap().contains(text)
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Response {
        wire::send(&self.addr, method, path, headers, body)
    }

    /// Waits until something is there.
    pub(crate) fn eventually<T>(&self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let said = self.said.0.lock().unwrap();
            assert!(Instant::now() < end, "not in time: {what}\n{said}");
            // A line of output wakes it early.
            drop(self.said.1.wait_timeout(said, LOOK).unwrap());
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.lock().unwrap().id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &pid])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end and gives the exit code.
    pub(crate) fn ended(&self) -> Option<i32> {
        self.eventually("its end", |served| {
            let status = served.child.lock().unwrap().try_wait().unwrap()?;
            Some(status.code())
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Runs the binary with flags that it must refuse; gives its exit code and what it says.
pub(crate) fn refused(args: &[&str], env: &[(&str, &str)]) -> (Option<i32>, String) {
    let all: Vec<_> = std::iter::once("serve")
        .chain(args.iter().copied())
        .collect();
    let mut child = command(&all, env).stderr(Stdio::piped()).spawn().unwrap();
    let mut error = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut error)
        .unwrap();
    (child.wait().unwrap().code(), error)
}

fn command(args: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roscius"));
    command
        .args(args)
        .env_remove("OPENAI_API_KEY")
        .env_remove("ROSCIUS_STATE_KEY")
        .env_remove("ROSCIUS_TOKEN")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}
