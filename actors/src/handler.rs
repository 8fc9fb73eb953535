//! Functions that serve requests: plain async functions whose parameters are taken from the
//! request by their type. Resources, prompts and completion are made of them.

mod complete;

use std::{
    any::TypeId, any::type_name, fmt, marker::PhantomData, panic::AssertUnwindSafe, sync::Arc,
};

pub use self::complete::{CompleteRequest, IntoCompletion, MAX_PROPOSALS, Partial};
pub(crate) use self::complete::{Completers, bounded};
use futures_util::{FutureExt as _, future::LocalBoxFuture};

use crate::{
    machine::schema::TypeSchema,
    tool::{Context, Ctx, Question, ToolCx, ToolError, ToolFn},
    wire::auth::AuthInfo,
};

/// Why a parameter could not be made.
#[derive(Debug)]
#[doc(hidden)]
pub enum Rejection {
    /// What the caller sent does not fit the type.
    Arguments(String),
    /// There is no value of this type.
    Missing(&'static str),
}

/// One parameter of a function that serves a request `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a function that serves a `{R}`",
    label = "this is not taken from the request",
    note = "`Ctx<T>` is a value of the application and `ToolCx` the call itself; a resource takes `Uri` and `Vars<T>`, a prompt takes `Args<T>`, a completion takes `Partial`"
)]
pub trait FromRequest<R>: Sized + 'static {
    /// The parameter needs the call itself, so it can ask, report and be cancelled.
    #[doc(hidden)]
    const USES_CX: bool = false;

    /// Names the type whose value is missing in the context of every request.
    #[doc(hidden)]
    #[must_use]
    fn missing(context: &Context) -> Option<&'static str> {
        let _ = context;
        None
    }

    /// Gives the schema of what the caller sends.
    #[doc(hidden)]
    #[must_use]
    fn schema() -> Option<TypeSchema> {
        None
    }

    /// Takes the parameter from the request.
    #[doc(hidden)]
    fn from_request(request: &R, cx: &ToolCx) -> Result<Self, Rejection>;
}

impl<R, T: Send + Sync + 'static> FromRequest<R> for Ctx<T> {
    fn missing(context: &Context) -> Option<&'static str> {
        let known = TypeId::of::<T>() == TypeId::of::<AuthInfo>() || context.contains::<T>();
        (!known).then(type_name::<T>)
    }

    fn from_request(_request: &R, cx: &ToolCx) -> Result<Self, Rejection> {
        cx.context_value::<T>()
            .map(Self)
            .ok_or(Rejection::Missing(type_name::<T>()))
    }
}

impl<R> FromRequest<R> for ToolCx {
    const USES_CX: bool = true;

    fn from_request(_request: &R, cx: &ToolCx) -> Result<Self, Rejection> {
        Ok(cx.clone())
    }
}

/// All parameters of a function that serves a request `R`: up to four, each of which implements
/// [`FromRequest`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a function that serves a `{R}`",
    note = "such a function takes up to four parameters, each of which implements `FromRequest<{R}>`"
)]
pub trait RequestParams<R>: Sized + 'static {
    /// One of them needs the call itself.
    #[doc(hidden)]
    const USES_CX: bool;

    /// Names a type whose value is missing in the context of every request.
    #[doc(hidden)]
    #[must_use]
    fn missing(context: &Context) -> Option<&'static str>;

    /// Gives the schema of what the caller sends.
    #[doc(hidden)]
    #[must_use]
    fn schema() -> Option<TypeSchema>;

    /// Takes the parameters from the request.
    #[doc(hidden)]
    fn from_request(request: &R, cx: &ToolCx) -> Result<Self, Rejection>;
}

macro_rules! arity {
    ($($param:ident),*) => {
        impl<R, $($param: FromRequest<R>),*> RequestParams<R> for ($($param,)*) {
            const USES_CX: bool = false $(|| $param::USES_CX)*;

            #[allow(unused_variables, reason = "a function without parameters misses nothing")]
            fn missing(context: &Context) -> Option<&'static str> {
                let missing: Option<&'static str> = None;
                $(let missing = missing.or_else(|| $param::missing(context));)*
                missing
            }

            fn schema() -> Option<TypeSchema> {
                let schemas: Vec<Option<TypeSchema>> =
                    vec![$($param::schema()),*];
                schemas.into_iter().flatten().next()
            }

            #[allow(unused_variables, reason = "a function without parameters reads nothing")]
            fn from_request(request: &R, cx: &ToolCx) -> Result<Self, Rejection> {
                Ok(($($param::from_request(request, cx)?,)*))
            }
        }
    };
}

arity!();
arity!(A);
arity!(A, B);
arity!(A, B, C);
arity!(A, B, C, D);

/// How a served request ended.
#[derive(Debug)]
pub(crate) enum Served<O> {
    /// With a result.
    Done(O),
    /// With a failure.
    Failed(ToolError),
    /// Not yet: somebody has to answer first. Every question has a key.
    NeedsInput(Vec<Question>),
}

/// The future of a served request; it stays on its thread.
pub(crate) type Serving<O> = LocalBoxFuture<'static, Served<O>>;

/// A function that serves a request, its types erased.
pub(crate) trait Serve<R, O>: Send + Sync {
    /// Takes the parameters from the request and gives the future.
    fn start(&self, request: &R, cx: ToolCx) -> Result<Serving<O>, Rejection>;

    /// Names a type that the context must hold and does not.
    fn missing(&self, context: &Context) -> Option<&'static str>;

    /// The function can ask and report.
    fn uses_cx(&self) -> bool;
}

impl<R, O> fmt::Debug for dyn Serve<R, O> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Serve(..)")
    }
}

/// What a function's return value becomes.
type Convert<T, O> = fn(T) -> Result<O, ToolError>;

struct Function<H, P, T, O> {
    handler: Arc<H>,
    convert: Convert<T, O>,
    params: PhantomData<fn(P)>,
}

/// Erases the types of a function.
pub(crate) fn function<R, O, P, H>(handler: H, convert: Convert<H::Out, O>) -> Arc<dyn Serve<R, O>>
where
    R: 'static,
    O: 'static,
    H: ToolFn<P>,
    P: RequestParams<R>,
    H::Out: 'static,
{
    Arc::new(Function {
        handler: Arc::new(handler),
        convert,
        params: PhantomData::<fn(P)>,
    })
}

impl<R, O, P, H> Serve<R, O> for Function<H, P, H::Out, O>
where
    R: 'static,
    O: 'static,
    H: ToolFn<P>,
    P: RequestParams<R>,
    H::Out: 'static,
{
    fn start(&self, request: &R, cx: ToolCx) -> Result<Serving<O>, Rejection> {
        let params = P::from_request(request, &cx)?;
        let handler = Arc::clone(&self.handler);
        let convert = self.convert;
        Ok(Box::pin(async move {
            // The call itself stands inside, so that a panic before its first await is caught too.
            let running = async move { convert(handler.call(params).await) };
            match AssertUnwindSafe(running).catch_unwind().await {
                Ok(ended) => finish(&cx, ended),
                Err(_panic) => Served::Failed(ToolError::panicked()),
            }
        }))
    }

    fn missing(&self, context: &Context) -> Option<&'static str> {
        P::missing(context)
    }

    fn uses_cx(&self) -> bool {
        P::USES_CX
    }
}

/// Any error while a question is open is the pause; a value is a complete result.
fn finish<O>(cx: &ToolCx, ended: Result<O, ToolError>) -> Served<O> {
    let error = match ended {
        Ok(output) => return Served::Done(output),
        Err(error) => error,
    };
    match cx.end_with(error) {
        Ok(open) => Served::NeedsInput(open),
        Err(error) => Served::Failed(error),
    }
}
