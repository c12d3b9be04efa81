//! Display names of services.

use crate::ServiceInfo;
use prony_records::ServiceId;

/// A name that is unique in the report: the title, with the variant or the name of the folder if several services share
/// it; the ID if nothing else is known of the service.
pub(crate) fn name(services: &[ServiceInfo], id: &ServiceId) -> String {
    let Some(info) = info(services, id) else {
        return id.to_string();
    };
    let mut namesakes = services
        .iter()
        .filter(|other| {
            other.title == info.title && (&other.service, &other.variant) != (&info.service, &info.variant)
        })
        .peekable();
    if namesakes.peek().is_none() {
        info.title.clone()
    } else if namesakes.any(|other| other.service != info.service) {
        format!("{} ({})", info.service, info.variant)
    } else {
        format!("{} ({})", info.title, info.variant)
    }
}

/// Metadata of a service.
pub(crate) fn info<'a>(services: &'a [ServiceInfo], id: &ServiceId) -> Option<&'a ServiceInfo> {
    services
        .iter()
        .find(|info| info.service == id.service && info.variant == id.variant)
}

/// Whether `text` matches `pattern`, in which `*` matches any text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_a_shell() {
        assert!(fits("java-netty/*", "java-netty/current"));
        assert!(fits(
            "node-jsonfilter/0.10*single*",
            "node-jsonfilter/0.10-single"
        ));
        assert!(fits("a/b", "a/b") && !fits("a/b", "a/bc") && !fits("a/b", "a"));
        assert!(!fits("java-netty/*", "java-nettyx/current") && !fits("ab*ba", "aba"));
    }

    #[test]
    fn names_are_unique() {
        let info = |service: &str, variant: &str, title: &str| ServiceInfo {
            service: service.to_owned(),
            variant: variant.to_owned(),
            title: title.to_owned(),
            ..ServiceInfo::default()
        };
        let services = [
            info("a", "x", "A"),
            info("b", "x", "B"),
            info("b", "y", "B"),
            info("c", "x", "A"),
        ];
        let id = |service: &str, variant: &str| ServiceId {
            service: service.to_owned(),
            variant: variant.to_owned(),
        };
        assert_eq!(name(&services, &id("b", "y")), "B (y)");
        assert_eq!(name(&services, &id("a", "x")), "a (x)");
        assert_eq!(name(&services, &id("z", "x")), "z/x");
        assert_eq!(name(&services[..1], &id("a", "x")), "A");
    }
}
