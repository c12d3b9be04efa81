//! Server reflection of gRPC: fetches the files that describe a method from the service itself. The caller provides the
//! transport.

use super::method::{ProtoError, ProtoMethod};
use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};

/// The reflection methods to try, the newer one first.
pub const REFLECTION_PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The gRPC status `NOT_FOUND`.
const NOT_FOUND: i32 = 5;

/// The largest number of files that may describe a service.
const MOST_FILES: usize = 1_000;

/// Why a service did not describe a method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReflectionError {
    /// Bytes that are not a valid answer or file.
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    /// The service does not exist.
    #[error("it does not know the service `{service}` ({said}): {known}")]
    NoService {
        service: String,
        /// The answer of the server.
        said: String,
        /// The existing services.
        known: String,
    },
    /// An imported file is missing.
    #[error("it does not send `{file}`, which its description imports ({said})")]
    NoFile {
        file: String,
        /// The answer of the server.
        said: String,
    },
    /// Endless imports.
    #[error("its description has more than {MOST_FILES} files")]
    TooMany,
}

/// `ServerReflectionRequest`, limited to the fields in use.
#[derive(Clone, PartialEq, Message)]
struct ReflectionRequest {
    #[prost(string, optional, tag = "3")]
    file: Option<String>,
    #[prost(string, optional, tag = "4")]
    symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    services: Option<String>,
}

/// `ServerReflectionResponse`, limited to the fields in use.
#[derive(Clone, PartialEq, Message)]
struct ReflectionResponse {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    services: Option<Services>,
    #[prost(message, optional, tag = "7")]
    refusal: Option<ErrorResponse>,
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    encoded: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    all: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorResponse {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    text: String,
}

/// Finds `package.Service/method` by server reflection. `ask` sends a question to the service and returns the answer, or the
/// error message of the service.
pub fn reflect<E>(
    name: &str,
    mut ask: impl FnMut(&[u8]) -> Result<Result<Vec<u8>, String>, E>,
) -> Result<ProtoMethod, E>
where
    E: From<ReflectionError> + From<ProtoError>,
{
    let mut ask = |question: ReflectionRequest| -> Result<ReflectionResponse, E> {
        Ok(match ask(&question.encode_to_vec())? {
            Ok(answer) => {
                ReflectionResponse::decode(answer.as_slice()).map_err(|error| unreadable(&error))?
            }
            Err(text) => ReflectionResponse {
                refusal: Some(ErrorResponse {
                    code: NOT_FOUND,
                    text,
                }),
                ..ReflectionResponse::default()
            },
        })
    };
    let name = name.trim_start_matches('/');
    let service = name.split('/').next().unwrap_or_default();
    let answer = ask(ReflectionRequest {
        symbol: Some(service.to_owned()),
        ..ReflectionRequest::default()
    })?;
    let mut files = Vec::new();
    if let Err(said) = take(answer, &mut files)? {
        let known = ask(ReflectionRequest {
            services: Some(String::new()),
            ..ReflectionRequest::default()
        })?;
        return Err(ReflectionError::NoService {
            service: service.to_owned(),
            said,
            known: names(known),
        }
        .into());
    }
    while let Some(file) = missing(&files) {
        if files.len() > MOST_FILES {
            return Err(ReflectionError::TooMany.into());
        }
        let answer = ask(ReflectionRequest {
            file: Some(file.clone()),
            ..ReflectionRequest::default()
        })?;
        let taken = take(answer, &mut files)?;
        if missing(&files).as_ref() == Some(&file) {
            let said = taken.err().unwrap_or_else(|| "it sends another file".to_owned());
            // Every implementation has the well-known types, and some services leave them out.
            let Some(known) = DescriptorPool::global().get_file_by_name(&file) else {
                return Err(ReflectionError::NoFile { file, said }.into());
            };
            files.push(known.file_descriptor_proto().clone());
        }
    }
    let set = FileDescriptorSet { file: files };
    Ok(ProtoMethod::of_set(set, "the service", name)?)
}

fn unreadable(error: &prost::DecodeError) -> ReflectionError {
    ReflectionError::Unreadable(error.to_string())
}

/// Adds the new files of an answer. The inner error is the error of the service.
fn take(
    answer: ReflectionResponse,
    files: &mut Vec<FileDescriptorProto>,
) -> Result<Result<(), String>, ReflectionError> {
    if let Some(refusal) = answer.refusal {
        return Ok(Err(format!("code {}: {}", refusal.code, refusal.text)));
    }
    let Some(given) = answer.files else {
        return Ok(Err("it sends no file".to_owned()));
    };
    for encoded in given.encoded {
        let file = FileDescriptorProto::decode(encoded.as_slice()).map_err(|error| unreadable(&error))?;
        if !files.iter().any(|known| known.name() == file.name()) {
            files.push(file);
        }
    }
    Ok(Ok(()))
}

/// An imported file that has not been received yet.
fn missing(files: &[FileDescriptorProto]) -> Option<String> {
    let mut imported = files.iter().flat_map(|file| &file.dependency);
    imported
        .find(|name| !files.iter().any(|file| file.name() == name.as_str()))
        .cloned()
}

fn names(answer: ReflectionResponse) -> String {
    let services = answer.services.unwrap_or_default().all;
    crate::format::suggestion::known(services.iter().map(|service| service.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, thiserror::Error)]
    enum Error {
        #[error(transparent)]
        Reflection(#[from] ReflectionError),
        #[error(transparent)]
        Proto(#[from] ProtoError),
    }

    fn file(name: &str, imports: &[&str], message: &str) -> FileDescriptorProto {
        let lines: Vec<String> = imports
            .iter()
            .map(|import| format!("import \"{import}\"; "))
            .collect();
        let text = lines.concat();
        let folder = tempfile::tempdir().expect("a folder");
        for import in imports.iter().filter(|import| !import.starts_with("google/")) {
            let other = "syntax = \"proto3\"; package b; message Other { int32 n = 1; }";
            std::fs::write(folder.path().join(import), other).expect("a file");
        }
        let text = format!("syntax = \"proto3\"; {text} {message}");
        std::fs::write(folder.path().join(name), text).expect("a file");
        let set = protox::compile([folder.path().join(name)], [folder.path()]).expect("a schema");
        let mut files = set.file.into_iter();
        files.find(|file| file.name() == name).expect("the file")
    }

    /// A service with two files of its own and a well-known one, which sends one file for each question.
    fn service(question: &[u8], gives_other: bool) -> ReflectionResponse {
        let question = ReflectionRequest::decode(question).expect("a question");
        let main = file(
            "a.proto",
            &["b.proto", "google/protobuf/timestamp.proto"],
            "package a; message Ask { b.Other other = 1; google.protobuf.Timestamp at = 2; }
             service Echo { rpc one(Ask) returns (Ask); }",
        );
        let other = || file("b.proto", &[], "package b; message Other { int32 n = 1; }");
        let given = match (question.symbol.as_deref(), question.file.as_deref()) {
            (Some("a.Echo"), _) => Some(main),
            (_, Some("b.proto")) if gives_other => Some(other()),
            _ => None,
        };
        if question.services.is_some() {
            let name = "a.Echo".to_owned();
            return ReflectionResponse {
                services: Some(Services {
                    all: vec![Service { name }],
                }),
                ..ReflectionResponse::default()
            };
        }
        ReflectionResponse {
            refusal: given.is_none().then(|| ErrorResponse {
                code: 5,
                text: "not found".to_owned(),
            }),
            files: given.map(|file| Files {
                encoded: vec![file.encode_to_vec()],
            }),
            ..ReflectionResponse::default()
        }
    }

    fn error_of(name: &str, gives_other: bool) -> String {
        reflect::<Error>(name, |question| {
            Ok(Ok(service(question, gives_other).encode_to_vec()))
        })
        .expect_err("no method")
        .to_string()
    }

    #[test]
    fn files_are_requested_until_none_is_missing() {
        let mut questions = 0;
        let method = reflect::<Error>("/a.Echo/one", |question| {
            questions += 1;
            Ok(Ok(service(question, true).encode_to_vec()))
        });
        let method = method.expect("a method");
        assert_eq!(method.path(), "/a.Echo/one");
        assert_eq!(questions, 3);
        let json = r#"{"other": {"n": 1}, "at": "1970-01-01T00:00:01Z"}"#;
        let bytes = method.encode_request(json);
        assert_eq!(bytes.as_deref(), Ok(&b"\x0a\x02\x08\x01\x12\x02\x08\x01"[..]));
        let error = method.encode_request(r#"{"nothing": 1}"#).expect_err("no field");
        assert!(error.to_string().contains("nothing"), "{error}");
    }

    #[test]
    fn a_missing_description_is_an_error() {
        let unknown = error_of("a.Missing/one", true);
        assert!(
            unknown.contains("`a.Missing`") && unknown.contains("a.Echo"),
            "{unknown}"
        );
        let two = error_of("a.Echo/two", true);
        assert!(
            two.contains("the service has no method `a.Echo/two`") && two.contains("a.Echo/one"),
            "{two}"
        );
        let without = error_of("a.Echo/one", false);
        assert!(
            without.contains("`b.proto`") && without.contains("not found"),
            "{without}"
        );
        let noise = reflect::<Error>("a.Echo/one", |_| Ok(Ok(vec![0xff]))).expect_err("noise");
        assert!(noise.to_string().contains("cannot be read"), "{noise}");
    }

    #[test]
    fn a_service_of_files_without_end_is_given_up() {
        let mut count = 0;
        let endless = reflect::<Error>("a.Echo/one", |_| {
            count += 1;
            let file = FileDescriptorProto {
                name: Some(format!("{}.proto", count - 1)),
                dependency: vec![format!("{count}.proto")],
                ..FileDescriptorProto::default()
            };
            let files = Files {
                encoded: vec![file.encode_to_vec()],
            };
            Ok(Ok(ReflectionResponse {
                files: Some(files),
                ..ReflectionResponse::default()
            }
            .encode_to_vec()))
        });
        assert_eq!(endless.expect_err("no end"), ReflectionError::TooMany.into());
    }
}
