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
        interrupt::{PendingCall, Progress, Wait},
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
/// Stands for the answers where a run takes a pause over to ask its questions again.
const MOVED: &str = "moved";

/// Where a run begins.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) rows: Vec<Row>,
    pub(super) open: OpenCalls,
    pub(super) decisions: Decisions,
    pub(super) posted: HashMap<ToolCallId, String>,
    pub(super) earlier: Option<Earlier>,
    /// The run goes on from a pause, so that what it does is put down for a retry.
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
            if let Claim::Taken(record) = self.move_here(&sealed.run).await?
                && record.state == RunState::Interrupted
            {
                pending.clone_from(&record.pending);
            }
        }
        Ok(Beginning {
            rows,
            // A pause that was moved here is found here only.
            resumes: !pending.is_empty(),
            open: OpenCalls::Known(pending),
            decisions: Decisions::new(),
            posted: HashMap::new(),
            earlier: None,
        })
    }

    /// Moves a pause here, so that it can be answered in one place only.
    async fn move_here(&self, run: &RunId) -> Result<Claim, StoreError> {
        let by = ResumedBy {
            child: self.shared.id.clone(),
            digest: MOVED.to_owned(),
        };
        let owner = &self.shared.owner;
        self.engine.runs.resume(owner, run, by, None).await
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
        let mut pending = base.pending.clone();
        if matches!(base.state, RunState::Running | RunState::Stopped) {
            ask_again(&mut pending, &record.pending);
        }
        // Results that an earlier attempt has reached are told again, whatever the client posted.
        let open: HashSet<&ToolCallId> = pending.iter().map(|open| &open.id).collect();
        continued.posted.retain(|call, _| open.contains(call));
        let shown = earlier.as_deref().map(|attempt| {
            decisions.retain(|call, _| waits_as_before(call, &record.pending, &pending));
            shown_again(&record, attempt)
        });
        Ok(Beginning {
            rows: continued.rows,
            open: OpenCalls::Known(pending),
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
            if let Some(earlier) = &attempt
                && !self.inherit(record, earlier, submission).await?
            {
                attempt = None;
            }
            let instead_of = attempt.as_ref().map(|attempt| &attempt.run_id);
            let (owner, run) = (&self.shared.owner, &record.run_id);
            let claim = self.engine.runs.resume(owner, run, by.clone(), instead_of);
            let held = match claim.await? {
                Claim::Taken(_) => return Ok(attempt),
                Claim::Unknown => return Err(submission.stale().into()),
                Claim::Held(held) => held,
            };
            let ended = self.ended_attempt(record, held, &digest, submission);
            attempt = Some(ended.await?);
        }
        Err(submission.conflict().into())
    }

    /// Puts down under this run what an attempt has left, before this run takes its place: once
    /// the pause names this run, what that attempt did is found here only. An attempt that paused
    /// again hands its pause over, so that it can be answered in one place.
    ///
    /// Tells whether the attempt may be followed; not when the pause has gone on to another one.
    async fn inherit(
        &self,
        record: &RunRecord,
        attempt: &RunRecord,
        submission: &Submission<'_>,
    ) -> Result<bool, Refusal> {
        if attempt.state == RunState::Interrupted {
            match self.move_here(&attempt.run_id).await? {
                Claim::Taken(_) => {}
                Claim::Unknown => return Err(submission.conflict().into()),
                Claim::Held(held) if held.child == self.shared.id => {}
                Claim::Held(held) => {
                    if held.digest == MOVED {
                        self.outlive(&held.child, submission).await?;
                    }
                    let now = self.stored(&record.run_id).await?;
                    let holder = now.and_then(|stored| stored.resumed);
                    if holder.is_none_or(|holder| holder.child == attempt.run_id) {
                        return Err(submission.conflict().into());
                    }
                    return Ok(false);
                }
            }
        }
        let inherited = RunRecord {
            run_id: self.shared.id.clone(),
            parent: Some(record.run_id.clone()),
            created_at: self.engine.clock.now_ms(),
            ..attempt.clone()
        };
        self.engine.runs.update(inherited).await?;
        Ok(true)
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
        if !same && self.engine.live(&self.shared.owner, &held.child).is_some() {
            return Err(submission.conflict().into());
        }
        self.outlive(&held.child, submission).await?;
        let stored = self.stored(&held.child).await?;
        // An attempt that ended before it put anything down has done nothing, and followed no
        // other one: what it would have gone on from is put down before it holds the pause.
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

    /// Waits until a run is over.
    async fn outlive(&self, run: &RunId, submission: &Submission<'_>) -> Result<(), Refusal> {
        let Some(live) = self.engine.live(&self.shared.owner, run) else {
            return Ok(());
        };
        tokio::select! {
            biased;
            () = self.shared.unwanted(self.engine.on_detach) => Err(Refusal::Cancelled),
            ended = tokio::time::timeout(RETRY_WAIT, live.ended()) => {
                ended.map(drop).map_err(|_| submission.conflict().into())
            }
        }
    }
}

/// Approvals that an attempt took and did not act on are void: the decision that is made now, on
/// the call as it was shown, is the one that counts.
fn ask_again(pending: &mut [PendingCall], shown: &[PendingCall]) {
    for call in pending {
        // A call that asks its own question has begun.
        if call.progress != Progress::Waiting || matches!(call.wait, Wait::Input(_)) {
            continue;
        }
        let asked = shown.iter().find(|asked| asked.id == call.id);
        if let Some(asked) = asked.filter(|asked| asked.wait == Wait::Approval) {
            call.arguments.clone_from(&asked.arguments);
            call.wait = Wait::Approval;
        }
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
