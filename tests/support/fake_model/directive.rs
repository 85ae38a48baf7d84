//! `[[name word key=value key="quoted value"]]`: directives inside a prompt, which tell the scripted model what to do.

/// One directive, and where it stands in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directive {
    pub(super) name: String,
    /// Bare words after the name, such as `429` in `[[fault 429 at=2]]`.
    pub(super) words: Vec<String>,
    args: Vec<(String, String)>,
    pub(super) start: usize,
    /// After the closing brackets.
    pub(super) end: usize,
}

impl Directive {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.args.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// A whole number; `default` where it is absent or none.
    pub(super) fn number(&self, key: &str, default: u64) -> u64 {
        self.get(key).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| matches!(value, "true" | "1" | "yes"))
    }
}

/// Every directive of `text`, from left to right. One without an end is none.
pub(super) fn parse_all(text: &str) -> Vec<Directive> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("[[").map(|at| from + at) {
        let Some(close) = text[start..].find("]]").map(|at| start + at) else { break };
        let (words, args) = tokens(&text[start + 2..close]);
        let mut words = words.into_iter();
        if let Some(name) = words.next() {
            found.push(Directive { name, words: words.collect(), args, start, end: close + 2 });
        }
        from = close + 2;
    }
    found
}

fn tokens(body: &str) -> (Vec<String>, Vec<(String, String)>) {
    let (mut words, mut args) = (Vec::new(), Vec::new());
    let mut rest = body.trim_start();
    while !rest.is_empty() {
        let key_len = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let key = rest[..key_len].to_owned();
        rest = &rest[key_len..];
        if let Some(after) = rest.strip_prefix('=') {
            let (value, tail) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
            };
            args.push((key, value.to_owned()));
            rest = tail;
        } else {
            words.push(key);
        }
        rest = rest.trim_start();
    }
    (words, args)
}

#[cfg(test)]
mod tests {
    use super::parse_all;

    #[test]
    fn words_arguments_and_quotes() {
        let all = parse_all("hi [[fault 429 at=2]] x [[steps k=5 cmd=\"sleep 1\" stamp=true]] tail");
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].name.as_str(), all[0].words[0].as_str(), all[0].number("at", 0)),
            ("fault", "429", 2)
        );
        assert_eq!(
            (all[1].number("k", 0), all[1].get("cmd"), all[1].flag("stamp")),
            (5, Some("sleep 1"), Some(true))
        );
    }

    #[test]
    fn what_has_no_end_is_no_directive() {
        assert!(parse_all("[[steps k=1").is_empty());
        assert!(parse_all("[[]] [[ ]]").is_empty());
    }
}
