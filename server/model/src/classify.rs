//! Which class a refusal of a provider belongs to: by its status and type first, by its words only where those say
//! too little.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ModelError;

/// The longest text of a provider that is shown, in characters.
const MAX_MESSAGE: usize = 2_000;

/// How providers say that a prompt is too long.
const OVERFLOW: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "request_too_large",
    "input is too long",
    "exceeds the context window",
    "context window exceeds limit",
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "exceed_context_size",
    "exceeds the available context size",
    "greater than the context length",
    "longer than the model's context length",
    "model_context_window_exceeded",
    "configured context size",
    "maximum prompt length",
    "maximum allowed input length",
    "exceeded model token limit",
    "input token count",
    "range of input length should be",
    "reduce the length of the messages",
    "too many tokens",
    "token limit exceeded",
];

/// How they say that it is not the prompt but the pace.
const PACE: &[&str] = &["rate limit", "rate_limit", "too many requests", "throttling"];

/// How they say that an account has nothing left, in answers that look like those about pace.
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "usage limit reached",
    "usagelimiterror",
    "available balance",
    "credit balance",
    "out of budget",
    "billing_error",
    "billing details",
];

/// Types of errors that another try does not mend.
const FINAL_KINDS: &[&str] = &[
    "invalid_request_error",
    "invalid_request",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "billing_error",
    "insufficient_quota",
    "content_filter",
];

/// The error of an answer that is not a success. `body` is as much of it as was read.
pub(crate) fn http_error(host: String, status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let body = String::from_utf8_lossy(body);
    let (kind, message) = describe(&body);
    let words = format!("{kind} {message}").to_lowercase();
    if status == 402 || (matches!(status, 403 | 429) && has(&words, QUOTA)) {
        return ModelError::Quota { host, status, message };
    }
    if matches!(status, 400 | 413 | 422 | 500) && is_overflow(&words) || status == 413 {
        return ModelError::Overflow { message };
    }
    ModelError::Http { host, status, message, retry_after: retry_after(headers), retry: retry_hint(headers) }
}

/// The error of an object inside a stream that began as a success.
pub(crate) fn event_error(error: &RawValue) -> ModelError {
    let (kind, message) = describe(error.get());
    let words = format!("{kind} {message}").to_lowercase();
    if is_overflow(&words) {
        return ModelError::Overflow { message };
    }
    let code = kind.parse::<u16>().ok();
    let is_final = code
        .is_some_and(|code| (400..500).contains(&code) && !matches!(code, 408 | 409 | 425 | 429))
        || FINAL_KINDS.contains(&kind.as_str())
        || has(&words, QUOTA);
    let kind = if kind.is_empty() { "an error".to_owned() } else { kind };
    ModelError::ErrorEvent { kind, message, retry: !is_final }
}

/// Type and message of an error, wherever the provider put them; what is no such object is shown as it is.
fn describe(body: &str) -> (String, String) {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        let text = body.trim();
        return (String::new(), shorten(if text.is_empty() { "(no explanation)" } else { text }));
    };
    // Some servers wrap the object in a list, most in a field, some not at all.
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let word = |name: &str| match error.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let kind =
        word("type").filter(|kind| kind != "error").or_else(|| word("code")).or_else(|| word("status"));
    let message = match error {
        Value::String(text) => Some(text.clone()),
        _ => word("message").or_else(|| word("detail")).or_else(|| word("error")),
    };
    let mut message = message.unwrap_or_else(|| error.to_string());
    // A router says only that "the provider returned an error"; what that one said is in its metadata.
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
        message = format!("{message}: {raw}");
    }
    let code = word("code").filter(|code| Some(code) != kind.as_ref());
    if let Some(code) = code.filter(|code| !message.contains(code.as_str()) && code.parse::<u16>().is_err()) {
        message = format!("{message} ({code})");
    }
    (kind.unwrap_or_default(), shorten(&message))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn is_overflow(words: &str) -> bool {
    has(words, OVERFLOW) && !has(words, PACE)
}

fn has(words: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| words.contains(phrase))
}

/// How long the provider asks us to wait: milliseconds, seconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    if let Some(ms) = text("retry-after-ms").and_then(number) {
        return Some(Duration::from_secs_f64(ms / 1000.0));
    }
    let hint = text("retry-after")?;
    if let Some(seconds) = number(hint) {
        return Some(Duration::from_secs_f64(seconds));
    }
    let date = httpdate::parse_http_date(hint).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The provider's own word on whether another try helps.
fn retry_hint(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
