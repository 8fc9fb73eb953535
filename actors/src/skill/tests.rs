#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]

use std::fs;

use serde_json::json;

use super::*;

const PDF: &str = "---\nname: pdf\ndescription: Fills in forms.\nlicense: MIT\n---\nRead on.\n";
const FORMS: &str = "---\nname: forms\ndescription: Knows forms.\n---\n";

fn skills() -> Skills {
    Skills::from_files([
        ("office/pdf/SKILL.md", PDF.as_bytes().to_vec()),
        ("office/pdf/references/a b.md", b"# A".to_vec()),
        ("office/pdf/references/deep/x.bin", vec![0, 255]),
        ("office/pdf/forms/SKILL.md", FORMS.as_bytes().to_vec()),
        ("office/notes.txt", b"belongs to no skill".to_vec()),
    ])
    .unwrap()
}

#[test]
fn a_skill_lists_every_file_with_digest_and_size() {
    let skills = skills();
    let uris: Vec<&str> = skills
        .list()
        .iter()
        .map(|skill| skill.uri.as_str())
        .collect();
    assert_eq!(
        uris,
        [
            "skill://office/pdf/SKILL.md",
            "skill://office/pdf/forms/SKILL.md"
        ]
    );
    let pdf = skills.get("skill://office/pdf/SKILL.md").unwrap();
    assert_eq!(
        Value::Object(pdf.frontmatter.clone()),
        json!({"name": "pdf", "description": "Fills in forms.", "license": "MIT"})
    );
    let files: Vec<(&str, u64)> = pdf
        .resources
        .iter()
        .map(|file| (file.uri.as_str(), file.size))
        .collect();
    // A skill inside another belongs to both.
    assert_eq!(
        files,
        [
            ("skill://office/pdf/SKILL.md", PDF.len() as u64),
            ("skill://office/pdf/forms/SKILL.md", FORMS.len() as u64),
            ("skill://office/pdf/references/a%20b.md", 3),
            ("skill://office/pdf/references/deep/x.bin", 2),
        ]
    );
    assert_eq!(
        pdf.resources[2].digest,
        "sha256:327f031b25e00b1a7cd9b0c18f05948b60f55d09f9b3d177d21083f83a3cb6df"
    );
}

#[test]
fn files_are_read_as_they_are() {
    let skills = skills();
    let text = skills.read("skill://office/pdf/SKILL.md").unwrap();
    assert_eq!(text.text.as_deref(), Some(PDF));
    assert_eq!(text.mime_type.as_deref(), Some("text/markdown"));
    let binary = skills
        .read("skill://office/pdf/references/deep/x.bin")
        .unwrap();
    assert_eq!(binary.blob.as_deref(), Some("AP8="));
    for raw in [
        "skill://office/pdf/references/a b.md",
        "skill://office/pdf/references/a%20b.md",
    ] {
        assert_eq!(skills.read(raw).unwrap().text.as_deref(), Some("# A"));
    }
}

#[test]
fn no_uri_leads_out_of_the_skills() {
    let skills = skills();
    for uri in [
        "skill://office/notes.txt",
        "skill://office/pdf/../notes.txt",
        "skill://office/pdf/%2e%2e/notes.txt",
        "skill://office/pdf/references/..%2fSKILL.md",
        "skill://office/pdf/references%2Fdeep/x.bin",
        "skill://office/pdf//SKILL.md",
        "skill://office/pdf/./SKILL.md",
        "skill:///etc/passwd",
        "file:///etc/passwd",
        "",
    ] {
        assert_eq!(skills.read(uri), None, "{uri}");
    }
}

#[test]
fn folders_give_their_direct_children() {
    let skills = skills();
    let names = |uri: &str| -> Option<Vec<(String, String)>> {
        let children = skills.children(uri)?.iter();
        Some(
            children
                .map(|child| (child.name.clone(), child.mime_type.clone().unwrap()))
                .collect(),
        )
    };
    let pair = |name: &str, kind: &str| (name.to_owned(), kind.to_owned());
    assert_eq!(
        names("skill://office/pdf").unwrap(),
        [
            pair("SKILL.md", "text/markdown"),
            pair("forms", FOLDER),
            pair("references", FOLDER)
        ]
    );
    assert_eq!(
        names("skill://office/pdf/references").unwrap(),
        [pair("a b.md", "text/markdown"), pair("deep", FOLDER)]
    );
    assert_eq!(
        names("skill://office/pdf/forms").unwrap(),
        [pair("SKILL.md", "text/markdown")]
    );
    for uri in [
        "skill://office",
        "skill://office/pdf/",
        "skill://office/pdf/SKILL.md",
        "skill://office/pdf/none",
    ] {
        assert_eq!(names(uri), None, "{uri}");
    }
}

#[test]
fn a_folder_may_be_a_skill_itself() {
    let skills = Skills::from_files([("SKILL.md", PDF), ("more.md", "x")]).unwrap();
    assert_eq!(skills.list()[0].uri, "skill://pdf/SKILL.md");
    assert_eq!(skills.list()[0].resources[1].uri, "skill://pdf/more.md");
    assert_eq!(skills.children("skill://pdf").unwrap().len(), 2);
}

#[test]
fn what_hosts_would_refuse_is_refused() {
    let failing =
        |files: &[(&str, Vec<u8>)]| Skills::from_files(files.iter().cloned()).unwrap_err();
    let pdf = || PDF.as_bytes().to_vec();
    for path in [
        "../pdf/SKILL.md",
        "/pdf/SKILL.md",
        "pdf//SKILL.md",
        "a\\pdf/SKILL.md",
        "./pdf/SKILL.md",
        "",
    ] {
        assert!(
            matches!(failing(&[(path, pdf())]), SkillsError::Path(_)),
            "{path}"
        );
    }
    assert!(matches!(failing(&[("x/y.md", pdf())]), SkillsError::None));
    assert!(matches!(
        failing(&[("x/SKILL.md", pdf())]),
        SkillsError::Name { .. }
    ));
    assert!(matches!(
        failing(&[("pdf/SKILL.md", b"no frontmatter".to_vec())]),
        SkillsError::Manifest { .. }
    ));
    assert!(matches!(
        failing(&[("pdf/SKILL.md", pdf()), ("pdf/SKILL.md", pdf())]),
        SkillsError::Repeated(_)
    ));
    assert!(matches!(
        failing(&[
            ("pdf/SKILL.md", pdf()),
            ("pdf/large", vec![0; MAX_SKILL_BYTES])
        ]),
        SkillsError::TooLarge(_)
    ));
    let many: Vec<(String, Vec<u8>)> = (0..MAX_FILES)
        .map(|at| (format!("pdf/{at}"), Vec::new()))
        .chain([("pdf/SKILL.md".to_owned(), pdf())])
        .collect();
    assert!(matches!(
        Skills::from_files(many.clone()).unwrap_err(),
        SkillsError::TooManyFiles(_)
    ));
    assert!(Skills::from_files(many.into_iter().skip(1)).is_ok());
}

#[test]
fn a_folder_is_read_without_what_is_hidden_and_without_links() {
    let root = std::env::temp_dir().join(format!("roscius-skills-{}", uuid::Uuid::new_v4()));
    fs::create_dir_all(root.join("pdf/references")).unwrap();
    fs::write(root.join("pdf/SKILL.md"), PDF).unwrap();
    fs::write(root.join("pdf/references/a.md"), "a").unwrap();
    fs::write(root.join("pdf/.DS_Store"), "x").unwrap();
    let skills = Skills::from_dir(&root).unwrap();
    assert_eq!(skills.list()[0].resources.len(), 2);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", root.join("pdf/link")).unwrap();
        assert!(matches!(Skills::from_dir(&root), Err(SkillsError::Link(_))));
    }
    fs::remove_dir_all(&root).unwrap();
    assert!(matches!(
        Skills::from_dir(&root),
        Err(SkillsError::Io { .. })
    ));
}
