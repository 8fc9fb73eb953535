//! OpenAI's Responses API, and gateways that speak it.

mod field;
mod refusal;
mod request;
mod stream;
mod strict;

use std::{fmt, sync::Arc, time::Duration};

use awc::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream as streams};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    ports::model::{Model, ModelEvent, ModelRequest, ModelStream},
    transport::{Egress, UNFRAMED, egress_refusal, http_client, is_unframed},
    wire::{js_json::from_js, sse::SseDecoder},
};
use refusal::{Failure, Retry, error_body, header_text, refused, retry};
use stream::{BROKEN_STREAM, ResponseReader};

const BASE_URL: &str = "https://api.openai.com/v1";
/// Attempts after the first one, as the provider's own clients do.
const MAX_RETRIES: u32 = 2;
/// How long the provider may take to begin its answer. Long prompts take tens of seconds.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the provider may be silent in an answer. Models that think say nothing for minutes.
const EVENT_TIMEOUT: Duration = Duration::from_secs(300);
/// Bounds one event: the last one repeats the whole answer.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// The first pause before a retry; it doubles up to [`MAX_BACKOFF`].
const BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// A provider that wants a longer pause gets its error shown instead.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What a refused connection is called, as recorded from the original adapter.
const NO_CONNECTION: &str = "Connection error.";

/// Asks a model by OpenAI's Responses API.
///
/// ```
/// use roscius_actors::model::OpenAi;
///
/// let model = OpenAi::responses("gpt-5-mini").api_key("sk-…");
/// let local = OpenAi::responses("qwen3").base_url("http://127.0.0.1:11434/v1");
/// ```
///
/// Failed requests (408, 409, 429, 5xx, no connection) are sent again twice, with growing pauses
/// or the pause the provider names. Failures of the provider arrive as
/// [`ModelEvent::Failed`] with its message and code; its headers and the key never do.
#[derive(Clone)]
pub struct OpenAi {
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    model: String,
    base_url: String,
    headers: Vec<(String, String)>,
    max_retries: u32,
    head_timeout: Duration,
    event_timeout: Duration,
    max_event_bytes: usize,
    egress: Egress,
}

impl OpenAi {
    /// Names the model. Without [`api_key`](Self::api_key) no authorization is sent.
    pub fn responses(model: impl Into<String>) -> Self {
        Self {
            settings: Arc::new(Settings {
                model: model.into(),
                base_url: BASE_URL.to_owned(),
                headers: Vec::new(),
                max_retries: MAX_RETRIES,
                head_timeout: HEAD_TIMEOUT,
                event_timeout: EVENT_TIMEOUT,
                max_event_bytes: MAX_EVENT_BYTES,
                egress: Egress::everywhere(),
            }),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Sends `authorization: Bearer <key>`.
    #[must_use]
    pub fn api_key(self, key: impl fmt::Display) -> Self {
        self.header("authorization", format!("Bearer {key}"))
    }

    /// Sets what stands before `/responses`. `https://api.openai.com/v1` unless set.
    #[must_use]
    pub fn base_url(self, url: impl Into<String>) -> Self {
        let url = url.into();
        self.with(|settings| settings.base_url = url.trim_end_matches('/').to_owned())
    }

    /// Sends a header with every request. A later value of the same name replaces the earlier one.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into().to_ascii_lowercase();
        let value = value.into();
        self.with(|settings| {
            settings.headers.retain(|(other, _)| *other != name);
            settings.headers.push((name, value));
        })
    }

    /// Bounds the attempts after the first one. 2 unless set.
    #[must_use]
    pub fn max_retries(self, retries: u32) -> Self {
        self.with(|settings| settings.max_retries = retries)
    }

    /// Bounds the wait for the beginning of an answer. 120 s unless set.
    #[must_use]
    pub fn head_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.head_timeout = limit)
    }

    /// Bounds the silence between two events of an answer. 300 s unless set.
    #[must_use]
    pub fn event_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.event_timeout = limit)
    }

    /// Bounds one event of an answer, in bytes. 16 MiB unless set.
    #[must_use]
    pub fn max_event_bytes(self, limit: usize) -> Self {
        self.with(|settings| settings.max_event_bytes = limit)
    }

    /// Says where connections may go; everywhere unless set. A refusal ends the turn with a
    /// [`ModelEvent::Failed`] that names place and rule, and is not tried again.
    #[must_use]
    pub fn egress(self, egress: Egress) -> Self {
        self.with(|settings| settings.egress = egress)
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.settings.headers.iter().map(|(name, _)| name).collect();
        out.debug_struct("OpenAi")
            .field("model", &self.settings.model)
            .field("base_url", &self.settings.base_url)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl Model for OpenAi {
    fn id(&self) -> &str {
        &self.settings.model
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let settings = Arc::clone(&self.settings);
        let turn = async move {
            let answer = cancel.run_until_cancelled(settings.ask(&request)).await;
            match answer {
                None => streams::empty().boxed_local(),
                Some(Ok(answer)) => settings.read(&request, answer, cancel),
                Some(Err(failure)) => {
                    let event = Ok(failure.into_event());
                    streams::once(async { event }).boxed_local()
                }
            }
        };
        streams::once(turn).flatten().boxed_local()
    }
}

type Answer = streams::LocalBoxStream<'static, Result<Bytes, awc::error::PayloadError>>;

impl Settings {
    /// Sends the request until it is answered, or not worth sending again.
    async fn ask(&self, request: &ModelRequest) -> Result<Answer, Failure> {
        let body = request::body(&self.model, request)
            .map_err(|error| Failure::new(error.to_string(), Retry::Never))?;
        let body = Bytes::from(body.to_string());
        let mut attempt = 0;
        loop {
            let failure = match self.send(body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let pause = match failure.retry {
                Retry::Soon => BACKOFF.saturating_mul(1 << attempt.min(8)).min(MAX_BACKOFF),
                Retry::After(pause) if pause <= MAX_RETRY_AFTER => pause,
                Retry::Never | Retry::After(_) => return Err(failure),
            };
            if attempt >= self.max_retries {
                return Err(failure);
            }
            attempt += 1;
            tracing::debug!(attempt, message = %failure.message, "asking the model again");
            tokio::time::sleep(pause).await;
        }
    }

    async fn send(&self, body: Bytes) -> Result<Answer, Failure> {
        let never = |message: String| Failure::new(message, Retry::Never);
        let client = http_client(&self.egress).map_err(|error| never(error.to_string()))?;
        let mut post = client.post(format!("{}/responses", self.base_url));
        *post.headers_mut() = self.header_map().map_err(never)?;
        let response = timeout(self.head_timeout, post.send_body(body)).await;
        let response = response.map_err(|_| {
            let seconds = self.head_timeout.as_secs();
            Failure::new(
                format!("the model did not begin to answer in {seconds} s"),
                Retry::Soon,
            )
        })?;
        let mut response = response.map_err(|error| {
            if let Some(refusal) = egress_refusal(&error) {
                return never(refusal.to_string());
            }
            tracing::debug!(%error, "no connection to the model");
            Failure::new(NO_CONNECTION, Retry::Soon)
        })?;
        let status = response.status();
        if !status.is_success() {
            let retry = retry(status, response.headers());
            let body = timeout(self.head_timeout, error_body(&mut response)).await;
            return Err(refused(status, &body.unwrap_or_default(), retry));
        }
        if is_unframed(&response) {
            return Err(never(UNFRAMED.to_owned()));
        }
        let kind = header_text(response.headers(), &header::CONTENT_TYPE).unwrap_or_default();
        if kind.starts_with("application/json") || kind.starts_with("text/html") {
            return Err(never(format!(
                "the model answered with {kind} instead of an event stream"
            )));
        }
        Ok(response.boxed_local())
    }

    fn header_map(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        for (name, value) in &self.headers {
            let cannot = || format!("header {name} cannot be sent");
            let parsed = HeaderName::try_from(name.as_str()).map_err(|_| cannot())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| cannot())?;
            value.set_sensitive(parsed == header::AUTHORIZATION);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }

    /// Reads the answer event by event. Dropping the stream closes the connection.
    fn read(
        &self,
        request: &ModelRequest,
        answer: Answer,
        cancel: CancellationToken,
    ) -> ModelStream {
        let reading = Reading {
            answer,
            decoder: SseDecoder::new(self.max_event_bytes),
            reader: ResponseReader::new(&request.tools),
            model: self.model.clone(),
            silence: self.event_timeout,
            cancel,
        };
        streams::unfold(reading, async |mut reading| {
            let event = reading.next().await?;
            Some((Ok(event), reading))
        })
        .boxed_local()
    }
}

struct Reading {
    answer: Answer,
    decoder: SseDecoder,
    reader: ResponseReader,
    model: String,
    silence: Duration,
    cancel: CancellationToken,
}

impl Reading {
    async fn next(&mut self) -> Option<ModelEvent> {
        loop {
            if self.cancel.is_cancelled() {
                return None;
            }
            if let Some(event) = self.reader.next_event() {
                return Some(event);
            }
            if self.reader.is_over() {
                return None;
            }
            if let Some(event) = self.decoder.next_event() {
                self.take(&event.data);
                continue;
            }
            let waiting = timeout(self.silence, self.answer.next());
            match self.cancel.run_until_cancelled(waiting).await? {
                Ok(Some(Ok(chunk))) => {
                    if let Err(error) = self.decoder.feed(&chunk) {
                        self.fail(&error.to_string());
                    }
                }
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "the model's answer broke");
                    self.fail(BROKEN_STREAM);
                }
                Ok(None) => self.reader.finish(&self.model),
                Err(_) => {
                    let seconds = self.silence.as_secs();
                    self.fail(&format!("the model was silent for {seconds} s"));
                }
            }
        }
    }

    fn take(&mut self, data: &str) {
        if data == "[DONE]" {
            return;
        }
        match from_js(data.as_bytes()) {
            Ok(event) => self.reader.feed(&event),
            Err(_) => self.fail("the model sent an event that is not JSON"),
        }
    }

    /// Ends the turn. The connection failed, not the model that the provider named: the failure
    /// goes by the id that was asked for.
    fn fail(&mut self, message: &str) {
        self.reader.break_off(&self.model, message);
    }
}
