//! Skills: folders of instructions that hosts read as resources.
//! Spec: extension `io.modelcontextprotocol/skills` (SEP-2640).

mod file;
mod folder;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    path::Path,
};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use self::file::{digest, is_sound, mime_type, uri_of};
use crate::{
    machine::frontmatter::{self, FrontmatterError},
    wire::{
        resource::{ResourceContents, ResourceListing},
        uri_template::normalize,
    },
};

/// The extension's id among the capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// The most files of one skill, `SKILL.md` among them: hosts need not take more.
pub const MAX_FILES: usize = 512;
/// The most bytes of one skill: hosts need not take more.
pub const MAX_SKILL_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of all skills: they are kept in memory, so that what is read is what was hashed.
pub const MAX_TOTAL_BYTES: usize = 256 * 1024 * 1024;

const MANIFEST: &str = "SKILL.md";
const FOLDER: &str = "inode/directory";

/// The skills of a server with all their files, read once.
#[derive(Clone, Default)]
pub struct Skills {
    /// In the order of their paths.
    skills: Vec<Skill>,
    /// By URI in normal form.
    files: HashMap<String, File>,
    /// Direct children by the URI of the folder.
    folders: HashMap<String, Vec<ResourceListing>>,
}

/// One skill, as `skills/list` gives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// The frontmatter, with every key of the author.
    pub frontmatter: Map<String, Value>,
    /// Every file, `SKILL.md` among them.
    pub resources: Vec<SkillFile>,
}

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillFile {
    /// Where it is read.
    pub uri: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
}

#[derive(Clone)]
struct File {
    uri: String,
    bytes: Bytes,
    mime_type: &'static str,
}

/// Why skills cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillsError {
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// Which one.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A path is no path of a file below the folder.
    #[error(
        "`{0}` is no path of a file: it has an empty, `.` or `..` part, a backslash, or is no utf-8"
    )]
    Path(String),
    /// A link could lead out of the folder.
    #[error("`{0}` is a symbolic link: links are not followed")]
    Link(String),
    /// The same path is given twice.
    #[error("`{0}` is given twice")]
    Repeated(String),
    /// The folders stand too deep.
    #[error("`{0}` stands too deep")]
    TooDeep(String),
    /// There is not one skill.
    #[error("there is no {MANIFEST}")]
    None,
    /// The manifest cannot be used.
    #[error("`{path}`: {source}")]
    Manifest {
        /// The manifest.
        path: String,
        /// What is wrong.
        source: FrontmatterError,
    },
    /// Hosts refuse a skill whose folder is not called as it is.
    #[error("`{path}`: the folder is not called `{name}`")]
    Name {
        /// The manifest.
        path: String,
        /// The name in its frontmatter.
        name: String,
    },
    /// A skill has too many files.
    #[error("skill `{0}` has more than {MAX_FILES} files")]
    TooManyFiles(String),
    /// A skill or all of them are too large.
    #[error(
        "`{0}` is too large: a skill has at most {MAX_SKILL_BYTES} bytes, all together {MAX_TOTAL_BYTES}"
    )]
    TooLarge(String),
}

impl Skills {
    /// Reads a folder: every folder below it that holds a `SKILL.md` is a skill, and so may be the
    /// folder itself. What begins with a dot is left out; links are refused.
    ///
    /// Blocks while it reads; meant for the start of a program.
    ///
    /// # Errors
    /// [`SkillsError`] for what cannot be read or hosts would refuse.
    pub fn from_dir(path: impl AsRef<Path>) -> Result<Self, SkillsError> {
        Self::from_files(folder::read(path.as_ref())?)
    }

    /// Takes files by their path, such as `pdf/SKILL.md`: with `/` between its parts, from the
    /// folder that holds the skills.
    ///
    /// # Errors
    /// As [`Skills::from_dir`].
    pub fn from_files<P, B>(files: impl IntoIterator<Item = (P, B)>) -> Result<Self, SkillsError>
    where
        P: Into<String>,
        B: Into<Bytes>,
    {
        let mut by_path: BTreeMap<String, Bytes> = BTreeMap::new();
        let mut total = 0;
        for (path, bytes) in files {
            let (path, bytes): (String, Bytes) = (path.into(), bytes.into());
            if !is_sound(&path) {
                return Err(SkillsError::Path(path));
            }
            total += bytes.len();
            if total > MAX_TOTAL_BYTES {
                return Err(SkillsError::TooLarge(path));
            }
            if by_path.insert(path.clone(), bytes).is_some() {
                return Err(SkillsError::Repeated(path));
            }
        }
        Self::build(&by_path)
    }

    fn build(by_path: &BTreeMap<String, Bytes>) -> Result<Self, SkillsError> {
        let mut skills = Self::default();
        let mut root_name = None;
        let mut folders = Vec::new();
        for (path, bytes) in by_path {
            let folder = match path.strip_suffix(MANIFEST) {
                Some("") => "",
                Some(folder) => match folder.strip_suffix('/') {
                    Some(folder) => folder,
                    None => continue,
                },
                None => continue,
            };
            let frontmatter = manifest(path, bytes)?;
            let name = frontmatter.get("name").and_then(Value::as_str);
            let name = name.unwrap_or_default().to_owned();
            if folder.is_empty() {
                root_name = Some(name);
            } else if folder.rsplit('/').next() != Some(&*name) {
                let path = path.clone();
                return Err(SkillsError::Name { path, name });
            }
            folders.push((folder, frontmatter));
        }
        if folders.is_empty() {
            return Err(SkillsError::None);
        }
        // A skill that is the folder itself gives its name to the first part of all paths.
        let root = root_name.map(|name| name + "/").unwrap_or_default();
        for (folder, frontmatter) in folders {
            skills.add(&root, folder, frontmatter, by_path)?;
        }
        Ok(skills)
    }

    fn add(
        &mut self,
        root: &str,
        folder: &str,
        frontmatter: Map<String, Value>,
        by_path: &BTreeMap<String, Bytes>,
    ) -> Result<(), SkillsError> {
        let inside = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let name = || format!("{root}{folder}");
        let mut resources = Vec::new();
        let mut size = 0;
        for (path, bytes) in by_path.iter().filter(|(path, _)| path.starts_with(&inside)) {
            size += bytes.len();
            if size > MAX_SKILL_BYTES {
                return Err(SkillsError::TooLarge(name()));
            }
            if resources.len() == MAX_FILES {
                return Err(SkillsError::TooManyFiles(name()));
            }
            let uri = uri_of(&format!("{root}{path}"));
            resources.push(SkillFile {
                uri: uri.clone(),
                digest: digest(bytes),
                size: bytes.len() as u64,
            });
            self.add_file(uri, path, bytes);
        }
        self.add_folders(root, &inside, by_path);
        self.skills.push(Skill {
            uri: uri_of(&format!("{root}{inside}{MANIFEST}")),
            frontmatter,
            resources,
        });
        Ok(())
    }

    fn add_file(&mut self, uri: String, path: &str, bytes: &Bytes) {
        let mime_type = mime_type(path, bytes);
        let file = File {
            uri: uri.clone(),
            bytes: bytes.clone(),
            mime_type,
        };
        self.files.insert(normalize(&uri), file);
    }

    /// Notes the direct children of the skill's folder and of every folder below it.
    fn add_folders(&mut self, root: &str, inside: &str, by_path: &BTreeMap<String, Bytes>) {
        let mut seen: HashSet<String> = HashSet::new();
        for (path, bytes) in by_path.iter().filter(|(path, _)| path.starts_with(inside)) {
            let mut end = path.len();
            // The file stands in its folder, that one in the next, up to the skill.
            while let Some(child) = path.get(..end).filter(|child| child.len() > inside.len()) {
                let parent = child.rfind('/').map_or("", |at| &child[..at]);
                let full = format!("{root}{parent}");
                let folder = uri_of(full.trim_end_matches('/'));
                let name = child.rsplit('/').next().unwrap_or_default();
                let listing = ResourceListing::new(uri_of(&format!("{root}{child}")), name);
                let listing = if end == path.len() {
                    listing
                        .mime_type(mime_type(path, bytes))
                        .size(bytes.len() as u64)
                } else {
                    listing.mime_type(FOLDER)
                };
                if seen.insert(listing.uri.clone()) {
                    let children = self.folders.entry(folder).or_default();
                    if children.iter().all(|known| known.uri != listing.uri) {
                        children.push(listing);
                    }
                }
                end = parent.len();
                if parent.len() < inside.len() {
                    break;
                }
            }
        }
    }

    /// Gives the skills in the order of their paths.
    #[must_use]
    pub fn list(&self) -> &[Skill] {
        &self.skills
    }

    /// Gives the skill whose `SKILL.md` has this URI.
    #[must_use]
    pub fn get(&self, uri: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.uri == uri)
    }

    /// Reads a file of any skill.
    #[must_use]
    pub fn read(&self, uri: &str) -> Option<ResourceContents> {
        let file = self.files.get(&normalize(uri))?;
        // Bytes go out as they are: hosts hash them.
        let contents = match std::str::from_utf8(&file.bytes) {
            Ok(text) => ResourceContents::text(text),
            Err(_) => ResourceContents::bytes(&file.bytes),
        };
        Some(contents.uri(&file.uri).mime_type(file.mime_type))
    }

    /// Gives the direct children of a folder of a skill; none if there is no such folder.
    #[must_use]
    pub fn children(&self, uri: &str) -> Option<&[ResourceListing]> {
        self.folders.get(&normalize(uri)).map(Vec::as_slice)
    }

    /// Gives the manifests as `resources/list` shows them.
    #[must_use]
    pub fn listings(&self) -> Vec<ResourceListing> {
        let listing = |skill: &Skill| {
            let text = |key: &str| skill.frontmatter.get(key).and_then(Value::as_str);
            let name = text("name").unwrap_or_default();
            let listing = ResourceListing::new(&skill.uri, name).mime_type("text/markdown");
            listing.description(text("description").unwrap_or_default())
        };
        self.skills.iter().map(listing).collect()
    }
}

impl fmt::Debug for Skills {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uris = self.skills.iter().map(|skill| &skill.uri);
        out.debug_set().entries(uris).finish()
    }
}

fn manifest(path: &str, bytes: &Bytes) -> Result<Map<String, Value>, SkillsError> {
    let text = std::str::from_utf8(bytes).map_err(|_| FrontmatterError::Absent);
    text.and_then(frontmatter::read)
        .map_err(|source| SkillsError::Manifest {
            path: path.to_owned(),
            source,
        })
}
