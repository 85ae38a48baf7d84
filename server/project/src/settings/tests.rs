//! Each key with good and bad values, hostile files, and who may set what.

use std::fs;

use serde_json::{Value, json};
use vocab::PermissionMode;

use super::*;

fn client(section: &Value) -> SettingsLayer {
    from_client(section)
}

/// A layer that is read from a file, as the project's is.
fn project(content: &str) -> SettingsLayer {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".adjutant")).unwrap();
    fs::write(folder.path().join(".adjutant/settings.json"), content).unwrap();
    load_project(folder.path())
}

fn nothing() -> SettingsLayer {
    SettingsLayer::default()
}

fn merge_all(user: &Value, project_file: &Value, client_section: &Value) -> Merged {
    Settings::merge(&client(user), &project(&project_file.to_string()), &client(client_section), true)
}

/// Every key with a value that differs from its default, and values that are not allowed.
fn samples() -> Vec<(&'static str, Value, Vec<Value>)> {
    let whole = |good: u64, too_much: u64| {
        (json!(good), vec![json!(too_much), json!(-1), json!(1.5), json!("3"), json!([])])
    };
    let flag = |good: bool| (json!(good), vec![json!("true"), json!(1), json!({})]);
    let word =
        |good: &str| (json!(good), vec![json!(""), json!("ASK"), json!("nonsense"), json!(true), json!(0)]);
    let text = |good: &str| (json!(good), vec![json!(""), json!(" \t"), json!(7), json!(true), json!(["a"])]);
    let list =
        || (json!(["a", "b"]), vec![json!("a"), json!([1]), json!([""]), json!(["a", null]), json!({})]);
    let week = 604_800_000;
    let rows = [
        ("maxConcurrent", whole(65_536, 65_537)),
        ("defaultMaxTurns", whole(10_000, 10_001)),
        ("graceTurns", whole(1000, 1001)),
        ("maxSubagentDepth", whole(16, 17)),
        ("defaultJoinMode", word("async")),
        ("backgroundByDefault", flag(false)),
        ("fallbackSubagent", text("Explore")),
        ("disableDefaultAgents", flag(true)),
        ("toolDescriptionMode", word("compact")),
        ("showCost", flag(true)),
        ("reportUsage", flag(true)),
        ("outputTranscript", flag(false)),
        ("model", text("provider/id")),
        ("editorModels", flag(true)),
        ("retry.enabled", flag(false)),
        ("retry.maxRetries", whole(100, 101)),
        ("retry.baseDelayMs", whole(600_000, 600_001)),
        ("compaction.enabled", flag(false)),
        ("compaction.reserveTokens", whole(1, 10_000_001)),
        ("compaction.keepRecentTokens", whole(0, 10_000_001)),
        ("permissions.mode", word("auto-edit")),
        ("permissions.allow", list()),
        ("permissions.deny", list()),
        ("permissions.answerLimitMs", whole(week, week + 1)),
        ("limits.wallClockMs", whole(week, week + 1)),
        ("limits.idleMs", whole(0, week + 1)),
        ("limits.noProgressTurns", whole(0, 100_001)),
        ("limits.tokens", (json!(9_000_000_000_u64), vec![json!(-1), json!(0.5), json!("1")])),
        ("limits.costUsd", (json!(2.5), vec![json!(-0.1), json!("2.5"), json!([])])),
        ("limits.descendants", whole(0, 1_000_001)),
        ("limits.identicalCalls", whole(0, 100_001)),
        ("delivery.holdMs", whole(0, 3_600_001)),
        ("delivery.joinMs", whole(0, 3_600_001)),
        ("delivery.stragglerMs", whole(0, 3_600_001)),
        ("sandbox.commands", word("off")),
        ("retention.days", whole(0, 36_501)),
        ("log.level", word("trace")),
        ("extensions.disabled", list()),
    ];
    rows.into_iter().map(|(key, (good, bad))| (key, good, bad)).collect()
}

#[test]
fn the_samples_name_every_known_key() {
    let mut sampled: Vec<_> = samples().into_iter().map(|(key, ..)| key.to_owned()).collect();
    sampled.sort();
    assert_eq!(sampled, known_keys().keys().cloned().collect::<Vec<_>>());
    assert!(known_keys().values().all(|key| !key.allowed().is_empty()));
}

#[test]
fn every_key_takes_its_values() {
    for (key, good, _) in samples() {
        let merged = Settings::merge(&nothing(), &nothing(), &client(&json!({ key: good })), true);
        assert_eq!(merged.warnings, [], "{key}");
        assert_eq!(merged.value(key), Some((good, Origin::Client)), "{key}");
        assert_ne!(merged.settings, Settings::default(), "{key} changes something");
    }
}

#[test]
fn a_bad_value_drops_its_key_alone_and_says_what_is_allowed() {
    for (key, _, bad) in samples() {
        for value in bad {
            let other = if key == "showCost" { "editorModels" } else { "showCost" };
            let file = json!({ key: value, other: true }).to_string();
            let layer = project(&file);
            let [warning] = layer.warnings() else { panic!("{key} = {value}: {:?}", layer.warnings()) };
            let text = warning.to_string();
            assert!(text.contains("settings.json") && text.contains(key), "{text}");
            assert!(text.contains(&known_keys()[key].allowed()), "{text}");
            let merged = Settings::merge(&nothing(), &layer, &nothing(), true);
            assert_eq!(merged.origins.keys().collect::<Vec<_>>(), [other], "{key} = {value}");
        }
    }
}

#[test]
fn everything_at_once_survives_the_way_through_the_type() {
    let all: serde_json::Map<_, _> =
        samples().into_iter().map(|(key, good, _)| (key.to_owned(), good)).collect();
    let merged = Settings::merge(&nothing(), &nothing(), &client(&Value::Object(all.clone())), true);
    for (key, value) in all {
        assert_eq!(merged.value(&key).unwrap().0, value, "{key}");
    }
    assert_eq!(merged.value("no.such"), None);
    let defaults = Merged::default();
    assert_eq!(defaults.value("limits.idleMs"), Some((json!(300_000), Origin::Default)));
}

#[test]
fn a_dot_is_nesting_and_whole_floats_are_whole_numbers() {
    let flat = client(&json!({ "permissions.mode": "plan", "limits.idleMs": 5.0 }));
    let nested = client(&json!({ "permissions": { "mode": "plan" }, "limits": { "idleMs": 5 } }));
    assert_eq!(flat, nested);
    let both =
        client(&json!({ "permissions.mode": "plan", "permissions": { "mode": "auto", "deny": ["x"] } }));
    assert!(both.warnings()[0].to_string().contains("twice"));
    let group = client(&json!({ "permissions": "ask" }));
    assert!(group.warnings()[0].message.contains("object"));
}

#[test]
fn the_later_source_wins_a_key() {
    let merged = merge_all(
        &json!({ "maxConcurrent": 1, "graceTurns": 2, "retry.maxRetries": 4 }),
        &json!({ "maxConcurrent": 3, "graceTurns": 4 }),
        &json!({ "maxConcurrent": 5 }),
    );
    let (settings, origins) = (&merged.settings, &merged.origins);
    assert_eq!((settings.max_concurrent, settings.grace_turns, settings.retry.max_retries), (5, 4, 4));
    assert_eq!(
        (origins["maxConcurrent"], origins["graceTurns"], origins["retry.maxRetries"]),
        (Origin::Client, Origin::Project, Origin::User)
    );
    assert!(merged.warnings.is_empty());
}

#[test]
fn an_untrusted_project_counts_for_nothing() {
    let project = project(r#"{ "maxConcurrent": 3, "permissions": { "deny": ["x"] }, "graceTurns": "bad" }"#);
    let merged = Settings::merge(&nothing(), &project, &nothing(), false);
    assert_eq!(merged, Merged::default());
}

#[test]
fn a_projects_mode_only_makes_it_stricter() {
    use PermissionMode::{Ask, Auto, AutoEdit, Plan};
    for (own, theirs, surface, in_force) in [
        (None, "auto", Ask, Ask),
        (None, "auto", Plan, Plan),
        (None, "plan", Ask, Plan),
        (Some("auto"), "ask", Ask, Ask),
        (Some("auto"), "auto-edit", Ask, AutoEdit),
        (Some("plan"), "auto", Ask, Plan),
        (Some("auto"), "auto", Ask, Auto),
    ] {
        let own = own.map_or(json!({}), |mode| json!({ "permissions.mode": mode }));
        for (user, client) in [(own.clone(), json!({})), (json!({}), own.clone())] {
            let merged = merge_all(&user, &json!({ "permissions": { "mode": theirs } }), &client);
            assert_eq!(merged.settings.permission_mode(surface), in_force, "{own} and {theirs}");
        }
    }
    assert_eq!(Settings::default().permission_mode(Plan), Plan);
}

#[test]
fn a_project_narrows_and_cannot_widen() {
    let merged = merge_all(
        &json!({ "permissions.deny": ["bash(rm *)"], "permissions.allow": ["read"] }),
        &json!({
            "permissions": { "allow": ["bash"], "deny": ["write", "bash(rm *)"], "answerLimitMs": 1 },
            "extensions": { "disabled": ["mcp"] },
            "sandbox": { "commands": "off" },
            "retention": { "days": 1 },
            "log": { "level": "trace" },
        }),
        &json!({ "extensions.disabled": ["other"] }),
    );
    let settings = &merged.settings;
    assert_eq!(settings.permissions.allow, ["read"]);
    assert_eq!(settings.permissions.deny, ["bash(rm *)", "write"]);
    assert_eq!(settings.extensions.disabled, ["other", "mcp"]);
    assert_eq!(settings.permissions.answer_limit_ms, 0);
    assert_eq!((settings.sandbox.commands, settings.retention.days), (SandboxMode::Auto, 30));
    assert_eq!(settings.log.level, LogLevel::Info);
    let refused: Vec<_> = merged.warnings.iter().filter_map(|warning| warning.key.as_deref()).collect();
    let expected =
        ["log.level", "permissions.allow", "permissions.answerLimitMs", "retention.days", "sandbox.commands"];
    assert_eq!(refused, expected);
    let stricter =
        merge_all(&json!({}), &json!({ "sandbox.commands": "on" }), &json!({ "sandbox.commands": "off" }));
    assert_eq!(stricter.settings.sandbox.commands, SandboxMode::On);
}

#[test]
fn nothing_from_the_client_changes_nothing() {
    for section in
        [json!(null), json!({}), json!({ "model": null, "limits": null, "retry": { "enabled": null } })]
    {
        let layer = client(&section);
        assert!(layer.is_empty() && layer.warnings().is_empty(), "{section}");
    }
    for section in [json!([]), json!("x"), json!(3)] {
        assert_eq!(client(&section).warnings().len(), 1);
    }
    let mut layer = client(&json!({ "showCost": true, "graceTurns": 3 }));
    layer.overlay(client(&json!({ "graceTurns": 4, "showCost": null })));
    assert_eq!(layer.values, client(&json!({ "showCost": true, "graceTurns": 4 })).values);
}

#[test]
fn a_clients_own_keys_are_passed_over_and_a_files_unknown_ones_are_named() {
    assert!(client(&json!({ "server.path": "/x", "trace": { "server": "verbose" } })).warnings().is_empty());
    let layer = project(r#"{ "maxConcurent": 3, "widgetMode": "all", "permissions": { "modes": "ask" } }"#);
    let texts: Vec<_> = layer.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].contains("maxConcurent") && texts[0].contains("not a known"));
    assert!(texts[1].contains("permissions.modes"));
    assert!(texts[2].contains("no effect"));
}

#[test]
fn hostile_files_are_named_and_count_as_empty() {
    let deep = "[".repeat(100_000);
    let many = format!("{{{}}}", (0..5000).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(","));
    let huge = format!("{{\"model\":\"{}\"}}", "x".repeat(1024 * 1024));
    for (content, line, told) in [
        ("{\n  \"showCost\": true,\n}", Some(3), "JSON"),
        ("{\n\"showCost\": true\n", Some(3), "JSON"),
        ("{ \"a\": \"\\ud800\" }", Some(1), "JSON"),
        ("[]", None, "object"),
        ("\"text\"", None, "object"),
        (deep.as_str(), Some(1), "JSON"),
        (huge.as_str(), None, "larger"),
    ] {
        let layer = project(content);
        assert!(layer.is_empty());
        assert_eq!(layer.warnings().len(), 1);
        let warning = &layer.warnings()[0];
        assert_eq!(warning.line, line, "{warning}");
        assert!(warning.message.contains(told) && warning.to_string().contains("settings.json"), "{warning}");
    }
    assert_eq!(project(&many).warnings().len(), 50);
    for empty in ["", " \n"] {
        assert_eq!(project(empty).warnings(), []);
    }
}

#[test]
fn other_encodings_marks_and_missing_files() {
    let folder = tempfile::tempdir().unwrap();
    let dirs = crate::StateDirs::at(folder.path());
    assert_eq!((load_user(&dirs).is_empty(), load_user(&dirs).warnings()), (true, &[][..]));
    fs::write(dirs.settings_file(), b"\xef\xbb\xbf{\r\n\"showCost\": true }").unwrap();
    assert!(!load_user(&dirs).is_empty());
    fs::write(dirs.settings_file(), b"{\n\"model\": \"caf\xe9\" }").unwrap();
    assert_eq!(load_user(&dirs).warnings()[0].line, Some(2));
    fs::write(dirs.settings_file(), b"\xff\xfe{\0}\0").unwrap();
    assert!(load_user(&dirs).warnings()[0].message.contains("UTF-8"));
    fs::remove_file(dirs.settings_file()).unwrap();
    fs::create_dir(dirs.settings_file()).unwrap();
    assert!(load_user(&dirs).warnings()[0].message.contains("regular file"));
}

#[test]
fn the_fallback_is_strict_for_false_and_none() {
    use crate::agent_types::Fallback;
    for (value, fallback) in [
        (json!(false), Fallback::Refuse),
        (json!(" None "), Fallback::Refuse),
        (json!("off"), Fallback::Named("off".into())),
        (json!(null), Fallback::GeneralPurpose),
        (json!(true), Fallback::GeneralPurpose),
    ] {
        let merged =
            Settings::merge(&nothing(), &nothing(), &client(&json!({ "fallbackSubagent": value })), true);
        assert_eq!(merged.settings.fallback(), fallback, "{value}");
    }
}

#[test]
fn writing_a_key_leaves_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    fs::write(
        &file,
        r#"{ "permissions.mode": "ask", "permissions": { "deny": ["x"] }, "later": { "a": 1 } }"#,
    )
    .unwrap();
    write_key(&file, "permissions.mode", &json!("plan")).unwrap();
    write_key(&file, "graceTurns", &json!(7)).unwrap();
    let read = |file| serde_json::from_str::<Value>(&fs::read_to_string(file).unwrap()).unwrap();
    let expected = json!({
        "graceTurns": 7, "later": { "a": 1 }, "permissions": { "deny": ["x"], "mode": "plan" },
    });
    assert_eq!(read(&file), expected);
    write_key(&file, "graceTurns", &Value::Null).unwrap();
    assert_eq!(read(&file).get("graceTurns"), None);
    let before = fs::read_to_string(&file).unwrap();
    assert!(matches!(write_key(&file, "graceTurn", &json!(7)), Err(WriteError::UnknownKey(_))));
    let error = write_key(&file, "graceTurns", &json!(0)).unwrap_err();
    assert_eq!(error.to_string(), "graceTurns must be a whole number from 1 to 1000");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_file_that_cannot_be_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    for broken in ["{ \"a\": 1, }", "[]"] {
        fs::write(&file, broken).unwrap();
        assert!(matches!(write_key(&file, "showCost", &json!(true)), Err(WriteError::Unreadable(_))));
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    }
    let fresh = folder.path().join("fresh.json");
    write_key(&fresh, "showCost", &json!(true)).unwrap();
    assert_eq!(fs::read_to_string(&fresh).unwrap(), "{\n  \"showCost\": true\n}\n");
}
