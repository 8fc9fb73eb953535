//! How often one caller may ask.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher as _, RandomState},
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{McpServer, McpServerBuilder, Options, Response, busy::Busy};
use crate::{
    machine::quota::Quota,
    ports::clock::{Clock, SystemClock},
    wire::jsonrpc::{RpcError, code},
};

/// Callers that are remembered: at 32 bytes each, 320 KB.
const MAX_CALLERS: usize = 10_000;
/// Parts of the table of callers, so that threads seldom meet.
const SHARDS: usize = 16;
/// Bits of an IPv6 address that tell callers apart: whoever has one address has its /64.
const IPV6_NETWORK: u128 = !0 << 64;

/// How many requests one caller may send: a bucket of tokens for each.
///
/// A caller is who the token names (client id and subject together). Callers without a token are
/// told apart by the address that the host gives ([`Options::peer`]; IPv6 by its /64), else they
/// share one bucket, as does whoever speaks by stdio.
///
/// Every JSON-RPC request takes one token, also within an array, and so does the GET that opens a
/// stream. Notifications, answers to questions and the DELETE of a session take none: they start
/// nothing, and some of them end something.
#[derive(Clone, Debug)]
pub struct RateLimit {
    requests: u32,
    period: Duration,
    burst: u32,
    max_callers: usize,
    clock: Arc<dyn Clock>,
}

impl RateLimit {
    /// Allows so many requests in a period, at least 1, and all of them at once.
    #[must_use]
    pub fn new(requests: u32, period: Duration) -> Self {
        Self {
            requests,
            period,
            burst: requests,
            max_callers: MAX_CALLERS,
            clock: Arc::new(SystemClock),
        }
    }

    /// Allows so many requests in a second, at least 1.
    #[must_use]
    pub fn per_second(requests: u32) -> Self {
        Self::new(requests, Duration::from_secs(1))
    }

    /// Allows so many requests in a minute, at least 1.
    #[must_use]
    pub fn per_minute(requests: u32) -> Self {
        Self::new(requests, Duration::from_mins(1))
    }

    /// Sets how many requests may come at once, at least 1; by default those of one period.
    #[must_use]
    pub const fn burst(mut self, requests: u32) -> Self {
        self.burst = requests;
        self
    }

    /// Sets how many callers are remembered; 10,000 by default. Where there are more at once, the
    /// one that has used least of its bucket is forgotten and starts with a full one.
    #[must_use]
    pub const fn max_callers(mut self, callers: usize) -> Self {
        self.max_callers = callers;
        self
    }

    /// Sets the clock; the machine's by default. A refusal is exact to a millisecond.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

/// Limits.
impl McpServerBuilder {
    /// Bounds how often one caller may ask; by default nothing does.
    ///
    /// A request over the bound is refused before anything runs for it: with 429, `Retry-After` and
    /// the JSON-RPC error [`RATE_LIMITED`](crate::wire::jsonrpc::code::RATE_LIMITED), whose data
    /// says how long to wait (`{"retryAfterMs": 250}`). Within an array, and by stdio, the error is
    /// all there is.
    ///
    /// ```
    /// use roscius_actors::server::{McpServer, RateLimit};
    ///
    /// let server = McpServer::new("notes", "1.0.0")
    ///     .rate_limit(RateLimit::per_minute(600).burst(60))
    ///     .build()?;
    /// # Ok::<(), roscius_actors::server::ServerError>(())
    /// ```
    #[must_use]
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }
}

/// Who asks. It is kept as a keyed hash, which nobody can aim at another caller's.
#[derive(Hash)]
enum Caller<'a> {
    Known(&'a str, Option<&'a str>),
    At(IpAddr),
    Unknown,
}

impl<'a> Caller<'a> {
    fn of(options: &'a Options) -> Self {
        match (&options.auth, options.peer) {
            (Some(auth), _) => Self::Known(&auth.client_id, auth.subject.as_deref()),
            (None, Some(peer)) => Self::At(network(peer)),
            (None, None) => Self::Unknown,
        }
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & IPV6_NETWORK).into(),
        address => address,
    }
}

/// When the bucket of each caller is full again.
type Buckets = HashMap<u64, u64>;

/// Counts what callers ask.
pub(super) struct Limiter {
    quota: Quota,
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    shards: [Mutex<Buckets>; SHARDS],
    most_of_shard: usize,
}

impl Limiter {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self {
            quota: Quota::new(limit.requests, limit.period, limit.burst),
            clock: limit.clock,
            hasher: RandomState::new(),
            shards: Default::default(),
            most_of_shard: limit.max_callers.div_ceil(SHARDS).max(1),
        }
    }

    /// Takes a token of the caller; gives how long the next one takes if there is none.
    fn take(&self, options: &Options) -> Result<(), Duration> {
        let caller = self.hasher.hash_one(Caller::of(options));
        let now = self.clock.now_ms().saturating_mul(1000);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the remainder is below the number of shards"
        )]
        let Some(shard) = self.shards.get((caller % SHARDS as u64) as usize) else {
            return Ok(());
        };
        let mut buckets = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= self.most_of_shard && !buckets.contains_key(&caller) {
            make_room(&mut buckets, now);
        }
        self.quota.take(buckets.entry(caller).or_default(), now)
    }
}

/// Forgets every caller whose bucket is full, for that is what a new one has; if there is none, the
/// caller who is nearest to it.
fn make_room(buckets: &mut Buckets, now: u64) {
    let before = buckets.len();
    buckets.retain(|_, full_at| *full_at > now);
    if buckets.len() < before {
        return;
    }
    let fullest = buckets.iter().min_by_key(|(_, full_at)| **full_at);
    if let Some(caller) = fullest.map(|(caller, _)| *caller) {
        buckets.remove(&caller);
    }
}

impl McpServer {
    /// Counts a request; gives the refusal if its caller has asked too often.
    pub(super) fn over_rate(
        &self,
        id: Option<&str>,
        modern: bool,
        options: &Options,
    ) -> Option<Response> {
        let wait = self.0.limiter.as_ref()?.take(options).err()?;
        let error = RpcError::new(code::RATE_LIMITED, "too many requests: try again later");
        Some(Busy::new(429, error, Some(wait)).response(id, modern))
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Limiter")
            .field("quota", &self.quota)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use super::*;
    use crate::{ports::clock::ManualClock, wire::auth::AuthInfo};

    fn known(client: &str, subject: Option<&str>) -> Options {
        let mut caller = AuthInfo::new("token", client);
        caller.subject = subject.map(str::to_owned);
        // The address does not count for who is known.
        at("192.0.2.1").auth_info(caller)
    }

    fn at(address: &str) -> Options {
        Options::new().peer(address.parse().unwrap())
    }

    #[test]
    fn callers_are_told_apart_by_token_then_by_address() {
        let limiter = Limiter::new(RateLimit::per_minute(1).clock(Arc::new(ManualClock::at(1))));
        let apart = [
            known("a", None),
            known("a", Some("x")),
            known("a", Some("y")),
            known("b", Some("x")),
            at("192.0.2.1"),
            at("192.0.2.2"),
            at("2001:db8:0:1::1"),
            at("2001:db8:0:2::1"),
            Options::new(),
        ];
        for options in &apart {
            assert!(limiter.take(options).is_ok(), "{options:?}");
            assert!(limiter.take(options).is_err(), "{options:?}");
        }
        for same in [at("::ffff:192.0.2.2"), at("2001:db8:0:1::2")] {
            assert!(limiter.take(&same).is_err(), "{same:?}");
        }
    }

    #[test]
    fn the_table_of_callers_is_bounded_and_keeps_those_who_ask_most() {
        let limit = RateLimit::per_minute(3).max_callers(4 * SHARDS);
        let limiter = Limiter::new(limit.clock(Arc::new(ManualClock::at(1))));
        let busy = known("busy", None);
        while limiter.take(&busy).is_ok() {}
        for user in 0..1_000 {
            let user = user.to_string();
            assert!(limiter.take(&known("many", Some(&user))).is_ok());
        }
        let kept = limiter
            .shards
            .iter()
            .map(|shard| shard.lock().unwrap().len());
        let kept: Vec<_> = kept.collect();
        assert!(kept.iter().all(|kept| *kept <= 4), "{kept:?}");
        assert!(limiter.take(&busy).is_err());
    }

    #[test]
    fn who_has_a_full_bucket_needs_no_place() {
        let mut buckets = Buckets::from([(1, 10), (2, 20), (3, 30)]);
        make_room(&mut buckets, 25);
        assert_eq!(buckets, Buckets::from([(3, 30)]));
        let mut buckets = Buckets::from([(1, 10), (2, 20)]);
        make_room(&mut buckets, 0);
        assert_eq!(buckets, Buckets::from([(2, 20)]));
    }
}
