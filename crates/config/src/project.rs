//! The layout of a project: which folder is one, its settings, and where its services and contracts are.

use crate::ConfigError;
use crate::format::{Faults, FileKind, SourceFile, Spanned};
use globset::Glob;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The file that makes a folder a project. It may be empty.
pub const PROJECT_FILE: &str = "prony.toml";
/// The file of a service.
pub const SERVICE_FILE: &str = "service.toml";
/// The folder with prony's own files. In a repository it also has the contracts, which git does not ignore.
pub const STATE_FOLDER: &str = ".prony";
/// The folder of services whose files are all in a folder of their own.
const SERVICES: &str = "services";

/// The settings of a project. All are optional.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Project")]
pub struct Settings {
    /// The file that stores the runs, relative to the folder of the project. Default: `.prony/store.db`.
    pub store: Option<PathBuf>,
    /// The default testbed file, relative to the folder of the project.
    #[schemars(extend("x-aliases" = ["lab"]))]
    pub testbed: Option<Spanned<PathBuf>>,
    /// Folders with a `service.toml`, in addition to those in `services/`, relative to the folder of the project: `apps/*` are all
    /// folders in `apps`.
    #[serde(default)]
    services: Vec<Spanned<PathBuf>>,
}

impl Settings {
    /// The settings of the project with this root.
    pub fn of(root: &Path) -> Result<Self, ConfigError> {
        let file = root.join(PROJECT_FILE);
        if !file.is_file() {
            return Ok(Self::default());
        }
        SourceFile::read(&file)?.parse(FileKind::Project)
    }
}

/// Whether a folder is the root of a project.
fn is_project(folder: &Path) -> bool {
    folder.join(PROJECT_FILE).is_file()
        || folder.join(SERVICES).is_dir() && folder.join("contracts").is_dir()
        || folder.join(SERVICE_FILE).is_file() && folder.join(STATE_FOLDER).is_dir()
}

/// The root of the project that contains a folder.
pub fn root_around(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|folder| is_project(folder))?;
    Some(root.to_owned())
}

/// The folders with contracts. Those of a later one take precedence.
pub fn contract_places(root: &Path) -> [PathBuf; 2] {
    [root.join(STATE_FOLDER).join("contracts"), root.join("contracts")]
}

/// The folder for new contracts. A repository may have a folder `contracts` with something else.
pub fn contracts_of(root: &Path) -> PathBuf {
    let [hidden, visible] = contract_places(root);
    let mut others = matches(&visible, Path::new("*"));
    let has_contract = others.any(|folder| folder.join("contract.toml").is_file());
    if hidden.is_dir() && !has_contract {
        hidden
    } else {
        visible
    }
}

/// The folder of the services, if this one is directly in it. Services there share scripts and have all of their files in a folder of
/// their own. For a folder outside of the project at `root`, the name decides.
pub(crate) fn services_around<'a>(folder: &'a Path, root: &Path) -> Option<&'a Path> {
    let parent = folder.parent()?;
    let is_it = if folder.starts_with(root) {
        parent == root.join(SERVICES)
    } else {
        parent.ends_with(SERVICES)
    };
    is_it.then_some(parent)
}

/// The folders with a `service.toml`, by path: that of the project itself, those in `services/`, and those that `prony.toml` names.
/// An error in `prony.toml` is one of a file of its own: services in other folders are found nevertheless.
pub fn service_folders(root: &Path) -> (Vec<PathBuf>, Option<ConfigError>) {
    let mut found = BTreeSet::from([root.to_owned()]);
    found.extend(matches(root, Path::new("services/*")));
    let named = Settings::of(root).and_then(|settings| named_folders(root, &settings.services));
    let (named, error) = match named {
        Ok(named) => (named, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    found.extend(named);
    let folders = found.into_iter();
    let folders = folders.filter(|folder| folder.join(SERVICE_FILE).is_file());
    (folders.collect(), error)
}

/// The file of the service of this name, even a broken one; `None` if the project has no such service.
pub fn service_file(root: &Path, name: &str) -> Option<PathBuf> {
    let (folders, _) = service_folders(root);
    let folder = folders.into_iter().find(|folder| name_in(folder, root) == name)?;
    Some(folder.join(SERVICE_FILE))
}

/// The name of a folder.
pub(crate) fn folder_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The name of the service in a folder: that of the folder, or the one in its file if the folder is the root of the project.
pub(crate) fn name_in(folder: &Path, root: &Path) -> String {
    let written = (folder == root).then(|| written_name(folder)).flatten();
    written.unwrap_or_else(|| folder_name(folder))
}

/// The name in the file of the service in a folder.
pub fn written_name(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(SERVICE_FILE)).ok()?;
    let table: toml::Table = text.parse().ok()?;
    Some(table.get("name")?.as_str()?.to_owned())
}

/// The folders that the patterns of `prony.toml` match. Each pattern must match one with a `service.toml`.
fn named_folders(root: &Path, patterns: &[Spanned<PathBuf>]) -> Result<Vec<PathBuf>, ConfigError> {
    let mut faults = Faults::default();
    let mut found = Vec::new();
    for pattern in patterns {
        let folders = matches(root, pattern.get_ref());
        let mut services = folders
            .filter(|folder| folder.join(SERVICE_FILE).is_file())
            .peekable();
        if services.peek().is_none() {
            let file = SourceFile::read(&root.join(PROJECT_FILE))?;
            let message = format!("no folder `{}` has a {SERVICE_FILE}", pattern.get_ref().display());
            let help = "give folders below that of prony.toml, such as `services = [\"apps/*\"]`";
            faults.keep::<()>(Err(file.invalid_with(pattern.span(), message, help)));
        }
        found.extend(services);
    }
    faults.or(found)
}

/// The folders below `root` that a path with wildcards matches, each of which stands for a part of one name.
fn matches(root: &Path, pattern: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let mut found = vec![root.to_owned()];
    for part in pattern.components() {
        found = match part {
            Component::CurDir => found,
            Component::Normal(name) => {
                let name = name.to_string_lossy();
                found.iter().flat_map(|folder| below(folder, &name)).collect()
            }
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => Vec::new(),
        };
    }
    found.into_iter()
}

/// Whether this is a pattern of names, and not the name of one.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// The folders directly in a folder whose names match.
fn below(folder: &Path, name: &str) -> Vec<PathBuf> {
    if !is_pattern(name) {
        return vec![folder.join(name)];
    }
    let Ok(glob) = Glob::new(name).map(|glob| glob.compile_matcher()) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| glob.is_match(entry.file_name()))
        .map(|entry| entry.path())
        .collect()
}
