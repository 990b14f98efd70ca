//! What is wrong with a URL, a server, rights or a schema is said, and nothing is changed then.

use mainspring::store::{PostgresOptions, PostgresStore, Store as _, StoreError};

use crate::postgres::{fresh, options, reopen, server};
use crate::store::support::{at, flights};

fn refused(url: &str) -> String {
    match PostgresStore::open(url, options()) {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("\n  hint: "), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
            text
        }
    }
}

/// What there is in a schema, whoever made it.
fn tables(schema: &str) -> String {
    let text = format!(
        "SELECT count(*), coalesce(sum(c.relnatts), 0) FROM pg_class c JOIN pg_namespace n ON \
         n.oid = c.relnamespace WHERE n.nspname = '{schema}'"
    );
    server().psql("test", &text)
}

#[test]
fn a_url_with_a_typo_is_explained() {
    for (url, why) in [
        ("postgresql://u:hunter2@h/d?shema=x", "unknown option `shema`"),
        ("postgresql://u:hunter2@h/d?sslmode=of", "`sslmode=of` is none of"),
        ("postgresql://u:hunter2@h:port/d", "invalid value for option `port`"),
        ("postgresql://u:hunter2@h", "it names no database"),
        ("postgresql://h/d", "it names no user"),
        ("postgresql://u:hun@ter2hunter2@h/d", "more than one @"),
        ("postgresql:///d?user=u", "it names no host"),
        ("postgresql://u:hunter2@h/d?schema=", "1 to 63 bytes"),
        ("postgresql://u:hunter2@h/d?schema=pg_x", "the server's own"),
        ("postgresql://u:hunter2@h/d?sslmode=verify-full&sslrootcert=/none", "/none"),
    ] {
        let text = refused(url);
        assert!(text.contains(why), "{url}: {text}");
    }
}

#[test]
fn a_password_is_never_shown() {
    for (url, shown) in [
        ("postgresql://u:hunter2@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:hun:ter@2@h/d", "postgresql://u:***@h/d"),
        (
            "postgresql://u@h/d?password=hunter2&schema=x",
            "postgresql://u@h/d?password=***&schema=x",
        ),
        (
            "postgres://u:hunter2@a,b:1/d?sslpassword=hunter2",
            "postgres://u:***@a,b:1/d?sslpassword=***",
        ),
        ("postgresql://h/d", "postgresql://h/d"),
        ("u:hunter2@h", "u:***@h"),
    ] {
        assert_eq!(PostgresStore::shown(url), shown);
    }
    let url = format!("{}&password=hunter2", server().url(&fresh()));
    let store = PostgresStore::open(&url, options()).unwrap();
    assert!(!format!("{store:?}").contains("hunter2"));
}

#[test]
fn a_server_that_is_not_there_is_away() {
    // Nothing listens on this port: it is bound, and nobody accepts.
    let text = refused("postgresql://u:hunter2@127.0.0.1:1/d?connect_timeout=2");
    assert!(text.contains("postgresql://u:***@127.0.0.1:1/d?connect_timeout=2 is away"), "{text}");
    assert!(text.contains("host and port"), "{text}");
    let url = format!("{}&password=hunter2", server().place("nowhere", "postgres"));
    assert!(refused(&url).contains("CREATE DATABASE"));
}

#[test]
fn a_wrong_password_is_named_and_not_shown() {
    let url = |password: &str| format!("{}{password}", server().place("test", "locked"));
    assert!(refused(&url("&password=hunter2")).contains("user and password"));
    assert!(refused(&url("")).contains("put the password into the URL"));
    let schema = fresh();
    server().psql("test", &format!("CREATE SCHEMA {schema} AUTHORIZATION locked"));
    let right = format!("{}&schema={schema}", url("&password=open%2Bsesame"));
    PostgresStore::open(&right, options()).unwrap();
}

#[test]
fn a_schema_of_another_program_is_left_alone() {
    for (make, why) in [
        ("CREATE TABLE {s}.users (id int)", "tables of another program"),
        ("CREATE TABLE {s}.mainspring (id int)", "other columns"),
        (
            "CREATE TABLE {s}.mainspring (application text, version bigint, deployment text)",
            "is empty",
        ),
        (
            "CREATE TABLE {s}.mainspring AS SELECT 'watch'::text AS application, 1::bigint AS \
             version, NULL::text AS deployment",
            "is of watch",
        ),
    ] {
        let schema = fresh();
        server().psql("test", &format!("CREATE SCHEMA {schema}; {}", make.replace("{s}", &schema)));
        let before = tables(&schema);
        let text = refused(&server().url(&schema));
        assert!(text.contains("is not a mainspring database") && text.contains(why), "{text}");
        assert_eq!(tables(&schema), before);
    }
}

#[test]
fn a_newer_schema_is_left_alone() {
    let schema = fresh();
    drop(reopen(&server().url(&schema)));
    server().psql("test", &format!("UPDATE {schema}.mainspring SET version = 900"));
    let before = tables(&schema);
    let error = PostgresStore::open(&server().url(&schema), options()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 900, .. }), "{error}");
    assert_eq!(tables(&schema), before);
}

#[test]
fn two_deployments_share_a_database_by_their_schemas() {
    let (one, other) = (fresh(), fresh());
    let mut first = reopen(&format!("{}&deployment=prod", server().url(&one)));
    let mut second = reopen(&format!("{}&deployment=staging", server().url(&other)));
    first.register(&[flights()], at(0)).unwrap();
    assert_eq!(first.dag_keys().unwrap(), ["flights"]);
    assert_eq!(second.dag_keys().unwrap(), Vec::<String>::new());
    let text = refused(&format!("{}&deployment=staging&password=hunter2", server().url(&one)));
    assert!(text.contains("belongs to deployment `prod`, and `staging` is meant"), "{text}");
    // Who does not say which one means whichever it is.
    reopen(&server().url(&one));
}

#[test]
fn a_name_is_given_to_a_schema_that_had_none() {
    let schema = fresh();
    drop(reopen(&server().url(&schema)));
    drop(reopen(&format!("{}&deployment=prod", server().url(&schema))));
    let text = refused(&format!("{}&deployment=test", server().url(&schema)));
    assert!(text.contains("belongs to deployment `prod`"), "{text}");
}

#[test]
fn missing_rights_are_named() {
    let (user, schema) = (format!("u{}", fresh()), fresh());
    let url = format!("{}&schema={schema}", server().place("test", &user));
    let say =
        |text: &str| server().psql("test", &text.replace("{s}", &schema).replace("{u}", &user));
    say("CREATE USER {u}");
    let text = refused(&url);
    assert!(text.contains("the right CREATE on database test is missing"), "{text}");
    assert!(text.contains(&format!("CREATE SCHEMA {schema} AUTHORIZATION {user}")), "{text}");
    say("CREATE SCHEMA {s}");
    assert!(refused(&url).contains("the right USAGE is missing"));
    say("GRANT USAGE ON SCHEMA {s} TO {u}");
    assert!(refused(&url).contains("the right CREATE is missing"));
    assert_eq!(tables(&schema), "0|0");
    // Somebody else makes the tables.
    drop(reopen(&server().url(&schema)));
    let text = refused(&url);
    assert!(text.contains(&format!("lacks the right SELECT on {schema}.mainspring")), "{text}");
    say("GRANT SELECT ON ALL TABLES IN SCHEMA {s} TO {u}");
    let text = refused(&url);
    assert!(text.contains("DELETE, INSERT, UPDATE"), "{text}");
    // Who only reads needs no more.
    let reading = PostgresOptions { read_only: true, ..options() };
    PostgresStore::open(&url, reading).unwrap();
    say("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {s} TO {u}");
    let mut store = reopen(&url);
    store.register(&[flights()], at(0)).unwrap();
    // Whoever may not make months goes on without.
    crate::store::support::Desk::open(&mut store).create(0);
}

#[test]
fn who_only_reads_writes_nothing() {
    let schema = fresh();
    let reading = PostgresOptions { read_only: true, ..options() };
    let error = PostgresStore::open(&server().url(&schema), reading).unwrap_err();
    assert!(error.to_string().contains("open it once for writing"), "{error}");
    assert_eq!(tables(&schema), "0|0");
}

#[test]
fn who_asks_makes_no_tables_and_needs_no_right_but_to_read() {
    let (user, schema) = (format!("u{}", fresh()), fresh());
    let say =
        |text: &str| server().psql("test", &text.replace("{s}", &schema).replace("{u}", &user));
    say("CREATE USER {u}");
    let asking = PostgresOptions { make: false, ..options() };
    let url = format!("{}&schema={schema}&deployment=prod", server().place("test", &user));
    let absent = || match PostgresStore::open(&url, asking) {
        Err(error @ StoreError::Absent { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    // Neither where there is no schema, nor in one that somebody has made for it.
    assert!(absent().contains("there is no database"), "{}", absent());
    say("CREATE SCHEMA {s}");
    absent();
    assert_eq!(tables(&schema), "0|0");
    drop(reopen(&server().url(&schema)));
    say("GRANT USAGE ON SCHEMA {s} TO {u}; GRANT SELECT ON ALL TABLES IN SCHEMA {s} TO {u}");
    let mut store = PostgresStore::open(&url, asking).unwrap();
    assert_eq!(store.dag_keys().unwrap(), Vec::<String>::new());
    let error = store.set_pool("lanes", 1, at(0)).unwrap_err();
    assert!(error.to_string().contains("grant this user the right"), "{error}");
    // A name is given by who works there.
    assert_eq!(say("SELECT coalesce(deployment, 'none') FROM {s}.mainspring"), "none");
}

#[test]
fn eight_who_come_at_once_make_one_schema() {
    let url = server().url(&fresh());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut store = reopen(&url);
                store.register(&[flights()], at(0)).unwrap();
            });
        }
    });
    let dag = reopen(&url).dag("flights").unwrap().unwrap();
    assert_eq!((dag.revision, dag.tasks.len()), (1, 3));
}

#[test]
fn migrating_says_from_where_to_where() {
    let url = server().url(&fresh());
    let (before, after) = PostgresStore::migrate(&url).unwrap();
    assert_eq!((before, after >= 8), (0, true));
    assert_eq!(PostgresStore::migrate(&url).unwrap(), (after, after));
}
