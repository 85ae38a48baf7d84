//! A folder that answers the planner's calls as the real tools would, as far as the tests need.

use super::Open;

/// Files and their texts.
pub(super) struct Folder(pub(super) Vec<(&'static str, &'static str)>);

impl Folder {
    pub(super) fn sample() -> Self {
        Self(vec![
            ("Cargo.toml", "[package]\nname = \"sample\"\n"),
            ("README.md", "# Sample\n\nA small thing.\n\n    cargo run\n"),
            ("src/lib.rs", "//! All of the sample library.\nfn a() {}\nfn b() {}\n// TODO: write c\n"),
            (
                "src/main.rs",
                "//! The program that people begin with.\nfn main() {\n    // FIXME: exit code\n}\n",
            ),
            ("tests/it.rs", "#[test]\n#[ignore]\nfn slow() {}\n"),
        ])
    }

    pub(super) fn answer(&self, call: &Open) -> Result<String, String> {
        let text = |name: &str| call.arguments[name].as_str().unwrap_or_default();
        match call.tool.as_str() {
            "ls" => Ok(self.list(text("path"))),
            "find" => Ok(self.find(text("pattern"))),
            "grep" => Ok(self.grep(text("pattern"), text("glob"))),
            "read" => self.read(text("path"), &call.arguments),
            other => Err(format!("no tool {other}")),
        }
    }

    fn list(&self, folder: &str) -> String {
        let prefix = if folder == "." { String::new() } else { format!("{folder}/") };
        let below = self.0.iter().filter_map(|(path, _)| path.strip_prefix(&prefix));
        let mut names: Vec<String> = below
            .map(|rest| rest.split_once('/').map_or(rest.to_owned(), |(top, _)| format!("{top}/")))
            .collect();
        names.dedup();
        if names.is_empty() { "(empty directory)".to_owned() } else { names.join("\n") }
    }

    fn find(&self, pattern: &str) -> String {
        let wanted: Vec<String> =
            match pattern.split_once('{').and_then(|(head, rest)| Some((head, rest.strip_suffix('}')?))) {
                Some((head, names)) => names.split(',').map(|name| format!("{head}{name}")).collect(),
                None => vec![pattern.to_owned()],
            };
        let hit = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            wanted.iter().any(|wanted| match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
                (Some(""), _) => true,
                (Some(end), Some(_)) => name.contains(end.trim_end_matches('*')),
                (Some(end), None) => name.ends_with(end),
                (None, Some(start)) => name.starts_with(start),
                (None, None) => name == wanted,
            })
        };
        let found: Vec<&str> = self.0.iter().map(|(path, _)| *path).filter(|path| hit(path)).collect();
        if found.is_empty() { "No files found matching pattern".to_owned() } else { found.join("\n") }
    }

    /// Good enough a search for the words that the tests look at.
    fn grep(&self, pattern: &str, glob: &str) -> String {
        let words = ["TODO", "FIXME", "fn main", "#[ignore", "cargo"];
        let plain = pattern.replace(['\\', '^'], "").replace("s*", "");
        let mut words: Vec<&str> = words.into_iter().filter(|word| plain.contains(word)).collect();
        if plain.contains("|struct|") {
            words.push("fn ");
        }
        let mut lines = Vec::new();
        for (path, text) in &self.0 {
            let wanted = glob.is_empty()
                || glob.strip_prefix('*').is_some_and(|end| path.ends_with(end))
                || glob.strip_suffix('*').is_some_and(|start| path.starts_with(start));
            for (n, line) in text.lines().enumerate().filter(|_| wanted) {
                if words.iter().any(|word| line.contains(word)) {
                    lines.push(format!("{path}:{}: {line}", n + 1));
                }
            }
        }
        if lines.is_empty() { "No matches found".to_owned() } else { lines.join("\n") }
    }

    fn read(&self, path: &str, arguments: &serde_json::Value) -> Result<String, String> {
        let (_, text) = self
            .0
            .iter()
            .find(|(known, _)| *known == path)
            .ok_or_else(|| format!("`{path}` does not exist."))?;
        let offset = arguments["offset"].as_u64().unwrap_or(1) as usize;
        let limit = arguments["limit"].as_u64().unwrap_or(2_000) as usize;
        let lines: Vec<&str> = text.lines().skip(offset - 1).collect();
        let shown = lines.iter().take(limit).copied().collect::<Vec<_>>().join("\n");
        Ok(if lines.len() > limit {
            let (more, next) = (lines.len() - limit, offset + limit);
            format!("{shown}\n\n[{more} more lines; use offset={next} to continue]")
        } else {
            shown
        })
    }
}
