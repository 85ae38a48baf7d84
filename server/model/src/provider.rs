//! A model behind HTTP: its requests are built here, and answers that are none are turned into errors.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Body, Method, Request, Url};

use crate::assembly::Assembly;
use crate::classify::{event_error, http_error};
use crate::credentials::Secrets;
use crate::endpoint::Endpoint;
use crate::http::{Gate, Http, host_of};
use crate::sse::Decoder;
use crate::stream::{Answer, HttpStream, Opening, Parser, Parsing, Reader, read_refusal};
use crate::wire::{Dialect, Segments};
use crate::{HistoryError, ModelClient, ModelError, ModelInfo, ModelRequest, ModelStream, anthropic, openai};

/// How long the explanation of a refusal is waited for.
const REFUSAL_LIMIT: Duration = Duration::from_secs(10);

/// One model of one provider, with all it takes to ask it.
pub(crate) struct HttpModel {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) http: Arc<Http>,
    /// Shared by all models with the same key.
    pub(crate) gate: Arc<Gate>,
    pub(crate) url: Url,
    /// Whether the address is on this machine.
    pub(crate) local: bool,
    pub(crate) headers: HeaderMap,
    pub(crate) secrets: Secrets,
}

impl HttpModel {
    fn body(&self, request: &ModelRequest) -> Result<Segments, HistoryError> {
        let history = request.history.encode(&self.endpoint.profile)?;
        Ok(match self.endpoint.profile.dialect {
            Dialect::OpenAi => openai::body::body(&self.endpoint, request, history),
            Dialect::Anthropic => anthropic::body::body(&self.endpoint, request, history),
        })
    }

    fn opening(&self, body: Segments) -> Opening {
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = Some(Body::wrap(body));
        let (http, gate, local) = (Arc::clone(&self.http), Arc::clone(&self.gate), self.local);
        Box::pin(async move {
            gate.pass().await;
            let host = host_of(request.url());
            let (response, permit) = http.send(local, request).await?;
            let status = response.status();
            let plain_json = is_plain_json(response.headers());
            if status.is_success() && !plain_json {
                return Ok(Answer { body: response.into(), permit });
            }
            let headers = response.headers().clone();
            let body = read_refusal(response.into(), http.idle().min(REFUSAL_LIMIT)).await;
            if status.is_success() {
                return Err(not_a_stream(&body));
            }
            if status.is_redirection() {
                let message =
                    "it redirects, which is not followed; correct the baseUrl in models.json".to_owned();
                let status = status.as_u16();
                return Err(ModelError::Http {
                    host,
                    status,
                    message,
                    retry_after: None,
                    retry: Some(false),
                });
            }
            let error = http_error(host, status.as_u16(), &headers, &body);
            if let Some(hint) = error.retry_after().filter(|_| error.retryable()) {
                gate.shut(hint);
            }
            Err(error)
        })
    }
}

impl ModelClient for HttpModel {
    fn info(&self) -> &ModelInfo {
        &self.endpoint.info
    }

    fn start(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        let parser = match self.endpoint.profile.dialect {
            Dialect::OpenAi => {
                Parser::OpenAi(openai::parse::Parser::new(!self.endpoint.compat.finish_reason))
            }
            Dialect::Anthropic => Parser::Anthropic(anthropic::parse::Parser::default()),
        };
        let reader = Reader {
            host: host_of(&self.url),
            idle: self.http.idle(),
            parsing: Parsing {
                decoder: Decoder::default(),
                parser,
                assembly: Assembly::new(self.endpoint.profile.model.clone(), request.history.known_calls()),
            },
            price: self.endpoint.info.price.clone(),
            secrets: self.secrets.clone(),
        };
        let opening = self.body(&request).map(|body| self.opening(body)).map_err(ModelError::from);
        Box::new(HttpStream::new(opening, reader))
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpModel").field(&self.endpoint.profile.model).finish()
    }
}

/// A success that is one JSON document: the server does not stream, or wraps an error in a success.
fn is_plain_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("application/json"))
}

fn not_a_stream(body: &[u8]) -> ModelError {
    #[derive(serde::Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        error: Option<&'a serde_json::value::RawValue>,
    }
    match serde_json::from_slice::<Wrapped<'_>>(body) {
        Ok(Wrapped { error: Some(error) }) => event_error(error),
        _ => ModelError::Malformed {
            detail: "the server answered with one document, not with a stream".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests;
