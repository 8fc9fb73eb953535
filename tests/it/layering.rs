//! Holds the house together: floors, the face, and the tables of `docs/` that name tests.

mod lexer;
mod paths;
mod promises;
mod rules;

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `folder` that belongs to the project, as a path from the root.
fn files(folder: &str) -> Vec<String> {
    const OUTSIDE: [&str; 6] = ["target", "node_modules", ".git", ".cache", "out", "dist"];
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the project can be read") {
            let path = entry.expect("an entry of the project can be read").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if OUTSIDE.contains(&name) {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(from_root(&path));
            }
        }
    }
    found.sort();
    found
}

fn from_root(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/")
}

fn read(file: &str) -> String {
    String::from_utf8_lossy(
        &fs::read(root().join(file)).expect("a file of the project can be read"),
    )
    .into_owned()
}

fn assert_clean(broken: &[String]) {
    assert!(
        broken.is_empty(),
        "{} broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

fn rust_below(folder: &str) -> Vec<String> {
    let sources: Vec<String> = files(folder)
        .into_iter()
        .filter(|file| file.ends_with(".rs"))
        .collect();
    assert!(!sources.is_empty(), "{folder} holds no source");
    sources
}

#[test]
fn every_floor_uses_only_those_below_it() {
    let broken: Vec<String> = rust_below("actors/src")
        .iter()
        .flat_map(|file| rules::engine(file.trim_start_matches("actors/src/"), &read(file)))
        .map(|broken| broken.to_string())
        .collect();
    assert_clean(&broken);
}

#[test]
fn the_face_holds_no_actor() {
    let broken: Vec<String> = rust_below("src")
        .iter()
        .flat_map(|file| rules::face(file.trim_start_matches("src/"), &read(file)))
        .map(|broken| broken.to_string())
        .collect();
    assert_clean(&broken);
}

#[test]
fn modules_are_files_beside_their_folder() {
    let broken: Vec<String> = files("")
        .into_iter()
        .filter(|file| file.ends_with("/mod.rs"))
        .collect();
    assert_clean(&broken);
}

#[test]
fn nothing_but_the_run_script_names_the_folder_beside_the_clone() {
    let folder = concat!("../", "shared");
    let broken: Vec<String> = files("")
        .into_iter()
        .filter(|file| file != ".ci/run" && read(file).contains(folder))
        .collect();
    assert_clean(&broken);
}

#[test]
fn lock_files_name_no_registry_of_ours() {
    let public = [
        "https://registry.npmjs.org/",
        "https://github.com/rust-lang/crates.io-index",
    ];
    let broken: Vec<String> = files("")
        .into_iter()
        .filter(|file| file.ends_with("package-lock.json") || file.ends_with("Cargo.lock"))
        .flat_map(|file| {
            let text = read(&file);
            let foreign = |line: &&str| {
                let names_source = line.contains("\"resolved\":") || line.starts_with("source = ");
                names_source && !public.iter().any(|host| line.contains(host))
            };
            text.lines()
                .filter(foreign)
                .map(|line| format!("{file}: {line}"))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_clean(&broken);
}

fn tests() -> promises::Tests {
    const OUTSIDE_RUST: [&str; 4] = [".mjs", ".test.js", ".test.ts", ".test.tsx"];
    let mut tests = promises::Tests::default();
    for file in files("") {
        if file.ends_with(".rs") {
            tests.add_rust(&read(&file));
        }
        // Each example is run once by the check of a clean clone.
        let example = file.starts_with("examples/") && file.ends_with(".rs");
        if example || OUTSIDE_RUST.iter().any(|ending| file.ends_with(ending)) {
            let text = read(&file);
            tests.add_file(&file, text);
        }
    }
    tests.add_scenarios(&read("tests/conformance/scenarios.txt"));
    tests
}

#[test]
fn every_example_is_described_and_says_what_it_prints() {
    let (own, front) = (read("examples/README.md"), read("README.md"));
    let mut broken = Vec::new();
    let mut found = 0;
    for file in rust_below("examples") {
        let name = file.trim_start_matches("examples/").trim_end_matches(".rs");
        if name.contains('/') {
            continue;
        }
        found += 1;
        for (text, document) in [(&own, "examples/README.md"), (&front, "README.md")] {
            if !text.contains(&format!("`{name}`")) {
                broken.push(format!("{document} does not name {file}"));
            }
        }
        let printed = root().join(format!("examples/expected/{name}.txt"));
        if fs::read_to_string(printed).is_ok_and(|lines| !lines.trim().is_empty()) {
            continue;
        }
        broken.push(format!("examples/expected/{name}.txt says nothing"));
    }
    assert!(found > 10, "the examples are found: {found}");
    assert_clean(&broken);
}

#[test]
fn every_promise_names_a_test_that_exists() {
    let file = "docs/promises.md";
    assert_clean(&promises::check(file, &read(file), &tests()));
}

#[test]
fn every_difference_names_a_test_that_exists() {
    let file = "docs/compatibility.md";
    assert_clean(&promises::check(file, &read(file), &tests()));
}

#[test]
fn every_case_from_the_field_names_a_test_and_is_named_by_one() {
    let file = "docs/field-cases.md";
    let document = read(file);
    assert_clean(&promises::check(file, &document, &tests()));
    let sources: String = ["tests", "actors", "src"]
        .into_iter()
        .flat_map(rust_below)
        .map(|source| read(&source))
        .collect();
    let unnamed: Vec<String> = promises::rows(&document)
        .into_iter()
        .filter(|row| !sources.contains(&row.key))
        .map(|row| format!("{file}:{}: no test carries {}", row.line, row.key))
        .collect();
    assert_clean(&unnamed);
}

/// The lines of one table of a manifest.
fn table(manifest: &str, name: &str) -> Vec<String> {
    let lines: Vec<String> = read(manifest)
        .lines()
        .skip_while(|line| line.trim() != format!("[{name}]"))
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .map(str::to_owned)
        .collect();
    assert!(!lines.is_empty(), "{manifest} has no [{name}]");
    lines
}

#[test]
fn a_plain_build_has_no_process_and_the_features_add_to_it() {
    for manifest in ["Cargo.toml", "actors/Cargo.toml"] {
        let features = table(manifest, "features");
        let default = features.iter().find(|line| line.starts_with("default ="));
        let default = default.expect("there is a default set");
        assert!(!default.contains("stdio"), "{manifest}: {default}");
        assert!(features.iter().any(|line| line.starts_with("stdio =")));
    }
    let spawning = |line: &String| line.starts_with("tokio") && line.contains("\"process\"");
    for manifest in ["Cargo.toml", "actors/Cargo.toml"] {
        assert!(
            !table(manifest, "dependencies").iter().any(spawning),
            "{manifest}"
        );
    }
    assert!(
        !table("Cargo.toml", "workspace.dependencies")
            .iter()
            .any(spawning)
    );
}

#[test]
fn tools_of_the_binary_are_no_dependency_of_the_library() {
    const OF_THE_BINARY: [&str; 8] = [
        "clap",
        "toml",
        "typify",
        "syn",
        "quote",
        "prettyplease",
        "tracing-subscriber",
        "rmcp",
    ];
    for manifest in ["Cargo.toml", "actors/Cargo.toml"] {
        for line in table(manifest, "dependencies") {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            assert!(!OF_THE_BINARY.contains(&name), "{manifest}: {line}");
        }
    }
}

#[test]
fn no_other_mcp_library_is_linked() {
    let lock = read("Cargo.lock");
    let names: Vec<&str> = lock
        .lines()
        .filter_map(|line| line.strip_prefix("name = \""))
        .collect();
    assert!(
        names.contains(&"roscius-actors\""),
        "the lock file can be read"
    );
    let foreign = |name: &&str| name.contains("mcp");
    assert_eq!(names.into_iter().find(foreign), None);
}

#[test]
fn a_build_for_a_browser_is_refused() {
    let guard = "#[cfg(target_family = \"wasm\")]\ncompile_error!(";
    assert!(read("actors/src/lib.rs").contains(guard));
}
