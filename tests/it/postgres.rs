//! A PostgreSQL server for the tests of this process: made when the first one asks for it, gone
//! with the process, however that ends. Each test has a schema of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "how the tests are told where the server's programs are"
)]

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mainspring::store::{PostgresOptions, PostgresStore};

/// Where certificates are; they are worth nothing outside of the tests.
pub const CERTIFICATES: &str = "tests/it/store/postgres/certificates";

/// Who may run a server where we are root.
const NOBODY: u32 = 65_534;

pub struct Server {
    folder: PathBuf,
    bin: PathBuf,
    /// On this machine's own address, where it speaks TLS.
    port: u16,
    /// Whoever holds its input keeps the server up.
    _keeper: Child,
}

/// The server of this process.
pub fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

/// A program of the server, as somebody who may run it.
fn program(bin: &Path, name: &str) -> Command {
    let mut command = Command::new(bin.join(name));
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir("/");
    command
}

fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

impl Server {
    fn start() -> Server {
        let bin = std::env::var_os("MAINSPRING_POSTGRES_BIN").unwrap_or_else(|| {
            panic!(
                "these tests need a PostgreSQL server: run `make test-rust`, or set \
                 MAINSPRING_POSTGRES_BIN=$(tools/postgres)"
            )
        });
        let bin = PathBuf::from(bin);
        let folder = std::env::temp_dir().join(format!("mainspring-pg-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        if is_root() {
            std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let data = folder.join("data");
        ran(program(&bin, "initdb")
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data));
        // One user needs a password; all others are believed.
        let rules = "local all locked scram-sha-256\nlocal all all trust\n\
                     hostssl all all 127.0.0.1/32 trust\n";
        std::fs::write(data.join("pg_hba.conf"), rules).unwrap();
        Self::certify(&data);
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let keeper = Self::keep(&bin, &folder, &data, port);
        let mut server = Server { _keeper: keeper, folder, bin, port };
        server.wait();
        server.psql("postgres", "CREATE DATABASE test");
        server.psql("postgres", "CREATE USER locked PASSWORD 'open+sesame'");
        server
    }

    /// The certificate of a server called localhost, signed by an authority of the tests' own.
    fn certify(data: &Path) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(CERTIFICATES);
        for name in ["server.pem", "server.key"] {
            let to = data.join(name);
            std::fs::copy(from.join(name), &to).unwrap();
            std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)).unwrap();
            if is_root() {
                std::os::unix::fs::chown(&to, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
    }

    /// A shell that runs the server until nobody holds its input any more, and cleans up then.
    fn keep(bin: &Path, folder: &Path, data: &Path, port: u16) -> Child {
        let script = format!(
            "'{bin}/postgres' -D '{data}' -F -k '{folder}' -c listen_addresses=127.0.0.1 \
             -c port={port} -c ssl=on -c ssl_cert_file=server.pem -c ssl_key_file=server.key \
             -c full_page_writes=off -c max_connections=300 -c shared_buffers=64MB \
             -c max_locks_per_transaction=1024 -c autovacuum=off >'{folder}/log' 2>&1 & server=$!\n\
             cat >/dev/null\n\
             kill -QUIT $server; wait $server; rm -rf '{folder}'",
            bin = bin.display(),
            data = data.display(),
            folder = folder.display(),
        );
        let mut keeper = Command::new("/bin/sh");
        if is_root() {
            keeper.uid(NOBODY).gid(NOBODY);
        }
        keeper.args(["-c", &script]).env("LC_ALL", "C").current_dir("/");
        // A group of its own: Ctrl-C is for the tests, and their end is its end.
        keeper.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        keeper.spawn().unwrap()
    }

    fn wait(&mut self) {
        for _ in 0..600 {
            let mut ready = program(&self.bin, "pg_isready");
            ready.arg("-q").arg("-h").arg(&self.folder).args(["-p", &self.port.to_string()]);
            if ready.status().unwrap().success() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("the server does not come up: {log}");
    }

    /// Runs statements as the superuser; gives what they answer, unaligned.
    pub fn psql(&self, database: &str, text: &str) -> String {
        let mut child = program(&self.bin, "psql")
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d"])
            .arg(database)
            .arg("-h")
            .arg(&self.folder)
            .args(["-p", &self.port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The socket that it listens on.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    /// The URL of a schema in the database of the tests, as the superuser.
    pub fn url(&self, schema: &str) -> String {
        format!("{}&schema={schema}", self.place("test", "postgres"))
    }

    /// The URL of a database for a user.
    pub fn place(&self, database: &str, user: &str) -> String {
        let (folder, port) = (self.folder.display(), self.port);
        format!("postgresql:///{database}?host={folder}&port={port}&user={user}")
    }

    /// Host and port where it speaks TLS and nothing else; its certificate says `localhost`.
    pub fn address(&self, host: &str) -> String {
        format!("postgresql://postgres@{host}:{}/test?hostaddr=127.0.0.1", self.port)
    }
}

/// A name that no other test of this server has.
pub fn fresh() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("s{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

pub fn options() -> PostgresOptions {
    PostgresOptions { busy_wait: std::time::Duration::from_secs(60), ..PostgresOptions::default() }
}

/// A store in a schema of its own.
pub fn open() -> PostgresStore {
    reopen(&server().url(&fresh()))
}

/// A store at this URL.
pub fn reopen(url: &str) -> PostgresStore {
    PostgresStore::open(url, options()).unwrap_or_else(|error| panic!("{error}"))
}
