//! A language model, as the agent loop sees it.

use std::sync::Arc;

use futures_util::stream::LocalBoxStream;
use tokio_util::sync::CancellationToken;

pub use crate::machine::dialogue::{
    FinishReason, ModelContent, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelRole,
    ModelTool, ModelToolCall, Thinking, Usage,
};

/// Plays one turn of a conversation.
///
/// A value holds configuration only: it is built once, shared between threads and asked many
/// times. The stream it gives stays on the thread that asked.
///
/// # Contract of the stream
///
/// It yields at most one terminal item, [`ModelEvent::Finished`], [`ModelEvent::Failed`] or an
/// `Err`, and ends after it. A stream that ends without one was cut; the engine closes what is
/// open and treats it as broken. Once `cancel` fires the stream ends at its next await. Message,
/// reasoning and step ids are the engine's business, one message id a turn.
pub trait Model: Send + Sync + 'static {
    /// Gives the id that readers are shown until the stream names another one.
    fn id(&self) -> &str;

    /// Starts a turn. Work begins when the stream is polled.
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        (**self).stream(request, cancel)
    }
}

/// What a model plays in one turn.
pub type ModelStream = LocalBoxStream<'static, Result<ModelEvent, ModelError>>;
