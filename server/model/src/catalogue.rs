//! `models.json`: which providers there are, what they serve and how they differ.
//!
//! Each provider and each model is read for itself, so that one mistake costs one entry and is reported with its line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use vocab::ThinkingLevel;

use crate::endpoint::{MaxTokensField, ThinkingFormat};
use crate::thinking::Levels;
use crate::{Api, Diagnostic, InputKind, Price, PriceTier};

/// A provider as it is described, before anything is looked up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) base_url: Option<String>,
    pub(crate) api: Option<Api>,
    pub(crate) api_key: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    /// Send the key as a bearer token, whatever the API's own way is.
    pub(crate) auth_header: bool,
    pub(crate) allow_insecure_http: bool,
    pub(crate) compat: CompatEntry,
    pub(crate) models: Vec<ModelEntry>,
}

/// A model as it is described.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelEntry {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) api: Option<Api>,
    pub(crate) base_url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) context_window: Option<u32>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) reasoning: bool,
    pub(crate) input: Vec<InputKind>,
    pub(crate) price: Option<Price>,
    pub(crate) compat: CompatEntry,
    pub(crate) levels: Levels,
}

/// Peculiarities that an entry names; a model's win over its provider's.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CompatEntry {
    pub(crate) supports_developer_role: Option<bool>,
    pub(crate) supports_store: Option<bool>,
    pub(crate) supports_reasoning_effort: Option<bool>,
    pub(crate) supports_usage_in_streaming: Option<bool>,
    pub(crate) supports_finish_reason: Option<bool>,
    pub(crate) max_tokens_field: Option<MaxTokensField>,
    pub(crate) thinking_format: Option<ThinkingFormat>,
    pub(crate) force_adaptive_thinking: Option<bool>,
    pub(crate) requires_tool_result_name: Option<bool>,
}

impl CompatEntry {
    /// These, and where they say nothing, `others`.
    pub(crate) fn or(&self, others: &Self) -> Self {
        Self {
            supports_developer_role: self.supports_developer_role.or(others.supports_developer_role),
            supports_store: self.supports_store.or(others.supports_store),
            supports_reasoning_effort: self.supports_reasoning_effort.or(others.supports_reasoning_effort),
            supports_usage_in_streaming: self
                .supports_usage_in_streaming
                .or(others.supports_usage_in_streaming),
            supports_finish_reason: self.supports_finish_reason.or(others.supports_finish_reason),
            max_tokens_field: self.max_tokens_field.or(others.max_tokens_field),
            thinking_format: self.thinking_format.or(others.thinking_format),
            force_adaptive_thinking: self.force_adaptive_thinking.or(others.force_adaptive_thinking),
            requires_tool_result_name: self.requires_tool_result_name.or(others.requires_tool_result_name),
        }
    }
}

impl Provider {
    /// One that is built in.
    pub(crate) fn known(name: &str, base_url: &str, api: Api, models: Vec<ModelEntry>) -> Self {
        Self {
            name: name.to_owned(),
            base_url: Some(base_url.to_owned()),
            api: Some(api),
            models,
            ..Self::default()
        }
    }

    /// The entry of a file laid over what is built in: its fields win, its models are added or replace others.
    pub(crate) fn over(mut self, known: Self) -> Self {
        self.base_url = self.base_url.or(known.base_url);
        self.api = self.api.or(known.api);
        let others =
            known.models.into_iter().filter(|model| self.models.iter().all(|own| own.id != model.id));
        let others: Vec<_> = others.collect();
        self.models.extend(others);
        self
    }
}

/// The fields of an object in the order of the file.
#[derive(Default)]
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawProvider<'a> {
    base_url: Option<String>,
    api: Option<Api>,
    api_key: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    auth_header: bool,
    #[serde(default)]
    allow_insecure_http: bool,
    #[serde(default)]
    compat: CompatEntry,
    #[serde(borrow, default)]
    models: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawModel {
    id: String,
    name: Option<String>,
    api: Option<Api>,
    base_url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    context_window: Option<u32>,
    max_tokens: Option<u32>,
    #[serde(default)]
    reasoning: bool,
    input: Option<Vec<InputKind>>,
    cost: Option<RawCost>,
    #[serde(default)]
    compat: CompatEntry,
    #[serde(default)]
    thinking_level_map: BTreeMap<ThinkingLevel, Option<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCost {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    #[serde(default)]
    tiers: Vec<RawTier>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTier {
    input_tokens_above: u64,
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl From<RawCost> for Price {
    fn from(cost: RawCost) -> Self {
        let tiers = cost.tiers.into_iter().map(|tier| PriceTier {
            above: tier.input_tokens_above,
            input: tier.input,
            output: tier.output,
            cache_read: tier.cache_read,
            cache_write: tier.cache_write,
        });
        Self {
            input: cost.input,
            output: cost.output,
            cache_read: cost.cache_read,
            cache_write: cost.cache_write,
            tiers: tiers.collect(),
        }
    }
}

impl From<RawModel> for ModelEntry {
    fn from(raw: RawModel) -> Self {
        Self {
            name: raw.name.unwrap_or_else(|| raw.id.clone()),
            id: raw.id,
            api: raw.api,
            base_url: raw.base_url,
            headers: raw.headers,
            context_window: raw.context_window.filter(|window| *window > 0),
            max_tokens: raw.max_tokens.filter(|limit| *limit > 0),
            reasoning: raw.reasoning,
            input: raw.input.unwrap_or_else(|| vec![InputKind::Text]),
            price: raw.cost.map(Price::from),
            compat: raw.compat,
            levels: Levels(raw.thinking_level_map),
        }
    }
}

/// Reads the text of `models.json`. Whatever cannot be used is reported, and the rest is used.
pub(crate) fn read(path: &Path, text: &str) -> (Vec<Provider>, Vec<Diagnostic>) {
    let text = without_comments(text);
    let mut reader = Reader { path, text: &text, diagnostics: Vec::new() };
    if text.trim().is_empty() {
        return (Vec::new(), Vec::new());
    }
    let fields = reader.parse::<Pairs<'_>>(&text, "models.json").unwrap_or_default();
    let described = fields.0.iter().find(|(name, _)| name == "providers");
    let described = described.and_then(|(_, raw)| reader.parse::<Pairs<'_>>(raw.get(), "providers"));
    let described = described.unwrap_or_default();
    let providers = described.0.iter().filter_map(|(name, raw)| reader.provider(name, raw)).collect();
    (providers, reader.diagnostics)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// Parses a part of the text; a fault is reported at its line.
    fn parse<T: Deserialize<'a>>(&mut self, part: &'a str, what: &str) -> Option<T> {
        serde_json::from_str(part)
            .inspect_err(|error| {
                let line = self.line_of(part) + error.line().saturating_sub(1) as u32;
                let problem = error.to_string();
                // The position that the parser adds counts from the beginning of the part.
                let problem = problem.split(" at line ").next().unwrap_or(&problem);
                self.report(Some(line), format!("{what}: {problem}"));
            })
            .ok()
    }

    fn provider(&mut self, name: &str, raw: &'a RawValue) -> Option<Provider> {
        let provider: RawProvider<'_> = self.parse(raw.get(), &format!("provider \"{name}\""))?;
        if name.is_empty() || name.contains(['/', ' ']) {
            let line = self.line_of(raw.get());
            self.report(Some(line), format!("provider \"{name}\": a name has no slashes or spaces"));
            return None;
        }
        if provider.api_key.as_ref().is_some_and(|key| key.starts_with('!')) {
            let line = self.line_of(raw.get());
            self.report(
                Some(line),
                format!("provider \"{name}\": apiKey runs no commands; use \"$VARIABLE\" or a literal key"),
            );
            return None;
        }
        let models = provider.models.iter().enumerate().filter_map(|(n, raw)| {
            let what = format!("provider \"{name}\", model {}", n + 1);
            let model: RawModel = self.parse(raw.get(), &what)?;
            if model.id.trim().is_empty() {
                let line = self.line_of(raw.get());
                self.report(Some(line), format!("{what}: its id is empty"));
                return None;
            }
            Some(model.into())
        });
        let models = models.collect();
        Some(Provider {
            name: name.to_owned(),
            base_url: provider.base_url,
            api: provider.api,
            api_key: provider.api_key,
            headers: provider.headers,
            auth_header: provider.auth_header,
            allow_insecure_http: provider.allow_insecure_http,
            compat: provider.compat,
            models,
        })
    }

    /// The line, counted from 1, on which a part of the text begins.
    fn line_of(&self, part: &str) -> u32 {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() as u32 + 1
    }

    fn report(&mut self, line: Option<u32>, message: String) {
        self.diagnostics.push(Diagnostic { path: self.path.to_owned(), line, message });
    }
}

/// The text with its comments blanked out, so that lines stay where they are.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match (in_string, c, chars.peek()) {
            (true, '\\', Some(next)) => {
                out.push(c);
                out.push(*next);
                chars.next();
            }
            (_, '"', _) => {
                in_string = !in_string;
                out.push(c);
            }
            (false, '/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            (false, '/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push(c);
                    }
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                out.push(' ');
            }
            _ => out.push(c),
        }
    }
    out
}
