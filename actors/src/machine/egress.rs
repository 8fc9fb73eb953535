//! Where connections may go: a list of hosts, and addresses that nobody outside should reach.
//!
//! The rules are written as the host sources of a content security policy. A URL is read strictly:
//! what two parsers could read differently is refused, since the one that connects may be another.

mod address;
mod rule;
mod target;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use self::{rule::Rule, target::Target};

/// How many rules a policy may have. Each connection that is opened is held against all of them.
const MAX_RULES: usize = 1024;

/// Says where connections may go. Cheap to clone.
///
/// Without any setting everything is allowed. Give it to whatever connects:
/// [`Http::egress`](crate::transport::Http::egress), [`OpenAi::egress`](crate::model::OpenAi::egress),
/// the verifiers of [`auth`](crate::auth), and the server, whose tools find it as
/// [`ToolCx::egress`](crate::tool::ToolCx::egress).
///
/// ```
/// use roscius_actors::transport::Egress;
///
/// let egress = Egress::only(["https://api.example.com", "*.example.org", "127.0.0.1:8080"])?
///     .public_only();
/// assert!(egress.check("https://api.example.com/v1").is_ok());
/// assert!(egress.check("https://evil.example/v1").is_err());
/// # Ok::<_, roscius_actors::transport::EgressError>(())
/// ```
#[derive(Clone, Default)]
pub struct Egress(Option<Arc<Policy>>);

#[derive(Clone, Default)]
struct Policy {
    /// One of these has to fit; all of the world when there is no list.
    rules: Option<Arc<[Rule]>>,
    public_only: bool,
    on_refusal: Option<Refusals>,
}

type Refusals = Arc<dyn Fn(&EgressError) + Send + Sync>;

/// A connection that must not be made, or a rule that cannot be read.
///
/// No text holds the user, the path or the query of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EgressError {
    /// No rule allows the place.
    #[error("connecting to {origin} is refused: no egress rule allows it")]
    NotListed {
        /// Scheme, host and port.
        origin: String,
    },
    /// The place is at no address that everybody can reach, and the policy allows no other.
    #[error(
        "connecting to {origin} is refused: {address} is {kind}, and egress is to public addresses only"
    )]
    NotPublic {
        /// Scheme, host and port.
        origin: String,
        /// The address: the last one of those that were looked up.
        address: IpAddr,
        /// What kind of address that is.
        kind: &'static str,
    },
    /// The URL can be read in more than one way, or names no place.
    #[error("connecting is refused: the URL {reason}")]
    Unclear {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A rule cannot be read.
    #[error("the egress rule `{rule}` cannot be read: it {reason}")]
    Rule {
        /// The rule.
        rule: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There are too many rules.
    #[error("an egress policy has at most {limit} rules")]
    TooManyRules {
        /// How many there may be.
        limit: usize,
    },
}

impl Egress {
    /// Allows everything, as does the default.
    #[must_use]
    pub const fn everywhere() -> Self {
        Self(None)
    }

    /// Allows only what one of these rules names, at most 1,024. No rule allows nothing.
    ///
    /// A rule is `host`, and may have a scheme before it and a port behind it:
    /// `https://api.example.com`, `example.com:8443`. Without a scheme it means `http` and `https`,
    /// without a port the one that the scheme implies; `:*` is any port. `*.example.com` is every
    /// name that ends so, but not `example.com`; `*` is every host. An address is written as in a
    /// URL: `127.0.0.1`, `[::1]`. Upper case and a dot at the end make no difference; names that
    /// are not ASCII are written as `xn--…`.
    ///
    /// # Errors
    /// [`EgressError::Rule`] for a rule that cannot be read, [`EgressError::TooManyRules`].
    pub fn only<S: AsRef<str>>(rules: impl IntoIterator<Item = S>) -> Result<Self, EgressError> {
        let mut read = Vec::new();
        for rule in rules {
            if read.len() == MAX_RULES {
                return Err(EgressError::TooManyRules { limit: MAX_RULES });
            }
            read.push(Rule::read(rule.as_ref())?);
        }
        Ok(Self::everywhere().with(|policy| policy.rules = Some(read.into())))
    }

    /// Refuses what is at an address that is not public: loopback, private, link-local (where
    /// clouds keep the credentials of a machine) and other special ones. Names are judged by what
    /// they are looked up to, and only public addresses of a name are connected to.
    ///
    /// An address that a rule of [`only`](Self::only) writes out stays allowed in URLs that write
    /// it out, too.
    #[must_use]
    pub fn public_only(self) -> Self {
        self.with(|policy| policy.public_only = true)
    }

    /// Tells this function of each refusal, wherever it happens. It must not block. If it panics,
    /// the panic ends there.
    #[must_use]
    pub fn on_refusal(self, hook: impl Fn(&EgressError) + Send + Sync + 'static) -> Self {
        self.with(|policy| policy.on_refusal = Some(Arc::new(hook)))
    }

    fn with(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(Arc::make_mut(self.0.get_or_insert_default()));
        self
    }

    /// Tells whether a URL may be connected to, as far as it can be told without looking up its
    /// name. Whoever looks up a name by himself asks [`check_addresses`](Self::check_addresses) as
    /// well, and follows a redirect only after asking again.
    ///
    /// # Errors
    /// [`EgressError`] when it may not.
    pub fn check(&self, url: &str) -> Result<(), EgressError> {
        let Some(policy) = &self.0 else { return Ok(()) };
        let decided = Target::read(url).and_then(|target| policy.check(&target).map(drop));
        decided.inspect_err(|refusal| policy.tell(refusal))
    }

    /// Gives those addresses of a URL that may be connected to. Connecting to them, and not to what
    /// another look-up of the name finds, is what keeps a name from changing in between.
    ///
    /// # Errors
    /// [`EgressError`] when the URL may not be connected to, or there are addresses and all are
    /// refused.
    pub fn check_addresses(
        &self,
        url: &str,
        addresses: impl IntoIterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let addresses = addresses.into_iter();
        let Some(policy) = &self.0 else {
            return Ok(addresses.collect());
        };
        let decided = Target::read(url).and_then(|target| policy.filter(&target, addresses));
        decided.inspect_err(|refusal| policy.tell(refusal))
    }

    /// Tells whether everything is allowed.
    #[must_use]
    pub const fn is_everywhere(&self) -> bool {
        self.0.is_none()
    }

    /// Tells whether two handles are of one policy.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Policy {
    /// Says whether the place itself is allowed at the address that it writes out.
    fn check(&self, target: &Target<'_>) -> Result<Pinned, EgressError> {
        let mut pinned = Pinned(None);
        if let Some(rules) = &self.rules {
            let mut fitting = rules.iter().filter(|rule| rule.fits(target)).peekable();
            if fitting.peek().is_none() {
                let origin = target.origin();
                return Err(EgressError::NotListed { origin });
            }
            pinned.0 = target.address().filter(|_| fitting.any(Rule::is_address));
        }
        match target.address() {
            Some(address) => self.judge(target, pinned, address).map(|()| pinned),
            None => Ok(pinned),
        }
    }

    fn judge(
        &self,
        target: &Target<'_>,
        Pinned(pinned): Pinned,
        address: IpAddr,
    ) -> Result<(), EgressError> {
        if !self.public_only || pinned == Some(address.to_canonical()) {
            return Ok(());
        }
        match address::special(address) {
            None => Ok(()),
            Some(kind) => Err(EgressError::NotPublic {
                origin: target.origin(),
                address,
                kind,
            }),
        }
    }

    fn filter(
        &self,
        target: &Target<'_>,
        addresses: impl Iterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let pinned = self.check(target)?;
        let mut refused = None;
        let mut allowed = Vec::new();
        for address in addresses {
            match self.judge(target, pinned, address.ip()) {
                Ok(()) => allowed.push(address),
                Err(refusal) => refused = Some(refusal),
            }
        }
        match refused {
            Some(refusal) if allowed.is_empty() => Err(refusal),
            _ => Ok(allowed),
        }
    }

    fn tell(&self, refusal: &EgressError) {
        if let Some(hook) = &self.on_refusal {
            // The connection is refused all the same, and the panic hook has told of the panic.
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| hook(refusal)));
        }
    }
}

/// The address that both a rule and the URL write out.
#[derive(Clone, Copy)]
struct Pinned(Option<IpAddr>);

impl fmt::Debug for Egress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(policy) = &self.0 else {
            return out.write_str("Egress(everywhere)");
        };
        out.debug_struct("Egress")
            .field("rules", &policy.rules)
            .field("public_only", &policy.public_only)
            .finish_non_exhaustive()
    }
}
