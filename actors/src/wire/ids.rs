//! Ids as types of their own, so that a run id cannot be handed over as a thread id.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the id as it stands on the wire.
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            /// Gives the id as it stands on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id.into())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, out)
            }
        }
    };
}

id! {
    /// Names one run of a chat. The browser makes it; a run without one gets a UUID v7.
    RunId
}
id! {
    /// Names the conversation that runs belong to.
    ThreadId
}
id! {
    /// Names one tool call of a model turn.
    ToolCallId
}
id! {
    /// Names one message of a conversation.
    MessageId
}
id! {
    /// Names one question that a paused run waits for.
    InterruptId
}
id! {
    /// Names one 2025 session of an MCP server.
    SessionId
}
id! {
    /// Names one task of an MCP server. Whoever knows the id of a task that nobody has signed in
    /// for can reach it.
    TaskId
}

impl RunId {
    /// Makes a run id that sorts by time.
    #[must_use]
    pub fn random() -> Self {
        Self::from(format!("run-{}", Uuid::now_v7()))
    }
}

impl ThreadId {
    /// Makes a thread id.
    #[must_use]
    pub fn random() -> Self {
        Self::from(format!("thread-{}", Uuid::now_v7()))
    }
}

impl MessageId {
    /// Makes a message id.
    #[must_use]
    pub fn random() -> Self {
        Self::from(format!("msg-{}", Uuid::now_v7()))
    }
}

impl ToolCallId {
    /// Makes a tool call id, for a model that gives none or gives one twice.
    #[must_use]
    pub fn random() -> Self {
        Self::from(format!("call-{}", Uuid::now_v7()))
    }
}

impl SessionId {
    /// Makes an unguessable session id.
    #[must_use]
    pub fn random() -> Self {
        Self::from(Uuid::new_v4().to_string())
    }
}

impl TaskId {
    /// Makes an unguessable task id.
    #[must_use]
    pub fn random() -> Self {
        Self::from(Uuid::new_v4().to_string())
    }
}

/// Says whom runs, threads, sessions and logs belong to.
///
/// Two owners never see each other's things: a foreign id gets the answer of an unknown one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Owner(Option<Arc<str>>);

impl Owner {
    /// The owner of everything that nobody has signed in for.
    pub const ANONYMOUS: Self = Self(None);

    /// Names an owner, for example by client id and subject.
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(Some(key.into()))
    }

    /// Tells whether nobody has signed in.
    #[must_use]
    pub const fn is_anonymous(&self) -> bool {
        self.0.is_none()
    }

    /// Gives the key of a signed-in owner.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// Counts events of one run: the first event has offset 1, [`Offset::START`] is before it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Offset(pub u64);

impl Offset {
    /// Before the first event.
    pub const START: Self = Self(0);

    /// The offset of the next event.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, out)
    }
}
