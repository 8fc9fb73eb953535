//! What one source file may name. The floors are those of `docs/architecture.md`.

use std::fmt;

use super::{
    lexer::{Token, blank, tokens},
    paths::{Target, paths},
};

/// Modules of the engine, floor by floor.
const FLOORS: [&[&str]; 5] = [
    &["wire"],
    &["machine"],
    &["ports"],
    &[
        "tool",
        "handler",
        "resource",
        "prompt",
        "skill",
        "model",
        "transport",
        "store",
    ],
    &[
        "client",
        "pool",
        "session",
        "run",
        "chat",
        "auth",
        "key_set",
        "token",
        "server",
        "registry",
        "gauge",
        "background",
    ],
];

/// Crates that only some floors may name: the crate and its lowest floor.
const LOWEST_FLOOR: [(&str, usize); 14] = [
    ("futures", 2),
    ("futures_core", 2),
    ("futures_util", 2),
    ("futures_executor", 3),
    ("tokio_util", 2),
    ("tokio", 3),
    ("actix_rt", 3),
    ("awc", 3),
    ("actix_service", 3),
    ("actix_tls", 3),
    ("tracing", 3),
    ("actix", 4),
    ("actix_http", usize::MAX),
    ("actix_web", usize::MAX),
];

/// A rule that a file breaks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// Checks a file of `actors/src`; `inside` is its path from there.
pub(super) fn engine(inside: &str, source: &str) -> Vec<Violation> {
    let file = format!("actors/src/{inside}");
    let mut broken = library(&file, source);
    let module = module_of(inside);
    let Some(own) = module.first() else {
        return broken;
    };
    let mut report = |line, rule| {
        broken.push(Violation {
            file: file.clone(),
            line,
            rule,
        })
    };
    let Some(floor) = floor_of(own) else {
        report(1, format!("module `{own}` stands on no floor"));
        return broken;
    };
    for found in paths(source, &module) {
        match found.target {
            Target::Own(path) => match path.first().map(|first| (first, floor_of(first))) {
                Some((first, Some(target))) if target > floor => report(
                    found.line,
                    format!("floor {floor} (`{own}`) reaches up to floor {target} (`{first}`)"),
                ),
                Some((_, Some(_))) => {}
                _ => report(
                    found.line,
                    format!(
                        "`crate::{}` hides the floor behind the crate root",
                        path.join("::")
                    ),
                ),
            },
            Target::Other(path) => {
                let Some(name) = path.first() else { continue };
                let lowest = LOWEST_FLOOR
                    .iter()
                    .find(|(banned, _)| *banned == name.as_str());
                if lowest.is_some_and(|(_, lowest)| floor < *lowest) {
                    report(
                        found.line,
                        format!("floor {floor} (`{own}`) names the crate `{name}`"),
                    );
                }
            }
        }
    }
    broken
}

/// Checks a file of the face, the crate in `src`.
pub(super) fn face(inside: &str, source: &str) -> Vec<Violation> {
    let file = format!("src/{inside}");
    let mut broken = library(&file, source);
    let code = blank(source);
    let words = tokens(&code);
    for (at, token) in words
        .iter()
        .enumerate()
        .filter(|(_, token)| token.text == "impl")
    {
        let header: Vec<&str> = words[at..]
            .iter()
            .map(|token| token.text)
            .take_while(|text| !matches!(*text, "{" | ";"))
            .collect();
        if header.windows(2).any(|pair| pair == ["Actor", "for"]) {
            let rule = "the face holds no actor: move it to the engine".to_owned();
            broken.push(Violation {
                file: file.clone(),
                line: token.line,
                rule,
            });
        }
    }
    broken
}

/// What holds in every library file.
fn library(file: &str, source: &str) -> Vec<Violation> {
    let mut broken = no_processes(file, source);
    broken.extend(no_environment(file, source));
    broken
}

/// A library takes its configuration from its caller; the binary alone reads the environment. What
/// a child process inherits of it is no configuration.
fn no_environment(file: &str, source: &str) -> Vec<Violation> {
    if is_behind_stdio(source) {
        return Vec::new();
    }
    paths(source, &[])
        .into_iter()
        .filter(|found| match &found.target {
            Target::Own(_) => false,
            Target::Other(path) => path.windows(2).any(|pair| {
                pair[0] == "env"
                    && matches!(pair[1].as_str(), "var" | "vars" | "var_os" | "vars_os")
            }),
        })
        .map(|found| Violation {
            file: file.to_owned(),
            line: found.line,
            rule: "a library does not read the environment".to_owned(),
        })
        .collect()
}

fn is_behind_stdio(source: &str) -> bool {
    let mut lines = source.lines();
    lines.any(|line| line.trim() == "#![cfg(feature = \"stdio\")]")
}

/// Process spawning stands only in files whose first attribute is `#![cfg(feature = "stdio")]`.
fn no_processes(file: &str, source: &str) -> Vec<Violation> {
    if is_behind_stdio(source) {
        return Vec::new();
    }
    let code = blank(source);
    let words = tokens(&code);
    let spawns = |window: &[Token<'_>]| {
        let text: Vec<&str> = window.iter().map(|token| token.text).collect();
        text == ["process", "::", "Command"]
            || text[1..] == ["::", "process"]
                && matches!(text[0], "tokio" | "actix_rt" | "async_process")
    };
    let grouped = paths(source, &[])
        .into_iter()
        .filter_map(|found| match found.target {
            Target::Other(path)
                if path.ends_with(&["process".to_owned(), "Command".to_owned()]) =>
            {
                Some(found.line)
            }
            _ => None,
        });
    let mut lines: Vec<usize> = words
        .windows(3)
        .filter(|window| spawns(window))
        .map(|window| window[0].line)
        .collect();
    lines.extend(grouped);
    lines.sort_unstable();
    lines.dedup();
    lines
        .into_iter()
        .map(|line| Violation {
            file: file.to_owned(),
            line,
            rule: "processes are spawned only behind the feature `stdio`".to_owned(),
        })
        .collect()
}

fn floor_of(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// `wire/sse.rs` is the module `wire::sse`; the crate's own root is the empty path.
fn module_of(inside: &str) -> Vec<String> {
    let stem = inside.trim_end_matches(".rs");
    if stem == "lib" {
        Vec::new()
    } else {
        stem.split('/').map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(broken: &[Violation]) -> Vec<String> {
        broken.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_floor_that_reaches_up_is_named_with_file_and_line() {
        let broken = engine(
            "machine/dispatch.rs",
            "use crate::wire::ids;\nuse crate::client::Handle;\n",
        );
        assert_eq!(
            lines(&broken),
            [
                "actors/src/machine/dispatch.rs:2: floor 1 (`machine`) reaches up to floor 4 (`client`)"
            ]
        );
    }

    #[test]
    fn reaching_up_is_seen_in_groups_in_code_and_through_super() {
        let source =
            "use super::{ports::Clock, wire};\nfn f() -> crate::store::Log { super::run::go() }\n";
        let found: Vec<usize> = engine("machine.rs", source)
            .iter()
            .map(|broken| broken.line)
            .collect();
        assert_eq!(found, [1, 2, 2]);
    }

    #[test]
    fn reaching_down_and_sideways_is_allowed() {
        let source = "use crate::{wire, machine, ports::Model, transport::http, tool::Tool};";
        assert_eq!(engine("store/memory.rs", source), []);
    }

    #[test]
    fn decisions_name_no_runtime() {
        for name in [
            "actix",
            "actix_rt",
            "tokio",
            "awc",
            "actix_web",
            "futures_executor",
            "tracing",
        ] {
            let broken = engine("wire/sse.rs", &format!("\nuse {name}::x;"));
            assert_eq!(broken.len(), 1, "{name}");
            assert_eq!(broken[0].line, 2, "{name}");
        }
        let attribute = engine("machine/era.rs", "#[tokio::test]\nasync fn f() {}");
        assert_eq!(attribute.len(), 1);
        assert_eq!(
            engine(
                "wire/sse.rs",
                "// use tokio::x;\nconst A: &str = \"awc::Client\";"
            ),
            []
        );
    }

    #[test]
    fn no_floor_names_the_http_server_framework() {
        assert_eq!(engine("server/build.rs", "use actix_web::web;").len(), 1);
        assert_eq!(engine("server/build.rs", "use actix::Actor;"), []);
    }

    #[test]
    fn an_unknown_module_and_a_path_through_the_root_are_refused() {
        assert_eq!(engine("helpers.rs", "").len(), 1);
        assert_eq!(engine("wire/sse.rs", "use crate::RunHandle;").len(), 1);
        assert_eq!(engine("lib.rs", "pub use run::RunHandle;"), []);
    }

    #[test]
    fn an_actor_in_the_face_is_refused() {
        let source =
            "struct A;\n\nimpl<T: Clone> actix::Actor for A {\n}\nimpl Handler<M> for A {}";
        assert_eq!(
            lines(&face("web.rs", source)),
            ["src/web.rs:3: the face holds no actor: move it to the engine"]
        );
        assert_eq!(
            face(
                "web.rs",
                "fn f(_: impl Fn(Addr<A>)) {}\n// impl Actor for A {"
            ),
            []
        );
    }

    #[test]
    fn a_library_that_reads_the_environment_is_refused() {
        assert_eq!(
            face("lib.rs", "fn f() {\n    std::env::var(\"X\");\n}")[0].line,
            2
        );
        assert_eq!(
            engine("lib.rs", "use std::env;\nfn f() { env::var_os(\"X\"); }")[0].line,
            2
        );
        assert_eq!(
            face("lib.rs", "const A: &str = env!(\"CARGO_PKG_VERSION\");"),
            []
        );
    }

    #[test]
    fn processes_are_spawned_only_behind_their_feature() {
        for spawning in [
            "fn f() { std::process::Command::new(\"x\"); }",
            "use std::process::{Command, Stdio};",
            "use std::process;\nfn f() { process::Command::new(\"x\"); }",
            "use tokio::process;",
        ] {
            assert_eq!(face("lib.rs", spawning).len(), 1, "{spawning}");
            assert!(
                !engine("transport/peer.rs", spawning).is_empty(),
                "{spawning}"
            );
            let gated = format!("//! Peers.\n#![cfg(feature = \"stdio\")]\n{spawning}");
            assert_eq!(face("lib.rs", &gated), [], "{spawning}");
        }
        assert_eq!(face("lib.rs", "use std::process::ExitCode;"), []);
    }
}
