//! One answer over HTTP, read as it arrives.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::Body as _;
use reqwest::Body;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::assembly::Assembly;
use crate::credentials::Secrets;
use crate::http::root_cause;
use crate::sse::Decoder;
use crate::{Advance, AssistantMessage, FinishReason, ModelError, ModelStream, Price, anthropic, openai};

/// How long the usage of a complete message is waited for, where a server closes late.
const USAGE_GRACE: Duration = Duration::from_secs(2);
/// How long the end of the answer is waited for after the end of the message. A connection whose answer has not been
/// read to its end cannot be used again, and nearly always that end is there already.
const TERMINATOR_GRACE: Duration = Duration::from_millis(2);
/// How long it is waited for in the background.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// An answer whose head has come.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Body,
    pub(crate) permit: OwnedSemaphorePermit,
}

/// The way to an answer: the gate, the wait for a connection, and the request itself.
pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send>>;

/// The reader of one API's events.
#[derive(Debug)]
pub(crate) enum Parser {
    OpenAi(openai::parse::Parser),
    Anthropic(anthropic::parse::Parser),
}

impl Parser {
    pub(crate) fn event(&mut self, data: &str, out: &mut Assembly) -> Result<(), ModelError> {
        match self {
            Self::OpenAi(parser) => parser.event(data, out),
            Self::Anthropic(parser) => parser.event(data, out),
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Self::OpenAi(parser) => parser.is_settled(),
            Self::Anthropic(parser) => parser.is_settled(),
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::OpenAi(parser) => parser.is_complete(),
            Self::Anthropic(parser) => parser.is_complete(),
        }
    }

    pub(crate) fn end(&mut self, out: &mut Assembly) -> Result<FinishReason, ModelError> {
        match self {
            Self::OpenAi(parser) => parser.end(out),
            Self::Anthropic(parser) => parser.end(out),
        }
    }
}

/// From bytes to the message.
#[derive(Debug)]
pub(crate) struct Parsing {
    pub(crate) decoder: Decoder,
    pub(crate) parser: Parser,
    pub(crate) assembly: Assembly,
}

impl Parsing {
    /// Takes in one chunk; true when the message is over.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Result<bool, ModelError> {
        let Self { decoder, parser, assembly } = self;
        decoder.feed(chunk, &mut |data| parser.event(&String::from_utf8_lossy(data), assembly))?;
        Ok(parser.is_settled())
    }

    /// Takes in that nothing more comes.
    pub(crate) fn close(&mut self) -> Result<(), ModelError> {
        let Self { decoder, parser, assembly } = self;
        match decoder.finish(&mut |data| parser.event(&String::from_utf8_lossy(data), assembly)) {
            // What follows a complete message does not matter, and half an event before its end is a cut one.
            Err(ModelError::Malformed { .. }) if parser.is_complete() => Ok(()),
            Err(ModelError::Malformed { .. }) => {
                Err(ModelError::Cut { detail: "the stream ended inside an event".to_owned() })
            }
            other => other,
        }
    }
}

/// What a stream needs beside its connection.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) host: String,
    pub(crate) idle: Duration,
    pub(crate) parsing: Parsing,
    pub(crate) price: Option<Price>,
    pub(crate) secrets: Secrets,
}

pub(crate) struct HttpStream {
    state: State,
    reader: Reader,
}

enum State {
    /// The request could not be made.
    Failed(ModelError),
    Opening(Opening),
    Reading(Reading),
    Ended,
}

struct Reading {
    answer: Answer,
    /// When the last bytes came. The timer is moved only when it fires: moving it with every chunk would cost more.
    heard: Instant,
    timer: Pin<Box<Sleep>>,
    /// The message is complete, and its last bytes are waited for only this long.
    grace: Option<Duration>,
}

impl HttpStream {
    pub(crate) fn new(opening: Result<Opening, ModelError>, reader: Reader) -> Self {
        let state = opening.map_or_else(State::Failed, State::Opening);
        Self { state, reader }
    }

    /// Puts a price on what has been used so far: a failed or cancelled request is paid for too.
    fn price(&mut self) {
        let usage = &mut self.reader.parsing.assembly.message.usage;
        usage.cost_usd =
            self.reader.price.as_ref().filter(|_| !usage.is_empty()).and_then(|price| price.cost(usage));
    }

    fn finish(&mut self) -> Result<Advance, ModelError> {
        let Parsing { parser, assembly, .. } = &mut self.reader.parsing;
        let finish = parser.end(assembly);
        assembly.finish(finish?);
        Ok(Advance::Finished)
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Advance, ModelError>> {
        loop {
            let State::Reading(reading) = &mut self.state else { return Poll::Ready(Err(ended())) };
            let parsing = &mut self.reader.parsing;
            match Pin::new(&mut reading.answer.body).poll_frame(cx) {
                // Whatever comes after the end is nothing that we asked for.
                Poll::Ready(Some(_)) if parsing.parser.is_settled() => return Poll::Ready(self.finish()),
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(chunk) = frame.into_data() else { continue };
                    reading.heard = Instant::now();
                    let over = parsing.take(&chunk)?;
                    if std::mem::take(&mut parsing.assembly.grown) && !over {
                        return Poll::Ready(Ok(Advance::Delta));
                    }
                }
                Poll::Ready(None) => {
                    parsing.close()?;
                    return Poll::Ready(self.finish());
                }
                Poll::Ready(Some(Err(_))) if parsing.parser.is_complete() => {
                    return Poll::Ready(self.finish());
                }
                Poll::Ready(Some(Err(error))) => {
                    let detail = format!("the connection broke: {}", root_cause(&error));
                    return Poll::Ready(Err(ModelError::Cut { detail }));
                }
                Poll::Pending => {
                    ready!(self.poll_silence(cx));
                    return Poll::Ready(self.give_up_waiting());
                }
            }
        }
    }

    /// Ready when nothing has come for as long as the state of the message allows.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let State::Reading(reading) = &mut self.state else { return Poll::Ready(()) };
        let parser = &self.reader.parsing.parser;
        let grace = if parser.is_settled() {
            Some(TERMINATOR_GRACE)
        } else if parser.is_complete() {
            Some(USAGE_GRACE)
        } else {
            None
        };
        if let Some(grace) = grace.filter(|_| reading.grace != grace) {
            reading.grace = Some(grace);
            reading.timer.as_mut().reset(Instant::now() + grace);
        }
        loop {
            ready!(reading.timer.as_mut().poll(cx));
            let due = reading.heard + self.reader.idle;
            if reading.grace.is_some() || due <= Instant::now() {
                return Poll::Ready(());
            }
            reading.timer.as_mut().reset(due);
        }
    }

    fn give_up_waiting(&mut self) -> Result<Advance, ModelError> {
        let parser = &self.reader.parsing.parser;
        if parser.is_settled() {
            self.drain();
            return self.finish();
        }
        if parser.is_complete() {
            return self.finish();
        }
        Err(ModelError::Idle { host: self.reader.host.clone(), limit: self.reader.idle })
    }

    /// Lets the end of the answer come without anybody waiting for it, so that the connection can be used again.
    fn drain(&mut self) {
        let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) else { return };
        tokio::spawn(timeout(DRAIN_LIMIT, async move {
            let Answer { mut body, permit } = reading.answer;
            let _ = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            drop(permit);
        }));
    }
}

impl ModelStream for HttpStream {
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<Advance, ModelError>> {
        let result = match &mut self.state {
            State::Failed(_) => match std::mem::replace(&mut self.state, State::Ended) {
                State::Failed(error) => Err(error),
                _ => Err(ended()),
            },
            State::Opening(opening) => ready!(opening.as_mut().poll(cx)).map(|answer| {
                let heard = Instant::now();
                let timer = Box::pin(sleep_until(heard + self.reader.idle));
                self.state = State::Reading(Reading { answer, heard, timer, grace: None });
                Advance::Connected
            }),
            State::Reading(_) => ready!(self.poll_chunk(cx)),
            State::Ended => Err(ended()),
        };
        if !matches!(result, Ok(Advance::Connected | Advance::Delta)) {
            self.state = State::Ended;
            self.price();
        }
        Poll::Ready(result.map_err(|error| {
            let error = self.reader.secrets.redact(error);
            self.reader.parsing.assembly.message.error = Some(error.to_string());
            error
        }))
    }

    fn message(&self) -> &AssistantMessage {
        &self.reader.parsing.assembly.message
    }

    fn into_message(mut self: Box<Self>) -> AssistantMessage {
        self.price();
        self.reader.parsing.assembly.message
    }
}

fn ended() -> ModelError {
    ModelError::Cut { detail: "the answer is over".to_owned() }
}

/// Reads the body of a refusal, as much of it as is worth showing.
pub(crate) async fn read_refusal(mut body: Body, limit: Duration) -> Vec<u8> {
    const MAX_BYTES: usize = 64 << 10;
    let mut read = Vec::new();
    let reading = async {
        while let Some(Ok(frame)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            if let Ok(data) = frame.into_data() {
                read.extend_from_slice(&data[..data.len().min(MAX_BYTES - read.len())]);
            }
            if read.len() == MAX_BYTES {
                break;
            }
        }
    };
    // Half an explanation is better than none.
    let _ = timeout(limit, reading).await;
    read
}
