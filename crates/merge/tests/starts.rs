//! Workers with their own clocks that start together: a simulation without time, sockets or processes. Clocks have offsets and
//! drift, paths are slow in one direction or lose messages; whatever they do, the reported bounds must hold.

use prony_merge::clock::{Clock, ClockError, FEWEST_TRIPS, LEAD_NS, RoundTrip, Start, common_start};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

const MS: u64 = 1_000_000;

/// A machine with its clock and the network path to it.
#[derive(Debug, Clone)]
struct Machine {
    /// Its clock when the controller's clock is 0, ns.
    begin_ns: u64,
    drift_ppb: i64,
    /// Shortest time of a message there and back, ns.
    there_ns: u64,
    back_ns: u64,
    /// Mean additional delay, ns.
    jitter_ns: u64,
    /// Lost messages per thousand. A lost message is sent again after 200 ms.
    lost: u32,
}

impl Machine {
    /// Converts a time of the controller's clock to its own clock.
    fn clock_ns(&self, local_ns: u64) -> u64 {
        let drifted = i128::from(local_ns) * i128::from(self.drift_ppb) / 1_000_000_000;
        (i128::from(self.begin_ns) + i128::from(local_ns) + drifted) as u64
    }

    /// Converts a time of its own clock to the controller's clock.
    fn local_ns(&self, clock_ns: u64) -> u64 {
        let since = i128::from(clock_ns) - i128::from(self.begin_ns);
        (since * 1_000_000_000 / (1_000_000_000 + i128::from(self.drift_ppb))) as u64
    }

    fn way(&self, shortest: u64, random: &mut SmallRng) -> u64 {
        let uniform: f64 = random.random();
        let jitter = -(1.0 - uniform).ln() * self.jitter_ns as f64;
        let again = (0..10)
            .take_while(|_| random.random_range(0..1_000) < self.lost)
            .count() as u64;
        shortest + jitter as u64 + again * 200 * MS
    }

    /// Measures its clock by round trips that start at this time of the controller's clock; also returns the time when they
    /// ended.
    fn measured(&self, mut now_ns: u64, random: &mut SmallRng) -> (Clock, u64) {
        let trips: Vec<RoundTrip> = (0..24)
            .map(|_| {
                let there = now_ns + self.way(self.there_ns, random);
                let received_ns = there + self.way(self.back_ns, random);
                let trip = RoundTrip {
                    sent_ns: now_ns,
                    remote_ns: self.clock_ns(there),
                    received_ns,
                };
                now_ns = received_ns + MS;
                trip
            })
            .collect();
        (Clock::measured(&trips).expect("enough trips"), now_ns)
    }
}

fn machine(random: &mut SmallRng) -> Machine {
    Machine {
        begin_ns: random.random_range(0..30 * 86_400 * 1_000 * MS),
        drift_ppb: random.random_range(-99_000..99_000),
        there_ns: random.random_range(20_000..2_000_000),
        back_ns: random.random_range(20_000..2_000_000),
        jitter_ns: random.random_range(1_000..500_000),
        lost: random.random_range(0..20),
    }
}

/// The result of a start.
#[derive(Debug)]
struct StartSpread {
    /// True spread of the workers' starts, ns of the controller's clock.
    spread_ns: u64,
    /// Upper limit of the spread according to the plan.
    planned_ns: u64,
    /// Upper limit of the spread according to the record.
    bound_ns: u64,
    late: usize,
}

/// Measures the workers, waits, measures them again if `twice` is set, and starts them.
fn start(machines: &[Machine], rest_ns: u64, twice: bool, random: &mut SmallRng) -> StartSpread {
    let mut now = MS;
    let mut measure = |now: &mut u64| -> Vec<Clock> {
        let measured = machines.iter().map(|machine| {
            let (clock, end) = machine.measured(*now, random);
            *now = end;
            clock
        });
        measured.collect()
    };
    let mut clocks = measure(&mut now);
    now += rest_ns;
    if twice {
        let again = measure(&mut now);
        clocks = std::iter::zip(&clocks, &again)
            .map(|(first, later)| first.then(later))
            .collect();
    }
    let start = Start::earliest(now, &clocks);
    let mut late = 0;
    let began: Vec<u64> = std::iter::zip(machines, &start.remote_ns)
        .map(|(machine, &at_ns)| {
            let reading = machine.clock_ns(now + machine.way(machine.there_ns, random));
            // Like the generator, which polls every 5 ms and starts its threads at least 12 ms later.
            let soonest = reading + random.random_range(0..5 * MS) + 12 * MS;
            late += usize::from(soonest > at_ns);
            at_ns.max(soonest)
        })
        .collect();
    let truly = || std::iter::zip(machines, &began).map(|(machine, &at_ns)| machine.local_ns(at_ns));
    let recorded = std::iter::zip(clocks, began.clone()).collect::<Vec<_>>();
    let recorded = common_start(&recorded).expect("workers");
    StartSpread {
        spread_ns: truly().max().expect("workers") - truly().min().expect("workers"),
        planned_ns: start.bound_ns,
        bound_ns: recorded.bound_ns,
        late,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The bound of the record always holds; the bound of the plan holds if every worker received the command in time.
    #[test]
    fn no_worker_starts_beyond_the_recorded_bound(seed: u64, workers in 1..65usize, rest_s in 0..120u64, twice: bool) {
        let mut random = SmallRng::seed_from_u64(seed);
        let machines: Vec<Machine> = (0..workers).map(|_| machine(&mut random)).collect();
        let spread = start(&machines, rest_s * 1_000 * MS, twice, &mut random);
        prop_assert!(spread.spread_ns <= spread.bound_ns, "{:?}", spread);
        prop_assert!(spread.late > 0 || spread.spread_ns <= spread.planned_ns, "{:?}", spread);
    }

    /// The error of a clock never exceeds its stated limit, long before and after the measurement.
    #[test]
    fn a_clock_keeps_its_error_bound(seed: u64, at_s in 0..10_000u64, twice: bool) {
        let mut random = SmallRng::seed_from_u64(seed);
        let machine = machine(&mut random);
        let (mut clock, end) = machine.measured(50 * 1_000 * MS, &mut random);
        if twice {
            clock = clock.then(&machine.measured(end + 60_000 * MS, &mut random).0);
        }
        let local = at_s * 1_000 * MS;
        let wrong = clock.remote_ns(local).abs_diff(machine.clock_ns(local));
        prop_assert!(wrong <= clock.error_ns(local), "{} ns at {} s: {:?}", wrong, at_s, clock);
        let back = clock.local_ns(clock.remote_ns(local));
        prop_assert!(back.abs_diff(local) <= 2, "{} and {}", back, local);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Drift alone is never mistaken for a clock that was set.
    #[test]
    fn a_clock_step_is_distinguished_from_drift(seed: u64, after_s in 1..600u64) {
        let mut random = SmallRng::seed_from_u64(seed);
        let machine = machine(&mut random);
        let (clock, end) = machine.measured(50 * 1_000 * MS, &mut random);
        let later = end + after_s * 1_000 * MS;
        prop_assert_eq!(clock.moved_ns(&machine.measured(later, &mut random).0), None);
        let ahead = Machine { begin_ns: machine.begin_ns + 500 * MS, ..machine };
        let moved = clock.moved_ns(&ahead.measured(later, &mut random).0).expect("it was moved");
        prop_assert!((moved / MS as i64 - 500).abs() < 100, "{} ns", moved);
    }
}

#[test]
fn sixty_four_workers_begin_together() {
    in_one_network(64);
}

#[test]
fn five_hundred_workers_begin_together() {
    in_one_network(500);
}

/// A hundred starts of `workers` workers in one network.
fn in_one_network(workers: usize) {
    let mut random = SmallRng::seed_from_u64(1);
    let (mut spreads, mut bounds, mut late) = (Vec::new(), Vec::new(), 0);
    for _ in 0..100 {
        let machines: Vec<Machine> = (0..workers)
            .map(|_| Machine {
                there_ns: random.random_range(30_000..200_000),
                back_ns: random.random_range(30_000..200_000),
                jitter_ns: 50_000,
                lost: 1,
                ..machine(&mut random)
            })
            .collect();
        let spread = start(&machines, 10_000 * MS, true, &mut random);
        assert!(spread.spread_ns <= spread.bound_ns, "{spread:?}");
        late += spread.late;
        if spread.late == 0 {
            assert!(spread.spread_ns <= spread.planned_ns, "{spread:?}");
            spreads.push(spread.spread_ns);
            bounds.push(spread.bound_ns);
        }
    }
    spreads.sort_unstable();
    bounds.sort_unstable();
    let ms = |ns: u64| ns as f64 / 1e6;
    println!(
        "start of {workers} workers, {} of 100 with every command in time: spread {:.3} ms (median) {:.3} ms (largest), bound {:.3} ms \
         (median) {:.3} ms (largest); {late} of {} started late",
        spreads.len(),
        ms(spreads[spreads.len() / 2]),
        ms(spreads[spreads.len() - 1]),
        ms(bounds[bounds.len() / 2]),
        ms(bounds[bounds.len() - 1]),
        100 * workers,
    );
    assert!(spreads.len() > 50, "{}", spreads.len());
    assert!(bounds[bounds.len() / 2] < 5 * MS, "{bounds:?}");
}

#[test]
fn a_clock_that_few_have_read_is_not_known() {
    let trip = RoundTrip {
        sent_ns: 10,
        remote_ns: 1,
        received_ns: 30,
    };
    assert_eq!(
        Clock::measured(&[trip; FEWEST_TRIPS - 1]),
        Err(ClockError::TooFew(15))
    );
    let mut trips = [trip; FEWEST_TRIPS];
    let clock = Clock::measured(&trips).expect("a clock");
    assert_eq!((clock.offset_ns(), clock.error_ns(20)), (-19, 14));
    trips[3].received_ns = 5;
    assert_eq!(Clock::measured(&trips), Err(ClockError::Backwards));
    assert_eq!(common_start(&[]), None);
    assert!(Start::earliest(0, &[clock]).local_ns >= LEAD_NS);
}
