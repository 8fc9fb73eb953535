//! Streams of the session: opened by a GET, or kept for a client that comes back.

use std::sync::Arc;

use actix::{Handler, Message};

use super::SessionActor;
use crate::{
    gauge::mailbox_delivered,
    session::{Lane, LaneId, Reader, lane::EventId},
};

/// Opens a stream of the session for a GET.
#[derive(Debug)]
pub(crate) struct Attach {
    /// `Last-Event-ID`.
    pub(crate) after: Option<Vec<u8>>,
}

/// Why a stream cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachError {
    /// There is one.
    Conflict,
    /// The event is not known, or not any more.
    Unknown,
}

impl Message for Attach {
    type Result = Result<Reader, AttachError>;
}

impl Handler<Attach> for SessionActor {
    type Result = Result<Reader, AttachError>;

    fn handle(&mut self, attach: Attach, _: &mut Self::Context) -> Self::Result {
        mailbox_delivered();
        let session = Arc::clone(&self.session);
        let after = match &attach.after {
            None => None,
            Some(text) => Some(EventId::read(text).ok_or(AttachError::Unknown)?),
        };
        let open = self.open();
        if let Some(event) = after.filter(|event| event.lane != LaneId::STANDALONE) {
            let mut lanes = open.lanes.iter();
            let lane = lanes.find(|lane| lane.id() == event.lane);
            let lane = lane.ok_or(AttachError::Unknown)?;
            return Ok(lane.attach(event.seq, &session));
        }
        let lane = open.standalone.get_or_insert_with(|| {
            let lane = Lane::new(LaneId::STANDALONE, &session.limits, session.primes());
            Arc::new(lane)
        });
        let reader = match after {
            // It is the same client, whose old connection is not known to be gone yet.
            Some(event) => lane.attach(event.seq, &session),
            None if lane.is_attached() => return Err(AttachError::Conflict),
            None => lane.attach_unread(&session),
        };
        session.note_stream();
        Ok(reader)
    }
}

/// Keeps the stream of a call.
pub(crate) struct Keep(pub(crate) Arc<Lane>);

impl Message for Keep {
    type Result = ();
}

impl Handler<Keep> for SessionActor {
    type Result = ();

    fn handle(&mut self, Keep(lane): Keep, _: &mut Self::Context) {
        mailbox_delivered();
        let most = self.session.limits.replay_streams;
        self.open().keep(&lane, most);
    }
}
