//! A way to the server that can be cut, or barred for a while, at any statement.

use std::io::Write as _;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::postgres::server;

/// What becomes of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never hears of it.
    Before,
    /// The server carries it out, and nobody hears of that.
    After,
    /// It waits until [`Proxy::go_on`].
    Bar,
}

#[derive(Default)]
struct State {
    /// Statements that were seen, over all connections.
    seen: u64,
    /// At which of them what becomes of it.
    cut: Option<(u64, Cut)>,
    /// A statement stands before the bar.
    barred: bool,
    /// Connections that were refused because the server is away.
    closed: bool,
}

/// A proxy in front of the server of the tests.
pub struct Proxy {
    port: u16,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Proxy {
    pub fn start() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let for_all = Arc::clone(&shared);
        // It ends with the process.
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, shared) = (client.unwrap(), Arc::clone(&for_all));
                if shared.0.lock().unwrap().closed {
                    continue;
                }
                client.set_nodelay(true).unwrap();
                thread::spawn(move || serve(client, &shared));
            }
        });
        Proxy { port, shared }
    }

    /// The URL of a schema by way of this.
    pub fn url(&self, database: &str, schema: &str) -> String {
        format!(
            "postgresql://postgres@127.0.0.1:{}/{database}?sslmode=disable&schema={schema}",
            self.port
        )
    }

    /// From now on the n-th statement, the next one being the first, is cut.
    pub fn cut(&self, nth: u64, cut: Cut) {
        let mut state = self.shared.0.lock().unwrap();
        *state = State { cut: Some((nth, cut)), ..State::default() };
    }

    /// Statements that were seen since then.
    pub fn seen(&self) -> u64 {
        self.shared.0.lock().unwrap().seen
    }

    /// Lets nobody in any more, or again.
    pub fn close(&self, closed: bool) {
        self.shared.0.lock().unwrap().closed = closed;
    }

    /// Waits until a statement stands before the bar, or the asker has ended.
    pub fn wait_for_bar(&self, ended: impl Fn() -> bool) -> bool {
        let (state, changed) = &*self.shared;
        let mut state = state.lock().unwrap();
        while !state.barred && !ended() {
            let wait = std::time::Duration::from_millis(5);
            state = changed.wait_timeout(state, wait).unwrap().0;
        }
        state.barred
    }

    pub fn go_on(&self) {
        let mut state = self.shared.0.lock().unwrap();
        (state.barred, state.cut) = (false, None);
        self.shared.1.notify_all();
    }
}

/// Reads one message: its kind, and all of it. The first one of a connection has no kind.
fn message(from: &mut impl std::io::Read, first: bool) -> Option<(u8, Vec<u8>)> {
    let mut head = vec![0; if first { 4 } else { 5 }];
    from.read_exact(&mut head).ok()?;
    let (kind, length) = if first { (0, &head[..]) } else { (head[0], &head[1..]) };
    let length = u32::from_be_bytes(length.try_into().unwrap()) as usize - 4;
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    head.extend(body);
    Some((kind, head))
}

fn serve(client: TcpStream, shared: &Arc<(Mutex<State>, Condvar)>) {
    let upstream = UnixStream::connect(server().socket()).unwrap();
    let close = {
        let ways = Arc::new((client.try_clone().unwrap(), upstream.try_clone().unwrap()));
        move || {
            let _ = ways.0.shutdown(Shutdown::Both);
            let _ = ways.1.shutdown(Shutdown::Both);
        }
    };
    // After how many answers of this connection it is cut.
    let last: Arc<Mutex<Option<u64>>> = Arc::default();
    let answers = {
        let (mut from, mut to) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
        let (close, last) = (close.clone(), Arc::clone(&last));
        thread::spawn(move || {
            // The first one says that the connection is ready.
            let mut answered = 0;
            while let Some((kind, bytes)) = message(&mut from, false) {
                if kind == b'Z' {
                    if *last.lock().unwrap() == Some(answered) {
                        break;
                    }
                    answered += 1;
                } else if *last.lock().unwrap() == Some(answered) {
                    continue;
                }
                if to.write_all(&bytes).is_err() {
                    break;
                }
            }
            close();
        })
    };
    let (mut from, mut to) = (client, upstream);
    let (mut first, mut asked) = (true, 0);
    while let Some((kind, bytes)) = message(&mut from, first) {
        if kind == b'S' || kind == b'Q' {
            let (state, changed) = &**shared;
            let mut state = state.lock().unwrap();
            state.seen += 1;
            asked += 1;
            match state.cut {
                Some((nth, Cut::Before)) if nth == state.seen => {
                    // What was sent of it before is nothing without its end.
                    break;
                }
                Some((nth, Cut::After)) if nth == state.seen => {
                    *last.lock().unwrap() = Some(asked);
                }
                Some((nth, Cut::Bar)) if nth == state.seen => {
                    state.barred = true;
                    changed.notify_all();
                    while state.barred {
                        state = changed.wait(state).unwrap();
                    }
                }
                _ => {}
            }
        }
        first = false;
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    // What was cut after it is carried out first.
    if last.lock().unwrap().is_none() {
        close();
    }
    let _ = answers.join();
}
