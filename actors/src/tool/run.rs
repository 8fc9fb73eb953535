//! Carries out one call: read the arguments, run the function, survive its panic.

use std::{fmt, future::Future, marker::PhantomData, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use serde_json::Value;

use super::{
    Context, IntoToolResult, Params, ToolCx, ToolError, ToolFn, ToolOutcome, ToolOutput,
    extract::ExtractError,
};
use crate::machine::schema::Checker;

/// Why a call did not start.
pub(super) enum StartError {
    /// The arguments do not fit.
    Arguments(serde_json::Error),
    /// They are JSON and do not fit the schema.
    Violation(String),
    /// The application has not given a value that the tool needs.
    Missing(&'static str),
}

/// A tool's function, its types erased.
pub(super) trait Execute: Send + Sync {
    /// Reads the arguments and gives the call's future.
    fn start(
        &self,
        arguments: &str,
        checker: Option<&Checker>,
        cx: ToolCx,
    ) -> Result<LocalBoxFuture<'static, ToolOutcome>, StartError>;

    /// Names a type that the context must hold and does not.
    fn missing(&self, context: &Context) -> Option<&'static str>;
}

/// A function with typed parameters.
pub(super) struct Typed<H, P> {
    pub(super) handler: Arc<H>,
    pub(super) params: PhantomData<fn(P)>,
}

impl<H, P> Execute for Typed<H, P>
where
    H: ToolFn<P>,
    P: Params,
    H::Out: IntoToolResult,
{
    fn start(
        &self,
        arguments: &str,
        checker: Option<&Checker>,
        cx: ToolCx,
    ) -> Result<LocalBoxFuture<'static, ToolOutcome>, StartError> {
        let params: P = extract(arguments, checker, &cx)?;
        let handler = Arc::clone(&self.handler);
        Ok(Box::pin(async move {
            // The call itself stands inside, so that a panic before its first await is caught too.
            let running = async move { handler.call(params).await.into_tool_result() };
            finish(&cx, AssertUnwindSafe(running).catch_unwind().await)
        }))
    }

    fn missing(&self, context: &Context) -> Option<&'static str> {
        P::missing(context)
    }
}

/// Checks the arguments and takes the parameters from the call.
pub(super) fn extract<P: Params>(
    arguments: &str,
    checker: Option<&Checker>,
    cx: &ToolCx,
) -> Result<P, StartError> {
    if let Some(checker) = checker {
        let value: Value = serde_json::from_str(arguments).map_err(StartError::Arguments)?;
        checker
            .check(&value)
            .map_err(|wrong| StartError::Violation(wrong.to_string()))?;
    }
    P::from_call(arguments, cx).map_err(|error| match error {
        ExtractError::Arguments(error) => StartError::Arguments(error),
        ExtractError::Missing(name) => StartError::Missing(name),
    })
}

/// A function that reads JSON.
pub(super) struct Raw<F>(pub(super) F);

impl<F, Fut> Execute for Raw<F>
where
    F: Fn(Value, ToolCx) -> Fut + Send + Sync + 'static,
    Fut: Future + 'static,
    Fut::Output: IntoToolResult,
{
    fn start(
        &self,
        arguments: &str,
        checker: Option<&Checker>,
        cx: ToolCx,
    ) -> Result<LocalBoxFuture<'static, ToolOutcome>, StartError> {
        let value: Value = serde_json::from_str(arguments).map_err(StartError::Arguments)?;
        if let Some(checker) = checker {
            checker
                .check(&value)
                .map_err(|wrong| StartError::Violation(wrong.to_string()))?;
        }
        let call = std::panic::catch_unwind(AssertUnwindSafe(|| (self.0)(value, cx.clone())));
        Ok(Box::pin(async move {
            let Ok(running) = call else {
                return finish(&cx, Ok(Err(ToolError::panicked())));
            };
            let running = running.map(IntoToolResult::into_tool_result);
            finish(&cx, AssertUnwindSafe(running).catch_unwind().await)
        }))
    }

    fn missing(&self, _context: &Context) -> Option<&'static str> {
        None
    }
}

/// Any error while a question is open is the pause; a value is a complete result.
pub(super) fn finish(
    cx: &ToolCx,
    ended: Result<Result<ToolOutput, ToolError>, Box<dyn std::any::Any + Send>>,
) -> ToolOutcome {
    let error = match ended {
        Ok(Ok(output)) => return ToolOutcome::Done(output),
        Ok(Err(error)) if error.is_panic() => return ToolOutcome::Failed(error),
        Ok(Err(error)) => error,
        Err(_panic) => return ToolOutcome::Failed(ToolError::panicked()),
    };
    match cx.end_with(error) {
        Ok(open) => ToolOutcome::NeedsInput(open),
        Err(error) => ToolOutcome::Failed(error),
    }
}

impl fmt::Debug for dyn Execute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Execute(..)")
    }
}
