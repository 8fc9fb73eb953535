//! What a task is told: of its questions, of their answers, of its end.

use serde_json::{Map, Value};

use super::{Command, Driver, NO_ROOM, Open, Tasks, now};
use crate::{
    server::reply,
    tool::{InputError, fits},
};

impl Driver {
    pub(super) async fn handle(&mut self, command: Command, tasks: &Tasks) {
        match command {
            Command::Ask {
                question,
                opened,
                answer,
            } => {
                let (key, request) = reply::request(&question);
                let key = match self.record.task.ask(&key, request, now()) {
                    Ok(key) => key,
                    Err(refused) => {
                        // A function that has gone needs no answer.
                        let _ =
                            opened.send(Err(InputError::Unavailable(refused.to_string().into())));
                        return;
                    }
                };
                if !self.write_down(tasks).await {
                    self.record.task.close(&key, now());
                    // A function that has gone needs no answer.
                    let _ = opened.send(Err(InputError::Unavailable(NO_ROOM.into())));
                    return;
                }
                self.open.insert(key.clone(), Open { question, answer });
                self.tell();
                if let Err(Ok(key)) = opened.send(Ok(key)) {
                    self.close(&key, tasks).await;
                }
            }
            Command::Withdraw { key } => self.close(&key, tasks).await,
            Command::Settle { key, answer } => {
                if let Some(open) = self.open.remove(&key) {
                    // A function that has gone needs no answer.
                    let _ = open.answer.send(answer);
                    self.close(&key, tasks).await;
                }
            }
            Command::Answer { answers, done } => {
                let taken = self.answer(answers, tasks).await;
                // Nobody waits for it if the request has ended.
                let _ = done.send(taken);
            }
            Command::Cancel { done } => {
                // The task has ended already.
                let _ = done.send(false);
            }
        }
    }

    async fn close(&mut self, key: &str, tasks: &Tasks) {
        self.open.remove(key);
        if self.record.task.close(key, now()) {
            self.publish(tasks).await;
        }
    }

    /// Closes the questions that nobody waits for: a function can give up more at once than there
    /// is room to say.
    pub(super) async fn close_given_up(&mut self, tasks: &Tasks) {
        let open = self.open.iter();
        let given_up = open.filter(|(_, open)| open.answer.is_closed());
        let keys: Vec<String> = given_up.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.close(&key, tasks).await;
        }
    }

    /// Takes the answers to open questions; those to others are ignored.
    async fn answer(
        &mut self,
        answers: Map<String, Value>,
        tasks: &Tasks,
    ) -> Result<(), InputError> {
        for (key, answer) in &answers {
            if let Some(open) = self.open.get(key) {
                fits(&open.question, key, answer)?;
            }
        }
        let mut closed = false;
        for (key, answer) in answers {
            if let Some(open) = self.open.remove(&key) {
                // A function that has gone needs no answer.
                let _ = open.answer.send(Ok(answer));
                closed |= self.record.task.close(&key, now());
            }
        }
        if closed {
            self.publish(tasks).await;
        }
        Ok(())
    }
}
