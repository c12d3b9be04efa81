//! Runs a load on the workers of a testbed.

use crate::checkout::{Checkout, TestbedArgs};
use prony_load::Target;
use prony_runner::Cancel;
use prony_runner::{LocalTestbed, UrlLoad};

/// Connects to the workers of a testbed, if one is given or the project names one.
pub(crate) fn fleet(testbed: &TestbedArgs, target: &Target) -> anyhow::Result<Option<UrlLoad>> {
    let Some(file) = testbed.read(Checkout::find().ok().as_ref())? else {
        return Ok(None);
    };
    let logs = std::env::temp_dir().join(format!("prony-load-{}", std::process::id()));
    let workbench = LocalTestbed::new(logs, &Cancel::new())?;
    let tell = |text: &str| eprintln!("{text}");
    Ok(Some(UrlLoad::connect(workbench, &file, target, &tell)?))
}
