//! Divides a load among workers.

use prony_host::RolePlacement;
use prony_load::{Job, Share, WarmUp};

/// The jobs of the workers at these placements, in their order; together they make the whole load. A worker has as many threads
/// as CPUs. If the load has too few connections for all threads, the last workers get fewer, and workers without threads get no
/// job.
pub(super) fn jobs(whole: &Job, places: &[&RolePlacement]) -> Vec<Job> {
    let mut left = whole.load.shareable().max(1);
    let mut threads = Vec::new();
    for (number, place) in places.iter().enumerate() {
        // Leaves at least one connection for each later worker, if there are enough.
        let behind = u32::try_from(places.len() - number - 1).unwrap_or(u32::MAX);
        let wanted = u32::try_from(place.cpus.len()).unwrap_or(u32::MAX).max(1);
        let own = wanted.min(left.saturating_sub(behind).max(1)).min(left);
        left -= own;
        threads.push(own);
    }
    let working = threads.iter().take_while(|&&threads| threads > 0).count();
    let named = places.iter().zip(&threads).take(working);
    let shares = Share::split(named.map(|(place, &threads)| (place.host.as_str(), threads)));
    let with = |((share, place), &threads): ((Share, &&RolePlacement), &u32)| Job {
        threads,
        cpus: place.cpus.as_slice().to_vec(),
        share: Some(share),
        phases: prony_load::PhaseDurations {
            warm_up: held(whole.phases.warm_up),
            ..whole.phases.clone()
        },
        ..whole.clone()
    };
    shares.into_iter().zip(places).zip(&threads).map(with).collect()
}

/// A warm-up that lasts until a command ends it, so that all workers start their measurement at the same time.
fn held(warm_up: WarmUp) -> WarmUp {
    /// Without a command for this long after the limit, a worker assumes that it has lost its controller.
    const UNTOLD_NS: u64 = 60_000_000_000;
    match warm_up {
        WarmUp::FixedNs(ns) => WarmUp::UntilTold {
            limit_ns: ns.saturating_add(UNTOLD_NS),
        },
        WarmUp::UntilTold { limit_ns } => WarmUp::UntilTold {
            limit_ns: limit_ns.saturating_add(UNTOLD_NS),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::TestbedFile;
    use crate::testbed::placement::{Site, across};
    use prony_host::{Core, CpuDemand, Cpus, Topology};
    use prony_load::{
        Body, Check, ConnectOptions, Expectation, Limits, Load, Operation, PhaseDurations, Protocol, Request,
        Target, Template, TransportChoice, Workload,
    };
    use proptest::prelude::*;
    use std::path::Path;
    use std::time::Instant;

    fn place(host: &str, cpus: usize) -> RolePlacement {
        RolePlacement {
            host: host.to_owned(),
            cpus: (0..cpus).collect::<Cpus>(),
            ..RolePlacement::default()
        }
    }

    fn job(connections: u32) -> Job {
        let operation = Operation {
            name: "a".to_owned(),
            request: Request {
                method: "GET".to_owned(),
                path: Template::literal("/"),
                headers: Vec::new(),
                body: Body::None,
            },
            expect: Expectation::default(),
        };
        Job {
            target: Target {
                url: "http://a/".to_owned(),
                host: "a".to_owned(),
                port: 80,
                authority: "a".to_owned(),
                tls: None,
                connect: ConnectOptions::default(),
                credentials: None,
            },
            protocol: Protocol::Http1,
            load: Load::closed(connections, 1),
            workload: Workload::of(operation),
            phases: PhaseDurations {
                warm_up: WarmUp::FixedNs(0),
                measurement_ns: 1,
                drain_ns: 1,
            },
            limits: Limits::default(),
            timeout_ns: 1,
            check: Check { share: 1.0, keep: 1 },
            threads: 1,
            cpus: Vec::new(),
            transport: TransportChoice::Auto,
            interval_ns: 1,
            seed: 1,
            log: None,
            share: None,
            count_replies: false,
        }
    }

    /// Measures the time from the testbed file to the jobs of all workers, without any process.
    #[test]
    fn five_hundred_workers_are_planned() {
        const WORKERS: usize = 500;
        let began = Instant::now();
        let text = format!(
            "[kubernetes]\nnamespace = \"n\"\nimage = \"i\"\n[host.app]\ncpus = 8\n[host.load]\nreplicas = {WORKERS}\n\
             cpus = 2\n[roles]\nservice = \"app\"\nload = \"load\"\n"
        );
        let file = TestbedFile::parse(Path::new("testbed.toml"), &text).expect("sound");
        let two = Topology {
            cores: (0..2)
                .map(|cpu| Core {
                    node: 0,
                    package: 0,
                    core: cpu as u32,
                    cpus: vec![cpu],
                })
                .collect(),
        };
        let sites: Vec<Site<'_>> = file
            .hosts
            .iter()
            .map(|host| Site {
                name: &host.name,
                topology: &two,
                all: &two,
                address: "10.0.0.1",
            })
            .collect();
        let workers: Vec<usize> = (1..=WORKERS).collect();
        let placement = across(&sites, (0, 1, &workers), CpuDemand::default());
        let places: Vec<&RolePlacement> = placement.workers.iter().collect();
        let jobs = jobs(&job(10_000), &places);
        let bytes: usize = jobs
            .iter()
            .map(|job| serde_json::to_string(job).expect("plain").len())
            .sum();
        assert_eq!(jobs.len(), WORKERS);
        assert_eq!(jobs.iter().map(Job::own_connections).sum::<u32>(), 10_000);
        assert_eq!(
            jobs[499].share.as_ref().map(|share| share.worker.as_str()),
            Some("load-499")
        );
        println!(
            "{WORKERS} workers are planned in {:.1} ms; their jobs have {} KiB in all",
            began.elapsed().as_secs_f64() * 1e3,
            bytes >> 10
        );
    }

    proptest! {
        #[test]
        fn the_shares_are_the_whole(cpus in prop::collection::vec(1..9_usize, 1..6), connections in 1..40_u32) {
            let places: Vec<RolePlacement> = cpus.iter().map(|&cpus| place("w", cpus)).collect();
            let whole = job(connections);
            let jobs = jobs(&whole, &places.iter().collect::<Vec<_>>());
            prop_assert_eq!(jobs.iter().map(Job::own_connections).sum::<u32>(), connections);
            prop_assert!(!jobs.is_empty() && jobs.len() <= places.len());
            prop_assert!(jobs.len() == places.len() || jobs.len() == connections as usize);
            let shares = jobs.iter().map(|job| job.share.as_ref().expect("a share"));
            let all: u32 = jobs.iter().map(|job| job.threads).sum();
            prop_assert!(shares.clone().all(|share| share.of_threads == all));
            prop_assert!(jobs.iter().zip(&cpus).all(|(job, &cpus)| job.threads as usize <= cpus && job.threads > 0));
        }
    }
}
