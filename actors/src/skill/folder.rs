//! Reads all files below a folder, following nothing that could lead out of it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{MAX_TOTAL_BYTES, SkillsError};

/// The deepest folder.
const MAX_DEPTH: usize = 16;

pub(super) fn read(root: &Path) -> Result<Vec<(String, Vec<u8>)>, SkillsError> {
    let mut files = Vec::new();
    let mut total = 0;
    let mut open: Vec<(PathBuf, String, usize)> = vec![(root.to_owned(), String::new(), 0)];
    while let Some((folder, inside, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(SkillsError::TooDeep(inside));
        }
        for entry in fs::read_dir(&folder).map_err(|source| failed(&folder, source))? {
            let entry = entry.map_err(|source| failed(&folder, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(SkillsError::Path(name.to_string_lossy().into_owned()));
            };
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{inside}{name}");
            let file = entry.path();
            // Of the entry itself, not of what a link leads to.
            let kind = entry.file_type().map_err(|source| failed(&file, source))?;
            if kind.is_symlink() {
                return Err(SkillsError::Link(path));
            }
            if kind.is_dir() {
                open.push((file, format!("{path}/"), depth + 1));
            } else if kind.is_file() {
                let size = entry
                    .metadata()
                    .map_err(|source| failed(&file, source))?
                    .len();
                total += usize::try_from(size)
                    .unwrap_or(usize::MAX)
                    .min(MAX_TOTAL_BYTES + 1);
                if total > MAX_TOTAL_BYTES {
                    return Err(SkillsError::TooLarge(path));
                }
                let bytes = fs::read(&file).map_err(|source| failed(&file, source))?;
                files.push((path, bytes));
            }
        }
    }
    Ok(files)
}

fn failed(path: &Path, source: std::io::Error) -> SkillsError {
    SkillsError::Io {
        path: path.display().to_string(),
        source,
    }
}
