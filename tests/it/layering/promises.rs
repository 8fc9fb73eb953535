//! The tables of `docs/`: a row that claims something names a test that exists.

use std::collections::{BTreeMap, BTreeSet};

/// A row of a table: its key, the tests it names, and where it stands.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) tests: Vec<String>,
    /// Whether it stands under the heading `## Later`, where nothing is claimed.
    pub(super) later: bool,
}

/// Reads the rows of every table whose last column is headed `test`, and of those under `## Later`.
pub(super) fn rows(document: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut later, mut tested) = (false, false);
    for (index, text) in document.lines().enumerate() {
        if let Some(heading) = text.strip_prefix("## ") {
            later = heading.starts_with("Later");
        }
        let Some(inner) = text.trim().strip_prefix('|') else {
            tested = false;
            continue;
        };
        let cells: Vec<&str> = inner
            .trim_end_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        if last.eq_ignore_ascii_case("test") {
            tested = true;
        } else if first
            .chars()
            .all(|character| matches!(character, '-' | ':' | ' '))
        {
        } else if tested || later {
            let tests = if tested && !later {
                quoted(last)
            } else {
                Vec::new()
            };
            rows.push(Row {
                line: index + 1,
                key: (*first).to_owned(),
                tests,
                later,
            });
        }
    }
    rows
}

/// The words between back ticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Everything that counts as a test.
#[derive(Debug, Default)]
pub(super) struct Tests {
    functions: BTreeSet<String>,
    scenarios: BTreeSet<String>,
    /// Files outside Rust with their text.
    files: BTreeMap<String, String>,
}

impl Tests {
    /// Adds the functions of a Rust file that carry a `test` attribute.
    pub(super) fn add_rust(&mut self, source: &str) {
        let mut attributed = false;
        for line in source.lines().map(str::trim) {
            if line.starts_with("#[") && line.contains("test") && !line.contains("cfg(test)") {
                attributed = true;
            }
            let Some((before, after)) = line.split_once("fn ") else {
                continue;
            };
            let plain = before
                .split_whitespace()
                .all(|word| matches!(word, "async" | "pub" | "pub(super)"));
            if attributed && plain {
                let name = after.split(['(', '<']).next().unwrap_or_default();
                self.functions.insert(name.to_owned());
                attributed = false;
            }
        }
    }

    /// Adds a file of tests outside Rust.
    pub(super) fn add_file(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), text);
    }

    /// Adds the names of the claimed conformance scenarios.
    pub(super) fn add_scenarios(&mut self, list: &str) {
        for line in list.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line.split_whitespace().nth(2) {
                self.scenarios.insert(format!("conformance {name}"));
            }
        }
    }

    /// Whether `name` is a Rust test, a claimed scenario, `file.test.mjs`, or `file.test.mjs: title`.
    fn holds(&self, name: &str) -> bool {
        let function = name.rsplit("::").next().unwrap_or(name);
        if self.functions.contains(function) || self.scenarios.contains(name) {
            return true;
        }
        let (file, title) = name.split_once(": ").unwrap_or((name, ""));
        self.files.iter().any(|(path, text)| {
            let named = path == file || path.rsplit('/').next() == Some(file);
            named && text.contains(title)
        })
    }
}

/// What is wrong with `document`, one sentence a row.
pub(super) fn check(file: &str, document: &str, tests: &Tests) -> Vec<String> {
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    let rows = rows(document);
    if rows.iter().all(|row| row.later) {
        broken.push(format!("{file} claims nothing"));
    }
    for row in rows {
        let place = format!("{file}:{}: row {}", row.line, row.key);
        if !seen.insert(row.key.clone()) {
            broken.push(format!("{place} stands twice"));
        }
        if !row.later && row.tests.is_empty() {
            broken.push(format!("{place} names no test"));
        }
        let missing = row.tests.iter().filter(|name| !tests.holds(name));
        broken.extend(missing.map(|name| format!("{place} names `{name}`, which does not exist")));
    }
    broken
}

#[test]
fn a_row_without_an_existing_test_is_refused() {
    let mut tests = Tests::default();
    tests.add_rust(
        "#[test]\nfn here() {}\nfn helper() {}\n#[actix_rt::test]\nasync fn there() {}\n",
    );
    tests.add_file(
        "tests/interop/demo.test.mjs",
        "test('hello', () => {})".to_owned(),
    );
    tests.add_scenarios("# server 2026 comment\nserver 2026-07-28 server-stateless\n");
    let document = "\
| row | promise | test |
| --- | --- | --- |
| F1 | one | `here`, `it::area::there` |
| F2 | two | `demo.test.mjs`, `demo.test.mjs: hello`, `conformance server-stateless` |
| F7 | seven | `demo.test.mjs: bye` |
| F3 | three | `gone` |
| F4 | four | |
| F5 | five | `helper` |
| F1 | again | `here` |

## Later
| row | promise |
| --- | --- |
| F6 | six |
| F2 | two |
";
    let broken = check("p.md", document, &tests);
    assert_eq!(
        broken,
        [
            "p.md:5: row F7 names `demo.test.mjs: bye`, which does not exist",
            "p.md:6: row F3 names `gone`, which does not exist",
            "p.md:7: row F4 names no test",
            "p.md:8: row F5 names `helper`, which does not exist",
            "p.md:9: row F1 stands twice",
            "p.md:15: row F2 stands twice",
        ]
    );
}
