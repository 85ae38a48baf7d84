//! Folders of agent files, good, odd and hostile, and finding a type by name.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vocab::{Budget, PermissionMode, ThinkingLevel};

use super::*;
use crate::{Diagnostic, Severity, StateDirs};

struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(folder.agents()).unwrap();
        for (name, text) in files {
            fs::write(folder.agents().join(name), text).unwrap();
        }
        folder
    }

    fn agents(&self) -> PathBuf {
        self.root.path().join(".adjutant/agents")
    }

    fn confined(&self) -> AgentFolder {
        AgentFolder { path: self.agents(), confined_to: Some(self.root.path().into()) }
    }

    fn load(&self) -> (AgentTypes, Vec<Diagnostic>) {
        AgentTypes::load(false, &[self.confined()])
    }
}

/// The only type of a folder with this one file, and what was found.
fn read_one(frontmatter: &str) -> (Arc<AgentType>, Vec<String>) {
    let folder = Folder::with(&[("one.md", &format!("---\n{frontmatter}\n---\nBody"))]);
    let (types, found) = folder.load();
    let found: Vec<_> =
        found.into_iter().map(|one| format!("{:?} {}", one.line.unwrap_or(0), one.message)).collect();
    let one = types.all().next().unwrap_or_else(|| panic!("{frontmatter} loads: {found:?}")).clone();
    (one, found)
}

/// The finding that puts a file out of use.
fn refused(text: &str) -> Diagnostic {
    let (types, found) = Folder::with(&[("one.md", text)]).load();
    assert_eq!(types.all().count(), 0, "{text}");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].severity, Severity::Error);
    found.into_iter().next().unwrap()
}

fn names(types: &AgentTypes) -> Vec<&str> {
    types.all().map(|one| one.name.as_str()).collect()
}

#[test]
fn without_folders_there_are_the_three_built_in_types() {
    let (types, found) =
        AgentTypes::load(true, &[AgentFolder { path: "/no/such".into(), confined_to: None }]);
    assert_eq!(names(&types), ["general-purpose", "Explore", "Plan"]);
    assert_eq!(found, []);
    assert!(types.all().all(|one| one.source == Source::Builtin && one.enabled && one.model.is_none()));
    let general = types.get("general-purpose").unwrap();
    assert_eq!((general.label(), general.prompt.as_str()), ("Agent", ""));
    assert_eq!(general.prompt_mode, PromptMode::Append);
    for name in ["Explore", "Plan"] {
        let one = types.get(name).unwrap();
        assert!(one.allows_tool("read") && !one.allows_tool("edit") && !one.allows_tool("write"));
        assert!(one.prompt.contains("without exception"));
        assert_eq!(one.permission_mode, Some(PermissionMode::Plan), "read-only is more than a request");
    }
    assert_eq!(AgentTypes::load(false, &[]).0.all().count(), 0);
}

#[test]
fn every_field_is_read() {
    let (one, found) = read_one(
        "name: reviewer\ndisplay_name: Code Reviewer\ndescription: Reviews.\ncolor: \"#ff0000\"\ntools: read, grep\n\
         disallowed_tools: [bash]\nmodel: provider/id\nthinking: xhigh\nmax_turns: 0\nbudget_tokens: 5000\nbudget_cost_usd: 0.5\n\
         output_transcript: false\nprompt_mode: append\n\
         inherit_context: true\nrun_in_background: false\nisolated: true\nisolation: worktree\nenabled: false\n\
         allowed_subagents: Explore, Plan\npermission_mode: auto-edit",
    );
    assert_eq!(found, [] as [&str; 0]);
    let expected = AgentType {
        name: "reviewer".into(),
        display_name: Some("Code Reviewer".into()),
        description: "Reviews.".into(),
        color: Some("#ff0000".into()),
        tools: ToolSelection::Listed(vec!["read".into(), "grep".into()]),
        disallowed_tools: vec!["bash".into()],
        model: Some("provider/id".into()),
        thinking: Some(ThinkingLevel::Xhigh),
        max_turns: Some(0),
        budget: Budget { tokens: Some(5000), cost_usd: Some(0.5) },
        prompt_mode: PromptMode::Append,
        prompt: "Body".into(),
        inherit_context: Some(true),
        run_in_background: Some(false),
        isolated: Some(true),
        isolation: Some(IsolationChoice::Worktree),
        enabled: false,
        output_transcript: Some(false),
        allowed_subagents: SubagentGrant::Listed(vec!["Explore".into(), "Plan".into()]),
        permission_mode: Some(PermissionMode::AutoEdit),
        source: one.source.clone(),
    };
    assert_eq!(*one, expected);
    assert!(one.file().unwrap().ends_with(".adjutant/agents/one.md"));
}

#[test]
fn an_absent_and_a_blank_field_leave_the_choice_to_the_call() {
    let blank = "display_name:\ndescription: ~\ncolor: null\nmodel:\nthinking:\nmax_turns:\nprompt_mode:\n\
                 inherit_context:\nrun_in_background:\nisolated:\nisolation:\nenabled:\nallowed_subagents:\n\
                 disallowed_tools:\npermission_mode:\nbudget_tokens:\nbudget_cost_usd:\noutput_transcript:\nname:";
    let (empty, _) = read_one("");
    let (blank, found) = read_one(blank);
    assert_eq!(found, [] as [&str; 0]);
    for one in [empty, blank] {
        assert_eq!((one.name.as_str(), one.description.as_str(), one.label()), ("one", "one", "one"));
        assert_eq!(one.tools, ToolSelection::all());
        assert_eq!((one.inherit_context, one.isolated, one.run_in_background), (None, None, None));
        assert_eq!((one.enabled, one.max_turns, one.permission_mode), (true, None, None));
        assert_eq!((one.budget, one.output_transcript), (Budget::default(), None));
        assert_eq!((one.prompt_mode, &one.allowed_subagents), (PromptMode::Replace, &SubagentGrant::None));
    }
}

#[test]
fn every_wrong_value_is_named_with_its_line_and_does_not_count() {
    let default = read_one("").0;
    let wrong = [
        ("display_name", vec!["3", "[a]", "true", "\"\""]),
        ("description", vec!["3", "{a: b}", "\" \""]),
        ("color", vec!["7", "[red]"]),
        ("model", vec!["\"\"", "4", "true"]),
        ("thinking", vec!["HIGH", "lots", "3", "true"]),
        ("max_turns", vec!["-1", "1.5", "\"3\"", ".inf", ".nan", "10001", "true", "99999999999999999999999"]),
        ("prompt_mode", vec!["Append", "both", "true", "1"]),
        ("inherit_context", vec!["\"true\"", "yes", "1", "[true]"]),
        ("run_in_background", vec!["\"false\"", "off", "0"]),
        ("isolated", vec!["\"true\"", "on", "'yes'"]),
        ("isolation", vec!["copy", "true", "1", "[]"]),
        ("enabled", vec!["\"false\"", "no", "0"]),
        ("output_transcript", vec!["\"false\"", "yes", "1", "[true]"]),
        ("name", vec!["3", "[a]", "\" \""]),
        ("allowed_subagents", vec!["3", "{a: b}", "[1]"]),
        ("extensions", vec!["false"]),
        ("memory", vec!["user"]),
        ("descripton", vec!["typo"]),
    ];
    for (key, values) in wrong {
        for value in values {
            let (one, found) = read_one(&format!("# a comment\n{key}: {value}"));
            let path = one.source.clone();
            assert_eq!(*one, AgentType { source: path, ..(*default).clone() }, "{key}: {value}");
            assert_eq!(found.len(), 1, "{key}: {value}: {found:?}");
            assert!(found[0].starts_with(&format!("3 {key}: ")), "{key}: {value}: {found:?}");
        }
    }
}

#[test]
fn a_budget_that_cannot_be_read_is_the_smallest() {
    for value in ["0", "-1", "1.5", "5k", "\"5\"", ".inf", ".nan", "true", "[1]"] {
        let (one, found) = read_one(&format!("budget_tokens: {value}"));
        assert_eq!((one.budget, found.len()), (Budget { tokens: Some(1), cost_usd: None }, 1), "{value}");
        assert!(found[0].contains("budget_tokens: must be a whole number of at least 1"), "{found:?}");
    }
    for value in ["0", "-0.5", "\"1\"", ".inf", ".nan", "$1", "true"] {
        let (one, found) = read_one(&format!("budget_cost_usd: {value}"));
        let least = Budget { tokens: None, cost_usd: Some(f64::MIN_POSITIVE) };
        assert_eq!((one.budget, found.len()), (least, 1), "{value}");
        assert!(found[0].contains("budget_cost_usd: must be a number of US dollars above 0"), "{found:?}");
    }
}

#[test]
fn what_narrows_fails_closed() {
    for value in ["readonly", "3", "\"\"", "[plan]"] {
        let (one, found) = read_one(&format!("permission_mode: {value}"));
        assert_eq!(one.permission_mode, Some(PermissionMode::Plan), "{value}");
        assert!(found[0].contains("plan is used"), "{found:?}");
    }
    for value in ["3", "{a: b}", "[1, read]", "true"] {
        let (one, found) = read_one(&format!("tools: {value}"));
        assert_eq!(one.tools, ToolSelection::Listed(vec![]), "{value}");
        assert!(found[0].contains("no tools are given"), "{found:?}");
        let (one, found) = read_one(&format!("disallowed_tools: {value}"));
        assert_eq!(one.tool_scope(), "tools of extensions only", "{value}");
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn tools_are_all_none_or_names() {
    let listed = |names: &[&str]| ToolSelection::Listed(names.iter().map(|&name| name.to_owned()).collect());
    for (value, selection, findings) in [
        ("all", ToolSelection::all(), 0),
        ("\"*\"", ToolSelection::all(), 0),
        ("\"ALL, read\"", ToolSelection::all(), 0),
        ("none", listed(&[]), 0),
        ("None", listed(&[]), 0),
        ("\"\"", listed(&[]), 0),
        ("[]", listed(&[]), 0),
        ("\"read, , grep,read\"", listed(&["read", "grep"]), 0),
        ("[read, grep]", listed(&["read", "grep"]), 0),
        ("read", listed(&["read"]), 0),
        ("", ToolSelection::all(), 1),
        ("Read, grep", listed(&["Read", "grep"]), 1),
        ("search_web", listed(&["search_web"]), 1),
        ("\"*, search_web\"", ToolSelection::All { others: vec!["search_web".into()] }, 1),
        ("ext:server/tool", listed(&[]), 1),
        ("none, read", listed(&["none", "read"]), 1),
    ] {
        let (one, found) = read_one(&format!("tools: {value}"));
        assert_eq!((&one.tools, found.len()), (&selection, findings), "{value}: {found:?}");
    }
    let (one, _) = read_one("disallowed_tools: NONE");
    assert!(one.disallowed_tools.is_empty());
}

#[test]
fn isolation_can_be_vetoed_and_agents_granted() {
    for value in ["off", "none", "no", "false", "OFF"] {
        assert_eq!(
            read_one(&format!("isolation: {value}")).0.isolation,
            Some(IsolationChoice::Off),
            "{value}"
        );
    }
    for (value, grant) in [
        ("true", SubagentGrant::All),
        ("ALL", SubagentGrant::All),
        ("\"none, all\"", SubagentGrant::All),
        ("[\"*\"]", SubagentGrant::All),
        ("false", SubagentGrant::None),
        ("NONE", SubagentGrant::None),
        ("\"\"", SubagentGrant::None),
        ("[Plan]", SubagentGrant::Listed(vec!["Plan".into()])),
    ] {
        assert_eq!(read_one(&format!("allowed_subagents: {value}")).0.allowed_subagents, grant, "{value}");
    }
    let grant = SubagentGrant::Listed(vec!["Plan".into()]);
    assert!(grant.allows("plan") && !grant.allows("Explore"));
}

#[test]
fn names_come_from_the_field_or_the_file() {
    for (frontmatter, name) in
        [("name: code-review", "code-review"), ("name: \" Code Reviewer \"", "Code Reviewer")]
    {
        assert_eq!(read_one(frontmatter).0.name, name);
    }
    assert!(refused("---\nname: a:b\n---\n").message.contains(':'));
    assert_eq!(refused("---\nx: y\nname: \"a\\nb\"\n---\n").line, Some(3));
    assert!(refused(&format!("---\nname: {}\n---\n", "x".repeat(65))).message.contains("64"));
    let (types, found) =
        Folder::with(&[(".foo.md", "---\n---\n"), ("X.MD", "---\n---\n"), ("y.txt", "")]).load();
    assert_eq!((names(&types), found.len()), (vec![".foo"], 0));
}

#[test]
fn yaml_is_version_1_2_and_strict() {
    let (one, found) = read_one("description: 'a: b # c'\nenabled: True\nmodel: &m x/y\ncolor: *m");
    assert_eq!((one.description.as_str(), one.color.as_deref(), found.len()), ("a: b # c", Some("x/y"), 0));
    assert_eq!(read_one("description: no").0.description, "no");
    assert_eq!(read_one("description: audit #x").0.description, "audit", "a blank and # begin a comment");
    assert_eq!(read_one("description: >\n  two\n  lines").0.description.trim(), "two lines");
    for (text, line) in [
        ("---\ncolor: red\nenabled: true\nenabled: false\n---\n", Some(4)),
        ("---\ntools: *\n---\n", Some(2)),
        ("---\nname: x\ndescription: a: b\n---\n", Some(3)),
        ("---\nname: x\ntools:\n\t- read\n---\n", Some(4)),
        ("---\nname: \"x\n---\n", None),
        ("---\nname: x\n--- x\ntools: none\n---\n", None),
        ("---\n<<: {name: x}\n---\n", Some(2)),
        ("---\n- a\n- b\n---\n", Some(1)),
        ("---\njust text\n---\n", Some(1)),
        ("---\n42\n---\n", Some(1)),
        ("---\nname: x\n", Some(1)),
        ("---\nname: x\n----\n", Some(1)),
        ("---\ntools: [read\n---\n", None),
        ("---\nname: \u{0}\n---\n", None),
    ] {
        let found = refused(text);
        if line.is_some() {
            assert_eq!(found.line, line, "{text:?}: {found}");
        }
        assert!(found.message.len() < 400 && !found.message.contains('\n'), "{found}");
    }
}

#[test]
fn marks_line_ends_and_missing_frontmatter() {
    let bom = "\u{feff}---\r\ndescription: d\r\n--- \r\n\r\nBody\r\nmore\r\n";
    let (types, found) = Folder::with(&[("a.md", bom)]).load();
    let a = types.get("a").unwrap();
    assert_eq!((a.description.as_str(), a.prompt.as_str(), found.len()), ("d", "Body\nmore", 0));
    let (types, found) = Folder::with(&[("README.md", "# Agents\n---\nname: x\n---\n")]).load();
    assert!(types.get("README").unwrap().prompt.starts_with("# Agents"));
    assert!(found[0].message.contains("no frontmatter") && found[0].severity == Severity::Warning);
}

#[test]
fn bombs_are_refused_at_once() {
    let start = Instant::now();
    let mut aliases = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..20 {
        let before = format!("*a{}", n - 1);
        let _ = writeln!(aliases, "a{n}: &a{n} [{}]", [before.as_str(); 9].join(","));
    }
    for yaml in [
        aliases,
        format!("a: {}", "[".repeat(50_000)),
        format!("a: {}", "{b: ".repeat(50_000)),
        (0..30_000).map(|n| format!("k{n}: 1")).collect::<Vec<_>>().join("\n"),
        format!("a: [{}]", "1,".repeat(60_000)),
        "a: &a [*a]".to_owned(),
        "- ".repeat(5_000),
    ] {
        refused(&format!("---\n{yaml}\n---\n"));
    }
    let text = format!("---\nname: x\n---\n{}", "y".repeat(300 * 1024));
    assert!(refused(&text).message.contains("larger"));
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_folder_of_hostile_files_leaves_the_good_ones() {
    let folder =
        Folder::with(&[("good.md", "---\ndescription: fine\n---\n"), ("broken.md", "---\n[\n---\n")]);
    fs::write(folder.agents().join("latin.md"), b"---\nname: caf\xe9\n---\n").unwrap();
    fs::write(folder.agents().join("utf16.md"), b"\xff\xfe-\0-\0-\0").unwrap();
    fs::write(folder.agents().join("empty.md"), b"").unwrap();
    fs::create_dir(folder.agents().join("dir.md")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("/etc/hostname", folder.agents().join("escape.md")).unwrap();
        symlink("nowhere", folder.agents().join("dangling.md")).unwrap();
        symlink("loop.md", folder.agents().join("loop.md")).unwrap();
        symlink("good.md", folder.agents().join("inside.md")).unwrap();
        assert!(
            std::process::Command::new("mkfifo")
                .arg(folder.agents().join("pipe.md"))
                .status()
                .unwrap()
                .success()
        );
    }
    let (types, found) = folder.load();
    let loaded: BTreeSet<_> = names(&types).into_iter().collect();
    let out: BTreeSet<_> = found
        .iter()
        .filter(|one| one.severity == Severity::Error)
        .map(|one| one.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert!(loaded.contains("good") && loaded.contains("empty"));
    #[cfg(unix)]
    assert_eq!(loaded, ["empty", "good", "inside"].into());
    #[cfg(unix)]
    assert_eq!(out, ["broken.md", "dir.md", "escape.md", "latin.md", "pipe.md", "utf16.md"].into());
    assert!(out.contains("broken.md") && out.contains("latin.md"));
}

#[test]
fn a_later_folder_wins_and_the_place_stays() {
    let user = Folder::with(&[
        ("explore.md", "---\nname: Explore\ndescription: user\n---\n"),
        ("mine.md", "---\n---\n"),
    ]);
    let project = Folder::with(&[("e.md", "---\nname: Explore\ndescription: project\n---\n")]);
    let (types, found) = AgentTypes::load(true, &[user.confined(), project.confined()]);
    assert_eq!(names(&types), ["general-purpose", "Explore", "Plan", "mine"]);
    assert_eq!(types.get("Explore").unwrap().description, "project");
    assert_eq!(found, []);
    let twice =
        Folder::with(&[("a.md", "---\nname: x\ndescription: a\n---\n"), ("b.md", "---\nname: x\n---\n")]);
    let (types, found) = twice.load();
    assert_eq!((types.get("x").unwrap().description.as_str(), found.len()), ("x", 1));
    assert!(found[0].message.contains("a.md"));
}

#[test]
fn a_broken_file_says_what_stands_in_for_it() {
    let user = Folder::with(&[("r.md", "---\ndescription: user\n---\n")]);
    let project =
        Folder::with(&[("r.md", "---\n[\n---\n"), ("Plan.md", "---\n[\n---\n"), ("new.md", "---\n[\n---\n")]);
    let (types, found) = AgentTypes::load(true, &[user.confined(), project.confined()]);
    assert_eq!(types.get("r").unwrap().description, "user");
    let warnings: Vec<_> = found.iter().filter(|one| one.severity == Severity::Warning).collect();
    assert_eq!(warnings.len(), 2, "{found:?}");
    assert!(warnings[0].message.contains("built-in"));
    assert!(warnings[1].message.contains(user.root.path().to_str().unwrap()));
    let disabled = Folder::with(&[("r.md", "---\nenabled: false\n---\n")]);
    let (_, found) = AgentTypes::load(false, &[disabled.confined(), project.confined()]);
    assert!(found.iter().all(|one| one.severity == Severity::Error), "a disabled one supplies nothing");
}

#[test]
fn only_a_trusted_workspace_has_agent_files() {
    let folder = Folder::with(&[("evil.md", "---\n---\n")]);
    let dirs = StateDirs::at(folder.root.path().join("home"));
    let load = |trusted| AgentTypes::load(false, &agent_folders(&dirs, folder.root.path(), trusted)).0;
    assert_eq!(names(&load(false)), [] as [&str; 0]);
    assert_eq!(names(&load(true)), ["evil"]);
    fs::create_dir_all(dirs.agents()).unwrap();
    fs::write(dirs.agents().join("own.md"), "---\n---\n").unwrap();
    assert_eq!(names(&load(false)), ["own"]);
}

#[test]
fn dispatch_is_exact_and_guesses_nothing() {
    let folder = Folder::with(&[
        ("a.md", "---\nname: Twin\n---\n"),
        ("b.md", "---\nname: TWIN\n---\n"),
        ("c.md", "---\nname: Off\nenabled: false\n---\n"),
        ("d.md", "---\nname: Ärger\n---\n"),
    ]);
    let (types, _) = AgentTypes::load(true, &[folder.confined()]);
    let found = |name: &str| types.find(name).map(|one| one.name.as_str());
    assert_eq!(found(" EXPLORE "), Some("Explore"));
    assert_eq!(found("ärger"), Some("Ärger"));
    assert_eq!((found("Twin"), found("TWIN"), found("twin")), (Some("Twin"), Some("TWIN"), None));
    assert_eq!((found("Off"), found("off"), found(""), found("no")), (None, None, None, None));
    assert_eq!(types.find_lenient("off").unwrap().name, "Off");
    assert_eq!(types.find_lenient("twin").unwrap().name, "Twin");
}

#[test]
fn an_unknown_type_gets_what_the_policy_says() {
    let (types, _) = AgentTypes::load(true, &[]);
    let resolved = types.resolve("Plan", &Fallback::Refuse).unwrap();
    assert_eq!((resolved.agent_type.name.as_str(), resolved.substituted_for), ("Plan", None));
    for requested in ["nope", "", "  "] {
        let resolved = types.resolve(requested, &Fallback::default()).unwrap();
        assert_eq!(resolved.agent_type.name, "general-purpose");
        assert_eq!(resolved.substituted_for.as_deref(), Some(requested.trim()));
        let resolved = types.resolve(requested, &Fallback::Named("explore".into())).unwrap();
        assert_eq!(resolved.agent_type.name, "Explore");
    }
    let refusal = types.resolve("nope\n<x>", &Fallback::Refuse).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "There is no enabled agent type \"nope <x>\". Available types: general-purpose, Explore, Plan"
    );
    let refusal = types.resolve("", &Fallback::Refuse).unwrap_err().to_string();
    assert!(refusal.starts_with("No agent type was given"));
    let refusal = types.resolve("nope", &Fallback::Named("gone".into())).unwrap_err().to_string();
    assert!(refusal.contains("\"gone\"") && refusal.contains("fallbackSubagent"));
    let refusal = AgentTypes::default().resolve("nope", &Fallback::GeneralPurpose).unwrap_err();
    assert!(
        refusal.to_string().ends_with("(none)"),
        "no type with every tool stands in for one that is not there"
    );
}

#[test]
fn types_are_listed_with_their_tools() {
    let folder = Folder::with(&[(
        "a.md",
        "---\ndescription: \"Reads v1.2 files.  Then\\nmore.\"\nmodel: provider/some-model-20250101\ntools: read\n---\n",
    )]);
    let (types, _) = AgentTypes::load(false, &[folder.confined()]);
    assert_eq!(
        types.listing(ListingStyle::Full),
        "- a: Reads v1.2 files. Then more. (some-model) (Tools: read)"
    );
    assert_eq!(types.listing(ListingStyle::Compact), "- a: Reads v1.2 files. (Tools: read)");
    for (frontmatter, scope) in [
        ("", "*"),
        ("tools: ls, find, grep, write, edit, bash, read", "*"),
        ("tools: grep, read", "read, grep"),
        ("disallowed_tools: bash", "read, edit, write, grep, find, ls"),
        ("tools: none\nisolated: true", "none"),
        ("tools: none", "tools of extensions only"),
    ] {
        assert_eq!(read_one(frontmatter).0.tool_scope(), scope, "{frontmatter}");
    }
    let (types, _) =
        AgentTypes::load(false, &[Folder::with(&[("a.md", "---\nenabled: false\n---\n")]).confined()]);
    assert_eq!(types.listing(ListingStyle::Full), "");
}

#[test]
fn the_schema_has_the_fields_that_are_read() {
    let schema = schemars::schema_for!(AgentFile);
    let keys: Vec<_> = schema.as_value()["properties"].as_object().unwrap().keys().cloned().collect();
    assert!(
        schema.as_value()["properties"]
            .as_object()
            .unwrap()
            .values()
            .all(|one| one["description"].is_string())
    );
    for key in &keys {
        let (_, found) = read_one(&format!("{key}: {{not: allowed}}"));
        assert!(found.len() == 1 && !found[0].contains("not a known"), "{key}: {found:?}");
    }
    assert_eq!(keys.len(), 20, "a new field has a row in the tests above");
}

#[test]
fn a_custom_tool_description_is_the_first_that_says_something() {
    let folder = Folder::with(&[]);
    let dirs = StateDirs::at(folder.root.path().join("home"));
    fs::create_dir(dirs.config()).unwrap();
    let load = |trusted| custom_tool_description(&dirs, folder.root.path(), trusted);
    assert!(load(true).0.is_none() && load(true).1.len() == 1);
    fs::write(dirs.config().join("agent-tool-description.md"), "user").unwrap();
    fs::write(folder.root.path().join(".adjutant/agent-tool-description.md"), "project\n").unwrap();
    assert_eq!(load(true), (Some("project".into()), vec![]));
    assert_eq!(load(false), (Some("user".into()), vec![]));
    fs::write(folder.root.path().join(".adjutant/agent-tool-description.md"), " ").unwrap();
    assert_eq!((load(true).0.as_deref(), load(true).1.len()), (Some("user"), 1));
}

#[test]
fn placeholders_are_filled_once() {
    let values = [("typeList", "{{agentDir}} x"), ("empty", "")];
    let (text, unknown) =
        fill_placeholders("a {{typeList}}{{empty}} {{nope}} {{ typeList }} {{ {{x", &values);
    assert_eq!(text, "a {{agentDir}} x {{nope}} {{ typeList }} {{ {{x");
    assert_eq!(unknown, ["nope"]);
}
