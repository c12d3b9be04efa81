//! The note about environment variables that services do not inherit.

use prony_config::{Service, ServiceOrigin};
use prony_records::CallerVariables;

/// Names the variables that would change what runtimes do, but that none of the services inherits. `None` if there are none.
pub(crate) fn withheld_variables(variables: &CallerVariables, services: &[&Service]) -> Option<String> {
    let is_process = |service: &&&Service| matches!(service.reached, ServiceOrigin::Run(_));
    let processes: Vec<&&Service> = services.iter().filter(is_process).collect();
    let is_new = |name: &&String| {
        let has = |service: &&&Service| service.pass.contains(*name) || service.env.contains_key(*name);
        !processes.iter().any(has)
    };
    let names: Vec<&str> = variables
        .withheld
        .iter()
        .filter(is_new)
        .map(String::as_str)
        .collect();
    if names.is_empty() || processes.is_empty() {
        return None;
    }
    let (are, them) = if names.len() == 1 {
        ("is", "it")
    } else {
        ("are", "them")
    };
    Some(format!(
        "{} {are} set, but services do not inherit {them}: set {them} in `[env]` of service.toml, or name {them} in `pass`",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn variables_that_no_service_knows_are_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = prony_config::Catalogue::read(&root).expect("the catalogue");
        let mut service = catalogue.services[0].clone();
        service.pass = vec!["GOGC".to_owned()];
        service.env.insert("NODE_ENV".to_owned(), "production".to_owned());
        let note = |names: &[&str]| {
            let withheld: BTreeSet<String> = names.iter().map(|&name| name.to_owned()).collect();
            let variables = CallerVariables {
                withheld,
                ..CallerVariables::default()
            };
            withheld_variables(&variables, &[&service])
        };
        assert_eq!(note(&["GOGC", "NODE_ENV"]), None);
        let text = "NODE_OPTIONS is set, but services do not inherit it: set it in `[env]` of service.toml, or name it in `pass`";
        assert_eq!(note(&["GOGC", "NODE_OPTIONS"]), Some(text.to_owned()));
        assert!(
            note(&["LD_PRELOAD", "NODE_OPTIONS"])
                .is_some_and(|note| note.starts_with("LD_PRELOAD, NODE_OPTIONS are set"))
        );
        assert_eq!(withheld_variables(&CallerVariables::default(), &[&service]), None);
    }
}
