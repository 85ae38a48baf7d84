//! Takes a shell line apart into commands and words, with quotes and escapes taken away, and with the commands in its
//! substitutions beside the others. It reads on where a shell would complain: what it finds is looked at, never run.

use std::iter::Peekable;
use std::str::Chars;

/// Groups and substitutions in each other.
const DEPTH: u32 = 32;

/// One word. What the shell puts in its place while it runs is in it as `$name`, `${}` or `$()`.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    quoted: bool,
    /// Where the last part ends that the shell replaces: in quotes, which keep it one word, and outside of them.
    replaced_quoted: usize,
    replaced: usize,
}

impl Word {
    /// Whether the text does not tell which program the word names.
    pub(super) fn hides_program(&self) -> bool {
        if matches!(self.text.as_str(), "[" | "[[" | "{" | "{}") {
            return false;
        }
        let name = self.text.rsplit('/').next().unwrap_or_default();
        self.replaced > 0 || self.replaced_quoted > self.text.len() - name.len()
    }

    fn is_replaced(&self) -> bool {
        self.replaced > 0 || self.replaced_quoted > 0
    }

    fn replace(&mut self, by: &str, quoted: bool) {
        self.text.push_str(by);
        if quoted {
            self.replaced_quoted = self.text.len();
        } else {
            self.replaced = self.text.len();
        }
    }
}

/// The words of a line.
#[derive(Debug)]
pub(super) struct Words<'a> {
    chars: Peekable<Chars<'a>>,
    pub(super) commands: Vec<Vec<Word>>,
    /// Texts that commands get on their input.
    pub(super) texts: Vec<Word>,
    /// Whether a quote or a group does not close, so that a shell may read the line in another way.
    pub(super) irregular: bool,
    /// Whether groups stand in each other deeper than is followed.
    pub(super) too_deep: bool,
    depth: u32,
    /// Texts that begin on the next line.
    documents: Vec<HereDocument>,
}

#[derive(Debug)]
struct HereDocument {
    end: String,
    quoted: bool,
    strip_tabs: bool,
}

/// What the next word is.
#[derive(Debug, Default)]
enum Role {
    #[default]
    Argument,
    File,
    Text,
    DocumentEnd {
        strip_tabs: bool,
    },
}

/// The command that is being read.
#[derive(Debug, Default)]
struct Building {
    words: Vec<Word>,
    word: Option<Word>,
    role: Role,
}

impl Building {
    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }
}

impl<'a> Words<'a> {
    /// Takes `line` apart.
    pub(super) fn of(line: &'a str) -> Self {
        Self::within(line, 0)
    }

    fn within(line: &'a str, depth: u32) -> Self {
        let mut words = Self::unread(line, depth);
        let own = words.list(None);
        words.commands.extend(own);
        // `1<<2` is arithmetic in double parentheses, and the start of a text elsewhere.
        words.irregular |= line.contains("<<") && line.contains("((");
        words
    }

    fn unread(text: &'a str, depth: u32) -> Self {
        Self {
            chars: text.chars().peekable(),
            commands: Vec::new(),
            texts: Vec::new(),
            irregular: false,
            too_deep: false,
            depth,
            documents: Vec::new(),
        }
    }

    /// Reads commands up to `end`. Those in their substitutions go to `self.commands`.
    fn list(&mut self, end: Option<char>) -> Vec<Vec<Word>> {
        let mut found = Vec::new();
        let mut now = Building::default();
        loop {
            let Some(c) = self.chars.next() else {
                self.irregular |= end.is_some();
                break;
            };
            if Some(c) == end {
                break;
            }
            match c {
                '\'' => self.single_quoted(now.word()),
                '"' => self.double_quoted(now.word()),
                '\\' => self.escaped(&mut now),
                '$' => self.dollar(now.word(), false),
                '`' => self.backtick(now.word(), false),
                '<' | '>' => self.redirection(c, &mut now),
                '#' if now.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                '|' | '&' | ';' | '\n' | '(' | ')' => {
                    if c == ')' {
                        // Nothing that it could close is open: what stands before it is a pattern of `case`.
                        now.words.iter_mut().chain(&mut now.word).for_each(|word| word.replaced = 0);
                    }
                    self.end_command(&mut now, &mut found);
                    match c {
                        '\n' => self.here_documents(),
                        '(' => {
                            let own = self.nested(')');
                            self.commands.extend(own);
                        }
                        _ => {}
                    }
                }
                c if c.is_whitespace() => self.end_word(&mut now),
                // Patterns and alternatives: other names stand there when it runs.
                '*' | '?' | '[' | '{' => now.word().replace(c.encode_utf8(&mut [0; 4]), false),
                c => now.word().text.push(c),
            }
        }
        self.end_command(&mut now, &mut found);
        found
    }

    fn nested(&mut self, end: char) -> Vec<Vec<Word>> {
        if self.depth >= DEPTH {
            self.too_deep = true;
            self.irregular = true;
            return Vec::new();
        }
        self.depth += 1;
        let own = self.list(Some(end));
        self.depth -= 1;
        own
    }

    fn end_word(&mut self, now: &mut Building) {
        let Some(word) = now.word.take() else { return };
        match std::mem::take(&mut now.role) {
            Role::Argument => now.words.push(word),
            Role::File => {}
            Role::Text => self.texts.push(word),
            Role::DocumentEnd { .. } if word.is_replaced() => self.irregular = true,
            Role::DocumentEnd { strip_tabs } => {
                self.documents.push(HereDocument { end: word.text, quoted: word.quoted, strip_tabs });
            }
        }
    }

    fn end_command(&mut self, now: &mut Building, found: &mut Vec<Vec<Word>>) {
        self.end_word(now);
        now.role = Role::Argument;
        if !now.words.is_empty() {
            found.push(std::mem::take(&mut now.words));
        }
    }

    fn escaped(&mut self, now: &mut Building) {
        // A line break that is escaped is not there.
        if let Some(c) = self.chars.next().filter(|c| *c != '\n') {
            let word = now.word();
            word.quoted = true;
            word.text.push(c);
        }
    }

    fn single_quoted(&mut self, word: &mut Word) {
        word.quoted = true;
        loop {
            match self.chars.next() {
                Some('\'') => return,
                Some(c) => word.text.push(c),
                None => {
                    self.irregular = true;
                    return;
                }
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) {
        word.quoted = true;
        loop {
            match self.chars.next() {
                Some('"') => return,
                Some('\\') => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(c) => {
                        if !matches!(c, '"' | '$' | '`' | '\\') {
                            word.text.push('\\');
                        }
                        word.text.push(c);
                    }
                },
                Some('$') => self.dollar(word, true),
                Some('`') => self.backtick(word, true),
                Some(c) => word.text.push(c),
                None => {
                    self.irregular = true;
                    return;
                }
            }
        }
    }

    /// What follows a dollar sign.
    fn dollar(&mut self, word: &mut Word, quoted: bool) {
        match self.chars.peek().copied() {
            Some('(') => {
                self.chars.next();
                self.substitution();
                word.replace("$()", quoted);
            }
            Some('{') => {
                self.chars.next();
                self.braced();
                word.replace("${}", quoted);
            }
            Some('\'') if !quoted => {
                self.chars.next();
                self.ansi_quoted(word);
            }
            Some('"') if !quoted => {}
            Some(c) if c.is_ascii_alphanumeric() || c == '_' => {
                word.text.push('$');
                while let Some(c) = self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    word.text.push(c);
                }
                word.replace("", quoted);
            }
            Some(c) if "@*#?$!-".contains(c) => {
                self.chars.next();
                word.text.push('$');
                word.replace(c.encode_utf8(&mut [0; 4]), quoted);
            }
            _ => word.text.push('$'),
        }
    }

    /// The inside of `$(…)`, or of the arithmetic `$((…))`, whose words name no program.
    fn substitution(&mut self) {
        if self.chars.next_if_eq(&'(').is_none() {
            let own = self.nested(')');
            self.commands.extend(own);
            return;
        }
        let mut own = self.nested(')');
        if self.chars.next_if_eq(&')').is_some() {
            own.iter_mut().flatten().for_each(|word| (word.replaced, word.replaced_quoted) = (0, 0));
        } else {
            let rest = self.nested(')');
            self.commands.extend(rest);
        }
        self.commands.extend(own);
    }

    /// The inside of `${…}`: only what it substitutes matters.
    fn braced(&mut self) {
        if self.depth >= DEPTH {
            self.too_deep = true;
            return;
        }
        self.depth += 1;
        let mut unused = Word::default();
        loop {
            match self.chars.next() {
                Some('}') => break,
                Some('\\') => drop(self.chars.next()),
                Some('\'') => self.single_quoted(&mut unused),
                Some('"') => self.double_quoted(&mut unused),
                Some('$') => self.dollar(&mut unused, true),
                Some('`') => self.backtick(&mut unused, true),
                Some(_) => {}
                None => {
                    self.irregular = true;
                    break;
                }
            }
        }
        self.depth -= 1;
    }

    /// The inside of `$'…'`, where escapes can spell any character.
    fn ansi_quoted(&mut self, word: &mut Word) {
        word.quoted = true;
        loop {
            match self.chars.next() {
                Some('\'') => return,
                Some('\\') => {
                    if let Some(c) = self.chars.next() {
                        word.replace(c.encode_utf8(&mut [0; 4]), false);
                    }
                }
                Some(c) => word.text.push(c),
                None => {
                    self.irregular = true;
                    return;
                }
            }
        }
    }

    fn backtick(&mut self, word: &mut Word, quoted: bool) {
        let mut inside = String::new();
        loop {
            match self.chars.next() {
                Some('`') => break,
                Some('\\') => match self.chars.next() {
                    Some(c @ ('`' | '\\' | '$')) => inside.push(c),
                    Some(c) => inside.extend(['\\', c]),
                    None => {}
                },
                Some(c) => inside.push(c),
                None => {
                    self.irregular = true;
                    break;
                }
            }
        }
        if self.depth >= DEPTH {
            self.too_deep = true;
        } else {
            let within = Words::within(&inside, self.depth + 1);
            self.take(within);
        }
        word.replace("$()", quoted);
    }

    fn take(&mut self, within: Words<'_>) {
        self.commands.extend(within.commands);
        self.texts.extend(within.texts);
        self.irregular |= within.irregular;
        self.too_deep |= within.too_deep;
    }

    fn redirection(&mut self, mark: char, now: &mut Building) {
        let is_number = |word: &Word| !word.quoted && word.text.chars().all(|c| c.is_ascii_digit());
        if now.word.as_ref().is_some_and(is_number) {
            now.word = None;
        }
        if self.chars.next_if_eq(&'(').is_some() {
            let own = self.nested(')');
            self.commands.extend(own);
            now.word().replace("$()", true);
            return;
        }
        self.end_word(now);
        now.role = if mark == '<' && self.chars.next_if_eq(&'<').is_some() {
            if self.chars.next_if_eq(&'<').is_some() {
                Role::Text
            } else {
                Role::DocumentEnd { strip_tabs: self.chars.next_if_eq(&'-').is_some() }
            }
        } else {
            self.chars.next_if(|c| ">&|".contains(*c));
            Role::File
        };
    }

    /// Reads the texts whose marks were on the line before.
    fn here_documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let mut text = String::new();
            loop {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                let is_last = self.chars.next().is_none();
                let shown = if document.strip_tabs { line.trim_start_matches('\t') } else { &line };
                if shown == document.end {
                    break;
                }
                text.push_str(&line);
                text.push('\n');
                if is_last {
                    self.irregular = true;
                    break;
                }
            }
            if !document.quoted && self.depth < DEPTH {
                let mut within = Words::unread(&text, self.depth + 1);
                within.expansions();
                self.take(within);
            }
            self.texts.push(Word { text, ..Word::default() });
        }
    }

    /// Reads only what a text substitutes.
    fn expansions(&mut self) {
        let mut unused = Word::default();
        while let Some(c) = self.chars.next() {
            match c {
                '\\' => drop(self.chars.next()),
                '$' => self.dollar(&mut unused, true),
                '`' => self.backtick(&mut unused, true),
                _ => {}
            }
        }
    }
}
