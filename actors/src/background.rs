//! A thread for what has to live on an actix system when its caller is on none.

use std::{
    fmt,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use actix::{Arbiter, ArbiterHandle, System};

/// A thread with an actix system, made on its first use and ended with the value.
pub(crate) struct Background {
    name: &'static str,
    started: Mutex<Option<Started>>,
}

struct Started {
    arbiter: ArbiterHandle,
    system: System,
}

impl Background {
    /// Names the thread.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self {
            name,
            started: Mutex::new(None),
        }
    }

    /// Gives the thread; nothing when none can be had.
    pub(crate) fn arbiter(&self) -> Option<ArbiterHandle> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(started) = &*started {
            return Some(started.arbiter.clone());
        }
        let (tell, told) = mpsc::sync_channel(1);
        let name = self.name;
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let runner = System::new();
            // Nobody listens only if the caller has panicked.
            let _ = tell.send((Arbiter::try_current(), System::current()));
            if let Err(error) = runner.run() {
                tracing::error!(name, %error, "a background thread has failed");
            }
        });
        if let Err(error) = thread {
            tracing::error!(name, %error, "no background thread can be had");
            return None;
        }
        let (arbiter, system) = told.recv().ok()?;
        let arbiter = arbiter?;
        *started = Some(Started {
            arbiter: arbiter.clone(),
            system,
        });
        Some(arbiter)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.system.stop();
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Background").field(&self.name).finish()
    }
}
