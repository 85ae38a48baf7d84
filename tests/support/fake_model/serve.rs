//! The HTTP side of the scripted model.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::log::now_us;
use super::request::{Request, violation};
use super::script::{self, Fault, Reply};
use super::wire::{Api, Encoder};
use super::{Shared, request};

const FILLER: &str = "lorem ipsum ";
/// Bodies over this are refused, as a provider would.
const BODY_LIMIT: usize = 256 << 20;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    let models = json!({ "object": "list", "data": [{ "id": "fake", "object": "model" }] });
    Router::new()
        .route("/v1/chat/completions", post(openai))
        .route("/v1/messages", post(anthropic))
        .route("/v1/models", get(move || async move { Json(models) }))
        .route("/stats", get(|State(shared): State<Arc<Shared>>| async move { Json(shared.log.summary()) }))
        .route("/log", get(log))
        .route("/reset", post(|State(shared): State<Arc<Shared>>| async move { shared.log.reset() }))
        .route("/elsewhere", post(elsewhere))
        .with_state(shared)
}

async fn log(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<HashMap<String, u64>>,
) -> impl IntoResponse {
    Json(shared.log.since(query.get("since").copied().unwrap_or(0)))
}

/// Where a redirect leads. A client that gets here has given its key and its prompt to another place.
async fn elsewhere(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    shared.log.violation("a redirect was followed".into());
    StatusCode::NOT_FOUND
}

async fn openai(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Body) -> Response {
    let key = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let key = key.map(|value| value.trim_start_matches("Bearer ").to_owned());
    handle(Api::OpenAi, shared, key, body).await
}

async fn anthropic(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Body) -> Response {
    let key = headers.get("x-api-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
    handle(Api::Anthropic, shared, key, body).await
}

/// Ends the log record however the response ends, also when it is dropped because the client went away.
struct Guard {
    shared: Arc<Shared>,
    seq: u64,
    outcome: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.log.close(self.seq, &self.outcome);
    }
}

async fn handle(api: Api, shared: Arc<Shared>, key: Option<String>, body: Body) -> Response {
    let seq = shared.log.open(now_us());
    let mut guard = Guard { shared: Arc::clone(&shared), seq, outcome: "client_closed".into() };
    let Ok(bytes) = axum::body::to_bytes(body, BODY_LIMIT).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let t_body = now_us();
    shared.log.add_bytes(bytes.len());
    let request: Request<'_> = match serde_json::from_slice(&bytes) {
        Ok(request) => request,
        Err(error) => {
            shared.log.violation(format!("a request that is not valid: {error}"));
            guard.outcome = "bad_request".into();
            return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
        }
    };
    if let Some(found) = violation(api, &request.messages) {
        shared.log.violation(format!("request {seq}: {found}"));
    }
    let turns: Vec<_> = request.messages.iter().map(request::Message::turn).collect();
    let reply = script::decide(&turns, &shared.scripts());
    shared.log.edit(seq, |record| {
        (record.api, record.kind, record.id, record.step) =
            (api.name(), reply.kind, reply.id.clone(), reply.step);
        (record.t_body, record.bytes_in, record.messages) = (t_body, bytes.len(), request.messages.len());
        (record.done_seen, record.key) = (reply.done_seen, key);
        if shared.keeps_bodies {
            record.body = serde_json::from_slice(&bytes).unwrap_or_default();
        }
    });
    let encoder = Encoder { api, seq, model: request.model, input_tokens: bytes.len() as u64 / 4 };
    let fault = reply.fault.clone().filter(|fault| shared.log.fault_fires(&fault.key, fault.times));
    if fault.as_ref().is_some_and(|fault| fault.kind == "hang") {
        // Not even a head, until the client leaves: the future is dropped then.
        guard.outcome = "fault:hang".into();
        std::future::pending::<()>().await;
    }
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    if let Some(response) = fault.as_ref().and_then(|fault| http_error(api, fault)) {
        guard.outcome = format!("fault:{}", fault.map(|fault| fault.kind).unwrap_or_default());
        return response;
    }
    shared.log.edit(seq, |record| record.t_first = now_us());
    if !request.stream {
        let text = reply.text.clone() + &FILLER.repeat(reply.tokens);
        guard.outcome = "ok".into();
        return Json(encoder.document(&reply, &text)).into_response();
    }
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, stream(shared, encoder, reply, fault, guard)).into_response()
}

fn stream(
    shared: Arc<Shared>,
    encoder: Encoder,
    reply: Reply,
    fault: Option<Fault>,
    mut guard: Guard,
) -> Body {
    let body = async_stream::stream! {
        yield Ok(Bytes::from(encoder.start()));
        if !reply.text.is_empty() {
            yield Ok(encoder.text(&reply.text).into());
        }
        if let Some(gate) = &reply.gate {
            shared.gate(gate).await;
        }
        for sent in 0..=reply.tokens {
            if let Some(fault) = fault.as_ref().filter(|fault| sent == fault.after_tokens.min(reply.tokens)) {
                guard.outcome = format!("fault:{}", fault.kind);
                match fault.kind.as_str() {
                    "drop" => {
                        // What was sent has to reach the client before the connection dies.
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        yield Err(std::io::Error::other("injected drop"));
                        return;
                    }
                    "eof" => return,
                    "stall" => std::future::pending::<()>().await,
                    "error_event" => {
                        yield Ok(encoder.error_event().into());
                        return;
                    }
                    "malformed" => yield Ok(Bytes::from_static(b"data: {\"broken\": \n\n")),
                    _ => {}
                }
            }
            if sent == reply.tokens {
                break;
            }
            if !reply.token_gap.is_zero() {
                tokio::time::sleep(reply.token_gap).await;
            }
            let chunk = if reply.stamp { format!("@{} ", now_us()) } else { FILLER.to_owned() };
            yield Ok(encoder.text(&chunk).into());
        }
        yield Ok(encoder.finish(&reply, reply.tokens).into());
        if fault.is_none() {
            guard.outcome = "ok".into();
        }
        drop(guard);
    };
    Body::from_stream(body)
}

fn http_error(api: Api, fault: &Fault) -> Option<Response> {
    let status = StatusCode::from_u16(fault.kind.parse().ok()?).ok()?;
    let kind = match status.as_u16() {
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let body: Value = api.error(kind, &format!("injected {status}"));
    let mut response = (status, Json(body)).into_response();
    if let Some(value) = fault.retry_after.as_ref().and_then(|value| value.parse().ok()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    if status.is_redirection() {
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/elsewhere"));
    }
    Some(response)
}
