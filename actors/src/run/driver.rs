//! Drives a run: asks the model, runs the tools, and puts down what happens before it is shown.

mod tool_call;

use std::sync::Arc;

use futures_util::StreamExt;
use tracing::Instrument;

use super::{
    Completed, Interrupted, Outcome, RunFailure, Shared,
    calls::CallScope,
    claim::{Beginning, Claimant, Refusal},
    toolbox::{Toolbox, close_sources},
};
use crate::{
    chat::{Engine, Request},
    machine::{
        agent::{Agent, Checkpoint, Events, Setup, Step},
        continuation::SealedPause,
        dialogue::{FinishReason, ModelMessage, ModelRequest, ModelTool},
        interrupt::PendingCall,
    },
    ports::{
        event_log::{CloseReason, LogError, LogWriter},
        run_store::{RunRecord, RunState},
    },
    wire::agui::{Event, Row},
};

/// Why a run ends before its time.
#[derive(Debug)]
enum Halt {
    Cancelled,
    Failed(RunFailure),
}

impl From<LogError> for Halt {
    fn from(error: LogError) -> Self {
        Self::Failed(RunFailure::new(error.to_string(), Some(error.code())))
    }
}

struct Driver {
    engine: Arc<Engine>,
    shared: Arc<Shared>,
    writer: LogWriter,
    out: Events,
    scope: CallScope,
    /// What is done is put down for a retry.
    journaled: bool,
    /// A reader that goes away does not end the run now.
    protected: bool,
}

/// Drives a run to its end.
pub(super) async fn drive(
    engine: Arc<Engine>,
    shared: Arc<Shared>,
    request: Request,
    writer: LogWriter,
) -> Outcome {
    let mut context = engine.context.as_ref().clone();
    if let Some(own) = &request.context {
        context.extend(own);
    }
    let scope = CallScope {
        context: Arc::new(context),
        auth: request.auth.clone(),
    };
    let mut driver = Driver {
        out: Events::at(engine.clock.now_ms()),
        engine,
        shared,
        writer,
        scope,
        journaled: false,
        protected: false,
    };
    let ended = driver.run(request).await;
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(Halt::Cancelled) => {
            driver.say_error("Request aborted", Some("aborted")).await;
            Outcome::Cancelled
        }
        Err(Halt::Failed(failure)) => {
            driver
                .say_error(&failure.message, failure.code.as_deref())
                .await;
            Outcome::Failed(failure)
        }
    };
    driver.close(&outcome).await;
    outcome
}

impl Driver {
    async fn run(&mut self, mut request: Request) -> Result<Outcome, Halt> {
        let toolbox = {
            let gathered = Toolbox::gather(&self.engine, &request.client_tools);
            tokio::select! {
                biased;
                () = self.stopped() => return Err(Halt::Cancelled),
                gathered = gathered => gathered.map_err(Halt::Failed)?,
            }
        };
        let claimant = Claimant {
            engine: &self.engine,
            shared: &self.shared,
            tools: &toolbox.set,
        };
        let beginning = match claimant.begin(&mut request).await {
            Ok(beginning) => beginning,
            Err(refusal) => return self.refuse(refusal).await,
        };
        self.journaled = beginning.resumes;
        self.protected = beginning.resumes;
        let mut agent = self.agent(beginning, &toolbox);
        self.record(agent.checkpoint(), RunState::Running).await?;
        self.drive(&mut agent, &toolbox, &request).await
    }

    fn agent(&self, beginning: Beginning, toolbox: &Toolbox) -> Agent {
        Agent::new(Setup {
            thread: self.shared.thread.clone(),
            run: self.shared.id.clone(),
            parent: self.shared.parent.clone(),
            model: self.engine.model.id().to_owned(),
            rows: beginning.rows,
            tools: toolbox.set.clone(),
            open: beginning.open,
            decisions: beginning.decisions,
            posted: beginning.posted,
            earlier: beginning.earlier,
            state: self.engine.state.clone(),
            max_iterations: self.engine.max_iterations,
            max_input_rounds: self.engine.max_input_rounds,
        })
    }

    async fn refuse(&mut self, refusal: Refusal) -> Result<Outcome, Halt> {
        match refusal {
            Refusal::Cancelled => Err(Halt::Cancelled),
            Refusal::Store(error) => Err(Halt::Failed(RunFailure::new(
                error.to_string(),
                Some("store_failed"),
            ))),
            Refusal::Answers(errors) => {
                let now = self.engine.clock.now_ms();
                let event = Event::refused(now, &self.shared.thread, &self.shared.id, &errors);
                self.writer.append(&event).await?;
                let message = errors
                    .iter()
                    .map(|error| error.message.as_str())
                    .collect::<Vec<_>>()
                    .join(" ");
                let code = errors.first().map(|error| error.code.as_str());
                Ok(Outcome::Failed(RunFailure::new(message, code)))
            }
        }
    }

    async fn drive(
        &mut self,
        agent: &mut Agent,
        toolbox: &Toolbox,
        request: &Request,
    ) -> Result<Outcome, Halt> {
        self.tick();
        let mut step = agent.begin(&mut self.out);
        loop {
            self.flush().await?;
            step = match step {
                Step::CallModel { messages, tools } => {
                    self.protected = false;
                    self.record(agent.checkpoint(), RunState::Running).await?;
                    let span = tracing::info_span!("chat.turn", model = self.engine.model.id());
                    self.turn(agent, messages, tools, request)
                        .instrument(span)
                        .await?
                }
                Step::RunTool(start) => {
                    let span =
                        tracing::info_span!("chat.tool", tool = %start.name, call = %start.id);
                    self.call(agent, toolbox, start).instrument(span).await?
                }
                Step::Pause { rows, pending } => return self.pause(agent, rows, pending).await,
                Step::Completed(reason) => return self.complete(agent, reason).await,
                Step::Failed { message, code } => {
                    self.record(agent.checkpoint(), RunState::Stopped).await?;
                    return Ok(Outcome::Failed(RunFailure { message, code }));
                }
                Step::Listen => agent.model_ended(&mut self.out),
            };
        }
    }

    async fn complete(&mut self, agent: &Agent, reason: FinishReason) -> Result<Outcome, Halt> {
        self.record(agent.checkpoint(), RunState::Completed).await?;
        Ok(Outcome::Completed(Completed {
            finish_reason: reason,
            messages: Arc::new(agent.rows().to_vec()),
        }))
    }

    /// Lets the model play one turn.
    async fn turn(
        &mut self,
        agent: &mut Agent,
        messages: Vec<ModelMessage>,
        tools: Vec<ModelTool>,
        request: &Request,
    ) -> Result<Step, Halt> {
        let mut asked =
            ModelRequest::new(self.shared.thread.clone(), self.shared.id.clone(), messages);
        asked.tools = tools;
        asked.system_prompts.clone_from(&self.engine.system_prompts);
        asked
            .system_prompts
            .extend(request.system_prompts.iter().cloned());
        asked.options = self.engine.model_options.clone();
        asked.metadata = self.engine.metadata.clone();
        asked.max_tokens = self.engine.max_tokens;
        let token = self.shared.cancel.child_token();
        let _stops_the_model = token.clone().drop_guard();
        let mut stream = self.engine.model.stream(asked, token);
        loop {
            tokio::select! {
                biased;
                () = self.stopped() => return Err(Halt::Cancelled),
                () = self.writer.credit() => {}
            }
            let said = tokio::select! {
                biased;
                () = self.stopped() => return Err(Halt::Cancelled),
                said = stream.next() => said,
            };
            self.tick();
            let step = match said {
                Some(Ok(event)) => agent.model_said(event, &mut self.out),
                Some(Err(error)) => agent.model_broke(error, &mut self.out),
                None => agent.model_ended(&mut self.out),
            };
            if !matches!(step, Step::Listen) {
                return Ok(step);
            }
            self.flush().await?;
        }
    }

    /// Puts the pause away, announces it, and stops.
    async fn pause(
        &mut self,
        agent: &mut Agent,
        rows: Vec<Row>,
        pending: Vec<PendingCall>,
    ) -> Result<Outcome, Halt> {
        let mut seal = None;
        if !self.engine.trust_history {
            let expires_at = self.engine.clock.now_ms() / 1000 + self.engine.seal_life.as_secs();
            let pause = SealedPause {
                run: self.shared.id.clone(),
                calls: pending.clone(),
            };
            let (owner, thread) = (&self.shared.owner, &self.shared.thread);
            seal = Some(pause.seal(&self.engine.seal_key, owner, thread, expires_at));
            let record = self.record_of(rows, pending, RunState::Interrupted);
            self.store(record).await?;
        }
        self.tick();
        let interrupts = agent.announce(seal.as_deref(), &mut self.out);
        self.flush().await?;
        Ok(Outcome::Interrupted(Interrupted {
            interrupts: Arc::new(interrupts),
            messages: Arc::new(agent.rows().to_vec()),
        }))
    }

    /// Puts down where a continued run stands.
    async fn record(&self, at: Checkpoint, state: RunState) -> Result<(), Halt> {
        if !self.journaled {
            return Ok(());
        }
        self.store(self.record_of(at.rows, at.pending, state)).await
    }

    fn record_of(&self, rows: Vec<Row>, pending: Vec<PendingCall>, state: RunState) -> RunRecord {
        RunRecord {
            owner: self.shared.owner.clone(),
            thread_id: self.shared.thread.clone(),
            run_id: self.shared.id.clone(),
            parent: self.shared.parent.clone(),
            rows,
            pending,
            state,
            created_at: self.engine.clock.now_ms(),
        }
    }

    async fn store(&self, record: RunRecord) -> Result<(), Halt> {
        self.engine
            .runs
            .update(record)
            .await
            .map_err(|error| Halt::Failed(RunFailure::new(error.to_string(), Some("store_failed"))))
    }

    /// Waits until the run has to stop.
    async fn stopped(&self) {
        if self.protected {
            return self.shared.cancel.cancelled().await;
        }
        self.shared.unwanted(self.engine.on_detach).await;
    }

    fn tick(&mut self) {
        self.out.set_now(self.engine.clock.now_ms());
    }

    async fn flush(&mut self) -> Result<(), Halt> {
        for event in self.out.drain() {
            self.writer.append(&event).await?;
        }
        Ok(())
    }

    /// Ends the stream with an error, unless it has one.
    async fn say_error(&mut self, message: &str, code: Option<&str>) {
        let event = Event::run_error(self.engine.clock.now_ms(), message, code);
        if let Err(error) = self.writer.append(&event).await {
            tracing::debug!(%error, "the end of a run could not be told");
        }
    }

    async fn close(self, outcome: &Outcome) {
        let reason = match outcome {
            Outcome::Completed(_) => CloseReason::Completed,
            Outcome::Interrupted(_) => CloseReason::Interrupted,
            Outcome::Failed(_) => CloseReason::Failed,
            Outcome::Cancelled => CloseReason::Cancelled,
        };
        if let Err(error) = self.writer.close(reason).await {
            tracing::warn!(%error, "the log of a run could not be closed");
        }
        close_sources(&self.engine).await;
    }
}
