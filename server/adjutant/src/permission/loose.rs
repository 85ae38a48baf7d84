//! Reads a shell line for what it might run, as far as a deny rule needs it.
//!
//! The opposite of [`super::shell`]: there, whatever is not certain is no command; here, whatever could be a command is one.
//! Quotes and escapes are taken away, and words that only run what follows them (`env`, `sudo`, `if`, `xargs`, `find -exec`)
//! are looked behind. What a shell computes while it runs stays out of reach, and is said to be hidden.

use super::words::{Word, Words};

/// Lines in texts in lines: `bash -c "sh -c '…'"` is followed so deep.
const TEXT_DEPTH: u32 = 4;
/// Words that one command may start at, one behind the other.
const STARTS: usize = 24;
/// Bytes of a line that are read.
const LINE_BYTES: usize = 64 * 1024;

/// Words behind which a command stands, and how many words of their own may stand before it.
const RUNNERS: &[(&str, usize)] = &[
    ("!", 0),
    ("{", 0),
    ("builtin", 0),
    ("busybox", 0),
    ("chroot", 1),
    ("chrt", 1),
    ("command", 0),
    ("coproc", 1),
    ("do", 0),
    ("doas", 0),
    ("elif", 0),
    ("else", 0),
    ("env", 0),
    ("eval", 0),
    ("exec", 0),
    ("flock", 1),
    ("function", 1),
    ("if", 0),
    ("ionice", 0),
    ("ltrace", 0),
    ("nice", 0),
    ("nohup", 0),
    ("parallel", 0),
    ("runuser", 0),
    ("script", 0),
    ("setarch", 1),
    ("setsid", 0),
    ("ssh", 1),
    ("stdbuf", 0),
    ("strace", 0),
    ("su", 1),
    ("sudo", 0),
    ("systemd-run", 0),
    ("taskset", 1),
    ("then", 0),
    ("time", 0),
    ("timeout", 1),
    ("toybox", 0),
    ("trap", 0),
    ("unshare", 0),
    ("until", 0),
    ("watch", 0),
    ("while", 0),
    ("xargs", 0),
];

/// Programs that run a text which they are given.
const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "zsh"];
const TEXT_RUNNERS: &[&str] =
    &[".", "env", "eval", "parallel", "runuser", "script", "source", "ssh", "su", "trap", "watch"];

/// Options of `find` and `fd` behind which a command stands.
const EXEC_OPTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// What a line might run.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Texts of commands, words joined by one space; one command may be in it several times, with less and less before it.
    pub(super) commands: Vec<String>,
    /// Whether it runs something that only shows when it runs: `$x`, `$(…)` in the place of a command, a shell that reads
    /// its input, or more than is looked at here.
    pub(super) hidden: bool,
}

/// Reads a line.
pub(super) fn reading(line: &str) -> Reading {
    let mut reading = Reading::default();
    reading.add(line, 0);
    reading.commands.sort_unstable();
    reading.commands.dedup();
    reading
}

impl Reading {
    fn add(&mut self, line: &str, depth: u32) {
        if line.len() > LINE_BYTES || depth > TEXT_DEPTH {
            self.hidden = true;
            self.commands.extend(pieces(line));
            return;
        }
        let reader = Words::of(line);
        self.hidden |= reader.too_deep;
        if reader.irregular {
            let bare: String = line.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
            self.commands.extend(pieces(&bare));
        }
        let mut runs_texts = false;
        for words in &reader.commands {
            runs_texts |= self.command(words);
        }
        if runs_texts {
            for word in reader.commands.iter().flatten().chain(&reader.texts) {
                let is_line = |c: char| c.is_whitespace() || "$`|&;<>(){}'\"\\".contains(c);
                if word.text != line && word.text.contains(is_line) {
                    self.add(&word.text, depth + 1);
                }
            }
            for words in reader.commands.iter().filter(|words| words.len() > 2) {
                // `eval` puts its words together before it reads them.
                if let Some(at) = words.iter().position(|word| word.text == "eval") {
                    self.add(&joined(&words[at + 1..]), depth + 1);
                }
            }
        }
    }

    /// Adds a command under each word that it might begin with. Answers whether it runs texts that it is given.
    fn command(&mut self, words: &[Word]) -> bool {
        // `xargs rm` runs `rm` with words from its input.
        let is_given_words = |word: &Word| matches!(base_name(&word.text), "xargs" | "parallel");
        let more = if words.iter().any(is_given_words) { " {}" } else { "" };
        let (mut runs_texts, mut behind_runner, mut behind_option, mut own_words) = (false, false, false, 0);
        for (at, word) in words.iter().enumerate() {
            if at == STARTS {
                self.hidden = true;
                break;
            }
            let rest = joined(&words[at..]) + more;
            let name = base_name(&word.text);
            if name.len() < word.text.len() {
                self.commands.push(rest[word.text.len() - name.len()..].to_owned());
            }
            self.commands.push(rest);
            if is_assignment(&word.text) {
                continue;
            }
            self.hidden |= word.hides_program();
            runs_texts |= TEXT_RUNNERS.contains(&name) || SHELLS.contains(&name);
            if let Some((_, before)) = RUNNERS.iter().find(|(runner, _)| *runner == name) {
                (behind_runner, behind_option, own_words) = (true, false, *before);
            } else if behind_runner && word.text.starts_with('-') {
                behind_option = true;
            } else {
                runs_texts |= self.program(name, &words[at + 1..]);
                // A word behind an option is its value, or it is the command.
                if behind_option {
                    behind_option = false;
                } else if own_words > 0 {
                    own_words -= 1;
                } else {
                    break;
                }
            }
        }
        runs_texts
    }

    /// Looks at what a program that runs others is given. Answers whether that includes texts.
    fn program(&mut self, name: &str, arguments: &[Word]) -> bool {
        if SHELLS.contains(&name) && arguments.iter().all(|word| word.text.starts_with(['-', '+'])) {
            self.hidden = true;
        }
        let mut runs_texts = false;
        if matches!(name, "find" | "fd" | "fdfind") {
            for (at, word) in arguments.iter().enumerate() {
                if EXEC_OPTIONS.contains(&word.text.as_str()) {
                    runs_texts |= self.command(&arguments[at + 1..]);
                }
            }
        }
        runs_texts
    }
}

/// The parts of a line by its marks alone, with no regard to quotes.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = String> {
    line.split(['|', '&', ';', '\n', '(', ')', '`', '{', '}', '$'])
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// `rm` of `/bin/rm`.
fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a word sets a variable for what follows: `NAME=…`, `NAME+=…`, `NAME[…]=…`.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
