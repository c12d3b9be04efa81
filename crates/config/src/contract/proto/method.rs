//! Methods of a `.proto` file for callers without a contract: JSON in, encoded messages out.

use super::editions::ProtoFolder;
use super::methods_of;
use crate::format::suggestion::known;
use prony_load::Bytes;
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::FileDescriptorSet;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use protox::file::{ChainFileResolver, GoogleFileResolver};
use std::path::{Path, PathBuf};

/// An error in a `.proto` file, a method or a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtoError {
    /// A file that does not compile.
    #[error("{origin}: {reason}")]
    Schema {
        /// The source of the description: a file, or the service itself.
        origin: String,
        /// The error of the compiler, with file and line.
        reason: String,
    },
    /// A method that does not exist.
    #[error("{origin} has no method `{method}`: {allowed}")]
    NoMethod {
        /// The source of the description: a file, or the service itself.
        origin: String,
        method: String,
        /// The existing methods.
        allowed: String,
    },
    /// JSON that does not fit its message type.
    #[error("not a message `{message}`: {reason}")]
    Message {
        /// Full name of the message type.
        message: String,
        /// The error, with line and column.
        reason: String,
    },
}

/// A method that can be called.
#[derive(Debug, Clone)]
pub struct ProtoMethod {
    method: MethodDescriptor,
    schema: Bytes,
}

impl ProtoMethod {
    /// Finds `package.Service/method` in a `.proto` file. Imports are resolved in the given folders, then in the folder of the
    /// file.
    pub fn find(file: &Path, folders: &[PathBuf], name: &str) -> Result<Self, ProtoError> {
        let origin = file.display().to_string();
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut files = ChainFileResolver::new();
        for folder in folders.iter().map(PathBuf::as_path).chain([folder]) {
            files.add(ProtoFolder::new(folder));
        }
        files.add(GoogleFileResolver::new());
        let mut compiler = protox::Compiler::with_file_resolver(files);
        compiler.include_source_info(true).include_imports(true);
        match compiler.open_file(file) {
            Ok(compiler) => Self::of_set(compiler.file_descriptor_set(), &origin, name),
            Err(error) => Err(ProtoError::Schema {
                origin,
                // With the line, if the compiler found it.
                reason: match error.file() {
                    Some(_) => format!("{error:?}"),
                    None => error.to_string(),
                },
            }),
        }
    }

    /// Finds `package.Service/method` in compiled files.
    pub(crate) fn of_set(mut set: FileDescriptorSet, origin: &str, name: &str) -> Result<Self, ProtoError> {
        // A service whose files have an edition says so; proto2 has the same messages.
        let editions = set.file.iter_mut().filter(|file| file.syntax() == "editions");
        editions.for_each(|file| file.syntax = Some("proto2".to_owned()));
        let schema = Bytes(set.encode_to_vec());
        let pool = DescriptorPool::from_file_descriptor_set(set).map_err(|error| ProtoError::Schema {
            origin: origin.to_owned(),
            reason: error.to_string(),
        })?;
        let all = methods_of(&pool);
        let wanted = name.trim_start_matches('/');
        match all.iter().find(|(known, _)| known == wanted) {
            Some((_, method)) => Ok(Self {
                method: method.clone(),
                schema,
            }),
            None => Err(ProtoError::NoMethod {
                origin: origin.to_owned(),
                method: name.to_owned(),
                allowed: known(all.iter().map(|(known, _)| known.as_str())),
            }),
        }
    }

    /// The path of the call: `/package.Service/method`.
    pub fn path(&self) -> String {
        format!(
            "/{}/{}",
            self.method.parent_service().full_name(),
            self.method.name()
        )
    }

    /// Whether the request is a stream of messages.
    pub fn is_client_streaming(&self) -> bool {
        self.method.is_client_streaming()
    }

    /// Whether the reply is a stream of messages.
    pub fn is_server_streaming(&self) -> bool {
        self.method.is_server_streaming()
    }

    /// The encoded `FileDescriptorSet`, and the full name of the reply message.
    pub fn reply(&self) -> (Bytes, String) {
        (self.schema.clone(), self.method.output().full_name().to_owned())
    }

    /// Encodes a request written as JSON.
    pub fn encode_request(&self, json: &str) -> Result<Vec<u8>, ProtoError> {
        encode(self.method.input(), json)
    }

    /// Encodes a reply written as JSON.
    pub fn encode_reply(&self, json: &str) -> Result<Vec<u8>, ProtoError> {
        encode(self.method.output(), json)
    }
}

fn encode(kind: MessageDescriptor, json: &str) -> Result<Vec<u8>, ProtoError> {
    let message = kind.full_name().to_owned();
    let mut reader = serde_json::Deserializer::from_str(json);
    DynamicMessage::deserialize(kind, &mut reader)
        .and_then(|message| reader.end().map(|()| message))
        .map(|message| message.encode_to_vec())
        .map_err(|error| ProtoError::Message {
            message,
            reason: error.to_string(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"syntax = "proto3"; package a.b;
        message Ask { int32 n = 1; string text = 2; }
        service Echo { rpc one(Ask) returns (Ask); rpc many(Ask) returns (stream Ask); rpc all(stream Ask) returns (Ask); }"#;

    fn find(schema: &str, name: &str) -> Result<ProtoMethod, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("echo.proto");
        std::fs::write(&file, schema).expect("a file");
        ProtoMethod::find(&file, &[], name).map_err(|error| error.to_string())
    }

    #[test]
    fn imports_are_found_in_the_given_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(&file, text).expect("a file");
            file
        };
        let types = "syntax = \"proto3\"; package c; message Number { int32 n = 1; }";
        write("more/c/types.proto", types);
        write(
            "root/b/word.proto",
            "syntax = \"proto3\"; package b; message Word { string w = 1; }",
        );
        let main = "syntax = \"proto3\"; package a; import \"b/word.proto\"; import \"c/types.proto\";
            service Echo { rpc one(b.Word) returns (c.Number); }";
        let file = write("root/a/echo.proto", main);
        let folders = ["root", "more"].map(|name| folder.path().join(name));
        let method = ProtoMethod::find(&file, &folders, "a.Echo/one").expect("a method");
        assert_eq!(method.reply().1, "c.Number");
        let missing =
            ProtoMethod::find(&file, &folders[..1], "a.Echo/one").expect_err("an import is missing");
        let missing = missing.to_string();
        assert!(
            missing.contains("c/types.proto") && missing.contains("echo.proto:1:"),
            "{missing}"
        );
    }

    #[test]
    fn a_service_of_an_edition_is_read() {
        let method = find(SCHEMA, "a.b.Echo/one").expect("a method");
        let mut set = FileDescriptorSet::decode(&method.schema.0[..]).expect("files");
        set.file[0].syntax = Some("editions".to_owned());
        let method = ProtoMethod::of_set(set, "the service", "a.b.Echo/one").expect("a method");
        let bytes = method.encode_request(r#"{"n": 150}"#);
        assert_eq!(bytes.as_deref(), Ok(&b"\x08\x96\x01"[..]));
    }

    #[test]
    fn files_of_editions_are_read() {
        let schema = "edition = \"2023\"; package a.b;\n\
            message Ask { int32 n = 1; repeated int32 many = 2; Ask more = 3; }\n\
            service Echo { rpc one(Ask) returns (Ask); }";
        let method = find(schema, "a.b.Echo/one").expect("a method");
        let bytes = method.encode_request(r#"{"n": 0, "many": [1], "more": {"n": 150}}"#);
        assert_eq!(bytes.as_deref(), Ok(&b"\x08\x00\x10\x01\x1a\x03\x08\x96\x01"[..]));
        let error =
            find("edition = \"2023\";\nmessage A {\n  int32 n = ;\n}", "a.Echo/one").expect_err("no number");
        assert!(error.contains("echo.proto:3:"), "{error}");
        let error = find("edition = \"2099\";", "a.Echo/one").expect_err("a future edition");
        assert!(
            error.contains("echo.proto:1: edition \"2099\" is not known"),
            "{error}"
        );
    }

    #[test]
    fn a_method_is_found_and_its_messages_are_encoded() {
        let method = find(SCHEMA, "a.b.Echo/one").expect("a method");
        assert_eq!(
            (method.path().as_str(), method.is_server_streaming()),
            ("/a.b.Echo/one", false)
        );
        let bytes = method.encode_request(r#"{"n": 150, "text": "x"}"#);
        assert_eq!(bytes.as_deref(), Ok(&b"\x08\x96\x01\x12\x01x"[..]));
        assert_eq!(method.encode_reply("{}").as_deref(), Ok(&[][..]));
        let streams = |name| {
            let method = find(SCHEMA, name).expect("a method");
            (method.is_client_streaming(), method.is_server_streaming())
        };
        assert_eq!(streams("/a.b.Echo/many"), (false, true));
        assert_eq!(streams("a.b.Echo/all"), (true, false));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let error_of = |schema, name| find(schema, name).expect_err("wrong");
        assert!(error_of(SCHEMA, "a.b.Echo/two").contains("a.b.Echo/one"));
        assert!(error_of("message", "a/b").contains("echo.proto"));
        let method = find(SCHEMA, "a.b.Echo/one").expect("a method");
        for json in ["{\"m\": 1}", "{\"n\": \"x\"}", "{} {}", ""] {
            let error = method.encode_request(json).expect_err(json).to_string();
            assert!(error.contains("a.b.Ask") && error.contains("line"), "{error}");
        }
    }
}
