//! The seeds of the fuzz targets, and every input that one of them ever failed on, hold in the
//! ordinary tests too.

#![allow(
    clippy::print_stderr,
    reason = "a check that fails says what differs, not in which file"
)]

use std::{fs, path::PathBuf};

#[path = "../../fuzz/src/lib.rs"]
#[allow(
    unreachable_pub,
    reason = "the checks are the library of another package as well"
)]
mod checks;

type Check = fn(&[u8]);

/// Plays the files of one target; gives how many there are.
fn play(target: &str, check: Check) -> usize {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut played = 0;
    for file in fs::read_dir(folder.join(target)).unwrap() {
        let path = file.unwrap().path();
        eprintln!("{}", path.display());
        check(&fs::read(path).unwrap());
        played += 1;
    }
    played
}

#[test]
fn what_holds_for_any_input_holds_for_the_seeds() {
    let targets: [(&str, Check); 5] = [
        ("headers", checks::headers::check),
        ("jsonrpc", checks::jsonrpc::check),
        ("request_state", checks::request_state::check),
        ("sse", checks::sse::check),
        ("uri_template", checks::uri_template::check),
    ];
    for (target, check) in targets {
        assert!(play(target, check) > 0, "{target} has no seeds");
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    assert_eq!(fs::read_dir(folder).unwrap().count(), targets.len());
}
