//! What a session hears of changes.

use std::sync::Arc;

use actix::{Handler, Message};

use super::SessionActor;
use crate::gauge::mailbox_delivered;

/// Resources that one session subscribes to.
const MAX_WATCHED: usize = 1_000;

/// Subscribes to a resource, or ends that; gives whether there was room.
pub(crate) struct Watch {
    /// Its URI in normal form.
    pub(crate) resource: String,
    pub(crate) on: bool,
}

impl Message for Watch {
    type Result = bool;
}

impl Handler<Watch> for SessionActor {
    type Result = bool;

    fn handle(&mut self, watch: Watch, _: &mut Self::Context) -> bool {
        mailbox_delivered();
        let watched = &mut self.open().watched;
        if !watch.on {
            watched.remove(&watch.resource);
            return true;
        }
        if watched.len() >= MAX_WATCHED && !watched.contains(&watch.resource) {
            return false;
        }
        watched.insert(watch.resource);
        true
    }
}

/// Something has changed.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// The notification.
    pub(crate) message: Arc<[u8]>,
    /// The URI of a resource in normal form, if only those hear of it who have subscribed.
    pub(crate) resource: Option<Arc<str>>,
}

impl Message for Changed {
    type Result = ();
}

impl Handler<Changed> for SessionActor {
    type Result = ();

    fn handle(&mut self, changed: Changed, _: &mut Self::Context) {
        mailbox_delivered();
        // Without a stream of its own the session has no way for it, and no wish.
        let Some(open) = &self.open else {
            return;
        };
        let hears = |uri: Arc<str>| open.watched.contains(&*uri);
        if let Some(lane) = &open.standalone
            && changed.resource.is_none_or(hears)
            && !lane.report(&changed.message)
        {
            tracing::debug!("a notification was dropped");
        }
    }
}
