//! Skills: their lists, their files, their folders.

use roscius::{prelude::*, skill::Skills};
use serde_json::{Value, json};

use super::host::{Ask, Reply, Served};

const MANIFEST: &str =
    "---\nname: pdf\ndescription: Fills in forms.\nmetadata:\n  version: \"1.0\"\n---\nRead on.\n";

fn served() -> Served {
    let skills = Skills::from_files([
        ("pdf/SKILL.md", MANIFEST),
        ("pdf/references/FORMS.md", "# Forms"),
        (
            "notes/SKILL.md",
            "---\nname: notes\ndescription: Keeps notes.\n---\n",
        ),
    ])
    .unwrap();
    let server = McpServer::new("skilled", "1.0.0")
        .skills(skills)
        .page_size(1)
        .build()
        .unwrap();
    Served::new(&server)
}

fn ask(served: &Served, method: &str, params: Value) -> Reply {
    Ask::modern(method, params).send(served)
}

fn result(served: &Served, method: &str, params: Value) -> Value {
    let reply = ask(served, method, params);
    assert_eq!(reply.status, 200, "{reply:?}");
    let mut message = reply.json();
    assert_eq!(message["result"]["resultType"], "complete", "{reply:?}");
    message["result"].take()
}

#[test]
fn the_extension_is_announced_with_the_resources_it_needs() {
    let served = served();
    let discover = result(&served, "server/discover", json!({}));
    let capabilities = json!({
        "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}},
        "resources": {"subscribe": false, "listChanged": false},
    });
    assert_eq!(discover["capabilities"], capabilities);
    let without = McpServer::new("plain", "1").build().unwrap();
    let without = Served::new(&without);
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        let reply = ask(&without, method, json!({"uri": "skill://pdf"}));
        assert_eq!((reply.status, reply.error_code()), (404, -32601));
    }
}

#[test]
fn skills_come_in_pages_and_alone() {
    let served = served();
    let first = result(&served, "skills/list", json!({}));
    assert_eq!(
        (&first["ttlMs"], &first["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    assert_eq!(first["skills"][0]["uri"], "skill://notes/SKILL.md");
    let second = result(
        &served,
        "skills/list",
        json!({"cursor": first["nextCursor"]}),
    );
    assert_eq!(second.get("nextCursor"), None);
    let pdf = &second["skills"][0];
    assert_eq!(
        pdf["frontmatter"],
        json!({"name": "pdf", "description": "Fills in forms.", "metadata": {"version": "1.0"}})
    );
    assert_eq!(pdf["resources"][0]["size"], MANIFEST.len());
    let alone = result(
        &served,
        "skills/get",
        json!({"uri": "skill://pdf/SKILL.md"}),
    );
    assert_eq!(&alone["skill"], pdf);
    assert_eq!(
        (&alone["ttlMs"], alone.get("nextCursor")),
        (&json!(0), None)
    );
    for uri in [
        json!("skill://pdf"),
        json!("skill://none/SKILL.md"),
        Value::Null,
    ] {
        assert_eq!(
            ask(&served, "skills/get", json!({"uri": uri})).error_code(),
            -32602
        );
    }
    let legacy = Ask::legacy(
        "2025-11-25",
        "skills/get",
        json!({"uri": "skill://pdf/SKILL.md"}),
    );
    assert_eq!(
        &legacy.send(&served).json()["result"],
        &json!({"skill": pdf})
    );
}

#[test]
fn manifests_are_listed_and_every_file_is_read() {
    let served = served();
    let list = result(&served, "resources/list", json!({}));
    assert_eq!(
        list["resources"],
        json!([{"uri": "skill://notes/SKILL.md", "name": "notes", "description": "Keeps notes.", "mimeType": "text/markdown"}])
    );
    let read = |uri: &str| ask(&served, "resources/read", json!({"uri": uri}));
    assert_eq!(
        read("skill://pdf/SKILL.md").json()["result"]["contents"],
        json!([{"uri": "skill://pdf/SKILL.md", "mimeType": "text/markdown", "text": MANIFEST}])
    );
    assert_eq!(
        read("skill://pdf/references/FORMS.md").json()["result"]["contents"][0]["text"],
        "# Forms"
    );
    for uri in [
        "skill://pdf/../notes/SKILL.md",
        "skill://pdf/%2e%2e/notes/SKILL.md",
        "skill://pdf/..%2fnotes/SKILL.md",
        "skill://pdf",
        "skill://pdf/references",
    ] {
        assert_eq!(read(uri).error_code(), -32602, "{uri}");
    }
}

#[test]
fn a_folder_gives_its_children_page_by_page() {
    let served = served();
    let read = |params: Value| result(&served, "resources/directory/read", params);
    let first = read(json!({"uri": "skill://pdf"}));
    assert_eq!(
        first["resources"],
        json!([{"uri": "skill://pdf/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown", "size": MANIFEST.len()}])
    );
    assert_eq!(first.get("ttlMs"), None);
    let next = json!({"uri": "skill://pdf", "cursor": first["nextCursor"]});
    for _ in 0..2 {
        assert_eq!(
            read(next.clone())["resources"],
            json!([{"uri": "skill://pdf/references", "name": "references", "mimeType": "inode/directory"}])
        );
    }
    for uri in ["skill://pdf/SKILL.md", "skill://none", "skill://pdf/"] {
        let reply = ask(&served, "resources/directory/read", json!({"uri": uri}));
        assert_eq!(reply.error_code(), -32602, "{uri}");
    }
}
