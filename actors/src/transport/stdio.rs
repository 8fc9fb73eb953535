//! A server that is a child process and speaks JSON-RPC line by line.
#![cfg(feature = "stdio")]

use std::{
    cell::{Cell, RefCell},
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    process::Stdio as Pipe,
    rc::{Rc, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{future::LocalBoxFuture, stream};
use indexmap::IndexMap;
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Mutex, mpsc},
};

use crate::{
    ports::transport::{Connection, Outgoing, Reply, ReplyBody, Transport, TransportError},
    wire::jsonrpc::{RequestId, code},
};

/// Bounds one line of the server.
const MAX_MESSAGE_BYTES: usize = 10 * 1024 * 1024;
/// How many messages wait for a request that is slow to read them; then the pipe fills up.
const WAITING_MESSAGES: usize = 16;
/// How long a server that knows no `server/discover` may stay silent before it counts as one.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may take to end after its input has ended; then it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// What a server inherits of the environment; everything else is given by name, or not at all.
const INHERITED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// Reaches a server by starting it.
///
/// The server starts when the client connects, and there is one for all threads. Its standard
/// error is ours. It gets a short list of variables (`PATH`, `HOME` and the like) and those that
/// are given. When the client closes, its input ends; after two seconds it is killed. It is killed
/// at once when the client is dropped.
#[derive(Clone)]
pub struct Stdio {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    max_message_bytes: usize,
    probe_timeout: Duration,
}

impl Stdio {
    /// Names the program.
    pub fn command(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            folder: None,
            max_message_bytes: MAX_MESSAGE_BYTES,
            probe_timeout: PROBE_TIMEOUT,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let pair = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.variables.push(pair);
        self
    }

    /// Sets the working directory. Ours unless set.
    #[must_use]
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Bounds one message of the server, in bytes. 10 MiB unless set.
    #[must_use]
    pub const fn max_message_bytes(mut self, limit: usize) -> Self {
        self.max_message_bytes = limit;
        self
    }

    /// Sets how long a server may be silent at first before it counts as one of the legacy era. 5 s
    /// unless set.
    #[must_use]
    pub const fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.probe_timeout = timeout;
        self
    }

    fn spawn(&self) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        let inherited = INHERITED
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        command
            .args(&self.arguments)
            .env_clear()
            .envs(inherited)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::inherit())
            .kill_on_drop(true);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.spawn()
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        out.debug_struct("Stdio")
            .field("program", &self.program)
            .field("variables", &names)
            .finish_non_exhaustive()
    }
}

impl Transport for Stdio {
    fn describe(&self) -> String {
        // Arguments may hold keys.
        self.program.to_string_lossy().into_owned()
    }

    fn open(&self) -> Result<Rc<dyn Connection>, TransportError> {
        let unreachable = |why: String| TransportError::Unreachable(why);
        let mut child = self
            .spawn()
            .map_err(|error| unreachable(error.to_string()))?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = pipes else {
            return Err(unreachable("the process has no pipes".to_owned()));
        };
        let process = Rc::new(Process {
            input: Mutex::new(Some(input)),
            child: RefCell::new(Some(child)),
            waiting: RefCell::default(),
            ended: Cell::new(false),
        });
        let reader = Reader {
            process: Rc::downgrade(&process),
            limit: self.max_message_bytes,
        };
        actix_rt::spawn(reader.run(output));
        Ok(Rc::new(StdioConnection(process)))
    }

    fn has_headers(&self) -> bool {
        false
    }

    fn is_single(&self) -> bool {
        true
    }

    fn probe_timeout(&self) -> Option<Duration> {
        Some(self.probe_timeout)
    }
}

type Incoming = Result<Bytes, TransportError>;

/// A child process and the requests that wait for its lines.
struct Process {
    input: Mutex<Option<ChildStdin>>,
    child: RefCell<Option<Child>>,
    /// In the order in which the requests were sent.
    waiting: RefCell<IndexMap<RequestId, mpsc::Sender<Incoming>>>,
    ended: Cell<bool>,
}

impl Process {
    async fn write(&self, message: &[u8]) -> Result<(), TransportError> {
        let mut input = self.input.lock().await;
        let Some(pipe) = input.as_mut().filter(|_| !self.ended.get()) else {
            return Err(ended());
        };
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message);
        line.push(b'\n');
        let written = async {
            pipe.write_all(&line).await?;
            pipe.flush().await
        };
        written
            .await
            .map_err(|error| TransportError::Broken(error.to_string()))
    }

    /// Finds out whom a line is for: the request that it answers, else the oldest one.
    fn receiver(&self, head: &Head) -> Option<mpsc::Sender<Incoming>> {
        let waiting = self.waiting.borrow();
        match (&head.method, &head.id) {
            (None, Some(id)) => waiting.get(id).cloned(),
            _ => waiting.values().next().cloned(),
        }
    }

    async fn deliver(&self, line: Bytes) {
        let Ok(head) = serde_json::from_slice::<Head>(&line) else {
            tracing::debug!("the server writes something that is no message");
            return;
        };
        if let Some(receiver) = self.receiver(&head) {
            // Whoever waited may be gone.
            let _ = receiver.send(Ok(line)).await;
        } else if let (Some(_), Some(id)) = (head.method, head.id) {
            let nobody = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {
                "code": code::METHOD_NOT_FOUND, "message": "nobody is there to answer"}});
            let _ = self.write(nobody.to_string().as_bytes()).await;
        }
    }

    fn fail(&self, error: &TransportError) {
        self.ended.set(true);
        for (_, waiting) in self.waiting.borrow_mut().drain(..) {
            let _ = waiting.try_send(Err(error.clone()));
        }
    }
}

fn ended() -> TransportError {
    TransportError::Broken("the process has ended".to_owned())
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
}

/// Reads the lines of a process until it ends or nobody holds it any more.
struct Reader {
    process: Weak<Process>,
    limit: usize,
}

impl Reader {
    async fn run(self, mut output: ChildStdout) {
        let mut line = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        let error = loop {
            let read = match output.read(&mut chunk).await {
                Ok(0) => break ended(),
                Ok(read) => chunk.get(..read).unwrap_or_default(),
                Err(error) => break TransportError::Broken(error.to_string()),
            };
            let Some(process) = self.process.upgrade() else {
                return;
            };
            let mut pieces = read.split(|byte| *byte == b'\n');
            // The last piece has no end yet.
            let last = pieces.next_back().unwrap_or_default();
            for piece in pieces {
                line.extend_from_slice(piece);
                let whole = Bytes::from(std::mem::take(&mut line));
                if whole.len() <= self.limit && !whole.trim_ascii().is_empty() {
                    process.deliver(whole).await;
                }
            }
            line.extend_from_slice(last);
            if line.len() > self.limit {
                break TransportError::TooLarge { limit: self.limit };
            }
        };
        if let Some(process) = self.process.upgrade() {
            process.fail(&error);
        }
    }
}

struct StdioConnection(Rc<Process>);

/// A request that waits for lines; it is forgotten when nobody reads them any more.
struct Waiting {
    process: Rc<Process>,
    id: RequestId,
    lines: mpsc::Receiver<Incoming>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Ok(mut waiting) = self.process.waiting.try_borrow_mut() {
            waiting.shift_remove(&self.id);
        }
    }
}

impl Connection for StdioConnection {
    fn exchange(
        &self,
        message: Outgoing,
    ) -> LocalBoxFuture<'static, Result<Reply, TransportError>> {
        let process = Rc::clone(&self.0);
        Box::pin(async move {
            let head: Option<Head> = serde_json::from_slice(&message.body).ok();
            let request = head
                .filter(|head| head.method.is_some())
                .and_then(|head| head.id);
            let Some(id) = request else {
                process.write(&message.body).await?;
                return Ok(Reply::new(202, ReplyBody::Empty));
            };
            let (sender, lines) = mpsc::channel(WAITING_MESSAGES);
            process.waiting.borrow_mut().insert(id.clone(), sender);
            let waiting = Waiting {
                process: Rc::clone(&process),
                id,
                lines,
            };
            process.write(&message.body).await?;
            let lines = stream::unfold(waiting, |mut waiting| async move {
                let line = waiting.lines.recv().await?;
                Some((line, waiting))
            });
            Ok(Reply::new(200, ReplyBody::Stream(Box::pin(lines))))
        })
    }

    fn close(&self) -> LocalBoxFuture<'static, ()> {
        let process = Rc::clone(&self.0);
        Box::pin(async move {
            process.input.lock().await.take();
            let child = process.child.borrow_mut().take();
            let Some(mut child) = child else {
                return;
            };
            if tokio::time::timeout(EXIT_TIMEOUT, child.wait())
                .await
                .is_err()
            {
                let killed = child.kill().await;
                tracing::debug!(?killed, "the server did not end by itself");
            }
        })
    }
}
