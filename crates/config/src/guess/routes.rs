//! Paths that the sources of a server seem to serve.

use super::folder::Folder;
use regex::Regex;
use std::collections::BTreeSet;
use std::path::Path;

/// Extensions of sources.
const SOURCES: [&str; 15] = [
    "c", "cs", "go", "java", "js", "jsx", "kt", "mjs", "php", "py", "rb", "rs", "scala", "ts", "tsx",
];
/// The most files that are read, and the most paths that are found in them.
const MOST_FILES: usize = 2_000;
const MOST_PATHS: usize = 40;

/// Paths of GET requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// Those that can be requested as they are.
    pub paths: Vec<String>,
    /// Those with parameters, whose values are unknown.
    pub with_parameters: Vec<String>,
}

/// The paths in calls, annotations and macros that define routes in the usual frameworks. Some of them may be something else: a request
/// to the server shows which it serves.
pub fn routes(root: &Path) -> Routes {
    let folder = Folder::new(root);
    let route = Regex::new(
        r#"(?i)\b(?:get|route|handle|handlefunc|getmapping|requestmapping|mapget|path)\b\s*[( ]\s*(?:(?:value|path)\s*=\s*)?["'`](?:GET\s+)?(/[^"'`\s?#]*)["'`]"#,
    )
    .expect("invariant: a valid expression");
    let is_source = |path: &&Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| SOURCES.contains(&extension))
    };
    let mut found = BTreeSet::new();
    for path in folder.files().filter(is_source).take(MOST_FILES) {
        let text = folder.read(path).unwrap_or_default();
        found.extend(route.captures_iter(&text).map(|groups| groups[1].to_owned()));
    }
    let has_parameter = |path: &String| path.contains(['{', '}', ':', '<', '*', '$', '(', '[', '%']);
    let (mut with_parameters, mut paths): (Vec<String>, Vec<String>) =
        found.into_iter().partition(has_parameter);
    paths.retain(|path| path != "/");
    paths.truncate(MOST_PATHS);
    with_parameters.truncate(MOST_PATHS);
    Routes {
        paths,
        with_parameters,
    }
}
