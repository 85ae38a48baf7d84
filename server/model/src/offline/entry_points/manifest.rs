//! What manifests say: names, programs, scripts and targets.

use serde_json::Value;

use crate::offline::output::{Output, count, short};

/// Names of manifests.
pub(super) const NAMES: [&str; 19] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "Makefile",
    "justfile",
    "CMakeLists.txt",
    "meson.build",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "build.zig",
    "Dockerfile",
    "compose.yaml",
    "docker-compose.yml",
];

/// Scripts, targets and members that are named.
const SHOWN: usize = 8;

/// The extension of the language that a manifest speaks for.
pub(super) fn language(name: &str) -> Option<&'static str> {
    Some(match name {
        "Cargo.toml" => "rs",
        "package.json" => "js",
        "pyproject.toml" | "setup.py" => "py",
        "go.mod" => "go",
        "CMakeLists.txt" | "meson.build" => "c",
        "pom.xml" | "build.gradle" | "build.gradle.kts" => "java",
        _ => return None,
    })
}

/// What people usually type.
pub(super) fn convention(name: &str) -> Option<&'static str> {
    Some(match name {
        "Cargo.toml" => "`cargo build`, `cargo test`, `cargo run`",
        "package.json" => "`npm install`, then `npm run` with one of its scripts",
        "pyproject.toml" | "setup.py" => "`pip install .`",
        "go.mod" => "`go build ./...`, `go test ./...`",
        "Makefile" => "`make`",
        "justfile" => "`just`",
        "CMakeLists.txt" => "`cmake -B build`, `cmake --build build`",
        "meson.build" => "`meson setup build`, `ninja -C build`",
        "pom.xml" => "`mvn package`",
        "build.gradle" | "build.gradle.kts" => "`gradle build`",
        "Gemfile" => "`bundle install`",
        "composer.json" => "`composer install`",
        "mix.exs" => "`mix deps.get`, `mix test`",
        "build.zig" => "`zig build`",
        "Dockerfile" => "`docker build .`",
        "compose.yaml" | "docker-compose.yml" => "`docker compose up`",
        _ => return None,
    })
}

/// What a manifest says, on one line.
pub(super) fn describe(name: &str, output: Output<'_>) -> String {
    let facts = match name {
        "Cargo.toml" => cargo(output.body),
        "pyproject.toml" => python(output.body),
        "package.json" => node(output.body),
        "go.mod" => output
            .lines()
            .find_map(|line| line.strip_prefix("module "))
            .map(|m| format!("module {m}"))
            .into_iter()
            .collect(),
        "Makefile" | "justfile" => targets(output.body),
        _ => Vec::new(),
    };
    if facts.is_empty() {
        return output.file_lines().map_or_else(|| "read in part".to_owned(), |n| count(n as usize, "line"));
    }
    short(&facts.join("; "), 400)
}

/// Keys with plain values of a TOML file, with the section that they are in. Not a full reader: what it does not
/// understand it leaves out.
fn toml(body: &str) -> Vec<(&str, &str, &str)> {
    let mut section = "";
    let mut keys = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            section = head.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
        } else if let Some((key, value)) = line.split_once('=') {
            keys.push((section, key.trim(), value.trim().trim_matches('"')));
        }
    }
    keys
}

fn value<'b>(keys: &[(&'b str, &'b str, &'b str)], section: &str, key: &str) -> Option<&'b str> {
    keys.iter().find(|(s, k, _)| *s == section && *k == key).map(|(.., value)| *value)
}

fn cargo(body: &str) -> Vec<String> {
    let keys = toml(body);
    let mut facts = Vec::new();
    if let Some(name) = value(&keys, "package", "name") {
        facts.push(format!("package {name}"));
    }
    if let Some(members) = value(&keys, "workspace", "members") {
        facts.push(format!("workspace of {members}"));
    }
    let programs: Vec<_> =
        keys.iter().filter(|(s, k, _)| *s == "bin" && *k == "name").map(|(.., name)| *name).collect();
    if !programs.is_empty() {
        facts.push(format!("programs: {}", programs.join(", ")));
    }
    facts
}

fn python(body: &str) -> Vec<String> {
    let keys = toml(body);
    let mut facts = Vec::new();
    if let Some(name) = value(&keys, "project", "name").or_else(|| value(&keys, "tool.poetry", "name")) {
        facts.push(format!("project {name}"));
    }
    let scripts =
        keys.iter().filter(|(section, ..)| ["project.scripts", "tool.poetry.scripts"].contains(section));
    let scripts: Vec<_> = scripts.take(SHOWN).map(|(_, key, value)| format!("{key} = {value}")).collect();
    if !scripts.is_empty() {
        facts.push(format!("scripts: {}", scripts.join(", ")));
    }
    facts
}

fn node(body: &str) -> Vec<String> {
    let Ok(Value::Object(package)) = serde_json::from_str(body) else { return Vec::new() };
    let mut facts = Vec::new();
    for key in ["name", "main"] {
        if let Some(text) = package.get(key).and_then(Value::as_str) {
            facts.push(format!("{key} {text}"));
        }
    }
    match package.get("bin") {
        Some(Value::String(path)) => facts.push(format!("program {path}")),
        Some(Value::Object(programs)) => {
            let names: Vec<_> = programs.keys().take(SHOWN).map(String::as_str).collect();
            facts.push(format!("programs: {}", names.join(", ")));
        }
        _ => {}
    }
    if let Some(Value::Object(scripts)) = package.get("scripts") {
        let names: Vec<_> = scripts.keys().take(SHOWN).map(String::as_str).collect();
        let more = if scripts.len() > names.len() { ", …" } else { "" };
        facts.push(format!("{}: {}{more}", count(scripts.len(), "script"), names.join(", ")));
    }
    facts
}

fn targets(body: &str) -> Vec<String> {
    let target = |line: &'_ str| {
        let (name, rest) = line.split_once(':')?;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        (plain && !name.starts_with('.') && !rest.starts_with('=')).then(|| name.to_owned())
    };
    let names: Vec<String> = body.lines().filter_map(target).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    vec![format!("{}: {shown}{}", count(names.len(), "target"), if names.len() > SHOWN { ", …" } else { "" })]
}

#[cfg(test)]
mod tests {
    use super::describe;
    use crate::offline::output::Output;

    #[test]
    fn manifests_say_what_they_hold() {
        let said = |name, body| describe(name, Output::of(body));
        assert_eq!(
            said(
                "Cargo.toml",
                "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n[workspace]\nmembers = [\"x\"]"
            ),
            "package a; workspace of [\"x\"]; programs: b"
        );
        assert_eq!(
            said("package.json", r#"{"name":"p","scripts":{"build":"x","test":"y"},"bin":{"p":"p.js"}}"#),
            "name p; programs: p; 2 scripts: build, test"
        );
        assert_eq!(said("package.json", "{ broken"), "1 line");
        assert_eq!(
            said("pyproject.toml", "[project]\nname = \"q\"\n[project.scripts]\nrun = \"q:main\""),
            "project q; scripts: run = q:main"
        );
        assert_eq!(said("go.mod", "module example.org/m\n\ngo 1.22"), "module example.org/m");
        assert_eq!(said("Makefile", ".PHONY: all\nall: x\nX := 1\nclean:\n\trm"), "2 targets: all, clean");
        assert_eq!(said("Dockerfile", "FROM scratch"), "1 line");
    }
}
