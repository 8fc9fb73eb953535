//! One call of a run, from its first notice to its end.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Driver, Halt};
use crate::{
    machine::agent::{Agent, Events, Step, ToolEnd, ToolStart},
    ports::run_store::RunState,
    run::{
        calls::{self, NOTICE_BUFFER},
        toolbox::Toolbox,
    },
};

/// How long a cancelled run waits for the tool in flight to notice its token.
const TOOL_GRACE: Duration = Duration::from_secs(5);

impl Driver {
    /// Runs one call.
    pub(super) async fn call(
        &mut self,
        agent: &mut Agent,
        toolbox: &Toolbox,
        start: ToolStart,
    ) -> Result<Step, Halt> {
        // Put down before it begins: a retry must know that it may have run.
        self.record(agent.checkpoint(), RunState::Running).await?;
        let Some(executor) = toolbox.executor(&start.name) else {
            let end = ToolEnd::Failed(format!("Unknown tool: {}", start.name));
            return Ok(agent.tool_ended(end, &mut self.out));
        };
        let token = self.shared.cancel.child_token();
        let (sink, mut notices) = mpsc::channel(NOTICE_BUFFER);
        let mut running = calls::start(executor, start, &self.scope, token.clone(), sink);
        let end = loop {
            tokio::select! {
                biased;
                () = self.stopped() => {
                    self.wind_up(agent, &token, running).await?;
                    return Err(Halt::Cancelled);
                }
                // Without credit the notices wait where they are bounded.
                Some(notice) = async {
                    self.writer.credit().await;
                    notices.recv().await
                } => {
                    if let Some((name, value)) = calls::shown(notice) {
                        self.tick();
                        agent.tool_said(name, value, &mut self.out);
                        self.flush().await?;
                    }
                }
                end = &mut running => break end,
            }
        };
        self.tick();
        let mut is_stopped = false;
        while let Ok(notice) = notices.try_recv() {
            tokio::select! {
                biased;
                () = self.stopped() => {
                    is_stopped = true;
                    break;
                }
                () = self.writer.credit() => {}
            }
            if let Some((name, value)) = calls::shown(notice) {
                agent.tool_said(name, value, &mut self.out);
                self.flush().await?;
            }
        }
        let step = agent.tool_ended(end, &mut self.out);
        self.record(agent.checkpoint(), RunState::Running).await?;
        if is_stopped {
            return Err(Halt::Cancelled);
        }
        Ok(step)
    }

    /// Gives the tool in flight the chance to notice that nobody waits. What it still returns is
    /// kept for a retry and shown to nobody.
    async fn wind_up(
        &mut self,
        agent: &mut Agent,
        token: &CancellationToken,
        running: futures_util::future::LocalBoxFuture<'static, ToolEnd>,
    ) -> Result<(), Halt> {
        token.cancel();
        let ended = tokio::time::timeout(TOOL_GRACE, running).await;
        if !self.journaled {
            return Ok(());
        }
        if let Ok(end @ ToolEnd::Done(_)) = ended {
            let mut unseen = Events::at(self.engine.clock.now_ms());
            let _over = agent.tool_ended(end, &mut unseen);
        }
        self.record(agent.checkpoint(), RunState::Running).await
    }
}
