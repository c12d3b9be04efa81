//! Whom prony trusts where a service that runs already speaks TLS, as written.

use crate::PlanError;
use crate::read::Source;
use prony_load::Target;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// What every certificate in PEM begins with.
const PEM: &str = "-----BEGIN CERTIFICATE-----";

/// The keys, as written in a variant or above the variants.
#[derive(Clone, Default)]
pub(super) struct WrittenTrust {
    pub(super) cacert: Option<Spanned<PathBuf>>,
    pub(super) insecure: Option<Spanned<bool>>,
}

impl WrittenTrust {
    /// Where the first of the keys stands.
    fn place(&self) -> Option<std::ops::Range<usize>> {
        let insecure = self.insecure.as_ref().map(Spanned::span);
        self.cacert.as_ref().map(Spanned::span).or(insecure)
    }

    /// Nobody is there to be trusted.
    pub(super) fn nobody(&self, source: &Source) -> Result<(), PlanError> {
        let message = "`cacert` and `insecure` say whom to trust at the `url` of a service that runs already: give its `url`, too";
        match self.place() {
            Some(place) => Err(source.invalid(place, message)),
            None => Ok(()),
        }
    }

    /// Adds them to a target. `folder`: the service's, from which files are named.
    pub(super) fn given_to(
        self,
        target: &mut Target,
        source: &Source,
        folder: &Path,
    ) -> Result<(), PlanError> {
        let place = self.place();
        let insecure = self.insecure.is_some_and(Spanned::into_inner);
        let (tls, place) = match (&mut target.tls, place) {
            (_, None) => return Ok(()),
            (Some(tls), Some(place)) => (tls, place),
            (None, Some(place)) => {
                let message = format!(
                    "`cacert` and `insecure` are about TLS, and `{}` speaks none: write it as https://…",
                    target.url
                );
                return Err(source.invalid(place, message));
            }
        };
        if insecure && self.cacert.is_some() {
            let message =
                "`insecure` trusts any certificate, and `cacert` names those to trust: leave one of them out";
            return Err(source.invalid(place, message));
        }
        tls.insecure = insecure;
        tls.cacert = self.cacert.map(|file| read(source, &file, folder)).transpose()?;
        Ok(())
    }
}

fn read(source: &Source, file: &Spanned<PathBuf>, folder: &Path) -> Result<String, PlanError> {
    let path = folder.join(file.get_ref());
    let refused = |why: String| {
        let message = format!("`cacert` is the file {}: {why}", path.display());
        source.invalid(file.span(), message)
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        refused(format!(
            "it cannot be read ({error}); it is looked for in the service's folder"
        ))
    })?;
    if text.contains(PEM) {
        Ok(text)
    } else {
        Err(refused(format!(
            "it holds no certificate: it must be PEM, with {PEM}"
        )))
    }
}
