//! The path and the headers of a request.

use super::{Call, PlaceholderValues};
use crate::contract::ContractError;
use crate::contract::template::constant;
use crate::contract::toml::HeaderText;
use prony_load::{Header, Part, Template};
use std::ops::Range;

impl Call<'_> {
    /// The path of a key, with its placeholders filled.
    pub(super) fn path(
        &self,
        key: &str,
        (span, path): (Range<usize>, &str),
        filling: &PlaceholderValues<'_>,
    ) -> Result<Template, ContractError> {
        let at = |reason: String| self.invalid(span.clone(), format!("`{key}`: {reason}"));
        let path = filling.fill(path, str::to_owned).map_err(at)?;
        let sent = constant(&path);
        if matches!(path.0.first(), None | Some(Part::Literal(_))) && !sent.starts_with(b"/") {
            return Err(at(format!(
                "`{}` is not a path: it must start with `/`",
                sent.escape_ascii()
            )));
        }
        match sent.into_iter().find(|byte| !byte.is_ascii_graphic()) {
            None => Ok(path),
            Some(byte) => Err(at(format!(
                "`{}` in the path: percent-encode it",
                byte.escape_ascii()
            ))),
        }
    }

    /// The headers of the call, with their placeholders filled.
    pub(super) fn headers(&self, filling: &PlaceholderValues<'_>) -> Result<Vec<Header>, ContractError> {
        let mut headers = Vec::new();
        for (name, value) in &self.written.headers {
            let HeaderText::Texts(texts) = value.get_ref() else {
                continue;
            };
            for text in texts {
                let value = filling
                    .fill(text, str::to_owned)
                    .map_err(|reason| self.invalid(value.span(), format!("`headers.{name}`: {reason}")))?;
                headers.push(Header {
                    name: name.clone(),
                    value,
                });
            }
        }
        Ok(headers)
    }
}
