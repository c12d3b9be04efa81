//! Dependency cycles between the files of a crate: the files and subfolders of one folder must depend on each other in one
//! direction.
//!
//! The nodes are the files and subfolders of each folder. An edge goes from a node that names an item to the node that
//! defines it, through any re-exports. A folder's entry file (`mod.rs`, `lib.rs`, `main.rs`) and its own parts are one node.

use super::source::code_of;
use std::collections::{BTreeMap, BTreeSet};

/// Module names, starting at the crate root.
type Path = Vec<String>;

/// One module: its declared or imported names, and the paths in its code.
#[derive(Debug, Default)]
struct Module {
    /// Name to its full path from the crate root.
    imports: BTreeMap<String, Path>,
    /// All paths in its code, from the crate root.
    named: Vec<Path>,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub(crate) struct Modules(BTreeMap<Path, Module>);

impl Modules {
    /// Adds a file of the crate: its path below `src/`, and its text without tests.
    pub(crate) fn add(&mut self, file: &str, text: &str) {
        let mut path: Path = file
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        if path
            .last()
            .is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"))
        {
            path.pop();
        }
        let mut module = Module::default();
        let code = code_of(text);
        for statement in statements(&code) {
            for (alias, named) in expand(statement) {
                if let Some(named) = absolute(&path, &named) {
                    module.imports.insert(alias, named.clone());
                    module.named.push(named);
                }
            }
        }
        for named in mentioned(&code) {
            module.named.extend(absolute(&path, &named));
        }
        self.0.insert(path, module);
    }

    /// The cycles: the folder, and the names of the nodes in the cycle.
    pub(crate) fn cycles(&self) -> BTreeSet<(String, Vec<String>)> {
        let mut levels: BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (from, module) in &self.0 {
            for named in &module.named {
                let to = self.defined(named, 0);
                let common = from
                    .iter()
                    .zip(&to)
                    .take_while(|(one, other)| one == other)
                    .count();
                if let (Some(one), Some(other)) = (from.get(common), to.get(common)) {
                    let level = levels.entry(from[..common].to_vec()).or_default();
                    level.entry(one.clone()).or_default().insert(other.clone());
                }
            }
        }
        let found = levels.iter().flat_map(|(level, edges)| {
            let name = level.join("/");
            rings(edges).into_iter().map(move |ring| (name.clone(), ring))
        });
        found.collect()
    }

    /// The module in which a path is defined, after following imports.
    fn defined(&self, named: &[String], depth: usize) -> Path {
        let mut module = Path::new();
        for (place, segment) in named.iter().enumerate() {
            let mut child = module.clone();
            child.push(segment.clone());
            if self.0.contains_key(&child) {
                module = child;
                continue;
            }
            let import = self.0.get(&module).and_then(|known| known.imports.get(segment));
            if let Some(import) = import.filter(|import| depth < 10 && import.as_slice() != named) {
                let whole: Path = import.iter().chain(&named[place + 1..]).cloned().collect();
                return self.defined(&whole, depth + 1);
            }
            break;
        }
        module
    }
}

/// Strongly connected components with two or more members.
fn rings(edges: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reach = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(next) = open.pop() {
            for to in edges.get(&next).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = edges.keys().map(|name| (name, reach(name))).collect();
    let ring = |name: &String| {
        let both = |other: &&String| reached[name].contains(*other) && reached[*other].contains(name);
        edges.keys().filter(both).cloned().collect::<Vec<String>>()
    };
    edges.keys().map(ring).filter(|ring| ring.len() > 1).collect()
}

/// The trees of all `use` statements.
fn statements(code: &str) -> Vec<&str> {
    let starts = code
        .match_indices("use ")
        .filter(|(place, _)| {
            let before = code[..*place].trim_end_matches([' ', '\t']);
            let visible = before.ends_with("pub") || before.ends_with(')');
            before.is_empty() || before.ends_with(['\n', '{', '}', ';']) || visible
        })
        .map(|(place, word)| place + word.len());
    starts
        .filter_map(|start| Some(&code[start..start + code[start..].find(';')?]))
        .collect()
}

/// A tree as single paths, each with its local name.
fn expand(tree: &str) -> Vec<(String, Vec<String>)> {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let close = tree.rfind('}').unwrap_or(tree.len());
        let prefix: Vec<String> = segments(&tree[..open]);
        return parts(&tree[open + 1..close])
            .into_iter()
            .flat_map(expand)
            .map(|(alias, path)| {
                let path: Vec<String> = prefix.iter().cloned().chain(path).collect();
                if path.last().is_some_and(|last| last == "self") {
                    let path = path[..path.len() - 1].to_vec();
                    return (path.last().cloned().unwrap_or_default(), path);
                }
                (alias, path)
            })
            .collect();
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (segments(path), Some(alias.trim().to_owned())),
        None => (segments(tree), None),
    };
    let last = path.last().cloned().unwrap_or_default();
    vec![(alias.unwrap_or(last), path)]
}

fn segments(path: &str) -> Vec<String> {
    let named = path.split("::").map(str::trim).filter(|part| !part.is_empty());
    named.map(str::to_owned).collect()
}

/// The parts of a list between its commas; nested braces stay together.
fn parts(list: &str) -> Vec<&str> {
    let (mut found, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (place, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[begin..place]);
                begin = place + 1;
            }
            _ => {}
        }
    }
    found.push(&list[begin..]);
    found.retain(|part| !part.trim().is_empty());
    found
}

/// Paths in the code that start at the crate root or at a parent module.
fn mentioned(code: &str) -> Vec<Vec<String>> {
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let begins = ["crate::", "super::"].into_iter().flat_map(|begin| {
        code.match_indices(begin)
            .map(|(place, _)| place)
            .collect::<Vec<usize>>()
    });
    begins
        .filter(|place| !code[..*place].ends_with(|letter| word(letter) || letter == ':'))
        .map(|place| {
            let rest = &code[place..];
            let end = rest.find(|letter: char| !word(letter) && letter != ':');
            segments(&rest[..end.unwrap_or(rest.len())])
        })
        .collect()
}

/// A path from the crate root; `None` if it leads to another crate.
fn absolute(module: &[String], named: &[String]) -> Option<Path> {
    let mut base = module.to_vec();
    let mut rest = named;
    match named.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &named[1..];
        }
        "self" => rest = &named[1..],
        "super" => {
            while rest.first().is_some_and(|first| first == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        // A child of this module, or another crate: the lookup decides.
        _ => {}
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::Modules;
    use std::collections::BTreeSet;

    #[test]
    fn a_cycle_is_found_through_a_re_export() {
        let mut modules = Modules::default();
        modules.add(
            "lib.rs",
            "mod a;\nmod b;\npub use a::One;\npub use b::{Two, inner::Three};",
        );
        modules.add("a.rs", "use crate::Two;\npub struct One;");
        modules.add("b/mod.rs", "mod inner;\npub struct Two;");
        modules.add(
            "b/inner.rs",
            "// use nothing;\npub struct Three; fn f(one: &crate::a::One) {}",
        );
        let ring = ["a", "b"].map(str::to_owned).to_vec();
        assert_eq!(modules.cycles(), BTreeSet::from([(String::new(), ring)]));
    }

    #[test]
    fn a_folder_and_its_parts_are_one_node() {
        let mut modules = Modules::default();
        modules.add("lib.rs", "mod a;\npub struct Root;");
        modules.add("a/mod.rs", "mod part;\nuse part::Part;\npub struct Whole;");
        modules.add(
            "a/part.rs",
            "use super::Whole;\nuse crate::Root;\npub struct Part;",
        );
        assert_eq!(modules.cycles(), BTreeSet::new());
    }
}
