//! An event becomes one line of JSON, once.

use bytes::{BufMut, BytesMut};

use super::{Event, EventKind};
use crate::wire::text::write_json_str;

impl Event {
    /// Appends the event as one line of JSON, without a line end.
    ///
    /// Deltas of text, reasoning and arguments, which are nearly all events of a run, do not go
    /// through serde.
    ///
    /// # Errors
    /// Fails when a value cannot be written as JSON, which values read from JSON always can.
    pub fn encode(&self, out: &mut BytesMut) -> Result<(), serde_json::Error> {
        if self.metadata.is_none() && self.raw_event.is_none() {
            let delta = match &self.kind {
                EventKind::TextMessageContent { message_id, delta } => Some((
                    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"#,
                    message_id.as_str(),
                    delta,
                )),
                EventKind::ToolCallArgs {
                    tool_call_id,
                    delta,
                } => Some((
                    r#"{"type":"TOOL_CALL_ARGS","toolCallId":"#,
                    tool_call_id.as_str(),
                    delta,
                )),
                EventKind::ReasoningMessageContent { message_id, delta } => Some((
                    r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"#,
                    message_id.as_str(),
                    delta,
                )),
                _ => None,
            };
            if let Some((head, id, delta)) = delta {
                return self.encode_delta(out, head, id, delta);
            }
        }
        serde_json::to_writer(out.writer(), self)
    }

    fn encode_delta(
        &self,
        out: &mut BytesMut,
        head: &str,
        id: &str,
        delta: &str,
    ) -> Result<(), serde_json::Error> {
        // Room for the member names, both quotes and a timestamp of 20 digits.
        out.reserve(head.len() + id.len() + delta.len() + 64);
        out.extend_from_slice(head.as_bytes());
        write_json_str(out, id);
        out.extend_from_slice(br#","delta":"#);
        write_json_str(out, delta);
        if self.timestamp != 0 {
            out.extend_from_slice(br#","timestamp":"#);
            serde_json::to_writer(out.writer(), &self.timestamp)?;
        }
        out.extend_from_slice(b"}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use proptest::prelude::*;

    use super::*;
    use crate::wire::ids::{MessageId, ToolCallId};

    proptest! {
        #[test]
        fn deltas_are_encoded_as_serde_would(delta in "(?s).{0,200}", id in "(?s).{0,20}", timestamp in 0_u64..) {
            let kinds = [
                EventKind::TextMessageContent { message_id: MessageId::from(id.as_str()), delta: delta.clone() },
                EventKind::ReasoningMessageContent { message_id: MessageId::from(id.as_str()), delta: delta.clone() },
                EventKind::ToolCallArgs { tool_call_id: ToolCallId::from(id.as_str()), delta },
            ];
            for kind in kinds {
                let event = Event::new(timestamp, kind);
                let mut fast = BytesMut::new();
                event.encode(&mut fast).unwrap();
                let fast: serde_json::Value = serde_json::from_slice(&fast).unwrap();
                prop_assert_eq!(fast, serde_json::to_value(&event).unwrap());
            }
        }
    }

    #[test]
    fn a_line_has_no_line_end_inside() {
        let event = Event::new(
            1,
            EventKind::TextMessageContent {
                message_id: MessageId::from("m"),
                delta: "a\nb\r\u{1}\"\\\u{2028}".to_owned(),
            },
        );
        let mut line = BytesMut::new();
        event.encode(&mut line).unwrap();
        assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
    }
}
