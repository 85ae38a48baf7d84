//! A person's own text for the description of the `Agent` tool.

use std::path::Path;

use crate::Diagnostic;
use crate::paths::{PROJECT_FOLDER, StateDirs};
use crate::text_file::read_text;

const FILE_NAME: &str = "agent-tool-description.md";
/// It goes into every request.
const LIMIT: u64 = 64 * 1024;

/// The first such file that is not empty: the trusted folder's, then the user's. `None`, with a finding, where there is
/// none; the full description is used then.
pub fn custom_tool_description(
    dirs: &StateDirs,
    folder: &Path,
    trusted: bool,
) -> (Option<String>, Vec<Diagnostic>) {
    let users = dirs.config().join(FILE_NAME);
    let projects = trusted.then(|| folder.join(PROJECT_FOLDER).join(FILE_NAME));
    let mut found = Vec::new();
    for path in projects.iter().chain([&users]) {
        match read_text(path, LIMIT) {
            Ok(Some(text)) if !text.trim().is_empty() => return (Some(text.trim().to_owned()), found),
            Ok(Some(_)) => found.push(Diagnostic::warning(path, None, "empty; the next one is used")),
            Ok(None) => {}
            Err(fault) => found.push(fault),
        }
    }
    let message = "toolDescriptionMode is custom, but there is no such file; the full description is used";
    found.push(Diagnostic::warning(users, None, message));
    (None, found)
}

/// Puts values for `{{name}}`. Unknown names stay as they are and are returned; values are not searched again.
pub fn fill_placeholders(template: &str, values: &[(&str, &str)]) -> (String, Vec<String>) {
    let mut out = String::with_capacity(template.len());
    let mut unknown = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let after = &rest[start + 2..];
        out.push_str(&rest[..start]);
        let name = after.split_once("}}").map(|(name, _)| name).filter(|name| is_name(name));
        let Some(name) = name else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        let length = name.len() + 4;
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            out.push_str(value);
        } else {
            unknown.push(name.to_owned());
            out.push_str(&rest[start..start + length]);
        }
        rest = &rest[start + length..];
    }
    out.push_str(rest);
    (out, unknown)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
