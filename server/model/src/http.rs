//! The HTTP client: the one place that knows which one it is, and how its connections are kept.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Request, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use crate::{ModelError, Timeouts};

/// The longest that a provider's hint keeps our requests back.
const MAX_CLOSED: Duration = Duration::from_mins(1);

/// All connections to providers. It outlives every request, so that a connection serves one after the other.
#[derive(Debug)]
pub(crate) struct Http {
    /// For servers on this machine, past any proxy.
    local: OnceLock<Result<Client, String>>,
    remote: OnceLock<Result<Client, String>>,
    connect: Duration,
    idle_ms: AtomicU64,
    /// One permit a request in flight: past the limit of open files, requests wait instead of failing.
    room: Arc<Semaphore>,
}

impl Http {
    pub(crate) fn new(timeouts: Timeouts, connections: usize) -> Self {
        Self {
            local: OnceLock::new(),
            remote: OnceLock::new(),
            connect: timeouts.connect,
            idle_ms: AtomicU64::new(timeouts.idle.as_millis() as u64),
            room: Arc::new(Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS))),
        }
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms.load(Ordering::Relaxed))
    }

    /// Holds for requests that begin later.
    pub(crate) fn set_idle(&self, idle: Duration) {
        self.idle_ms.store(idle.as_millis() as u64, Ordering::Relaxed);
    }

    /// Sends a request and waits for the head of its answer. The permit is to be kept as long as the answer is read.
    pub(crate) async fn send(
        &self,
        local: bool,
        request: Request,
    ) -> Result<(Response, OwnedSemaphorePermit), ModelError> {
        let host = host_of(request.url());
        let fault = |message: String| ModelError::Connect { host: host.clone(), message };
        let client = self.client(local).map_err(|message| fault(message.to_owned()))?;
        let permit =
            Arc::clone(&self.room).acquire_owned().await.map_err(|closed| fault(closed.to_string()))?;
        let idle = self.idle();
        match timeout(idle, client.execute(request)).await {
            Ok(Ok(response)) => Ok((response, permit)),
            Ok(Err(error)) if error.is_connect() && error.is_timeout() => {
                Err(fault(format!("no connection within {} s", self.connect.as_secs_f32())))
            }
            Ok(Err(error)) => Err(fault(root_cause(&error))),
            Err(_) => Err(ModelError::Idle { host, limit: idle }),
        }
    }

    /// Built at the first request, since most of its cost is the list of root certificates.
    fn client(&self, local: bool) -> Result<&Client, &str> {
        let slot = if local { &self.local } else { &self.remote };
        slot.get_or_init(|| build(local, self.connect)).as_ref().map_err(String::as_str)
    }
}

fn build(local: bool, connect: Duration) -> Result<Client, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls(local)?)
        // A redirect would carry prompt and key to an address that nobody configured.
        .redirect(Policy::none())
        .referer(false)
        // The one retry layer is ours.
        .retry(reqwest::retry::never())
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(connect)
        .pool_max_idle_per_host(usize::MAX);
    if local {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| format!("the HTTP client cannot be set up: {}", root_cause(&error)))
}

/// Bundled roots, and those of `SSL_CERT_FILE` for networks with a certificate authority of their own.
fn tls(local: bool) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = std::env::var_os("SSL_CERT_FILE").filter(|_| !local) {
        match CertificateDer::pem_file_iter(&path) {
            Ok(certificates) => {
                roots.add_parsable_certificates(certificates.filter_map(Result::ok));
            }
            Err(error) => {
                tracing::warn!(%error, "SSL_CERT_FILE cannot be read; its certificates are not used");
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Host and port, as errors name a provider: never a path, a query or credentials.
pub(crate) fn host_of(url: &reqwest::Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (host, _) => host.unwrap_or("the provider").to_owned(),
    }
}

/// The innermost cause: the outer ones say only that something was being done to an address.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Shut for all requests with one key while the provider wants it so: what one request was told holds for its
/// neighbours, which would only be refused as well.
#[derive(Debug, Default)]
pub(crate) struct Gate(Mutex<Option<Instant>>);

impl Gate {
    pub(crate) fn shut(&self, hint: Duration) {
        let until = Instant::now() + hint.min(MAX_CLOSED);
        let mut shut = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *shut = Some(shut.map_or(until, |known| known.max(until)));
    }

    /// Waits until the gate is open, and a little longer, so that those who wait do not all come at once.
    pub(crate) async fn pass(&self) {
        while let Some(until) = self.shut_until() {
            let spread = until.duration_since(Instant::now()).mul_f64(fastrand::f64() / 10.0);
            sleep_until(until + spread).await;
        }
    }

    fn shut_until(&self) -> Option<Instant> {
        let mut shut = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shut.is_some_and(|until| until <= Instant::now()) {
            *shut = None;
        }
        *shut
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Gate;

    #[tokio::test(start_paused = true)]
    async fn a_shut_gate_keeps_everybody_back_and_opens_by_itself() {
        let gate = Gate::default();
        let start = Instant::now();
        gate.pass().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        gate.shut(Duration::from_secs(5));
        gate.shut(Duration::from_secs(1));
        gate.pass().await;
        let waited = start.elapsed().as_secs_f64();
        assert!((5.0..=5.6).contains(&waited), "{waited}");
        gate.shut(Duration::from_hours(1));
        let start = Instant::now();
        gate.pass().await;
        assert!(start.elapsed() < Duration::from_secs(67), "a hint is clamped");
    }
}
