//! Where a run begins: with a plain conversation, at a pause that it answers, or where an earlier
//! attempt to answer that pause has left off.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::Shared;
use crate::{
    chat::{Engine, Request},
    machine::{
        agent::{Earlier, OpenCalls},
        continuation::{Continued, SealedPause, answers_digest, as_sealed, strip_seals},
        interrupt::PendingCall,
        resume::{Decisions, Submission},
        rows::{calls, intake, open_calls, results},
        toolset::Toolset,
    },
    ports::run_store::{Claim, ResumedBy, RunRecord, RunState, StoreError, StoredRun},
    wire::{
        agui::{InterruptError, Row},
        ids::{RunId, ToolCallId},
    },
};

/// How long a retry waits for the attempt before it. A tool of that attempt may be slow; the page
/// waits as long for any tool.
const RETRY_WAIT: Duration = Duration::from_secs(120);
/// Attempts that may stand between a pause and its newest retry while this one looks.
const MAX_HOPS: usize = 8;

/// Where a run begins.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) rows: Vec<Row>,
    pub(super) open: OpenCalls,
    pub(super) decisions: Decisions,
    pub(super) posted: HashMap<ToolCallId, String>,
    pub(super) earlier: Option<Earlier>,
    /// The run answers a pause, so that what it does is put down for a retry.
    pub(super) resumes: bool,
}

/// Why a run cannot begin.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The answers are wrong, or come too late.
    Answers(Vec<InterruptError>),
    /// The store failed.
    Store(StoreError),
    /// The run was cancelled while it waited.
    Cancelled,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Vec<InterruptError>> for Refusal {
    fn from(errors: Vec<InterruptError>) -> Self {
        Self::Answers(errors)
    }
}

/// A run that looks for its beginning.
#[derive(Debug)]
pub(super) struct Claimant<'a> {
    pub(super) engine: &'a Engine,
    pub(super) shared: &'a Shared,
    pub(super) tools: &'a Toolset,
}

impl Claimant<'_> {
    pub(super) async fn begin(&self, request: &mut Request) -> Result<Beginning, Refusal> {
        let posted = std::mem::take(&mut request.messages);
        if self.engine.trust_history {
            return self.trusted(posted, request);
        }
        if request.resume.is_empty() {
            return self.plain(posted).await;
        }
        self.resume(posted, request).await
    }

    fn submission<'a>(&'a self, request: &'a Request) -> Submission<'a> {
        Submission {
            thread: &self.shared.thread,
            run: &self.shared.id,
            parent: self.shared.parent.as_ref(),
            entries: &request.resume,
        }
    }

    /// Takes the history at its word.
    fn trusted(&self, posted: Vec<Row>, request: &Request) -> Result<Beginning, Refusal> {
        let rows = intake(posted);
        let mut decisions = Decisions::new();
        if !request.resume.is_empty() {
            let known: Vec<(ToolCallId, String)> = calls(&rows)
                .into_iter()
                .map(|known| (known.call.id, known.call.name))
                .collect();
            let open: HashSet<ToolCallId> = open_calls(&rows)
                .into_iter()
                .map(|open| open.call.id)
                .collect();
            decisions = self.submission(request).check_history(
                &known,
                |call| open.contains(call),
                self.tools,
            )?;
        }
        Ok(Beginning {
            rows,
            open: OpenCalls::Trusted,
            decisions,
            posted: HashMap::new(),
            earlier: None,
            resumes: false,
        })
    }

    /// Begins without answers. Calls that wait wait again, if somebody vouches for them.
    async fn plain(&self, posted: Vec<Row>) -> Result<Beginning, Refusal> {
        let mut rows = intake(posted);
        let sealed = self.sealed(&rows).filter(|_| !open_calls(&rows).is_empty());
        strip_seals(&mut rows);
        let mut pending = Vec::new();
        if let Some(sealed) = sealed.filter(|sealed| sealed.matches(&rows)) {
            self.record_sealed(&sealed, &rows).await?;
            if let Some(record) = self.take_over(&sealed.run).await? {
                pending.clone_from(&record.pending);
            }
        }
        Ok(Beginning {
            rows,
            open: OpenCalls::Known(pending),
            decisions: Decisions::new(),
            posted: HashMap::new(),
            earlier: None,
            resumes: false,
        })
    }

    /// Moves a pause here, so that it can be answered in one place only.
    async fn take_over(&self, run: &RunId) -> Result<Option<Arc<RunRecord>>, StoreError> {
        let by = ResumedBy {
            child: self.shared.id.clone(),
            digest: "moved".to_owned(),
        };
        let claim = self
            .engine
            .runs
            .resume(&self.shared.owner, run, by, None)
            .await?;
        Ok(match claim {
            Claim::Taken(record) if record.state == RunState::Interrupted => Some(record),
            _ => None,
        })
    }

    async fn resume(&self, posted: Vec<Row>, request: &Request) -> Result<Beginning, Refusal> {
        let submission = self.submission(request);
        let mut posted = intake(posted);
        let sealed = self.sealed(&posted);
        strip_seals(&mut posted);
        let Some(parent) = &self.shared.parent else {
            submission.check(&[], self.tools)?;
            return Err(submission.stale().into());
        };
        let mut stored = self.stored(parent).await?;
        if stored.as_ref().is_none_or(|stored| stored.record.is_none())
            && let Some(sealed) = sealed.filter(|sealed| sealed.run == *parent)
            && sealed.matches(&posted)
        {
            self.record_sealed(&sealed, &posted).await?;
            stored = self.stored(parent).await?;
        }
        let record = stored
            .and_then(|stored| stored.record)
            .filter(|record| record.state == RunState::Interrupted)
            .filter(|record| record.thread_id == self.shared.thread)
            .ok_or_else(|| submission.stale())?;
        let mut decisions = submission.check(&record.pending, self.tools)?;
        let digest = answers_digest(&request.resume);
        let earlier = self.claim(&record, digest, &submission).await?;
        let base = earlier.as_deref().unwrap_or(&record);
        let mut continued = Continued::from_record(&base.rows, &record.pending, &posted);
        // Results that an earlier attempt has reached are told again, whatever the client posted.
        let open: HashSet<&ToolCallId> = base.pending.iter().map(|open| &open.id).collect();
        continued.posted.retain(|call, _| open.contains(call));
        let shown = earlier.as_deref().map(|attempt| {
            decisions.retain(|call, _| waits_as_before(call, &record.pending, &attempt.pending));
            shown_again(&record, attempt)
        });
        Ok(Beginning {
            rows: continued.rows,
            open: OpenCalls::Known(base.pending.clone()),
            decisions,
            posted: continued.posted,
            earlier: shown,
            resumes: true,
        })
    }

    fn sealed(&self, rows: &[Row]) -> Option<SealedPause> {
        let now = self.engine.clock.now_ms() / 1000;
        let key = &self.engine.seal_key;
        SealedPause::find(key, &self.shared.owner, &self.shared.thread, rows, now)
    }

    async fn stored(&self, run: &RunId) -> Result<Option<StoredRun>, StoreError> {
        self.engine.runs.get(&self.shared.owner, run).await
    }

    /// Puts a pause down that only its seal vouches for, so that it is answered once from here on.
    async fn record_sealed(&self, sealed: &SealedPause, posted: &[Row]) -> Result<(), StoreError> {
        let rows = as_sealed(posted, &sealed.calls);
        let record = RunRecord {
            owner: self.shared.owner.clone(),
            thread_id: self.shared.thread.clone(),
            run_id: sealed.run.clone(),
            parent: None,
            rows,
            pending: sealed.calls.clone(),
            state: RunState::Interrupted,
            created_at: self.engine.clock.now_ms(),
        };
        self.engine.runs.insert(record).await.map(drop)
    }

    /// Takes the pause, or goes on where an earlier attempt has ended.
    async fn claim(
        &self,
        record: &RunRecord,
        digest: String,
        submission: &Submission<'_>,
    ) -> Result<Option<Arc<RunRecord>>, Refusal> {
        let by = ResumedBy {
            child: self.shared.id.clone(),
            digest: digest.clone(),
        };
        let mut attempt: Option<Arc<RunRecord>> = None;
        for _ in 0..MAX_HOPS {
            let instead_of = attempt.as_ref().map(|attempt| &attempt.run_id);
            let claim = self
                .engine
                .runs
                .resume(&self.shared.owner, &record.run_id, by.clone(), instead_of)
                .await?;
            let held = match claim {
                Claim::Taken(_) => return self.supersede(attempt, submission).await,
                Claim::Unknown => return Err(submission.stale().into()),
                Claim::Held(held) => held,
            };
            attempt = Some(
                self.ended_attempt(record, held, &digest, submission)
                    .await?,
            );
        }
        Err(submission.conflict().into())
    }

    /// Waits until the attempt that holds the pause has ended, if it may be followed at all.
    async fn ended_attempt(
        &self,
        record: &RunRecord,
        held: ResumedBy,
        digest: &str,
        submission: &Submission<'_>,
    ) -> Result<Arc<RunRecord>, Refusal> {
        let same = held.digest == digest;
        if let Some(live) = self.engine.live(&self.shared.owner, &held.child) {
            if !same {
                return Err(submission.conflict().into());
            }
            tokio::select! {
                biased;
                () = self.shared.unwanted(self.engine.on_detach) => return Err(Refusal::Cancelled),
                ended = tokio::time::timeout(RETRY_WAIT, live.ended()) => {
                    ended.map_err(|_| submission.conflict())?;
                }
            }
        }
        let stored = self.stored(&held.child).await?;
        // An attempt that ended before it put anything down has done nothing.
        let attempt = stored.and_then(|stored| stored.record).unwrap_or_else(|| {
            Arc::new(RunRecord {
                run_id: held.child.clone(),
                state: RunState::Stopped,
                ..record.clone()
            })
        });
        let consumed = matches!(attempt.state, RunState::Completed | RunState::Interrupted);
        if consumed && !same {
            return Err(submission.conflict().into());
        }
        Ok(attempt)
    }

    /// An attempt that paused again hands its pause over, so that it can be answered in one place.
    async fn supersede(
        &self,
        attempt: Option<Arc<RunRecord>>,
        submission: &Submission<'_>,
    ) -> Result<Option<Arc<RunRecord>>, Refusal> {
        let Some(attempt) = attempt else {
            return Ok(None);
        };
        if attempt.state == RunState::Interrupted
            && self.take_over(&attempt.run_id).await?.is_none()
        {
            return Err(submission.conflict().into());
        }
        Ok(Some(attempt))
    }
}

/// A decision is for the question as it was asked, not for one that the call has asked since.
fn waits_as_before(call: &ToolCallId, before: &[PendingCall], now: &[PendingCall]) -> bool {
    let wait = |calls: &[PendingCall]| {
        let found = calls.iter().find(|pending| pending.id == *call)?;
        Some(found.wait.clone())
    };
    wait(now).is_some_and(|wait_now| wait(before) == Some(wait_now))
}

/// Says what of an earlier attempt has to be shown again.
fn shown_again(record: &RunRecord, attempt: &RunRecord) -> Earlier {
    let reached = results(&attempt.rows);
    let results: Vec<ToolCallId> = record
        .pending
        .iter()
        .filter(|call| reached.contains_key(call.id.as_str()))
        .map(|call| call.id.clone())
        .collect();
    let turns = attempt.rows.len() > record.rows.len() + results.len();
    // With all its calls done the attempt had gone on to the model, whose message a client may
    // have seen in part.
    let went_on = attempt.pending.is_empty();
    Earlier {
        snapshot: turns || went_on,
        completed: attempt.state == RunState::Completed,
        results,
    }
}
