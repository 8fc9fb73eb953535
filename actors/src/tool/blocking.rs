//! Tools whose functions block: they run on threads of their own.

use std::{
    marker::PhantomData,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::LocalBoxFuture;
use tokio::{runtime::Handle, sync::Semaphore, task::AbortHandle};

use super::{
    Context, IntoToolResult, Params, Tool, ToolCx, ToolError, ToolOutcome, ToolOutput,
    run::{Execute, StartError, extract, finish},
};
use crate::machine::schema::Checker;

/// Calls of one blocking tool that run at once. Each has a thread, and the pool is shared with
/// everything else that blocks.
const MAX_RUNNING: usize = 64;
/// Calls of one blocking tool that wait for a thread; who comes then is told to come later.
const MAX_WAITING: usize = 1024;

/// A function that blocks and can be a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of a blocking tool",
    label = "not a function of a blocking tool",
    note = "such a tool is a `fn` (not `async`) of up to four parameters, each `Args<T>`, `Ctx<T>` or `ToolCx` and `Send`, and it is `Send + Sync + 'static`"
)]
pub trait BlockingFn<P>: Send + Sync + 'static {
    /// What the function returns.
    type Out;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&self, params: P) -> Self::Out;
}

macro_rules! arity {
    ($($param:ident),*) => {
        #[allow(non_snake_case, reason = "the type parameters name the values as well")]
        impl<F, Out, $($param),*> BlockingFn<($($param,)*)> for F
        where
            F: Fn($($param),*) -> Out + Send + Sync + 'static,
        {
            type Out = Out;

            fn call(&self, ($($param,)*): ($($param,)*)) -> Out {
                self($($param),*)
            }
        }
    };
}

arity!();
arity!(A);
arity!(A, B);
arity!(A, B, C);
arity!(A, B, C, D);

impl Tool {
    /// Makes a tool from a function that blocks: it reads files, computes for long, or talks to a
    /// database through a driver that waits. As [`Tool::new`], but the function is not `async` and
    /// runs on the pool of blocking threads of tokio.
    ///
    /// At most 64 calls of one such tool run at once and 1024 wait; further ones fail with `tool is
    /// busy`. A call that is cancelled before it runs never runs. One that runs cannot be stopped
    /// from outside: take a [`ToolCx`] and look at [`ToolCx::cancelled`] now and then. Asking
    /// questions needs `async`, so such a tool cannot ask.
    ///
    /// ```
    /// use roscius_actors::tool::{Tool, ToolCx};
    ///
    /// let tool = Tool::blocking("count", |cx: ToolCx| {
    ///     let mut count = 0_u64;
    ///     while count < 1_000_000 && !cx.cancelled().is_cancelled() {
    ///         count += 1;
    ///     }
    ///     format!("counted to {count}")
    /// });
    /// ```
    pub fn blocking<P, H>(name: impl Into<String>, handler: H) -> Self
    where
        H: BlockingFn<P>,
        P: Params + Send,
        H::Out: IntoToolResult,
    {
        let execute = Blocking {
            handler: Arc::new(handler),
            room: Arc::new(Semaphore::new(MAX_RUNNING)),
            waiting: Arc::default(),
            params: PhantomData,
        };
        Self::typed::<P, H::Out>(name.into(), Arc::new(execute))
    }
}

/// A function with typed parameters that blocks.
struct Blocking<H, P> {
    handler: Arc<H>,
    room: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    params: PhantomData<fn(P)>,
}

impl<H, P> Execute for Blocking<H, P>
where
    H: BlockingFn<P>,
    P: Params + Send,
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
        let room = Arc::clone(&self.room);
        let waiting = Arc::clone(&self.waiting);
        Ok(Box::pin(async move {
            let run = move || {
                let call = AssertUnwindSafe(|| handler.call(params).into_tool_result());
                std::panic::catch_unwind(call)
            };
            match on_pool(&room, waiting, run).await {
                Ok(ended) => finish(&cx, ended),
                Err(error) => ToolOutcome::Failed(error),
            }
        }))
    }

    fn missing(&self, context: &Context) -> Option<&'static str> {
        P::missing(context)
    }
}

/// How a call ended on its thread: with a result, or with a panic.
type Ended = std::thread::Result<Result<ToolOutput, ToolError>>;

/// Runs a call on a thread of the pool; it is taken off the queue when nobody waits any more.
async fn on_pool(
    room: &Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    run: impl FnOnce() -> Ended + Send + 'static,
) -> Result<Ended, ToolError> {
    // Without a runtime there is no pool, and asking tokio for it would panic.
    let Ok(runtime) = Handle::try_current() else {
        return Err(ToolError::new("a blocking tool needs a tokio runtime"));
    };
    let permit = match Arc::clone(room).try_acquire_owned() {
        Ok(permit) => permit,
        Err(_) => {
            let _place = Place::take(waiting)?;
            let permit = Arc::clone(room).acquire_owned().await;
            permit.map_err(|_| ToolError::new("tool failed"))?
        }
    };
    let running = runtime.spawn_blocking(move || {
        let ended = run();
        // A call goes on when its client has gone, so the room is its thread's to give back.
        drop(permit);
        ended
    });
    let _queued = Queued(running.abort_handle());
    running.await.map_err(|_| ToolError::panicked())
}

/// A call that waits for a thread.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(waiting: Arc<AtomicUsize>) -> Result<Self, ToolError> {
        let before = waiting.fetch_add(1, Ordering::AcqRel);
        let place = Self(waiting);
        if before >= MAX_WAITING {
            return Err(ToolError::new("tool is busy"));
        }
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Takes a call off the queue of the pool; what runs already is not touched.
struct Queued(AbortHandle);

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        reason = "a failed expectation is the test failing"
    )]

    use std::{sync::mpsc, time::Duration};

    use super::*;
    use crate::tool::Args;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Pair {
        a: i64,
        b: i64,
    }

    fn cx() -> ToolCx {
        ToolCx::builder().build()
    }

    fn text(outcome: ToolOutcome) -> String {
        match outcome {
            ToolOutcome::Done(output) => output.to_value().to_string(),
            ToolOutcome::Failed(error) => format!("failed: {}", error.message()),
            ToolOutcome::NeedsInput(_) => "asks".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_blocking_tool_runs_on_another_thread() {
        let here = std::thread::current().id();
        let tool = Tool::blocking("add", move |Args(pair): Args<Pair>| {
            assert_ne!(std::thread::current().id(), here);
            (pair.a + pair.b).to_string()
        });
        let required = tool.input_schema().get("required").cloned();
        assert_eq!(required, Some(serde_json::json!(["a", "b"])));
        assert_eq!(text(tool.call(r#"{"a":1,"b":2}"#, cx()).await), "\"3\"");
        let wrong = text(tool.call(r#"{"a":1}"#, cx()).await);
        assert!(
            wrong.starts_with("failed: invalid") && wrong.contains("/b"),
            "{wrong}"
        );
    }

    #[tokio::test]
    async fn a_panic_of_a_blocking_tool_is_a_failure_without_its_words() {
        let tool = Tool::blocking("boom", || -> String { panic!("secret") });
        let ToolOutcome::Failed(error) = tool.call("{}", cx()).await else {
            panic!("it did not fail");
        };
        assert_eq!(error.message(), "tool failed");
        assert!(error.is_panic());
    }

    #[tokio::test]
    async fn only_so_many_blocking_calls_run_and_the_rest_waits_or_never_runs() {
        let (tell, told) = mpsc::channel();
        let open = Arc::new((std::sync::Mutex::new(false), std::sync::Condvar::new()));
        let door = Arc::clone(&open);
        let tool = Tool::blocking("wait", move || {
            let _ = tell.send(());
            let (lock, bell) = &*door;
            let guard = lock.lock().unwrap();
            drop(bell.wait_while(guard, |open| !*open).unwrap());
            "done"
        });
        let mut calls: Vec<_> = (0..MAX_RUNNING + MAX_WAITING + 1)
            .map(|_| tool.call("{}", cx()))
            .collect();
        for call in &mut calls {
            let _ = futures_util::poll!(call);
        }
        // The last one was one too many, and its answer was there at once; it was taken by `poll!`.
        calls.pop();
        assert_eq!(text(tool.call("{}", cx()).await), "failed: tool is busy");
        for _ in 0..MAX_RUNNING {
            told.recv_timeout(PATIENCE).unwrap();
        }
        // All that wait are given up but one.
        let last = calls.pop().unwrap();
        calls.truncate(MAX_RUNNING);
        *open.0.lock().unwrap() = true;
        open.1.notify_all();
        for call in calls {
            assert_eq!(text(call.await), "\"done\"");
        }
        assert_eq!(text(last.await), "\"done\"");
        assert!(told.try_recv().is_ok());
        assert!(told.try_recv().is_err(), "a call that was given up has run");
    }
}
