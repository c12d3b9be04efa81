//! The two sides of the machine.

use crate::exit::bad_input;
use anyhow::anyhow;
use prony_host::{Core, Split, Topology, Wants};

/// Halves the CPUs; each half holds a service and its generator, split as for a trial where it has CPUs for both.
pub(super) fn halves(topology: &Topology) -> anyhow::Result<[Split; 2]> {
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
    fn one_cpu_is_too_few() {
        assert!(halves(&machine(&[&[0]])).is_err());
        assert!(halves(&machine(&[])).is_err());
    }
}
