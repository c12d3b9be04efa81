//! The files that a description refers to. They become part of its value, and references to them become references within it.

use crate::import::document::Document;
use percent_encoding::percent_decode_str;
use prony_files::inside;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the files are in the value of the description.
const PLACE: &str = "/x-prony-files";
/// The most files.
const MOST: usize = 10_000;

/// The files of a description, other than itself.
#[derive(Default)]
pub(super) struct Files {
    documents: Vec<Document>,
    /// Why a reference leads nowhere, by its text.
    failures: BTreeMap<String, String>,
}

/// Reads files while references are followed.
struct FileReader<'a> {
    /// The folders that files may be in: descriptions come from other people.
    folders: Vec<&'a Path>,
    numbers: BTreeMap<PathBuf, usize>,
    files: Files,
}

impl Files {
    /// Reads the files that a description refers to, and adds them to its value.
    pub(super) fn read(path: &Path, document: &mut Document) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().unwrap_or(Path::new("/"));
        // Descriptions in several files often have their parts in folders next to each other.
        let is_project = |folder: &&Path| folder.join(".git").exists() || folder.join("prony.toml").is_file();
        let project = folder.ancestors().find(is_project);
        let mut reader = FileReader {
            folders: [Some(folder), project].into_iter().flatten().collect(),
            numbers: BTreeMap::new(),
            files: Self::default(),
        };
        let own = std::fs::canonicalize(&path).ok();
        let mut value = std::mem::take(&mut document.value);
        reader.rewrite(&mut value, (folder, own.as_deref(), ""));
        let mut read = 0;
        let mut values = Vec::new();
        // Files that are read may name further ones.
        while read < reader.files.documents.len() {
            let mut one = std::mem::take(&mut reader.files.documents[read].value);
            let path = PathBuf::from(&reader.files.documents[read].file);
            let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
            reader.rewrite(&mut one, (&folder, own.as_deref(), &format!("{PLACE}/{read}")));
            values.push(one);
            read += 1;
        }
        if let (Some(members), false) = (value.as_object_mut(), values.is_empty()) {
            members.insert(PLACE[1..].to_owned(), Value::Array(values));
        }
        document.value = value;
        reader.files
    }

    /// The file that has the value at a pointer, and its pointer there; `None`: the description itself.
    pub(super) fn document_of<'p>(&self, pointer: &'p str) -> Option<(&Document, &'p str)> {
        let rest = pointer.strip_prefix(PLACE)?.strip_prefix('/')?;
        let end = rest.find('/').unwrap_or(rest.len());
        let document = self.documents.get(rest[..end].parse::<usize>().ok()?)?;
        Some((document, &rest[end..]))
    }

    /// A name for the value at a pointer in a file: the last key, or the name of the file.
    pub(super) fn name(&self, pointer: &str) -> Option<String> {
        let (document, rest) = self.document_of(pointer)?;
        let key = rest
            .rsplit('/')
            .next()
            .filter(|key| !key.is_empty())
            .map(str::to_owned);
        let stem = Path::new(&document.file).file_stem();
        key.or_else(|| Some(stem?.to_string_lossy().into_owned()))
    }

    /// Why a reference to another file leads nowhere.
    pub(super) fn failure(&self, reference: &str) -> Option<&str> {
        self.failures.get(reference).map(String::as_str)
    }
}

impl FileReader<'_> {
    /// Rewrites the references of a file in this folder, whose own value is at `own`.
    fn rewrite(&mut self, value: &mut Value, file: (&Path, Option<&Path>, &str)) {
        match value {
            Value::Object(members) => {
                self.rewrite_mapping(members, file);
                if let Some(Value::String(reference)) = members.get_mut("$ref")
                    && let Some(new) = self.rewritten(reference, file)
                {
                    *reference = new;
                }
                members.values_mut().for_each(|below| self.rewrite(below, file));
            }
            Value::Array(items) => items.iter_mut().for_each(|below| self.rewrite(below, file)),
            _ => {}
        }
    }

    /// A discriminator names schemas by reference.
    fn rewrite_mapping(&mut self, members: &mut Map<String, Value>, file: (&Path, Option<&Path>, &str)) {
        let mapping = members
            .get_mut("discriminator")
            .and_then(|one| one.get_mut("mapping"));
        let targets = mapping
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(Map::values_mut);
        for target in targets {
            if let Value::String(reference) = target
                && reference.contains(['#', '/'])
                && let Some(new) = self.rewritten(reference, file)
            {
                *reference = new;
            }
        }
    }

    /// The reference within the description; `None` if it stays as it is.
    fn rewritten(
        &mut self,
        reference: &str,
        (folder, main, own): (&Path, Option<&Path>, &str),
    ) -> Option<String> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if name.is_empty() {
            let is_pointer = fragment.is_empty() || fragment.starts_with('/');
            return (is_pointer && !own.is_empty()).then(|| format!("#{own}{fragment}"));
        }
        if name.contains("://") || name.starts_with("urn:") {
            let why = "only files are read: bundle it first, for example with `npx @redocly/cli bundle`";
            self.files.failures.insert(reference.to_owned(), why.to_owned());
            return None;
        }
        match self.number(
            &folder.join(percent_decode_str(name).decode_utf8_lossy().as_ref()),
            main,
        ) {
            Ok(Some(number)) => Some(format!("#{PLACE}/{number}{fragment}")),
            Ok(None) => Some(format!("#{fragment}")),
            Err(why) => {
                self.files.failures.insert(reference.to_owned(), why);
                None
            }
        }
    }

    /// The number of a file, which is read the first time; `None`: the description itself.
    fn number(&mut self, path: &Path, main: Option<&Path>) -> Result<Option<usize>, String> {
        let real = inside(&self.folders, path).map_err(|_| {
            "there is no such file in the folder of the description or in the project around it".to_owned()
        })?;
        if main == Some(real.as_path()) {
            return Ok(None);
        }
        if let Some(number) = self.numbers.get(&real) {
            return Ok(Some(*number));
        }
        if self.numbers.len() == MOST {
            return Err(format!(
                "the description has more than {MOST} files: bundle it first"
            ));
        }
        let document = Document::read(&real).map_err(|error| error.to_string())?;
        let number = self.files.documents.len();
        self.numbers.insert(real, number);
        self.files.documents.push(document);
        Ok(Some(number))
    }
}
