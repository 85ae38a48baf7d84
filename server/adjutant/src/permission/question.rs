//! The text of a question. A person consents to what the text shows, so it shows what would happen: all lines, no character
//! that draws over others, and where a path really leads.

use std::fmt::Write as _;
use std::path::Path;

use session::environment::Environment;
use vocab::ToolKind;

use super::Call;

/// Characters of a command that are shown whole.
const SHOWN: usize = 2_000;
/// Of a longer one, these many of its beginning, and the rest of [`SHOWN`] of its end.
const HEAD: usize = 1_200;

/// The question whether a call may run. `path` is who asks: handles from the root, empty for the session itself.
pub(super) fn question(path: &[String], call: &Call<'_>, environment: &dyn Environment) -> String {
    let who = match path {
        [] => "The session".to_owned(),
        handles => visible(&handles.join(" › ")).replace('\n', " "),
    };
    let what = match call.command() {
        Some(command) => shown(command),
        None => place(call, environment),
    };
    format!("{who} wants to {}: {what}", verb(call.kind))
}

fn verb(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read | ToolKind::Search => "read outside the workspace",
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => "change files",
        ToolKind::Execute => "run a command",
        ToolKind::Fetch => "fetch from the network",
        ToolKind::Think | ToolKind::Other => "use a tool",
    }
}

/// A command with its lines under each other; of one that is too long for a question, beginning and end.
fn shown(command: &str) -> String {
    let command = visible(command.trim_end());
    let count = command.chars().count();
    let cut = if count <= SHOWN {
        command
    } else {
        let head: String = command.chars().take(HEAD).collect();
        let tail: String = command.chars().skip(count - (SHOWN - HEAD)).collect();
        format!("{head}\n… [{} characters left out] …\n{tail}", grouped(count - SHOWN))
    };
    cut.replace('\n', "\n    ")
}

/// `1,234`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The call's title, and its paths where the title does not show where they lead.
fn place(call: &Call<'_>, environment: &dyn Environment) -> String {
    let title = if call.title.title.is_empty() { call.tool } else { &call.title.title };
    let mut text = visible(title).replace('\n', " ");
    for location in &call.title.locations {
        let Some(Ok(path)) = location.path.to_str().map(|path| environment.resolve(path)) else { continue };
        let real = environment.real_path(&path);
        if real != path {
            let _ = write!(text, " (leads to {})", of_path(&real));
        } else if !title.contains(&*location.path.to_string_lossy()) {
            let _ = write!(text, " (which is {})", of_path(&path));
        }
    }
    text
}

fn of_path(path: &Path) -> String {
    visible(&path.to_string_lossy()).replace('\n', "\\n")
}

/// A text in which every character but a line break is one that can be seen and stays in its place.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => visible.push('\n'),
            '\t' => visible.push_str("\\t"),
            '\r' => visible.push_str("\\r"),
            c if c.is_control() || is_unseen(c) => visible.extend(c.escape_unicode()),
            c => visible.push(c),
        }
    }
    visible
}

/// Characters without width, that turn the direction of a text, or that break lines in some editors only.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{shown, visible};

    #[test]
    fn lines_stay_lines() {
        assert_eq!(shown("echo hi\nrm -rf ~\n"), "echo hi\n    rm -rf ~");
        assert_eq!(shown("ls"), "ls");
    }

    #[test]
    fn what_cannot_be_seen_is_spelled_out() {
        let text = visible("echo \u{202e}mr\u{202c}\x1b[2K\x07\t\r\u{200b}ä日");
        assert_eq!(text, "echo \\u{202e}mr\\u{202c}\\u{1b}[2K\\u{7}\\t\\r\\u{200b}ä日");
    }

    #[test]
    fn the_end_of_a_long_command_is_shown() {
        let text = shown(&format!("echo ok {}; rm -rf ~", "a".repeat(3_000)));
        assert!(text.starts_with("echo ok aaa") && text.ends_with("a; rm -rf ~"), "{text}");
        assert!(text.contains("… [1,018 characters left out] …"), "{text}");
        let whole = format!("echo {}; rm -rf ~", "a".repeat(1_000));
        assert_eq!(shown(&whole), whole);
    }
}
