//! The roscius binary.
fn main() {}
