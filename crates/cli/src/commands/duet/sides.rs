//! Where the two of a duet run.

use crate::exit::bad_input;
use anyhow::anyhow;
use prony_host::{Core, Split, Topology, Wants};

/// How the two share the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Placement {
    /// Both services on the same CPUs, both generators on the others: what takes a CPU away takes it from both
    Shared,
    /// Each service with its generator on its own half of the CPUs: they do not compete for CPU time
    Sides,
}

/// Where the first and the second service run in a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// CPUs of the first and the second with their generators.
    pub(super) splits: [Split; 2],
    /// Whether the second starts first.
    pub(super) reversed: bool,
    /// Whether this round undoes what the places are worth in the round before: sides exchanged, or, where there are no
    /// sides, the order.
    pub(super) swapped: bool,
}

/// The places of four rounds, which then begin again.
pub(super) fn places(topology: &Topology, placement: Placement) -> anyhow::Result<[Places; 4]> {
    let reversed = [false, true, true, false];
    let (splits, swapped) = match placement {
        Placement::Shared => {
            let split = topology.split(Wants::default());
            let turned = turned(&split);
            let both = |split: &Split| [split.clone(), split.clone()];
            (
                [both(&split), both(&split), both(&turned), both(&turned)],
                reversed,
            )
        }
        Placement::Sides => {
            let [low, high] = halves(topology)?;
            let (straight, swapped) = ([low.clone(), high.clone()], [high, low]);
            (
                [straight.clone(), swapped.clone(), straight, swapped],
                [false, true, false, true],
            )
        }
    };
    let mut splits = splits.into_iter();
    Ok([0, 1, 2, 3].map(|round| Places {
        splits: splits.next().expect("invariant: there are four"),
        reversed: reversed[round],
        swapped: swapped[round],
    }))
}

/// The same with the CPUs of services and generators exchanged, where there are as many of each.
fn turned(split: &Split) -> Split {
    if split.service.len() != split.generator.len() {
        return split.clone();
    }
    Split {
        service: split.generator.clone(),
        generator: split.service.clone(),
        ..split.clone()
    }
}

/// Halves the CPUs; each half holds a service and its generator, split as for a trial where it has CPUs for both.
fn halves(topology: &Topology) -> anyhow::Result<[Split; 2]> {
    let half = |cores: &[Core]| {
        Topology {
            cores: cores.to_vec(),
        }
        .split(Wants::default())
    };
    match topology.cores.as_slice() {
        [core] if core.cpus.len() >= 2 => {
            let (low, high) = core.cpus.split_at(core.cpus.len() / 2);
            let part = |cpus: &[usize]| Core {
                cpus: cpus.to_vec(),
                ..core.clone()
            };
            Ok([half(&[part(low)]), half(&[part(high)])])
        }
        [] | [_] => {
            let text =
                "a duet needs two CPUs, one for each side: compare the services with `prony compare` instead";
            Err(bad_input(anyhow!(text)))
        }
        // An odd core would make the sides unequal, so it stays idle.
        cores => {
            let middle = cores.len() / 2;
            Ok([half(&cores[..middle]), half(&cores[middle..2 * middle])])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cores: &[&[usize]]) -> Topology {
        let core = |(number, cpus): (usize, &&[usize])| Core {
            node: 0,
            package: 0,
            core: number as u32,
            cpus: cpus.to_vec(),
        };
        Topology {
            cores: cores.iter().enumerate().map(core).collect(),
        }
    }

    #[test]
    fn sides_are_equal_and_disjoint() {
        for cores in [
            vec![&[0][..], &[1]],
            vec![&[0, 1], &[2, 3], &[4, 5]],
            vec![&[0, 1]],
            vec![&[0], &[1], &[2], &[3]],
        ] {
            let [one, other] = halves(&machine(&cores)).expect("two CPUs");
            assert_eq!(one.service.len(), other.service.len());
            assert_eq!(one.generator.len(), other.generator.len());
            assert!(
                one.service
                    .as_slice()
                    .iter()
                    .all(|cpu| !other.service.as_slice().contains(cpu))
            );
            assert!(
                one.generator
                    .as_slice()
                    .iter()
                    .all(|cpu| !other.generator.as_slice().contains(cpu))
            );
        }
    }

    #[test]
    fn shared_ones_are_equal_and_turn() {
        let rounds = places(&machine(&[&[0], &[1]]), Placement::Shared).expect("two CPUs");
        assert!(rounds.iter().all(|places| places.splits[0] == places.splits[1]));
        assert_eq!(rounds[0].splits[0].service, rounds[2].splits[0].generator);
    }

    #[test]
    fn orders_and_places_are_balanced() {
        for placement in [Placement::Shared, Placement::Sides] {
            let rounds = places(&machine(&[&[0], &[1]]), placement).expect("two CPUs");
            assert_eq!(rounds.iter().filter(|places| places.swapped).count(), 2);
            assert_eq!(rounds.iter().filter(|places| places.reversed).count(), 2);
        }
    }

    #[test]
    fn one_cpu_is_too_few() {
        assert!(halves(&machine(&[&[0]])).is_err());
        assert!(halves(&machine(&[])).is_err());
    }
}
