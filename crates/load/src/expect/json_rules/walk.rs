//! A push parser for JSON: it takes pieces as they arrive, builds no document, and reports the values at the nodes of
//! a tree of pointer tokens.

use super::tree::{NodeId, Tree};

/// The deepest nesting that is parsed.
pub(in crate::expect) const DEEPEST: usize = 128;

/// Why a document is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not JSON from this byte on.
    Syntax(u64),
    /// It ends too early.
    Unfinished,
    /// It nests more deeply than [`DEEPEST`].
    Deep,
    /// A member on the path of a pointer occurs twice.
    Twice,
}

/// A value at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathMatch<'a> {
    /// A string, unescaped.
    Text(&'a [u8]),
    /// A number as written.
    Number(&'a [u8]),
    /// `true`, `false` or `null`.
    Literal(&'a [u8]),
    /// An object or array as written; empty where no rule needs it.
    Whole(&'a [u8]),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before a value.
    #[default]
    Value,
    /// After `[`: a value or `]`.
    FirstItem,
    /// After `{`: a name or `}`.
    FirstName,
    /// After `,` in an object.
    Name,
    Colon,
    /// After a value in an array or object.
    Behind,
    Text(Role),
    Escape(Role),
    /// Within the digits of `\u`, with this number of them left.
    Hex(Role, u8),
    /// Between the halves of a surrogate pair: before `\`, then before `u`.
    Half(Role, bool),
    /// Within `true`, `false` or `null`, with these bytes left.
    Literal(&'static [u8]),
    Number(Digits),
    /// After the document.
    End,
}

/// The role of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Name,
    Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digits {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Digits {
    /// The state after one more byte; `None` if the byte cannot be part of the number here.
    const fn with(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    const fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::Exponent)
    }
}

/// An open object or array.
#[derive(Debug, Clone, Copy)]
struct Level {
    is_object: bool,
    node: Option<NodeId>,
    /// The index of its next item.
    next: u64,
    /// Where its bytes start in `Walker::whole`, if they are kept.
    begin: Option<usize>,
}

/// Bytes that a UTF-8 character still needs, and the range of the next one.
#[derive(Debug, Clone, Copy, Default)]
struct Utf8 {
    needed: u8,
    low: u8,
    high: u8,
}

impl Utf8 {
    /// Takes a byte of 128 or more; `None` if it is invalid here.
    const fn with(self, byte: u8) -> Option<Self> {
        if self.needed > 0 {
            if byte < self.low || byte > self.high {
                return None;
            }
            return Some(Self::of(self.needed - 1, 0x80, 0xbf));
        }
        Some(match byte {
            0xc2..=0xdf => Self::of(1, 0x80, 0xbf),
            0xe0 => Self::of(2, 0xa0, 0xbf),
            0xe1..=0xec | 0xee..=0xef => Self::of(2, 0x80, 0xbf),
            0xed => Self::of(2, 0x80, 0x9f),
            0xf0 => Self::of(3, 0x90, 0xbf),
            0xf1..=0xf3 => Self::of(3, 0x80, 0xbf),
            0xf4 => Self::of(3, 0x80, 0x8f),
            _ => return None,
        })
    }

    const fn of(needed: u8, low: u8, high: u8) -> Self {
        Self { needed, low, high }
    }
}

/// The state of a document. Its memory is reused for the next one.
#[derive(Debug, Clone, Default)]
pub(super) struct Walker {
    state: State,
    levels: Vec<Level>,
    /// The node of the next or current value.
    node: Option<NodeId>,
    /// Whether the current name, string, number or literal is kept.
    keeps: bool,
    token: Vec<u8>,
    /// Bytes of the containers that are needed as a whole, and how many of these are open.
    whole: Vec<u8>,
    open: usize,
    hex: u16,
    /// The first half of a surrogate pair.
    half: Option<u16>,
    utf8: Utf8,
    /// Bytes of the pieces before this one.
    read: u64,
    found_nodes: Vec<bool>,
}

/// Why a byte is not allowed here.
enum WalkError {
    Syntax,
    Deep,
    Twice,
}

impl Walker {
    pub(super) fn begin(&mut self, tree: &Tree) {
        self.state = State::Value;
        self.levels.clear();
        self.node = Some(Tree::ROOT);
        self.whole.clear();
        self.open = 0;
        self.half = None;
        self.utf8 = Utf8::default();
        self.read = 0;
        self.found_nodes.clear();
        self.found_nodes.resize(tree.len(), false);
    }

    /// Whether a value was found at a node.
    pub(super) fn has_found(&self, node: NodeId) -> bool {
        self.found_nodes[node]
    }

    /// Kept bytes of containers.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.whole.len()
    }

    /// Takes a piece; `found` receives each value at a node with rules once it is complete.
    pub(super) fn push(
        &mut self,
        tree: &Tree,
        piece: &[u8],
        found: &mut impl FnMut(NodeId, PathMatch<'_>),
    ) -> Result<(), Fault> {
        let mut at = 0;
        while at < piece.len() {
            at += self
                .some(tree, &piece[at..], found)
                .map_err(|wrong| match wrong {
                    WalkError::Syntax => Fault::Syntax(self.read + at as u64),
                    WalkError::Deep => Fault::Deep,
                    WalkError::Twice => Fault::Twice,
                })?;
        }
        self.read += piece.len() as u64;
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        tree: &Tree,
        found: &mut impl FnMut(NodeId, PathMatch<'_>),
    ) -> Result<(), Fault> {
        if let State::Number(digits) = self.state
            && digits.may_end()
        {
            self.end_of_number(tree, found);
        }
        if self.state == State::End {
            Ok(())
        } else {
            Err(Fault::Unfinished)
        }
    }

    /// Takes one byte, or several of the same kind, and returns how many; 0 where a number ended before them.
    fn some(
        &mut self,
        tree: &Tree,
        bytes: &[u8],
        found: &mut impl FnMut(NodeId, PathMatch<'_>),
    ) -> Result<usize, WalkError> {
        match self.state {
            State::Text(_) if self.utf8.needed == 0 && is_plain(bytes[0]) => {
                let plain = bytes
                    .iter()
                    .position(|&byte| !is_plain(byte))
                    .unwrap_or(bytes.len());
                if self.keeps {
                    self.token.extend_from_slice(&bytes[..plain]);
                }
                self.copy(&bytes[..plain]);
                Ok(plain)
            }
            State::Number(digits) => match digits.with(bytes[0]) {
                Some(next) => {
                    self.state = State::Number(next);
                    self.keep(bytes[0]);
                    self.copy(&bytes[..1]);
                    Ok(1)
                }
                None if digits.may_end() => {
                    self.end_of_number(tree, found);
                    Ok(0)
                }
                None => Err(WalkError::Syntax),
            },
            _ => {
                // A container copies its first byte itself once it is known to be needed.
                let was_open = self.open > 0;
                if was_open {
                    self.whole.push(bytes[0]);
                }
                self.one(tree, bytes[0], was_open, found)?;
                Ok(1)
            }
        }
    }

    fn copy(&mut self, bytes: &[u8]) {
        if self.open > 0 {
            self.whole.extend_from_slice(bytes);
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.keeps {
            self.token.push(byte);
        }
    }

    fn one(
        &mut self,
        tree: &Tree,
        byte: u8,
        is_copied: bool,
        found: &mut impl FnMut(NodeId, PathMatch<'_>),
    ) -> Result<(), WalkError> {
        match self.state {
            State::Text(role) => return self.in_text(tree, byte, role, found),
            State::Escape(role) => return self.escape(byte, role),
            State::Hex(role, left) => return self.digit(byte, role, left),
            State::Half(role, is_begun) => {
                let wanted = if is_begun { b'u' } else { b'\\' };
                self.state = if is_begun {
                    State::Hex(role, 4)
                } else {
                    State::Half(role, true)
                };
                return (byte == wanted).then_some(()).ok_or(WalkError::Syntax);
            }
            State::Literal(rest) => return self.literal(tree, byte, rest, found),
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => return Ok(()),
            _ => {}
        }
        match (self.state, byte) {
            (State::FirstItem, b']') | (State::FirstName, b'}') | (State::Behind, b']' | b'}') => {
                self.close(tree, byte, found)
            }
            (State::FirstItem, _) => {
                self.next_item(tree);
                self.value(tree, byte, is_copied)
            }
            (State::FirstName | State::Name, b'"') => {
                let node = self.levels.last().and_then(|level| level.node);
                self.keeps = node.is_some_and(|node| tree.has_children(node));
                self.token.clear();
                self.state = State::Text(Role::Name);
                Ok(())
            }
            (State::Colon, b':') => {
                self.state = State::Value;
                Ok(())
            }
            (State::Behind, b',') => {
                if self.levels.last().is_some_and(|level| level.is_object) {
                    self.state = State::Name;
                } else {
                    self.next_item(tree);
                    self.state = State::Value;
                }
                Ok(())
            }
            (State::Value, _) => self.value(tree, byte, is_copied),
            _ => Err(WalkError::Syntax),
        }
    }

    fn next_item(&mut self, tree: &Tree) {
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        self.node = level.node.and_then(|node| tree.item(node, level.next));
        level.next += 1;
    }

    /// Handles the first byte of a value.
    fn value(&mut self, tree: &Tree, byte: u8, is_copied: bool) -> Result<(), WalkError> {
        if let Some(node) = self.node
            && std::mem::replace(&mut self.found_nodes[node], true)
        {
            return Err(WalkError::Twice);
        }
        if matches!(byte, b'{' | b'[') {
            return self.open(tree, byte, is_copied);
        }
        self.keeps = self.node.is_some_and(|node| tree.has_rules(node));
        self.token.clear();
        self.state = match byte {
            b'"' => State::Text(Role::Value),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            b'-' => State::Number(Digits::Minus),
            b'0' => State::Number(Digits::Zero),
            b'1'..=b'9' => State::Number(Digits::Whole),
            _ => return Err(WalkError::Syntax),
        };
        if byte != b'"' {
            self.keep(byte);
        }
        Ok(())
    }

    fn open(&mut self, tree: &Tree, byte: u8, is_copied: bool) -> Result<(), WalkError> {
        if self.levels.len() == DEEPEST {
            return Err(WalkError::Deep);
        }
        let is_needed = self.node.is_some_and(|node| tree.wants_whole(node));
        let begin = is_needed.then(|| {
            if !is_copied {
                self.whole.clear();
                self.whole.push(byte);
            }
            self.open += 1;
            self.whole.len() - 1
        });
        let is_object = byte == b'{';
        self.levels.push(Level {
            is_object,
            node: self.node,
            next: 0,
            begin,
        });
        self.state = if is_object {
            State::FirstName
        } else {
            State::FirstItem
        };
        Ok(())
    }

    fn close(
        &mut self,
        tree: &Tree,
        byte: u8,
        found: &mut impl FnMut(NodeId, PathMatch<'_>),
    ) -> Result<(), WalkError> {
        let level = self.levels.pop().ok_or(WalkError::Syntax)?;
        if level.is_object != (byte == b'}') {
            return Err(WalkError::Syntax);
        }
        if let Some(node) = level.node
            && tree.has_rules(node)
        {
            let whole = level.begin.map_or(&[][..], |begin| &self.whole[begin..]);
            found(node, PathMatch::Whole(whole));
        }
        self.open -= usize::from(level.begin.is_some());
        self.behind();
        Ok(())
    }

    /// Handles the end of a value.
    fn behind(&mut self) {
        self.state = if self.levels.is_empty() {
            State::End
        } else {
            State::Behind
        };
    }

    fn in_text(
        &mut self,
        tree: &Tree,
        byte: u8,
        role: Role,
        found: &mut impl FnMut(NodeId, PathMatch<'_>),
    ) -> Result<(), WalkError> {
        if byte >= 0x80 {
            self.utf8 = self.utf8.with(byte).ok_or(WalkError::Syntax)?;
            self.keep(byte);
            return Ok(());
        }
        if self.utf8.needed > 0 {
            return Err(WalkError::Syntax);
        }
        match byte {
            b'\\' => self.state = State::Escape(role),
            b'"' if role == Role::Name => {
                let level = self.levels.last().and_then(|level| level.node);
                self.node = level
                    .filter(|_| self.keeps)
                    .and_then(|node| tree.child(node, &self.token));
                self.state = State::Colon;
            }
            b'"' => {
                if let Some(node) = self.node.filter(|_| self.keeps) {
                    found(node, PathMatch::Text(&self.token));
                }
                self.behind();
            }
            _ => return Err(WalkError::Syntax),
        }
        Ok(())
    }

    fn escape(&mut self, byte: u8, role: Role) -> Result<(), WalkError> {
        let meant = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.hex = 0;
                self.state = State::Hex(role, 4);
                return Ok(());
            }
            _ => return Err(WalkError::Syntax),
        };
        self.keep(meant);
        self.state = State::Text(role);
        Ok(())
    }

    fn digit(&mut self, byte: u8, role: Role, left: u8) -> Result<(), WalkError> {
        let digit = (byte as char).to_digit(16).ok_or(WalkError::Syntax)?;
        self.hex = self.hex << 4 | digit as u16;
        if left > 1 {
            self.state = State::Hex(role, left - 1);
            return Ok(());
        }
        let unit = std::mem::take(&mut self.hex);
        let code = match (self.half.take(), unit) {
            (None, 0xd800..=0xdbff) => {
                self.half = Some(unit);
                self.state = State::Half(role, false);
                return Ok(());
            }
            (Some(high), 0xdc00..=0xdfff) => {
                0x1_0000 + (u32::from(high - 0xd800) << 10) + u32::from(unit - 0xdc00)
            }
            (None, _) => unit.into(),
            (Some(_), _) => return Err(WalkError::Syntax),
        };
        let letter = char::from_u32(code).ok_or(WalkError::Syntax)?;
        if self.keeps {
            self.token
                .extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.state = State::Text(role);
        Ok(())
    }

    fn literal(
        &mut self,
        tree: &Tree,
        byte: u8,
        rest: &'static [u8],
        found: &mut impl FnMut(NodeId, PathMatch<'_>),
    ) -> Result<(), WalkError> {
        let (first, rest) = rest.split_first().ok_or(WalkError::Syntax)?;
        if byte != *first {
            return Err(WalkError::Syntax);
        }
        self.keep(byte);
        self.state = State::Literal(rest);
        if rest.is_empty() {
            if let Some(node) = self.node.filter(|&node| tree.has_rules(node)) {
                found(node, PathMatch::Literal(&self.token));
            }
            self.behind();
        }
        Ok(())
    }

    fn end_of_number(&mut self, tree: &Tree, found: &mut impl FnMut(NodeId, PathMatch<'_>)) {
        if let Some(node) = self.node.filter(|&node| tree.has_rules(node)) {
            found(node, PathMatch::Number(&self.token));
        }
        self.behind();
    }
}

/// Whether a byte in a string stands for itself.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7f)
}
