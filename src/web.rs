//! Services for actix-web: each is one `configure` call.

pub mod guard;

pub use self::guard::Guard;
