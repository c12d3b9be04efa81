//! Checks that text received in pieces is UTF-8.

/// The end of the text so far, if it is in the middle of a character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Utf8 {
    begun: [u8; 4],
    length: u8,
}

/// The text is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidUtf8;

impl Utf8 {
    pub(super) const fn new() -> Self {
        Self {
            begun: [0; 4],
            length: 0,
        }
    }

    /// Checks the next piece.
    #[inline]
    pub(super) fn take(&mut self, mut piece: &[u8]) -> Result<(), InvalidUtf8> {
        while self.length > 0
            && let Some((&byte, rest)) = piece.split_first()
        {
            self.begun[usize::from(self.length)] = byte;
            self.length += 1;
            piece = rest;
            match std::str::from_utf8(&self.begun[..usize::from(self.length)]) {
                Ok(_) => self.length = 0,
                // It may still become a character.
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(InvalidUtf8),
            }
        }
        // Most texts are ASCII, and that check uses vector instructions.
        if piece.is_ascii() {
            return Ok(());
        }
        let Err(error) = std::str::from_utf8(piece) else {
            return Ok(());
        };
        if error.error_len().is_some() {
            return Err(InvalidUtf8);
        }
        let begun = &piece[error.valid_up_to()..];
        self.begun[..begun.len()].copy_from_slice(begun);
        self.length = begun.len() as u8;
        Ok(())
    }

    /// Checks that the text does not end in the middle of a character.
    pub(super) const fn end(self) -> Result<(), InvalidUtf8> {
        if self.length == 0 {
            Ok(())
        } else {
            Err(InvalidUtf8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(), InvalidUtf8> {
        let mut utf8 = Utf8::new();
        pieces.into_iter().try_for_each(|piece| utf8.take(piece))?;
        utf8.end()
    }

    proptest! {
        #[test]
        fn pieces_are_judged_as_the_whole(
            text in any::<String>(),
            wrong in proptest::collection::vec(any::<u8>(), 0..4),
            at in any::<proptest::sample::Index>(),
            size in 1..9_usize,
        ) {
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, wrong);
            let expected = std::str::from_utf8(&bytes).map(|_| ()).map_err(|_| InvalidUtf8);
            prop_assert_eq!(check_pieces([bytes.as_slice()]), expected);
            prop_assert_eq!(check_pieces(bytes.chunks(size)), expected);
        }
    }

    #[test]
    fn characters_may_be_cut_anywhere() {
        let text = "a\u{e4}\u{20ac}\u{1f600}".as_bytes();
        for at in 0..=text.len() {
            let (front, back) = text.split_at(at);
            assert_eq!(check_pieces([front, back]), Ok(()));
            assert_eq!(check_pieces([front]).is_ok(), std::str::from_utf8(front).is_ok());
        }
    }
}
