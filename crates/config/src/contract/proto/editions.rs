//! `.proto` files with an edition instead of a syntax. The compiler knows proto2 and proto3, so they are rewritten as proto2, whose messages
//! are the same on the wire: a field has explicit presence, may have a default, and lists are read packed or not. The lines stay the same.
//! Source: <https://protobuf.dev/editions/features/>.

use protox::file::{File, FileResolver, IncludeFileResolver};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The files below a folder.
pub(super) struct ProtoFolder {
    folder: PathBuf,
    files: IncludeFileResolver,
}

impl ProtoFolder {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            files: IncludeFileResolver::new(folder.to_owned()),
        }
    }
}

impl FileResolver for ProtoFolder {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.files.resolve_path(path)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        // A file that cannot be read gets the error of the compiler.
        let text = std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        match as_proto2(&text) {
            Ok(None) => self.files.open_file(name),
            Ok(Some(text)) => File::from_source(name, &text),
            Err((line, reason)) => Err(protox::Error::new(format!("{name}:{line}: {reason}"))),
        }
    }
}

/// The editions that are known.
const EDITIONS: [&str; 2] = ["2023", "2024"];

/// A word, a number, a text in quotes, or a sign.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    at: usize,
}

/// What encloses a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Message,
    Oneof,
    Enum,
    Service,
}

/// The file as proto2; `None`: it has no edition. The error is a line and a reason.
fn as_proto2(text: &str) -> Result<Option<String>, (usize, String)> {
    let tokens = tokens(text);
    let [first, equals, edition, ..] = tokens.as_slice() else {
        return Ok(None);
    };
    if first.text != "edition" || equals.text != "=" {
        return Ok(None);
    }
    let mut file = Rewrite {
        text,
        tokens: &tokens,
        edits: Vec::new(),
        scopes: Vec::new(),
    };
    if !EDITIONS.contains(&edition.text.trim_matches(['"', '\''])) {
        let known = EDITIONS.join(" and ");
        return Err(file.error(
            edition.at,
            format!("edition {} is not known: {known} are", edition.text),
        ));
    }
    let declared = first.at..edition.at + edition.text.len();
    file.edits.push((declared, "syntax = \"proto2\"".to_owned()));
    let mut place = file.end_of(0);
    while place < tokens.len() {
        place = file.statement(place)?;
    }
    Ok(Some(file.finish()))
}

struct Rewrite<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    /// What replaces parts of the text, in its order.
    edits: Vec<(Range<usize>, String)>,
    scopes: Vec<Scope>,
}

impl Rewrite<'_> {
    fn finish(self) -> String {
        let (mut out, mut done) = (String::new(), 0);
        for (range, new) in self.edits {
            out += &self.text[done..range.start];
            out += &new;
            // Lines in messages of the compiler are those of the file.
            let (old, lines) = (
                self.text[range.clone()].matches('\n').count(),
                new.matches('\n').count(),
            );
            out.extend(std::iter::repeat_n('\n', old.saturating_sub(lines)));
            done = range.end;
        }
        out + &self.text[done..]
    }

    fn error(&self, at: usize, reason: String) -> (usize, String) {
        (self.text[..at].matches('\n').count() + 1, reason)
    }

    fn word(&self, place: usize) -> &str {
        self.tokens.get(place).map_or("", |token| token.text)
    }

    /// Handles the statement that begins here. Returns where the next one does.
    fn statement(&mut self, place: usize) -> Result<usize, (usize, String)> {
        let opens = |scope| Some(scope).filter(|_| self.word(place + 2) == "{");
        let opened = match self.word(place) {
            "}" => {
                self.scopes.pop();
                return Ok(place + 1);
            }
            ";" => return Ok(place + 1),
            "message" | "extend" => opens(Scope::Message),
            "oneof" => opens(Scope::Oneof),
            "enum" => opens(Scope::Enum),
            "service" => opens(Scope::Service),
            _ => None,
        };
        if let Some(scope) = opened {
            self.scopes.push(scope);
            return Ok(place + 3);
        }
        let end = self.end_of(place);
        let is_blank = match (self.word(place), self.scopes.last()) {
            ("export" | "local", _) => {
                self.blank(place, place + 1);
                return Ok(place + 1);
            }
            ("import", _) => self.word(place + 1) == "option",
            ("option", _) => self.is_feature(place + 1)?,
            ("reserved", _) => self.has_names(place + 1, end),
            ("package" | "extensions" | "rpc", _) => false,
            (first, Some(Scope::Message)) => {
                let is_map = first == "map" && self.word(place + 1) == "<";
                if !is_map && !matches!(first, "repeated" | "optional" | "required") {
                    let at = self.tokens[place].at;
                    self.edits.push((at..at, "optional ".to_owned()));
                }
                self.drop_features(place, end)?;
                false
            }
            (_, Some(Scope::Oneof | Scope::Enum)) => {
                self.drop_features(place, end)?;
                false
            }
            _ => false,
        };
        if is_blank {
            self.blank(place, end);
        }
        Ok(end)
    }

    /// Where the statement that begins here ends: after its `;`, or after its block.
    fn end_of(&self, place: usize) -> usize {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(place) {
            match token.text {
                "{" | "[" => depth += 1,
                "]" => depth = depth.saturating_sub(1),
                "}" if depth == 0 => return index,
                "}" => {
                    depth -= 1;
                    // The block of a method; that of an option is followed by `;`.
                    if depth == 0 && self.word(place) == "rpc" {
                        return index + 1;
                    }
                }
                ";" if depth == 0 => return index + 1,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Removes tokens.
    fn blank(&mut self, from: usize, to: usize) {
        if let Some(last) = to.checked_sub(1).and_then(|last| self.tokens.get(last)) {
            let range = self.tokens[from].at..last.at + last.text.len();
            self.edits.push((range, String::new()));
        }
    }

    /// Whether this is the name of a feature. Fields whose encoding proto2 cannot express are an error.
    fn is_feature(&self, place: usize) -> Result<bool, (usize, String)> {
        let name = self.word(place);
        if name == "features.message_encoding" && self.word(place + 2) == "DELIMITED" {
            let reason = "`message_encoding = DELIMITED` is not supported: leave --proto out if the service has server reflection";
            return Err(self.error(self.tokens[place].at, reason.to_owned()));
        }
        Ok(name.starts_with("features.") || name == "features")
    }

    /// Whether reserved names are not in quotes, as proto2 wants them.
    fn has_names(&self, from: usize, to: usize) -> bool {
        let is_name = |token: &Token<'_>| {
            token
                .text
                .starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
                && !matches!(token.text, "to" | "max")
        };
        self.tokens[from..to].iter().any(is_name)
    }

    /// Removes the features from the options of a field or value.
    fn drop_features(&mut self, place: usize, end: usize) -> Result<(), (usize, String)> {
        let all = &self.tokens[place..end];
        let Some(open) = all.iter().position(|token| token.text == "[") else {
            return Ok(());
        };
        let Some(close) = all.iter().rposition(|token| token.text == "]") else {
            return Ok(());
        };
        let (open, close) = (place + open, place + close);
        let (mut kept, mut depth, mut begin) = (Vec::new(), 0_usize, open + 1);
        for index in open + 1..=close {
            match self.word(index) {
                "{" | "[" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "]" if depth > 0 => depth -= 1,
                "," | "]" if depth == 0 && index > begin => {
                    if !self.is_feature(begin)? {
                        let last = &self.tokens[index - 1];
                        kept.push(&self.text[self.tokens[begin].at..last.at + last.text.len()]);
                    }
                    begin = index + 1;
                }
                _ => {}
            }
        }
        let options = if kept.is_empty() {
            String::new()
        } else {
            format!("[{}]", kept.join(", "))
        };
        self.edits
            .push((self.tokens[open].at..self.tokens[close].at + 1, options));
        Ok(())
    }
}

/// The tokens of a file, without comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || !byte.is_ascii();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        let length = match byte {
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with("/*") => {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
                continue;
            }
            b'"' | b'\'' => quoted(rest, byte),
            _ if is_word(byte) => rest.bytes().position(|byte| !is_word(byte)).unwrap_or(rest.len()),
            _ => 1,
        };
        tokens.push(Token {
            text: &rest[..length],
            at,
        });
        at += length;
    }
    tokens
}

/// The length of a text in quotes.
fn quoted(text: &str, quote: u8) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == quote && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_becomes_proto2_on_the_same_lines() {
        let text = r#"// The first file.
edition = "2023"; /* of two */
package a.b;
option features.field_presence = IMPLICIT;
import option "c.proto";
message Ask {
  reserved old, "older";
  reserved 7 to 9;
  int32 n = 1 [features.field_presence = EXPLICIT, deprecated = true,
    json_name = "N"];
  repeated .a.b.Kind kinds = 2 [features.repeated_field_encoding = EXPANDED];
  map<string, Ask> by_name = 3;
  oneof which { string text = 4; Ask more = 5 [features.utf8_validation = NONE]; }
  export enum Kind { UNKNOWN = 0; SOME = 1 [deprecated = true]; }
  message Inner { bytes raw = 1 [default = "a;]b"]; }
  extensions 100 to 199;
}
service Echo { rpc one(Ask) returns (Ask) { option deprecated = true; } rpc two(Ask) returns (stream Ask); }
"#;
        let expected = r#"// The first file.
syntax = "proto2"; /* of two */
package a.b;


message Ask {
  
  reserved 7 to 9;
  optional int32 n = 1 [deprecated = true, json_name = "N"]
;
  repeated .a.b.Kind kinds = 2 ;
  map<string, Ask> by_name = 3;
  oneof which { string text = 4; Ask more = 5 ; }
   enum Kind { UNKNOWN = 0; SOME = 1 [deprecated = true]; }
  message Inner { optional bytes raw = 1 [default = "a;]b"]; }
  extensions 100 to 199;
}
service Echo { rpc one(Ask) returns (Ask) { option deprecated = true; } rpc two(Ask) returns (stream Ask); }
"#;
        assert_eq!(as_proto2(text), Ok(Some(expected.to_owned())));
        assert!(File::from_source("a.proto", expected).is_ok());
    }

    #[test]
    fn what_is_no_edition_stays_as_it_is() {
        for text in [
            "",
            "syntax = \"proto3\";",
            "message A {}",
            "edition",
            "/* open",
            "\"open",
        ] {
            assert_eq!(as_proto2(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_expressed_is_named_with_its_line() {
        let error = as_proto2("edition = \"2031\";").expect_err("a future edition");
        assert_eq!(
            error,
            (1, "edition \"2031\" is not known: 2023 and 2024 are".to_owned())
        );
        let delimited =
            "edition = '2023';\nmessage A {\n  A a = 1 [\n    features.message_encoding = DELIMITED];\n}";
        let (line, reason) = as_proto2(delimited).expect_err("groups");
        assert!(line == 4 && reason.contains("DELIMITED"), "{line}: {reason}");
    }

    #[test]
    fn a_file_that_is_cut_ends() {
        let text = "edition = \"2023\"; message A { int32 n = 1 [features.x = {a: 1}, b = 2]; oneof c { string s = 2; } }";
        for end in 0..text.len() {
            let _ = as_proto2(&text[..end]);
        }
    }
}
