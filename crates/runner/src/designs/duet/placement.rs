//! Where the two of a duet run.

use crate::testbed::Testbed;
use prony_host::{Placement, Wants};

/// Where and in which order the two run in a round: both services on the same CPUs, both generators on the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// CPUs of the services and of their generators.
    pub(super) placement: Placement,
    /// Whether the second starts first: it undoes what the order was worth in the round before.
    pub(super) reversed: bool,
}

/// The places of four rounds, which then begin again.
pub(super) fn places(testbed: &Testbed, backing_service: bool) -> [Places; 4] {
    let wants = Wants {
        backing_service,
        service_cpus: None,
    };
    let usual = testbed.place(wants);
    let turned = usual.clone().turned();
    [(&usual, false), (&usual, true), (&turned, true), (&turned, false)].map(|(placement, reversed)| Places {
        placement: placement.clone(),
        reversed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Member;
    use prony_host::FakeHost;
    use std::path::PathBuf;
    use std::sync::Arc;

    #[test]
    fn orders_are_balanced_and_places_turn() {
        let host = Arc::new(FakeHost::new(2, 0));
        let testbed = Testbed::here(Member::new("", host, Vec::new(), PathBuf::new()));
        let rounds = places(&testbed, false);
        assert_eq!(rounds.iter().filter(|places| places.reversed).count(), 2);
        assert_eq!(
            rounds[0].placement.service.cpus,
            rounds[2].placement.generator().cpus
        );
        for half in [&rounds[..2], &rounds[2..]] {
            assert_eq!(half.iter().filter(|places| places.reversed).count(), 1);
        }
    }
}
