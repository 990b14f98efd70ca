//! What runs: the types of task.

use super::reader::{Reader, printable};
use crate::model::json::nearest;
use crate::model::key::{NameKind, check_name};

/// Types that run today.
const TODAY: &[&str] = &["python", "noop", "probe", "gate"];
/// Names that are taken for types to come.
const LATER: &[&str] = &["shell", "http", "sql", "docker", "notebook", "subdag"];

/// The type, and the label under which a foreign type name is kept.
pub(super) fn read(r: &mut Reader<'_, '_>, has_handler: bool) -> (String, Option<String>) {
    let python = || "python".to_owned();
    let Some(text) = r.raw_text("type") else { return (python(), None) };
    if TODAY.contains(&text) {
        return (text.to_owned(), None);
    }
    if LATER.contains(&text) {
        let message = format!("tasks of type `{text}` do not run yet");
        r.advise("type", "type_not_supported_yet", message, "do the work in a python task for now");
        return (python(), None);
    }
    let checked = check_name(NameKind::Type, text, "");
    let Some(name) = r.take("type", checked) else { return (python(), None) };
    if has_handler {
        return (python(), Some(format!("type={name}")));
    }
    let message = format!("there is no type `{}`", printable(text));
    let hint = match nearest(text, TODAY.iter().chain(LATER).copied()) {
        Some(like) => format!("did you mean `{like}`?"),
        None => "a type of your own needs a handler to run".to_owned(),
    };
    r.advise("type", "unknown_type", message, hint);
    (python(), None)
}
