//! Threads in which the runtime of a service compiles it while it runs. A service is warm when they are idle.

use serde::{Deserialize, Serialize};

/// Beginnings of names under headings, with comments.
const NAMES: &str = include_str!("compiler_threads.txt");
/// Longest name of a thread that the kernel keeps, bytes.
const LONGEST: usize = 15;

/// The names of compiler threads.
#[derive(Debug)]
pub(crate) struct CompilerThreads(Vec<(String, CompilerKind)>);

/// What threads of a runtime do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompilerKind {
    /// They compile, and are idle when everything is compiled.
    Compiles,
    /// They collect garbage, too.
    CompilesAndCollects,
}

impl Default for CompilerThreads {
    fn default() -> Self {
        Self::with(&[])
    }
}

impl CompilerThreads {
    /// The known ones, and those of the user.
    pub(crate) fn with(own: &[String]) -> Self {
        let mut kind = CompilerKind::Compiles;
        let mut names = Vec::new();
        for line in NAMES.lines().map(str::trim) {
            match line {
                "[compile]" => kind = CompilerKind::Compiles,
                "[compile and collect]" => kind = CompilerKind::CompilesAndCollects,
                line if line.is_empty() || line.starts_with('#') => {}
                name => names.push((name.to_owned(), kind)),
            }
        }
        names.extend(own.iter().map(|name| (kept(name), CompilerKind::Compiles)));
        Self(names)
    }

    /// What a thread of this name does; `None` if it is no compiler thread.
    pub(crate) fn kind(&self, name: &str) -> Option<CompilerKind> {
        let known = self.0.iter().find(|(begin, _)| name.starts_with(begin.as_str()));
        known.map(|(_, kind)| *kind)
    }
}

/// What the kernel keeps of a name.
fn kept(name: &str) -> String {
    name[..name.floor_char_boundary(LONGEST)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_the_beginnings_of_their_names() {
        let names = CompilerThreads::with(&["MyRuntimeCompiler-1".to_owned()]);
        assert_eq!(names.kind("C2 CompilerThre"), Some(CompilerKind::Compiles));
        assert_eq!(names.kind(".NET Tiered Com"), Some(CompilerKind::Compiles));
        assert_eq!(names.kind("V8Worker"), Some(CompilerKind::CompilesAndCollects));
        assert_eq!(names.kind("MyRuntimeCompil"), Some(CompilerKind::Compiles));
        assert_eq!(names.kind("http-nio-8080-e"), None);
    }
}
