//! The environment that commands get: the server's, without its credentials, and set so that nothing asks a person.

use std::ffi::OsString;

/// Whole names that hold a secret.
const NAMES: [&str; 8] =
    ["API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PGPASSWORD", "MYSQL_PWD"];
/// Beginnings: everything of these families is a credential, or leads to one.
const PREFIXES: [&str; 2] = ["AWS_", "AZURE_"];
/// Ends.
const SUFFIXES: [&str; 14] = [
    "_API_KEY",
    "_APIKEY",
    "_TOKEN",
    "_SECRET",
    "_SECRET_KEY",
    "_SECRET_ACCESS_KEY",
    "_CLIENT_SECRET",
    "_ACCESS_KEY",
    "_PRIVATE_KEY",
    "_PASSWORD",
    "_PASSWD",
    "_PASSPHRASE",
    "_CREDENTIALS",
    "_AUTH",
];

/// Nothing may wait for an answer that nobody can give, nor page or colour what a model reads.
const SET: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// Whether a variable of this name is kept from commands. Case does not matter. By name alone: a name says more than
/// the look of its value, and is what a person can be told. `SSH_AUTH_SOCK` passes, since `git push` needs it.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str())
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// The variables of a command, out of those of this process; `also` are further names to leave out.
pub(super) fn command_environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
    also: &[String],
) -> Vec<(OsString, OsString)> {
    let secret = |name: &OsString| {
        let name = name.to_string_lossy();
        is_credential(&name) || also.iter().any(|other| *other == name)
    };
    let set = SET.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    variables
        .filter(|(name, _)| !secret(name) && !set.iter().any(|(own, _)| own == name))
        .chain(set.clone())
        .collect()
}
