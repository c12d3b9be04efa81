//! The TLS certificates that prony trusts for an external service.

use crate::ConfigError;
use crate::format::error::io_reason;
use crate::format::{SourceFile, Spanned};
use prony_load::Target;
use std::path::{Path, PathBuf};

/// The first line of every PEM certificate.
const PEM: &str = "-----BEGIN CERTIFICATE-----";

/// The keys of a variant or above the variants.
#[derive(Clone, Default)]
pub(super) struct TrustToml {
    pub(super) cacert: Option<Spanned<PathBuf>>,
    pub(super) insecure: Option<Spanned<bool>>,
}

impl TrustToml {
    /// The position of the first of the keys.
    fn place(&self) -> Option<std::ops::Range<usize>> {
        let insecure = self.insecure.as_ref().map(Spanned::span);
        self.cacert.as_ref().map(Spanned::span).or(insecure)
    }

    /// Rejects the keys if there is no external service.
    pub(super) fn reject_without_url(&self, source: &SourceFile) -> Result<(), ConfigError> {
        let message = "`cacert` and `insecure` are for a service that runs already";
        match self.place() {
            Some(place) => Err(source.invalid_with(place, message, "give its `url`, too")),
            None => Ok(()),
        }
    }

    /// Adds them to a target. `folder`: the service's, which contains the files.
    pub(super) fn apply_to(
        self,
        target: &mut Target,
        source: &SourceFile,
        folder: &Path,
    ) -> Result<(), ConfigError> {
        let place = self.place();
        let insecure = self.insecure.is_some_and(Spanned::into_inner);
        let (tls, place) = match (&mut target.tls, place) {
            (_, None) => return Ok(()),
            (Some(tls), Some(place)) => (tls, place),
            (None, Some(place)) => {
                let message = format!(
                    "`cacert` and `insecure` are for TLS, but `{}` does not use it: write it as https://…",
                    target.url
                );
                return Err(source.invalid(place, message));
            }
        };
        if insecure && self.cacert.is_some() {
            let message =
                "`insecure` trusts any certificate, and `cacert` names those to trust: remove one of them";
            return Err(source.invalid(place, message));
        }
        tls.insecure = insecure;
        tls.cacert = self.cacert.map(|file| read(source, &file, folder)).transpose()?;
        Ok(())
    }
}

fn read(source: &SourceFile, file: &Spanned<PathBuf>, folder: &Path) -> Result<String, ConfigError> {
    let path = folder.join(file.get_ref());
    let refused = |why: &str, help: &str| {
        let message = format!("`cacert` is \"{}\": {why}", file.get_ref().display());
        source.invalid_with(file.span(), message, help)
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| refused(&io_reason(&error), "give a file in the service's folder"))?;
    if text.contains(PEM) {
        Ok(text)
    } else {
        Err(refused(
            "it contains no certificate",
            &format!("give a file in PEM, with {PEM}"),
        ))
    }
}
