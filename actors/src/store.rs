//! Stores of this process: logs, paused runs and tasks in memory.

pub mod memory_log;
pub mod memory_runs;
pub mod memory_tasks;
mod size;
