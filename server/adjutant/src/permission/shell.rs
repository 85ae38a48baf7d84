//! Takes a shell command apart, as far as a permission rule needs it.
//!
//! The parser is conservative: whatever it does not know for certain makes a command [`Commands::Unclear`], and an unclear
//! command is never allowed by a rule.

/// The simple commands that a command line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Commands {
    /// Every simple command, its words joined by one space, in order.
    Simple(Vec<String>),
    /// A substitution, redirection, group, control word or open quote: what runs cannot be told from the text.
    Unclear,
}

/// Words that begin a compound command or change what the next words mean.
const CONTROL_WORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "time", "!", "{", "}", "[[", "eval", "exec", "source", ".", "command", "builtin",
    "env", "sudo", "xargs", "nohup", "trap", "alias",
];

/// Takes `line` apart.
pub(super) fn commands(line: &str) -> Commands {
    let mut parser = Parser::default();
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let clear = match c {
            '\'' => parser.quoted(&mut chars, '\''),
            '"' => parser.quoted(&mut chars, '"'),
            '\\' => match chars.next() {
                Some(escaped) if escaped != '\n' => parser.push(escaped),
                _ => false,
            },
            '|' | '&' | ';' | '\n' => {
                if matches!(c, '|' | '&') && chars.peek() == Some(&c) {
                    chars.next();
                }
                parser.end_command()
            }
            '$' | '`' | '<' | '>' | '(' | ')' | '{' | '}' | '#' => false,
            c if c.is_whitespace() => {
                parser.end_word();
                true
            }
            c => parser.push(c),
        };
        if !clear {
            return Commands::Unclear;
        }
    }
    if parser.end_command() && !parser.commands.is_empty() {
        Commands::Simple(parser.commands)
    } else {
        Commands::Unclear
    }
}

#[derive(Default)]
struct Parser {
    commands: Vec<String>,
    words: Vec<String>,
    word: Option<String>,
}

impl Parser {
    fn push(&mut self, c: char) -> bool {
        self.word.get_or_insert_default().push(c);
        true
    }

    fn quoted(&mut self, chars: &mut impl Iterator<Item = char>, quote: char) -> bool {
        let word = self.word.get_or_insert_default();
        for c in chars {
            match c {
                c if c == quote => return true,
                // Inside double quotes these still expand or escape.
                '$' | '`' | '\\' if quote == '"' => return false,
                c => word.push(c),
            }
        }
        false
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// Ends a simple command; false where it is one that hides what it runs.
    fn end_command(&mut self) -> bool {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let Some(first) = words.first() else { return true };
        // `NAME=value command` runs another program than its first word says.
        if CONTROL_WORDS.contains(&first.as_str()) || first.contains('=') {
            return false;
        }
        self.commands.push(words.join(" "));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Commands, commands};

    #[test]
    fn lists_and_pipes_are_taken_apart() {
        let simple = |line: &str| match commands(line) {
            Commands::Simple(parts) => parts,
            Commands::Unclear => vec!["?".into()],
        };
        assert_eq!(simple("git status"), ["git status"]);
        assert_eq!(simple("  git   log | head -3 && ls;pwd "), ["git log", "head -3", "ls", "pwd"]);
        assert_eq!(simple("echo 'a && b' \"c | d\""), ["echo a && b c | d"]);
        assert_eq!(simple("sleep 1 & ls"), ["sleep 1", "ls"]);
        assert_eq!(simple("ls a\\ b"), ["ls a b"]);
    }

    #[test]
    fn what_hides_a_command_is_unclear() {
        for line in [
            "",
            "  ",
            "echo $(rm -rf x)",
            "echo `id`",
            "ls > out",
            "cat < in",
            "(ls)",
            "FOO=1 ls",
            "if true; then ls; fi",
            "echo \"$HOME\"",
            "echo 'open",
            "eval ls",
            "sudo ls",
            "ls # x",
            "diff <(a) b",
            "env ls",
            "ls \\\n rm",
            "{ ls; }",
            "echo ${x}",
            "! ls",
        ] {
            assert_eq!(commands(line), Commands::Unclear, "{line}");
        }
    }
}
