//! Stores of this process: logs and paused runs in memory.

pub mod memory_log;
pub mod memory_runs;
