//! The keys of an issuer, read by URL and shared by all threads.
//!
//! Keys are read when they are needed and kept for a while. A token with an unknown key reads them
//! again, since issuers rotate keys, but not more often than a cool-down allows, since anybody can
//! send such a token. While the issuer is down, the keys that are there stay good.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use futures_util::{
    FutureExt as _,
    future::{LocalBoxFuture, Shared},
};
use tokio::time::Instant;

pub(crate) use self::key::Key;
use crate::{
    auth::{EndpointError, Place},
    gauge::mailbox_delivered,
};

mod key;
#[cfg(test)]
mod tests;

/// How long keys that could not be read again stay good. An issuer that is down for longer has
/// taken its keys back, as far as we can tell.
const MAX_STALE: Duration = Duration::from_hours(24);
/// How long an issuer that never answered is left alone after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// How often keys are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// How long keys are fresh.
    pub(crate) max_age: Duration,
    /// How long an unknown key, or an issuer that is down, does not make us read again.
    pub(crate) cool_down: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            max_age: Duration::from_mins(10),
            cool_down: Duration::from_secs(30),
        }
    }
}

/// What reads the keys, on the thread of the actor.
pub(crate) type Source =
    Arc<dyn Fn() -> LocalBoxFuture<'static, Result<Vec<Key>, EndpointError>> + Send + Sync>;

/// The keys of one issuer.
#[derive(Clone)]
pub(crate) struct KeySet(Arc<Inner>);

struct Inner {
    source: Source,
    timing: Timing,
    keys: RwLock<Option<Arc<Keys>>>,
    place: Place<KeySetActor>,
}

/// The keys as they were read once.
pub(crate) struct Keys {
    keys: Vec<Key>,
    /// Counts the readings.
    generation: u64,
    read_at: Instant,
}

/// Why no key can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// The issuer has no such key.
    Unknown,
    /// The issuer cannot be asked.
    Unread(EndpointError),
}

impl KeySet {
    pub(crate) fn new(source: Source, timing: Timing) -> Self {
        Self(Arc::new(Inner {
            source,
            timing,
            keys: RwLock::new(None),
            place: Place::new(|| KeySetActor {
                flight: None,
                last_unknown: None,
            }),
        }))
    }

    /// Finds the keys that `fits` chooses, and reads them again when there is none.
    pub(crate) async fn find<T>(&self, fits: impl Fn(&[Key]) -> Option<T>) -> Result<T, NoKey> {
        let inner = &self.0;
        let keys = match inner.current().filter(|keys| inner.is_fresh(keys)) {
            Some(keys) => keys,
            None => match self.refresh(Why::Age).await {
                Ok(keys) => keys,
                Err(error) => inner.stale().ok_or(NoKey::Unread(error))?,
            },
        };
        if let Some(found) = fits(&keys.keys) {
            return Ok(found);
        }
        let seen = keys.generation;
        let keys = self.refresh(Why::UnknownKey { seen }).await;
        fits(&keys.map_err(NoKey::Unread)?.keys).ok_or(NoKey::Unknown)
    }

    async fn refresh(&self, why: Why) -> Result<Arc<Keys>, EndpointError> {
        let message = || Refresh {
            set: Arc::clone(&self.0),
            why,
        };
        let answer = self.0.place.ask(message).await;
        answer.unwrap_or(Err(EndpointError::NoSystem))
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("KeySet")
            .field("timing", &self.0.timing)
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn current(&self) -> Option<Arc<Keys>> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.clone()
    }

    fn is_fresh(&self, keys: &Keys) -> bool {
        keys.read_at.elapsed() < self.timing.max_age
    }

    /// Gives keys that are old, but better than none.
    fn stale(&self) -> Option<Arc<Keys>> {
        self.current()
            .filter(|keys| keys.read_at.elapsed() < self.timing.max_age + MAX_STALE)
    }

    async fn read(&self) -> Result<Arc<Keys>, EndpointError> {
        let keys = (self.source)().await.inspect_err(|error| {
            tracing::warn!(%error, "the keys of the issuer cannot be read");
        })?;
        let mut slot = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let keys = Arc::new(Keys {
            keys,
            generation: slot.as_ref().map_or(0, |last| last.generation + 1),
            read_at: Instant::now(),
        });
        *slot = Some(Arc::clone(&keys));
        Ok(keys)
    }
}

/// Why keys are to be read.
#[derive(Clone, Copy, Debug)]
enum Why {
    /// There are none, or they are old.
    Age,
    /// A token has a key that is not in the generation `seen`.
    UnknownKey { seen: u64 },
}

/// Reads the keys of one issuer, once at a time.
struct KeySetActor {
    flight: Option<Flight>,
    /// When an unknown key made us read last.
    last_unknown: Option<Instant>,
}

type Read = Result<Arc<Keys>, EndpointError>;

/// The last reading, which may still be on its way.
struct Flight {
    began: Instant,
    run: Shared<LocalBoxFuture<'static, Read>>,
}

impl KeySetActor {
    /// Gives what is known without reading again, when that is what the rules say.
    fn known(&self, set: &Inner, why: Why) -> Option<Read> {
        let current = set.current();
        let failed = self.flight.as_ref().and_then(|flight| {
            let error = flight.run.peek()?.as_ref().err()?.clone();
            Some((flight.began, error))
        });
        match why {
            Why::Age => {
                if let Some(keys) = current.as_ref().filter(|keys| set.is_fresh(keys)) {
                    return Some(Ok(Arc::clone(keys)));
                }
                let pause = match current {
                    Some(_) => set.timing.cool_down,
                    None => RETRY.min(set.timing.cool_down),
                };
                let (began, error) = failed?;
                (began.elapsed() < pause).then_some(Err(error))
            }
            Why::UnknownKey { seen } => {
                if let Some(newer) = current.as_ref().filter(|keys| keys.generation > seen) {
                    return Some(Ok(Arc::clone(newer)));
                }
                let cooling = self
                    .last_unknown
                    .is_some_and(|last| last.elapsed() < set.timing.cool_down);
                if !cooling {
                    return None;
                }
                // The issuer could not say whether it knows the key: that is not the token's fault.
                failed.map(|(_, error)| Err(error)).or(current.map(Ok))
            }
        }
    }
}

impl Actor for KeySetActor {
    type Context = Context<Self>;
}

struct Refresh {
    set: Arc<Inner>,
    why: Why,
}

impl Message for Refresh {
    type Result = Read;
}

impl Handler<Refresh> for KeySetActor {
    type Result = ResponseFuture<Read>;

    fn handle(&mut self, Refresh { set, why }: Refresh, _ctx: &mut Context<Self>) -> Self::Result {
        mailbox_delivered();
        if let Some(flight) = &self.flight
            && flight.run.peek().is_none()
        {
            return Box::pin(flight.run.clone());
        }
        if let Some(known) = self.known(&set, why) {
            return Box::pin(std::future::ready(known));
        }
        if matches!(why, Why::UnknownKey { .. }) {
            self.last_unknown = Some(Instant::now());
        }
        let run = async move { set.read().await }.boxed_local().shared();
        self.flight = Some(Flight {
            began: Instant::now(),
            run: run.clone(),
        });
        Box::pin(run)
    }
}
