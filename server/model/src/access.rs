//! From the description of a provider to clients that can ask it, or to the reason why not.

use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::catalogue::{CompatEntry, ModelEntry, Provider};
use crate::credentials::{self, Secrets, Value};
use crate::endpoint::{Compat, Endpoint, MaxTokensField, PromptCache, ThinkingFormat};
use crate::http::{Gate, Http};
use crate::provider::HttpModel;
use crate::registry::Entry;
use crate::wire::{Dialect, Profile};
use crate::{Api, EnvLookup, ModelClient, ModelError, ModelInfo};

const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Lets a model think between the calls of one batch and the next.
const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";

/// The models of a provider; the texts are what is wrong with its description.
pub(crate) fn entries(provider: &Provider, http: &Arc<Http>, env: &EnvLookup) -> (Vec<Entry>, Vec<String>) {
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    let gate = Arc::new(Gate::default());
    for model in &provider.models {
        let Some(api) = model.api.or(provider.api).filter(|api| *api != Api::Embedded) else {
            problems.push(format!(
                "provider \"{}\", model \"{}\": it has no api; name one, such as \"openai-completions\"",
                provider.name, model.id
            ));
            continue;
        };
        let info = info(provider, model, api);
        let opened = open(provider, model, &info, http, &gate, env);
        if let Err(Fault::Description(reason)) = &opened {
            problems.push(format!("provider \"{}\", model \"{}\": {reason}", provider.name, model.id));
        }
        let client = opened.map_err(|fault| fault.into_error(&info));
        entries.push(Entry { info, client });
    }
    (entries, problems)
}

/// Why a model cannot be asked.
enum Fault {
    /// What `models.json` says of it cannot be used.
    Description(String),
    /// This version does not speak its API.
    NotSpoken(String),
    NoCredentials(String),
}

impl Fault {
    fn into_error(self, info: &ModelInfo) -> ModelError {
        match self {
            Self::Description(reason) | Self::NotSpoken(reason) => {
                ModelError::Unavailable { model: info.full_id(), reason }
            }
            Self::NoCredentials(variable) => {
                ModelError::NoCredentials { provider: info.provider.clone(), variable }
            }
        }
    }
}

fn info(provider: &Provider, model: &ModelEntry, api: Api) -> ModelInfo {
    ModelInfo {
        provider: provider.name.clone(),
        id: model.id.clone(),
        name: model.name.clone(),
        api,
        context_window: model.context_window,
        max_tokens: model.max_tokens,
        reasoning: model.reasoning,
        input: model.input.clone(),
        price: model.price.clone(),
    }
}

fn open(
    provider: &Provider,
    model: &ModelEntry,
    info: &ModelInfo,
    http: &Arc<Http>,
    gate: &Arc<Gate>,
    env: &EnvLookup,
) -> Result<Arc<dyn ModelClient>, Fault> {
    let dialect = match info.api {
        Api::OpenAiCompletions => Dialect::OpenAi,
        Api::AnthropicMessages => Dialect::Anthropic,
        api => {
            let api = api.as_str();
            return Err(Fault::NotSpoken(format!("this version does not speak {api}")));
        }
    };
    let base = model.base_url.as_ref().or(provider.base_url.as_ref());
    let base = base.ok_or_else(|| Fault::Description("it has no baseUrl".to_owned()))?;
    let url = address(base, dialect).map_err(Fault::Description)?;
    let local = is_loopback(&url);
    if url.scheme() == "http" && !local && !provider.allow_insecure_http {
        return Err(Fault::Description(format!(
            "plain http to {} would show prompts and key to the network; use https, or set \"allowInsecureHttp\": true",
            url.host_str().unwrap_or("another machine")
        )));
    }
    let compat = compat(&model.compat.or(&provider.compat), &url);
    let key = key(provider, local, env)?;
    let (headers, secrets) = headers(provider, model, dialect, &compat, key, env)?;
    let profile = Profile {
        dialect,
        model: info.full_id(),
        images: info.sees_images(),
        tool_result_name: compat.tool_result_name,
    };
    let endpoint = Endpoint {
        info: info.clone(),
        profile: Arc::new(profile),
        compat,
        levels: model.levels.clone(),
        prompts: PromptCache::default(),
    };
    Ok(Arc::new(HttpModel {
        endpoint: Arc::new(endpoint),
        http: Arc::clone(http),
        gate: Arc::clone(gate),
        url,
        local,
        headers,
        secrets,
    }))
}

/// The full address of a request.
fn address(base: &str, dialect: Dialect) -> Result<Url, String> {
    let base = base.trim().trim_end_matches('/');
    let path = match dialect {
        Dialect::OpenAi => "chat/completions",
        Dialect::Anthropic if base.ends_with("/v1") => "messages",
        Dialect::Anthropic => "v1/messages",
    };
    let url = Url::parse(&format!("{base}/{path}"))
        .map_err(|error| format!("its baseUrl is no address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("its baseUrl must begin with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its baseUrl holds credentials; put them into apiKey".to_owned());
    }
    Ok(url)
}

/// Whether a request to this address stays on this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The key, where there is one: as configured, else from the variable named after the provider. Servers on this
/// machine need none.
fn key(provider: &Provider, local: bool, env: &EnvLookup) -> Result<Option<SecretString>, Fault> {
    let found = match &provider.api_key {
        Some(configured) => credentials::read(configured, env),
        None if local => return Ok(None),
        None => {
            let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
            let name: String = provider.name.chars().map(letter).collect();
            credentials::variable(&format!("{name}_API_KEY"), env)
        }
    };
    match found {
        Value::Known(key) => Ok(Some(key)),
        // A provider with headers of its own may be told by them who asks.
        Value::Missing(_) if provider.api_key.is_none() && has_authorization(provider) => Ok(None),
        Value::Missing(variable) => Err(Fault::NoCredentials(variable)),
    }
}

fn has_authorization(provider: &Provider) -> bool {
    provider.headers.keys().any(|name| names_credentials(name))
}

fn names_credentials(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    ["authorization", "api-key", "token", "secret", "cookie"].iter().any(|word| header.contains(word))
}

fn headers(
    provider: &Provider,
    model: &ModelEntry,
    dialect: Dialect,
    compat: &Compat,
    key: Option<SecretString>,
    env: &EnvLookup,
) -> Result<(HeaderMap, Secrets), Fault> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if dialect == Dialect::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        if model.reasoning && !compat.adaptive_thinking {
            headers.insert("anthropic-beta", HeaderValue::from_static(INTERLEAVED_THINKING));
        }
    }
    let mut secrets = Vec::new();
    if let Some(key) = key {
        let bearer = SecretString::from(format!("Bearer {}", key.expose_secret()));
        if dialect == Dialect::OpenAi || provider.auth_header {
            headers.insert(AUTHORIZATION, secret_value(&bearer, "apiKey")?);
        }
        if dialect == Dialect::Anthropic {
            headers.insert("x-api-key", secret_value(&key, "apiKey")?);
        }
        secrets.push(key);
    }
    for (name, text) in provider.headers.iter().chain(&model.headers) {
        let value = match credentials::read(text, env) {
            Value::Known(value) => value,
            Value::Missing(variable) => return Err(Fault::NoCredentials(variable)),
        };
        let header = HeaderName::try_from(name.as_str());
        let header =
            header.map_err(|_| Fault::Description(format!("\"{name}\" cannot be the name of a header")))?;
        headers.insert(header, secret_value(&value, name)?);
        if text.starts_with('$') || names_credentials(name) {
            // `Bearer abc` is echoed without its first word.
            secrets.extend(value.expose_secret().split_whitespace().map(SecretString::from));
        }
    }
    Ok((headers, Secrets::new(secrets)))
}

/// A header that is left out of debug output.
fn secret_value(text: &SecretString, name: &str) -> Result<HeaderValue, Fault> {
    let value = HeaderValue::from_str(text.expose_secret());
    let mut value =
        value.map_err(|_| Fault::Description(format!("{name} has characters that a header cannot have")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// What an entry says, and where it says nothing: all of it for the API's own server, and only what every server
/// understands for any other.
fn compat(entry: &CompatEntry, url: &Url) -> Compat {
    let official = url.host_str() == Some("api.openai.com");
    let default_field =
        if official { MaxTokensField::MaxCompletionTokens } else { MaxTokensField::MaxTokens };
    let takes_effort = entry.supports_reasoning_effort.unwrap_or(official);
    Compat {
        developer_role: entry.supports_developer_role.unwrap_or(official),
        store: entry.supports_store.unwrap_or(official),
        usage_in_streaming: entry.supports_usage_in_streaming.unwrap_or(true),
        finish_reason: entry.supports_finish_reason.unwrap_or(true),
        max_tokens_field: entry.max_tokens_field.unwrap_or(default_field),
        thinking_format: entry.thinking_format.or(takes_effort.then_some(ThinkingFormat::Openai)),
        cache_key: official,
        adaptive_thinking: entry.force_adaptive_thinking.unwrap_or(false),
        tool_result_name: entry.requires_tool_result_name.unwrap_or(false),
    }
}
