//! A digest of values that ignores their notation. Names of keys and variants are not included, which permits renaming a
//! key. Empty values (absent, false, an empty list) are skipped, which permits adding a key. Keys of a table are
//! distinguished by their position: a new key must be the last one of its Rust type.

use serde::ser::{self, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fmt;

/// The encoded values before they are hashed.
#[derive(Debug, Default)]
pub(crate) struct Values {
    bytes: Vec<u8>,
    texts: BTreeSet<String>,
}

impl Values {
    /// Appends a value.
    pub(crate) fn add(&mut self, value: &impl Serialize) {
        let written = value.serialize(Writer {
            bytes: &mut self.bytes,
            texts: &mut self.texts,
        });
        // Every kind of value has an encoding; only a type that refuses serialization fails.
        written.expect("invariant: values of files can be written");
    }

    /// Every text of the values, to find the files that they name.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    pub(crate) fn digest(&self) -> String {
        crate::digest::short(&Sha256::digest(&self.bytes))
    }
}

/// Encodings of empty values.
const NOTHING: [&[u8]; 4] = [b"N", b"F", b"[]", b"{}"];

struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    texts: &'a mut BTreeSet<String>,
}

/// Members of a list, a map, or a table of keys.
struct Members<'a> {
    writer: Writer<'a>,
    /// Position of the next key of a table.
    place: u32,
    end: u8,
}

#[derive(Debug)]
pub(super) struct FingerprintError(String);

impl fmt::Display for FingerprintError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for FingerprintError {}

impl ser::Error for FingerprintError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Writer<'_> {
    fn put(self, kind: u8, value: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend((value.len() as u64).to_le_bytes());
        self.bytes.extend(value);
    }
}

impl<'a> Writer<'a> {
    fn open(self, begin: u8, end: u8) -> Members<'a> {
        self.bytes.push(begin);
        Members {
            writer: self,
            place: 0,
            end,
        }
    }

    fn variant(self, index: u32) -> Self {
        self.bytes.push(b'V');
        self.bytes.extend(index.to_le_bytes());
        self
    }
}

impl Members<'_> {
    fn again(&mut self) -> Writer<'_> {
        Writer {
            bytes: self.writer.bytes,
            texts: self.writer.texts,
        }
    }

    fn key(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), FingerprintError> {
        let mut bytes = Vec::new();
        let texts = &mut *self.writer.texts;
        value.serialize(Writer {
            bytes: &mut bytes,
            texts,
        })?;
        if !NOTHING.contains(&bytes.as_slice()) {
            self.writer.bytes.extend(self.place.to_le_bytes());
            self.writer.bytes.append(&mut bytes);
        }
        self.place += 1;
        Ok(())
    }

    fn close(self) {
        self.writer.bytes.push(self.end);
    }
}

macro_rules! as_text {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, value: $type) -> Result<(), FingerprintError> {
            self.put(b'#', value.to_string().as_bytes());
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = FingerprintError;
    type SerializeSeq = Members<'a>;
    type SerializeTuple = Members<'a>;
    type SerializeTupleStruct = Members<'a>;
    type SerializeTupleVariant = Members<'a>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Members<'a>;

    as_text!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64, serialize_char: char
    );

    fn serialize_bool(self, value: bool) -> Result<(), FingerprintError> {
        self.bytes.push(if value { b'T' } else { b'F' });
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), FingerprintError> {
        self.texts.insert(value.to_owned());
        self.put(b'"', value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), FingerprintError> {
        self.put(b'B', value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), FingerprintError> {
        self.bytes.push(b'N');
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), FingerprintError> {
        self.bytes.push(b'S');
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), FingerprintError> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), FingerprintError> {
        self.serialize_none()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
    ) -> Result<(), FingerprintError> {
        self.variant(index);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        value.serialize(self.variant(index))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'a>, FingerprintError> {
        Ok(self.open(b'[', b']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Members<'a>, FingerprintError> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Members<'a>, FingerprintError> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Members<'a>, FingerprintError> {
        self.variant(index).serialize_seq(None)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a>, FingerprintError> {
        Ok(self.open(b'{', b'}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'a>, FingerprintError> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Members<'a>, FingerprintError> {
        self.variant(index).serialize_map(None)
    }
}

macro_rules! list {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Members<'_> {
            type Ok = ();
            type Error = FingerprintError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FingerprintError> {
                value.serialize(self.again())
            }

            fn end(self) -> Result<(), FingerprintError> {
                self.close();
                Ok(())
            }
        })*
    };
}

list!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! table {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Members<'_> {
            type Ok = ();
            type Error = FingerprintError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), FingerprintError> {
                self.key(value)
            }

            fn skip_field(&mut self, _: &'static str) -> Result<(), FingerprintError> {
                self.place += 1;
                Ok(())
            }

            fn end(self) -> Result<(), FingerprintError> {
                self.close();
                Ok(())
            }
        })*
    };
}

table!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = FingerprintError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FingerprintError> {
        key.serialize(self.again())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FingerprintError> {
        value.serialize(self.again())
    }

    fn end(self) -> Result<(), FingerprintError> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use std::collections::BTreeMap;

    fn digest(value: &impl Serialize) -> String {
        let mut values = Values::default();
        values.add(value);
        values.digest()
    }

    #[derive(Serialize)]
    struct Old {
        warm_up: u32,
        duration: u32,
        text: Option<&'static str>,
        file: Option<&'static str>,
        how: Digested,
    }

    #[derive(Serialize)]
    enum Digested {
        #[allow(dead_code, reason = "its place counts")]
        Whole,
        Chunked {
            bytes: u32,
        },
    }

    const OLD: Old = Old {
        warm_up: 1,
        duration: 2,
        text: Some("a"),
        file: None,
        how: Digested::Chunked { bytes: 5 },
    };

    #[test]
    fn a_renamed_key_and_a_new_one_that_says_nothing_change_nothing() {
        #[derive(Serialize)]
        struct New {
            warmup: u32,
            length: u32,
            body: Option<&'static str>,
            path: Option<&'static str>,
            delivery: Delivery,
            cookies: bool,
            steps: Vec<u32>,
            limit: Option<u32>,
            headers: BTreeMap<String, u32>,
        }
        #[derive(Serialize)]
        enum Delivery {
            #[allow(dead_code, reason = "its place counts")]
            AtOnce,
            InParts {
                size: u32,
            },
        }
        let new = |cookies| New {
            warmup: 1,
            length: 2,
            body: Some("a"),
            path: None,
            delivery: Delivery::InParts { size: 5 },
            cookies,
            steps: Vec::new(),
            limit: None,
            headers: BTreeMap::new(),
        };
        assert_eq!(digest(&OLD), digest(&new(false)));
        assert_ne!(digest(&OLD), digest(&new(true)));
    }

    #[test]
    fn what_a_key_says_and_which_one_says_it_counts() {
        let all = [
            OLD,
            Old {
                warm_up: 2,
                duration: 1,
                ..OLD
            },
            Old {
                text: None,
                file: Some("a"),
                ..OLD
            },
            Old {
                text: Some("b"),
                ..OLD
            },
            Old {
                how: Digested::Chunked { bytes: 6 },
                ..OLD
            },
        ];
        let digests: BTreeSet<String> = all.iter().map(digest).collect();
        assert_eq!(digests.len(), all.len());
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&"1"), digest(&1));
        assert_ne!(digest(&Some(false)), digest(&None::<bool>));
        // The keys of a map are chosen by users: names of operations, members of JSON.
        assert_ne!(
            digest(&BTreeMap::from([("a", 1)])),
            digest(&BTreeMap::from([("b", 1)]))
        );
    }

    #[test]
    fn texts_are_kept_for_who_looks_for_files() {
        let mut values = Values::default();
        values.add(&OLD);
        values.add(&BTreeMap::from([("k", vec!["person.proto"])]));
        assert_eq!(values.texts().collect::<Vec<_>>(), ["a", "k", "person.proto"]);
    }
}
