//! Which crate may depend on which.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use support::root;

use crate::none;

/// A package's dependencies: name, and whether it is for tests only.
type Packages = BTreeMap<String, Vec<(String, bool)>>;

fn packages() -> Packages {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let read = |package: &Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.map(|one| (name(&one["name"]), one["kind"] == "dev")).collect();
        (name(&package["name"]), dependencies)
    };
    metadata["packages"].as_array().into_iter().flatten().map(read).collect()
}

fn name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn arrows_between_our_crates() {
    let allowed: &[(&str, &[&str])] = &[
        ("adjutant-vocab", &[]),
        ("adjutant-protocol", &["adjutant-vocab"]),
        ("adjutant-roster", &["adjutant-vocab"]),
        ("adjutant-model", &["adjutant-vocab"]),
        ("adjutant-project", &["adjutant-vocab"]),
        ("adjutant-session", &["adjutant-vocab", "adjutant-model"]),
    ];
    let packages = packages();
    let mut found = Vec::new();
    for (package, dependencies) in &packages {
        if package == "adjutant" || package == "adjutant-tests" {
            continue;
        }
        let Some((_, allowed)) = allowed.iter().find(|(name, _)| name == package) else {
            found.push(format!("{package} is new: say here what it may depend on"));
            continue;
        };
        let ours = dependencies.iter().map(|(name, _)| name).filter(|name| packages.contains_key(*name));
        found.extend(
            ours.filter(|name| !allowed.contains(&name.as_str())).map(|name| format!("{package} → {name}")),
        );
    }
    none("dependencies between our crates that DESIGN has no arrow for", &found);
}

#[test]
fn nobody_depends_on_the_hub_or_on_the_tests() {
    let of = |(package, dependencies): (&String, &Vec<(String, bool)>)| {
        let bad = dependencies.iter().any(|(name, _)| name == "adjutant" || name == "adjutant-tests");
        (bad && package != "adjutant-tests").then(|| package.clone())
    };
    none(
        "packages that depend on the hub or the tests",
        &packages().iter().filter_map(of).collect::<Vec<_>>(),
    );
}

#[test]
fn what_only_one_crate_may_use() {
    let homes: &[(&str, &[&str])] = &[
        ("reqwest", &["adjutant-model"]),
        ("rustls", &["adjutant-model"]),
        ("notify", &["adjutant-project"]),
        ("tower-lsp-server", &["adjutant"]),
        ("tower-lsp", &[]),
        ("clap", &["adjutant"]),
        ("anyhow", &["adjutant"]),
        ("tracing-subscriber", &["adjutant"]),
        ("axum", &["adjutant-tests"]),
        ("landlock", &["adjutant-session"]),
    ];
    let mut found = Vec::new();
    for (package, dependencies) in &packages() {
        for (dependency, for_tests) in dependencies {
            let home = homes.iter().find(|(name, _)| name == dependency);
            if home.is_some_and(|(_, homes)| !homes.contains(&package.as_str())) && !for_tests {
                found.push(format!("{package} uses {dependency}"));
            }
        }
    }
    none("dependencies outside the crate that they belong to", &found);
}

#[test]
fn the_core_is_pure() {
    let allowed = ["adjutant-vocab", "serde", "thiserror"];
    let roster = packages().remove("adjutant-roster").expect("there is a roster");
    let own = roster.into_iter().filter(|(_, for_tests)| !for_tests).map(|(name, _)| name);
    none(
        "dependencies of roster, which has no clock, no I/O and no tasks",
        &own.filter(|name| !allowed.contains(&name.as_str())).collect::<Vec<_>>(),
    );
}
