//! Where a database is: a URL in libpq's words, with a few of our own.
//!
//! `postgresql://user:password@host:5432/database?schema=mainspring&sslmode=verify-full`

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::tls::Trust;
use crate::store::StoreError;

/// What a URL begins with.
const SCHEMES: &[&str] = &["postgresql://", "postgres://"];

/// Where our tables are unless the URL says otherwise.
const SCHEMA: &str = "mainspring";

/// Whether a database is named by a URL of ours, and not by a path.
pub(super) fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// A database that can be asked for.
#[derive(Clone)]
pub(super) struct Address {
    /// As it is shown: without its password.
    pub shown: String,
    pub config: Config,
    pub schema: String,
    /// Whose database it is meant to be.
    pub deployment: Option<String>,
    pub trust: Trust,
    pub authorities: Option<PathBuf>,
}

impl Address {
    pub(super) fn parse(url: &str, read_only: bool) -> Result<Address, StoreError> {
        let shown = masked(url);
        let refuse = |reason: String| StoreError::Open {
            path: shown.clone(),
            reason,
            hint:
                "a URL looks like postgresql://user:password@host:5432/database?schema=mainspring"
                    .into(),
        };
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let mut address = Address {
            shown: shown.clone(),
            config: Config::new(),
            schema: SCHEMA.into(),
            deployment: None,
            trust: Trust::default(),
            authorities: None,
        };
        let authority = place.split_once("://").map_or(place, |(_, rest)| rest);
        if authority.matches('@').count() > 1 {
            return Err(refuse("it has more than one @; in a password that is written %40".into()));
        }
        let mut mode = None;
        let mut left = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = || decoded(value).ok_or_else(|| refuse(format!("`{key}` is no UTF-8")));
            match key {
                "schema" => address.schema = value()?,
                "deployment" => address.deployment = Some(value()?),
                "sslmode" => mode = Some(value()?),
                "sslrootcert" => {
                    address.authorities =
                        Some(value()?.into()).filter(|file: &PathBuf| file.as_os_str() != "system");
                }
                _ => left.push(pair),
            }
        }
        let text = match left.is_empty() {
            true => place.to_owned(),
            false => format!("{place}?{}", left.join("&")),
        };
        address.config = text.parse().map_err(|error| refuse(super::errors::chain(&error)))?;
        if address.schema.is_empty() || address.schema.len() > 63 || address.schema.contains('\0') {
            return Err(refuse("the name of a schema has 1 to 63 bytes".into()));
        }
        if address.schema.starts_with("pg_") {
            return Err(refuse("schemas that begin with pg_ are the server's own".into()));
        }
        address.trusting(mode.as_deref()).map_err(refuse)?;
        address.set_up(read_only).map_err(refuse)?;
        Ok(address)
    }

    /// What `sslmode` says.
    fn trusting(&mut self, mode: Option<&str>) -> Result<(), String> {
        let known = self.authorities.is_some();
        let (mode, trust) = match mode.unwrap_or("prefer") {
            "disable" => (SslMode::Disable, Trust::Anybody),
            "prefer" => (SslMode::Prefer, Trust::Anybody),
            // As libpq does it: who names authorities wants to have them asked.
            "require" if known => (SslMode::Require, Trust::Authority),
            "require" => (SslMode::Require, Trust::Anybody),
            "verify-ca" => (SslMode::Require, Trust::Authority),
            "verify-full" => (SslMode::Require, Trust::Name),
            other => {
                return Err(format!(
                    "`sslmode={other}` is none of disable, prefer, require, verify-ca, verify-full"
                ));
            }
        };
        self.config.ssl_mode(mode);
        self.trust = trust;
        Ok(())
    }

    /// What every connection of ours has, unless the URL says otherwise.
    fn set_up(&mut self, read_only: bool) -> Result<(), String> {
        let config = &mut self.config;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("it names no host".into());
        }
        if config.get_user().is_none() {
            return Err("it names no user".into());
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err("it names no database".into());
        }
        if config.get_application_name().is_none() {
            config.application_name("mainspring");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        // A network that swallows everything is noticed, also while nothing is being said.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(20));
        }
        config.keepalives_idle(Duration::from_secs(15));
        config.keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        // Of several servers the one that can be written to, as it stands after a failover.
        let several = config.get_hosts().len() > 1;
        if several && !read_only && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(())
    }

    /// Whether the server is on this machine, by a socket file.
    pub(super) fn is_local(&self) -> bool {
        self.config.get_hosts().iter().any(|host| match host {
            #[cfg(unix)]
            Host::Unix(_) => true,
            Host::Tcp(_) => false,
        })
    }
}

/// A URL as it may be shown, written to logs and put into errors, however wrong it is: what stands
/// between the first colon of its authority and the last `@` is a password, and so are some of its
/// parameters.
pub(super) fn masked(url: &str) -> String {
    let (place, query) = match url.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (url, None),
    };
    let from = place.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = place.split_at(from);
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => format!("{user}@{host}"),
        },
        None => rest.to_owned(),
    };
    let Some(query) = query else { return format!("{scheme}{rest}") };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((key, _)) if SECRETS.iter().any(|secret| key.contains(secret)) => format!("{key}=***"),
        _ => pair.to_owned(),
    });
    format!("{scheme}{rest}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// What a parameter's name has in it whose value nobody is to read.
const SECRETS: &[&str] = &["pass", "secret", "token"];

/// `%41` is `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}
