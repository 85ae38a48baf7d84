//! The registry: what is read, what is reported, and which model a name means.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::{Registry, RegistryOptions};
use crate::{Api, Diagnostic, EmbeddedModel, ModelError, Reply};

fn load(text: Option<&str>, env: &[(&str, &str)]) -> (Registry, Vec<Diagnostic>) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("models.json");
    if let Some(text) = text {
        std::fs::write(&path, text).expect("written");
    }
    let env: HashMap<_, _> = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = RegistryOptions { env: Arc::new(move |name| env.get(name).cloned()), ..Default::default() };
    Registry::load_with(&path, options)
}

fn resolved(registry: &Registry, query: &str) -> String {
    registry.resolve(query).map_or_else(|error| error.to_string(), |client| client.info().full_id())
}

#[test]
fn a_key_in_the_environment_is_enough() {
    let (registry, diagnostics) = load(None, &[("ANTHROPIC_API_KEY", "sk-a"), ("OPENAI_API_KEY", " ")]);
    assert_eq!(diagnostics, []);
    assert_eq!(resolved(&registry, "haiku"), "anthropic/claude-haiku-4-5");
    let client = registry.default_model(None).expect("there is one");
    assert_eq!(
        (client.info().full_id().as_str(), client.info().api),
        ("anthropic/claude-sonnet-4-5", Api::AnthropicMessages)
    );
    let error = registry.resolve("gpt-5.1").expect_err("no key");
    assert_eq!(
        error,
        ModelError::NoCredentials { provider: "openai".into(), variable: "OPENAI_API_KEY".into() }
    );
    let listed = registry.list();
    assert!(listed.is_sorted_by_key(|entry| entry.info.full_id()));
    let gpt = listed.iter().find(|entry| entry.info.id == "gpt-5.1").expect("listed all the same");
    assert!(gpt.unavailable.as_ref().is_some_and(|why| why.contains("OPENAI_API_KEY")));
}

#[test]
fn with_no_key_at_all_the_way_out_is_named() {
    let (registry, _) = load(None, &[]);
    assert_eq!(registry.default_model(None).err(), Some(ModelError::NoModel));
    assert_eq!(registry.resolve("nonsense").err(), Some(ModelError::NoModel));
    assert!(ModelError::NoModel.to_string().contains("ANTHROPIC_API_KEY"));
}

const LAB: &str = r#"{
  // comments are allowed, /* of both kinds */
  "providers": {
    "lab": { "baseUrl": "http://127.0.0.1:8080/v1/", "api": "openai-completions", /* on
      two lines */ "models": [
        { "id": "qwen/coder", "name": "Qwen // Coder", "contextWindow": 65536, "maxTokens": 8192, "reasoning": true,
          "input": ["text", "image"], "cost": { "input": 1, "output": 2, "tiers": [{ "inputTokensAbove": 9, "input": 3 }] },
          "thinkingLevelMap": { "minimal": null, "high": "hard" }, "compat": { "thinkingFormat": "qwen-chat-template" } },
        { "id": "plain" } ] },
    "openai": { "apiKey": "$MY_KEY" },
    "router": { "baseUrl": "https://router.example/api/v1", "api": "openai-completions", "apiKey": "literal-key-1",
      "headers": { "X-Title": "Adjutant" }, "models": [{ "id": "z/one" }, { "id": "two", "api": "google-generative-ai" }] }
  }
}"#;

#[test]
fn a_file_describes_providers() {
    let (registry, diagnostics) = load(Some(LAB), &[("MY_KEY", "sk-mine-123")]);
    assert_eq!(diagnostics, []);
    let lab = registry.resolve("lab/qwen/coder").expect("loopback needs no key");
    let info = lab.info();
    assert_eq!((info.context_window, info.max_tokens, info.reasoning), (Some(65_536), Some(8_192), true));
    assert!(info.sees_images());
    assert_eq!(info.price.as_ref().expect("priced").tiers[0].above, 9);
    assert_eq!(resolved(&registry, "coder"), "lab/qwen/coder");
    assert_eq!(resolved(&registry, "gpt 5.1"), "openai/gpt-5.1", "built-in models, with the key of the file");
    assert_eq!(resolved(&registry, "z/one"), "router/z/one");
    assert_eq!(registry.default_model(None).expect("some").info().full_id(), "lab/qwen/coder");
    assert_eq!(registry.default_model(Some("plain")).expect("it").info().full_id(), "lab/plain");
    let why = registry.resolve("router/two").expect_err("not spoken").to_string();
    assert_eq!(why, "router/two cannot be used: this version does not speak google-generative-ai");
    let unknown = registry.resolve("llama").expect_err("unknown").to_string();
    assert!(
        unknown.starts_with("unknown model \"llama\"; known: lab/plain, lab/qwen/coder, openai/"),
        "{unknown}"
    );
    let debug = format!("{registry:?}");
    assert!(!debug.contains("sk-mine") && !debug.contains("literal-key"), "{debug}");
}

#[test]
fn a_mistake_costs_one_entry_and_names_its_line() {
    let text = r#"{ "providers": {
  "good": { "baseUrl": "http://localhost:1/v1", "api": "openai-completions",
    "models": [ { "id": "a" },
      { "id": 7 },
      { "name": "no id" },
      { "id": " " } ] },
  "bad api": {},
  "wrong": { "baseUrl": "http://localhost:1", "api": "telepathy",
    "models": [] },
  "shell": { "apiKey": "!cat key", "models": [] }
} }"#;
    let (registry, diagnostics) = load(Some(text), &[]);
    assert_eq!(resolved(&registry, "good/a"), "good/a");
    let found: Vec<_> = diagnostics.iter().map(|d| (d.line.expect("a line"), d.message.as_str())).collect();
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 5, 6, 7, 8, 10], "{found:?}");
    assert!(found[0].1.starts_with("provider \"good\", model 2: invalid type"), "{found:?}");
    assert!(found[1].1.contains("missing field `id`"));
    assert!(found[4].1.contains("unknown variant `telepathy`"));
    assert!(found[5].1.contains("runs no commands"));
}

#[test]
fn broken_files_leave_the_built_in_models() {
    let line = |text: &str| {
        let (registry, diagnostics) = load(Some(text), &[("OPENAI_API_KEY", "k")]);
        assert_eq!(resolved(&registry, "gpt-5.1"), "openai/gpt-5.1", "{text}");
        diagnostics.first().map(|d| d.line)
    };
    assert_eq!(line("{\n\n \"providers\": {\n oops"), Some(Some(4)));
    assert_eq!(line("[]"), Some(Some(1)));
    assert_eq!(line("{\"providers\": []}"), Some(Some(1)));
    assert_eq!(line("{\"providers\": {}} trailing"), Some(Some(1)));
    assert_eq!(line("\u{feff} // nothing but a comment"), None);
    assert_eq!(line(""), None);
    assert_eq!(line("/* never closed"), None);
    assert_eq!(line("{}"), None);
    let (_, diagnostics) = Registry::load(Path::new("/"));
    assert!(diagnostics[0].message.starts_with("it cannot be read"), "{diagnostics:?}");
}

#[test]
fn addresses_that_would_leak_are_refused() {
    let provider = |fields: &str| {
        let text = format!(
            r#"{{"providers":{{"p":{{"api":"openai-completions","apiKey":"k","models":[{{"id":"m"}}],{fields}}}}}}}"#
        );
        let (registry, diagnostics) = load(Some(&text), &[]);
        let resolved = resolved(&registry, "p/m");
        assert_eq!(resolved == "p/m", diagnostics.is_empty(), "{fields}: what is refused is reported");
        resolved
    };
    for good in [
        r#""baseUrl":"https://example.com/v1""#,
        r#""baseUrl":"http://localhost:8080""#,
        r#""baseUrl":"http://[::1]:8080/v1""#,
        r#""baseUrl":"http://127.9.9.9""#,
        r#""baseUrl":"http://example.com","allowInsecureHttp":true"#,
    ] {
        assert_eq!(provider(good), "p/m", "{good}");
    }
    for (bad, reason) in [
        (r#""baseUrl":"http://example.com/v1""#, "plain http to example.com"),
        (r#""baseUrl":"http://127.0.0.1.example.com""#, "plain http"),
        (r#""baseUrl":"http://localhost.example.com""#, "plain http"),
        (r#""baseUrl":"https://me:secret@example.com""#, "holds credentials"),
        (r#""baseUrl":"ftp://example.com""#, "must begin with https://"),
        (r#""baseUrl":"example.com""#, "no address"),
        (r#""headers":{}"#, "no baseUrl"),
        (r#""baseUrl":"https://example.com","headers":{"a b":"c"}"#, "name of a header"),
        (
            r#""baseUrl":"https://example.com","headers":{"x-a":"b\nc"}"#,
            "characters that a header cannot have",
        ),
    ] {
        let answer = provider(bad);
        assert!(answer.contains(reason) && !answer.contains("secret"), "{bad}: {answer}");
    }
}

#[test]
fn keys_come_from_where_they_are_said_to_be() {
    let text = |key: &str| {
        format!(
            r#"{{"providers":{{"my-lab":{{"baseUrl":"https://example.com","api":"anthropic-messages",{key}
            "models":[{{"id":"m"}}]}}}}}}"#
        )
    };
    let missing = |key: &str, env: &[(&str, &str)]| match load(Some(&text(key)), env).0.resolve("my-lab/m") {
        Ok(_) => None,
        Err(ModelError::NoCredentials { variable, .. }) => Some(variable),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(missing("", &[]).as_deref(), Some("MY_LAB_API_KEY"));
    assert_eq!(missing("", &[("MY_LAB_API_KEY", "k")]), None);
    assert_eq!(missing(r#""apiKey":"$OTHER","#, &[("MY_LAB_API_KEY", "k")]).as_deref(), Some("OTHER"));
    assert_eq!(missing(r#""apiKey":"${OTHER}","#, &[("OTHER", "k")]), None);
    assert_eq!(missing(r#""apiKey":"$$literal","#, &[]), None);
    assert_eq!(missing(r#""headers":{"Authorization":"Bearer x"},"#, &[]), None);
    assert_eq!(missing(r#""headers":{"Authorization":"$TOKEN"},"#, &[]).as_deref(), Some("TOKEN"));
}

#[test]
fn models_of_this_process_come_last_and_replace_their_like() {
    let (mut registry, _) = load(None, &[]);
    let model = |text: &'static str| {
        Arc::new(EmbeddedModel::new(EmbeddedModel::plain_info("offline", "demo"), move |_| Reply::say(text)))
    };
    registry.register(model("one"));
    registry.register(model("two"));
    assert_eq!(registry.list().iter().filter(|entry| entry.info.provider == "offline").count(), 1);
    assert_eq!(resolved(&registry, "demo"), "offline/demo");
    assert_eq!(registry.default_model(None).expect("it").info().full_id(), "offline/demo");
    let dir = tempfile::tempdir().expect("a folder");
    assert_eq!(registry.reload(&dir.path().join("none.json")), []);
    assert_eq!(resolved(&registry, "demo"), "offline/demo", "a reload keeps it");
}

#[test]
fn the_variables_that_hold_keys_are_known() {
    let text = r#"{"providers":{"lab":{"baseUrl":"http://127.0.0.1:1/v1","api":"openai-completions","apiKey":"$MINE",
        "headers":{"X-Team":"${TEAM_PASS}"},"models":[{"id":"m"}]}}}"#;
    let (registry, _) = load(Some(text), &[("MINE", "k")]);
    let names: Vec<_> = registry.credential_variables().collect();
    for name in ["MINE", "TEAM_PASS", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn a_model_of_a_provider_that_is_gone_is_unknown() {
    let (registry, _) = load(None, &[("OPENAI_API_KEY", "sk-o")]);
    let error = registry.resolve("lab/m").err();
    assert!(matches!(error, Some(ModelError::UnknownModel { .. })), "{error:?}");
}
