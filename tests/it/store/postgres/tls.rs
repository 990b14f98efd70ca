//! A server is believed as far as `sslmode` says, with libpq's words.

use mainspring::store::{PostgresStore, SqlStore as _, SqlValue};

use crate::postgres::{CERTIFICATES, fresh, options, server};

/// Whether the connection is encrypted, or why there is none.
fn encrypted(host: &str, rest: &str) -> Result<bool, String> {
    let url = format!("{}&schema={}{rest}", server().address(host), fresh());
    let mut store = PostgresStore::open(&url, options()).map_err(|error| error.to_string())?;
    let text = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    Ok(store.ask(text, &[]).unwrap().rows[0] == [SqlValue::Integer(1)])
}

#[test]
fn a_connection_is_encrypted_and_the_server_known_as_far_as_is_asked() {
    let authority =
        format!("&sslrootcert={}/{CERTIFICATES}/authority.pem", env!("CARGO_MANIFEST_DIR"));
    let with = |mode: &str| format!("&sslmode={mode}{authority}");
    // Whoever answers is believed, unless an authority is named.
    assert_eq!(encrypted("localhost", ""), Ok(true));
    assert_eq!(encrypted("elsewhere", "&sslmode=require"), Ok(true));
    assert_eq!(encrypted("elsewhere", &with("require")), Ok(true));
    assert_eq!(encrypted("elsewhere", &with("verify-ca")), Ok(true));
    assert_eq!(encrypted("localhost", &with("verify-full")), Ok(true));
    let why = encrypted("elsewhere", &with("verify-full")).unwrap_err();
    assert!(why.contains("certificate") && why.contains("hint"), "{why}");
    // The system knows nothing of the authority of the tests.
    for mode in ["verify-ca", "verify-full"] {
        let why = encrypted("localhost", &format!("&sslmode={mode}")).unwrap_err();
        assert!(why.contains("certificate") && why.contains("sslrootcert"), "{why}");
    }
    // This server wants nobody without.
    let why = encrypted("localhost", "&sslmode=disable").unwrap_err();
    assert!(why.contains("no encryption") || why.contains("no pg_hba.conf entry"), "{why}");
}
