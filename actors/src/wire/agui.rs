//! The chat wire: AG-UI events, message rows and the body of a run request.
//!
//! Members that AG-UI does not know stand in `metadata.tanstack`, never at the top of an event.
//! An event is encoded once, to one line of JSON, by [`Event::encode`].

mod encode;
mod event;
mod input;
mod interrupt;
mod row;

pub use event::{Event, EventKind, Outcome, UsageItem};
pub use input::{ClientTool, ContextItem, RunAgentInput};
pub use interrupt::{
    BINDING_KEY, BindingKind, CONTINUATION_KEY, ErrorScope, ErrorSource, Interrupt,
    InterruptBinding, InterruptCode, InterruptError, PAYLOAD_KEY, ResumeEntry, ResumeStatus,
};
pub use row::{Role, Row, RowToolCall};
