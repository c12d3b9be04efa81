//! The Protocol Buffers schema of a contract, and messages written as TOML.

use super::editions::ProtoFolder;
use super::methods_of;
use crate::contract::named_file;
use crate::contract::source::fixed_length;
use crate::contract::template::Builder;
use prony_load::{Bytes, Parameter, Template};
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A compiled `.proto` file.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pool: DescriptorPool,
    encoded: Bytes,
}

/// The files of a contract that its schema imports.
struct FolderFiles {
    folder: PathBuf,
    files: ProtoFolder,
}

impl FolderFiles {
    fn of(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            files: ProtoFolder::new(folder),
        }
    }
}

impl FileResolver for FolderFiles {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.files.resolve_path(path)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if self.folder.join(name).exists()
            && let Err(reason) = named_file::find(&self.folder, name)
        {
            return Err(protox::Error::new(format!("import \"{name}\": {reason}")));
        }
        self.files.open_file(name)
    }
}

impl Schema {
    /// Compiles a file of the contract's folder. The error is the compiler's, with file and line.
    pub(crate) fn compile(folder: &Path, file: &str) -> Result<Self, String> {
        named_file::find(folder, file)?;
        let mut files = ChainFileResolver::new();
        files.add(FolderFiles::of(folder));
        files.add(GoogleFileResolver::new());
        let mut compiler = protox::Compiler::with_file_resolver(files);
        compiler.include_source_info(true).include_imports(true);
        let opened = compiler.open_file(folder.join(file));
        let set = opened.map_err(|error| error.to_string())?.file_descriptor_set();
        let pool =
            DescriptorPool::from_file_descriptor_set(set.clone()).map_err(|error| error.to_string())?;
        Ok(Self {
            pool,
            encoded: Bytes(set.encode_to_vec()),
        })
    }

    /// The encoded `FileDescriptorSet`.
    pub(crate) fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// The method `package.Service/method`. The error proposes the nearest.
    pub(crate) fn method(&self, name: &str) -> Result<MethodDescriptor, String> {
        let all = methods_of(&self.pool);
        let found = all.iter().find(|(known, _)| known == name);
        found.map(|(_, method)| method.clone()).ok_or_else(|| {
            let known = all.iter().map(|(known, _)| known.as_str());
            crate::format::suggest(known, name)
        })
    }
}

/// A message whose text fields may hold parameters.
pub(crate) struct MessageText<'a> {
    pub(crate) kind: &'a MessageDescriptor,
    pub(crate) parameters: &'a [Parameter],
}

impl MessageText<'_> {
    /// Encodes a message. `text(fill)` returns it as JSON with parameter `i` replaced by `fill(i)`.
    ///
    /// An encoded text has a length prefix, so all values of a parameter must have the same length. The position of a
    /// parameter is found by encoding twice with different letters in its place.
    pub(crate) fn encode(
        &self,
        used: &[usize],
        text: impl Fn(&dyn Fn(usize) -> String) -> Result<Value, String>,
    ) -> Result<Template, String> {
        let mut lengths = vec![0; self.parameters.len()];
        for &index in used {
            let parameter = &self.parameters[index];
            lengths[index] = fixed_length(&parameter.source).ok_or_else(|| {
                let name = &parameter.name;
                format!(
                    "`{name}` has values of different lengths, which a message cannot hold: use one length"
                )
            })?;
        }
        let letters =
            |letter: &'static str| encode(self.kind, &text(&|index| letter.repeat(lengths[index]))?);
        let plain = letters("A").map_err(|reason| match letters("1") {
            Ok(_) => {
                "a number of a message cannot differ between requests: set it in the workload".to_owned()
            }
            Err(_) => reason,
        })?;
        let mut places: Vec<Option<usize>> = vec![None; plain.len()];
        for &index in used {
            let marked = |at: usize| if at == index { "B" } else { "A" }.repeat(lengths[at]);
            let other = encode(self.kind, &text(&marked)?)?;
            for (place, _) in plain
                .iter()
                .zip(&other)
                .enumerate()
                .filter(|(_, (left, right))| left != right)
            {
                places[place] = Some(index);
            }
        }
        Ok(assemble(&plain, &places, &lengths))
    }
}

/// Encodes a message without placeholders, given as JSON.
pub(crate) fn encode(kind: &MessageDescriptor, json: &Value) -> Result<Vec<u8>, String> {
    DynamicMessage::deserialize(kind.clone(), json)
        .map(|message| message.encode_to_vec())
        .map_err(|error| {
            let reason = error.to_string();
            let name = kind.full_name();
            match reason
                .strip_prefix("unrecognized field name '")
                .and_then(|rest| rest.strip_suffix('\''))
            {
                Some(field) => {
                    let fields: Vec<_> = kind.fields().collect();
                    let help = crate::format::suggest(
                        fields.iter().map(prost_reflect::FieldDescriptor::name),
                        field,
                    );
                    format!("`{name}` has no field `{field}`: {help}")
                }
                None => format!("it is not a `{name}`: {reason}"),
            }
        })
}

fn assemble(plain: &[u8], places: &[Option<usize>], lengths: &[usize]) -> Template {
    let mut builder = Builder::default();
    let mut at = 0;
    while at < plain.len() {
        if let Some(index) = places[at] {
            builder.part(prony_load::Part::Value(index));
            at += lengths[index];
        } else {
            builder.literal(&plain[at..=at]);
            at += 1;
        }
    }
    builder.build()
}
