//! The files of a project that people write: which there are, whether they are valid, and their current form.

use crate::project::{Checkout, PROJECT_FILE};
use crate::schema::extended_schema;
use crate::testbed::TestbedFile;
use prony_config::format::{FileKind, SourceFile, upgraded};
use prony_config::project::{SERVICE_FILE, Settings, service_folders};
use prony_config::{Catalogue, ConfigError};
use prony_files::Walk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folders of a project that contain files of its own.
const FOLDERS: [&str; 8] = [
    ".prony/contracts",
    "backing-services",
    "companions",
    "contracts",
    "sequences",
    "services",
    "suites",
    "testbeds",
];
/// Depth of the files in `services/`, which also contains the sources of the services.
const SERVICE_DEPTH: usize = 2;

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    pub kind: FileKind,
    pub path: PathBuf,
}

impl Checkout {
    /// All files of the project, by path. Files that ship with prony are none of them.
    pub fn files(&self) -> Vec<ProjectFile> {
        let mut found = BTreeMap::new();
        let mut add = |files: Vec<ProjectFile>| {
            found.extend(files.into_iter().map(|file| (file.path, file.kind)));
        };
        add(known_files(&self.root, 1));
        for folder in FOLDERS {
            let depth = if folder == "services" {
                SERVICE_DEPTH
            } else {
                usize::MAX
            };
            add(known_files(&self.root.join(folder), depth));
        }
        let services = service_folders(&self.root).0.into_iter();
        let services = services.map(|folder| folder.join(SERVICE_FILE));
        found.extend(services.map(|file| (file, FileKind::Service)));
        if let Ok(Some(path)) = self.testbed()
            && path.is_file()
        {
            found.insert(path, FileKind::Testbed);
        }
        let files = found.into_iter();
        files.map(|(path, kind)| ProjectFile { kind, path }).collect()
    }
}

/// The files in a folder, to some depth, whose kinds can be told. Hidden and installed files are left out.
pub fn known_files(folder: &Path, depth: usize) -> Vec<ProjectFile> {
    let is_other = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') || name == "node_modules" || name == "target"
    };
    let walk = Walk::new(folder).only_to(depth).skip(&is_other);
    let file = |path: PathBuf| {
        path.extension().filter(|extension| *extension == "toml")?;
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let kind = FileKind::of(&path, &text)?;
        Some(ProjectFile { kind, path })
    };
    walk.readable()
        .map(|entry| folder.join(entry.path))
        .filter(|path| path.is_file())
        .filter_map(file)
        .collect()
}

/// All errors of a file of any kind, and of the files that it needs. The catalogue is that of its project.
pub fn verify_file(kind: FileKind, file: &SourceFile, catalogue: &Catalogue) -> Result<(), ConfigError> {
    match kind {
        FileKind::Testbed => TestbedFile::of(file).map(drop),
        FileKind::Project => verify_settings(file),
        other => catalogue.verify_file(other, file),
    }
}

fn verify_settings(file: &SourceFile) -> Result<(), ConfigError> {
    let settings: Settings = file.parse(FileKind::Project)?;
    let folder = file.path.parent().unwrap_or_else(|| Path::new(""));
    if let (_, Some(error)) = service_folders(folder) {
        return Err(error);
    }
    let Some(testbed) = settings.testbed else {
        return Ok(());
    };
    if folder.join(testbed.get_ref()).is_file() {
        return Ok(());
    }
    let message = format!("no testbed file `{}`", testbed.get_ref().display());
    let help = format!("paths are relative to the folder of {PROJECT_FILE}");
    Err(file.invalid_with(testbed.span(), message, help))
}

/// The text of a file in the current format; `None` if it is that already. A valid file that would not be valid afterwards is
/// an error.
pub fn upgraded_file(
    kind: FileKind,
    file: &SourceFile,
    catalogue: &Catalogue,
) -> Result<Option<String>, ConfigError> {
    let Some(text) = upgraded(kind, &extended_schema(kind), file)? else {
        return Ok(None);
    };
    let new = SourceFile::new(&file.path, text.as_str());
    match verify_file(kind, &new, catalogue) {
        Err(error) if verify_file(kind, file, catalogue).is_ok() => Err(error),
        _ => Ok(Some(text)),
    }
}
