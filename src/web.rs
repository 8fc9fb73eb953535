//! Services for actix-web: each is one `configure` call.

pub mod guard;

pub use self::guard::Guard;
mod stream;

pub use self::{
    guard::Guard,
    stream::{EventBody, Framing, KEEP_ALIVE},
};
