//! What the model thinks before it speaks.

use super::Turn;
use crate::{
    machine::agent::events::Events,
    wire::{
        agui::{Event, EventKind, Role},
        ids::MessageId,
    },
};

#[derive(Debug)]
pub(super) struct Reasoning {
    pub(super) message: MessageId,
    pub(super) step: String,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Thought {
    pub(super) text: String,
    pub(super) signature: Option<String>,
}

impl Turn {
    pub(super) fn open_reasoning(&mut self, model: &str, out: &mut Events) {
        if self.reasoning.is_some() {
            return;
        }
        let message = MessageId::random();
        let step = MessageId::random().to_string().replacen("msg-", "step-", 1);
        out.of_model(
            model,
            EventKind::ReasoningStart {
                message_id: message.clone(),
            },
        );
        out.of_model(
            model,
            EventKind::ReasoningMessageStart {
                message_id: message.clone(),
                role: Some(Role::Reasoning),
            },
        );
        let started = EventKind::StepStarted {
            step_name: step.clone(),
        };
        out.push(
            Event::new(out.now_ms(), started)
                .model(model)
                .tanstack("stepId", step.as_str())
                .tanstack("stepType", "thinking"),
        );
        self.reasoning = Some(Reasoning {
            message,
            step,
            text: String::new(),
        });
    }

    pub(super) fn reason(&mut self, delta: &str, model: &str, out: &mut Events) {
        if delta.is_empty() {
            return;
        }
        self.open_reasoning(model, out);
        if let Some(reasoning) = &mut self.reasoning {
            reasoning.text.push_str(delta);
            out.of_model(
                model,
                EventKind::ReasoningMessageContent {
                    message_id: reasoning.message.clone(),
                    delta: delta.to_owned(),
                },
            );
        }
    }

    pub(super) fn close_reasoning(
        &mut self,
        signature: Option<String>,
        model: &str,
        out: &mut Events,
    ) {
        let Some(reasoning) = self.reasoning.take() else {
            return;
        };
        let message_id = reasoning.message;
        out.of_model(
            model,
            EventKind::ReasoningMessageEnd {
                message_id: message_id.clone(),
            },
        );
        out.of_model(model, EventKind::ReasoningEnd { message_id });
        let finished = EventKind::StepFinished {
            step_name: reasoning.step.clone(),
        };
        let mut event = Event::new(out.now_ms(), finished)
            .model(model)
            .tanstack("stepId", reasoning.step.as_str())
            .tanstack("content", reasoning.text.as_str());
        if let Some(signature) = &signature {
            event = event.tanstack("signature", signature.as_str());
        }
        out.push(event);
        if let Some(signature) = &signature {
            out.plain(EventKind::ReasoningEncryptedValue {
                subtype: "message".to_owned(),
                entity_id: reasoning.step,
                encrypted_value: signature.clone(),
            });
        }
        self.thoughts.push(Thought {
            text: reasoning.text,
            signature,
        });
    }
}
