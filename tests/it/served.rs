//! An application on a port of its own, and a client that speaks raw HTTP/1.1 to it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use actix_web::{App, HttpServer, dev::ServerHandle, rt::System, web::ServiceConfig};

/// How long a test waits for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running application; it stops when it is dropped.
pub(crate) struct Served {
    pub(crate) addr: SocketAddr,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves on 127.0.0.1 the way the documentation tells embedders to.
    pub(crate) fn start(configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static) -> Self {
        Self::on_workers(1, configure)
    }

    pub(crate) fn on_workers(
        workers: usize,
        configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    ) -> Self {
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            System::new().block_on(async move {
                let server = HttpServer::new(move || App::new().configure(configure.clone()))
                    .workers(workers)
                    .disable_signals()
                    .shutdown_timeout(1)
                    .tcp_nodelay(true)
                    .h1_allow_half_closed(false)
                    .bind("127.0.0.1:0")
                    .unwrap();
                let addr = server.addrs()[0];
                let server = server.run();
                tell.send((addr, server.handle())).unwrap();
                server.await.unwrap();
            });
        });
        let (addr, handle) = told.recv_timeout(PATIENCE).expect("the server starts");
        Self {
            addr,
            handle,
            thread: Some(thread),
        }
    }

    pub(crate) fn connect(&self) -> Wire {
        let socket = TcpStream::connect(self.addr).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Wire(BufReader::new(socket))
    }

    /// Sends one request on a connection of its own and reads the head of its answer.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (Head, Wire) {
        let mut wire = self.connect();
        wire.send(&request(self.addr, method, path, headers, body));
        (wire.head(), wire)
    }

    /// Posts JSON.
    pub(crate) fn post(&self, path: &str, body: &str) -> (Head, Wire) {
        self.request("POST", path, &[("content-type", "application/json")], body)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The future of `stop` is a question of waiting; the command itself is sent at once.
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn request(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        text += &format!("host: {addr}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("content-length: {}\r\n\r\n{body}", body.len());
    text.into_bytes()
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name)?;
        Some(&found.1)
    }
}

/// One connection.
pub(crate) struct Wire(BufReader<TcpStream>);

impl Wire {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn head(&mut self) -> Head {
        let status = self.line();
        let status = status
            .split(' ')
            .nth(1)
            .expect("a status line")
            .parse()
            .unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                return Head { status, headers };
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// One chunk of a chunked body; none at its end.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let size = usize::from_str_radix(&self.line(), 16).expect("a chunk size");
        let mut chunk = vec![0; size + 2];
        self.0.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        (size > 0).then(|| String::from_utf8(chunk).unwrap())
    }

    /// Reads a chunked body until it holds a text, or to its end.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let start = Instant::now();
        let mut read = String::new();
        while !read.contains(text) {
            assert!(start.elapsed() < PATIENCE, "{text} did not come: {read}");
            let Some(chunk) = self.chunk() else {
                panic!("the stream ended without {text}: {read}");
            };
            read += &chunk;
        }
        read
    }

    /// Reads the whole body.
    pub(crate) fn body(&mut self, head: &Head) -> String {
        let mut read = String::new();
        if head.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                read += &chunk;
            }
            return read;
        }
        let size = head
            .header("content-length")
            .map_or(0, |size| size.parse().unwrap());
        let mut bytes = vec![0; size];
        self.0.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        pause(Duration::from_millis(2));
    }
}

/// Lets time pass on the thread of the test, to see that something does not happen.
#[expect(
    clippy::disallowed_methods,
    reason = "no actor and no connection lives on the thread of the test"
)]
pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}
