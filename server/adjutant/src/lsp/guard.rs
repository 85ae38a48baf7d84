//! A service around the LSP library's own, which gives what the library lacks: requests run beside each other however
//! long they take, a panic costs one answer instead of the server, and messages take effect in the order of arrival.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use tower::Service;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

use super::frames::BAD_FRAME;

type ResponseFuture<E> = Pin<Box<dyn Future<Output = Result<Option<Response>, E>> + Send>>;

/// See the module.
#[derive(Debug)]
pub(super) struct Guard<S> {
    pub(super) inner: S,
}

impl<S> Service<Request> for Guard<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Option<Response>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method() == BAD_FRAME {
            let id = request.params().and_then(|params| serde_json::from_value(params["id"].clone()).ok());
            let answer = Response::from_error(id.unwrap_or(Id::Null), bad_frame_error(request.params()));
            return Box::pin(std::future::ready(Ok(Some(answer))));
        }
        // The library leaves a request under `$/` that it does not know without an answer.
        if let Some(id) = request.id().filter(|_| request.method().starts_with("$/")) {
            let answer = Response::from_error(id.clone(), Error::method_not_found());
            return Box::pin(std::future::ready(Ok(Some(answer))));
        }
        let id = request.id().cloned();
        let is_cancel = request.method() == "$/cancelRequest";
        let mut answer = Box::pin(AssertUnwindSafe(self.inner.call(request)).catch_unwind());
        // Polled once at the moment of arrival: what a handler does before it first waits (it posts to the manager) happens
        // in the order of arrival. A cancel is only about a request that has been seen, so it needs no place in line.
        if let Poll::Ready(done) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Box::pin(std::future::ready(unwrapped(id, done)));
        }
        if id.is_none() && !is_cancel {
            return Box::pin(async move { unwrapped(id, answer.await) });
        }
        // On a task of its own it goes on whatever the library's limit of concurrent handlers.
        let task = tokio::spawn(answer);
        Box::pin(async move {
            match task.await {
                Ok(done) => unwrapped(id, done),
                Err(failure) => {
                    tracing::error!(%failure, "a request's task was dropped");
                    Ok(id.map(|id| Response::from_error(id, Error::internal_error())))
                }
            }
        })
    }
}

/// The answer of a handler; an internal error where it panicked.
fn unwrapped<E>(
    id: Option<Id>,
    done: std::thread::Result<Result<Option<Response>, E>>,
) -> Result<Option<Response>, E> {
    done.unwrap_or_else(|_| {
        tracing::error!("a message handler panicked");
        Ok(id.map(|id| Response::from_error(id, Error::internal_error())))
    })
}

fn bad_frame_error(params: Option<&serde_json::Value>) -> Error {
    let code = params.and_then(|p| p["code"].as_i64()).unwrap_or(-32600);
    let message = params.and_then(|p| p["message"].as_str()).unwrap_or("malformed message").to_owned();
    Error { code: ErrorCode::from(code), message: message.into(), data: None }
}
