//! When requests or users are due: a rate profile, a spacing, and the schedule they give.
//!
//! Every profile is an intensity λ(t). With Λ(t) = ∫₀ᵗ λ, the k-th event of an even spacing is due at Λ⁻¹(k), and the
//! k-th of a Poisson process at Λ⁻¹(E₁ + … + `E_k`) with independent unit exponentials (inversion of the cumulative
//! intensity: Çinlar, *Introduction to Stochastic Processes*, 1975, §4.7; Lewis and Shedler, 1979).

use crate::Rate;
use rand::{Rng as _, RngExt as _, SeedableRng as _, rngs::SmallRng};
use serde::{Deserialize, Serialize};

/// When events are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// How the rate changes with time.
    pub profile: Profile,
    /// How events lie within it.
    pub spacing: Spacing,
}

/// How the rate changes with time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Profile {
    /// The same rate all the time.
    Constant {
        /// The rate, events per second.
        rate: Rate,
    },
    /// Linear from one rate to another, then held.
    Ramp {
        /// Rate at the start, events per second.
        from: Rate,
        /// Rate at the end of the ramp and after it, events per second.
        to: Rate,
        /// Length of the ramp, ns.
        over_ns: u64,
    },
    /// A rate that rises by the same step each time.
    Staircase {
        /// Rate of the first stair, events per second.
        from: Rate,
        /// Rise of each stair, events per second.
        step: Rate,
        /// Length of a stair, ns.
        every_ns: u64,
    },
}

/// How events lie within a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// As evenly as the profile allows.
    #[default]
    Even,
    /// A Poisson process: independent of each other, as requests of many independent users are.
    Poisson,
}

const NS: f64 = 1e9;

impl Profile {
    /// Λ⁻¹: the time in seconds at which `events` events are due.
    fn time_of(&self, events: f64) -> f64 {
        match *self {
            Self::Constant { rate } => events / rate.as_per_second(),
            Self::Ramp { from, to, over_ns } => ramp_time(from, to, over_ns as f64 / NS, events),
            Self::Staircase { from, step, every_ns } => {
                staircase_time(from, step, every_ns as f64 / NS, events)
            }
        }
    }

    /// Λ: how many events are due in the first `seconds` seconds.
    pub fn events_within(&self, seconds: f64) -> f64 {
        match *self {
            Self::Constant { rate } => rate.as_per_second() * seconds,
            Self::Ramp { from, to, over_ns } => {
                let (low, high, over) = (from.as_per_second(), to.as_per_second(), over_ns as f64 / NS);
                let inside = seconds.min(over);
                let risen = if over > 0.0 {
                    (high - low) * inside * inside / (2.0 * over)
                } else {
                    0.0
                };
                low * inside + risen + high * (seconds - inside)
            }
            Self::Staircase { from, step, every_ns } => {
                let every = every_ns as f64 / NS;
                let stairs = (seconds / every).floor();
                let full = every
                    * (stairs * from.as_per_second() + step.as_per_second() * stairs * (stairs - 1.0) / 2.0);
                full + (seconds - stairs * every) * (from.as_per_second() + stairs * step.as_per_second())
            }
        }
    }
}

/// Solves `from·t + (to − from)·t²/(2·over) = events` on the ramp, and goes on at `to` after it.
fn ramp_time(from: Rate, to: Rate, over: f64, events: f64) -> f64 {
    let (low, high) = (from.as_per_second(), to.as_per_second());
    let on_ramp = f64::midpoint(low, high) * over;
    if events >= on_ramp {
        return over + (events - on_ramp) / high;
    }
    // The form 2c / (b + √(b² + 4ac)) of the root keeps its digits where the ramp is almost flat.
    let slope = (high - low) / over;
    2.0 * events / (low + (low * low + 2.0 * slope * events).max(0.0).sqrt())
}

fn staircase_time(from: Rate, step: Rate, every: f64, events: f64) -> f64 {
    let (first, rise) = (from.as_per_second(), step.as_per_second());
    // n full stairs hold every·(n·first + rise·n(n−1)/2) events; solve for n, then walk inside the next stair.
    let half = rise / 2.0;
    let linear = first - half;
    let root = ((linear * linear + 4.0 * half * events / every).sqrt() - linear) / (2.0 * half);
    let mut stairs = root.floor().max(0.0);
    let before = |n: f64| every * (n * first + half * n * (n - 1.0));
    // Rounding may put an event that lies on an edge one stair off.
    while stairs > 0.0 && before(stairs) > events {
        stairs -= 1.0;
    }
    while before(stairs + 1.0) <= events {
        stairs += 1.0;
    }
    stairs * every + (events - before(stairs)) / (first + stairs * rise)
}

/// The due times of one thread's share of an arrival, in ns from the start of the load, never decreasing, without end.
///
/// Thread `thread` of `threads` gets every `threads`-th event of an even spacing, and an independent process of the
/// `threads`-th part of the rate of a Poisson one (the superposition of these is the whole process).
#[derive(Debug, Clone)]
pub struct Schedule {
    profile: Profile,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Even {
        next: u64,
        stride: u64,
    },
    Poisson {
        events: f64,
        share: f64,
        random: SmallRng,
    },
}

impl Schedule {
    /// The share of thread `thread` (from 0) of `threads`.
    pub fn new(arrival: &Arrival, seed: u64, thread: u32, threads: u32) -> Self {
        assert!(thread < threads, "thread {thread} of {threads}");
        let kind = match arrival.spacing {
            Spacing::Even => Kind::Even {
                next: u64::from(thread),
                stride: u64::from(threads),
            },
            Spacing::Poisson => {
                let mut seeder = SmallRng::seed_from_u64(seed);
                // One draw per thread before it: threads of one seed do not share a stream.
                let own = (0..=thread)
                    .map(|_| seeder.next_u64())
                    .last()
                    .expect("at least one draw");
                Kind::Poisson {
                    events: 0.0,
                    share: f64::from(threads),
                    random: SmallRng::seed_from_u64(own),
                }
            }
        };
        Self {
            profile: arrival.profile,
            kind,
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let events = match &mut self.kind {
            Kind::Even { next, stride } => {
                let events = *next as f64;
                *next += *stride;
                events
            }
            Kind::Poisson {
                events,
                share,
                random,
            } => {
                let uniform: f64 = random.random();
                // 1 − u lies in (0, 1], where the logarithm is finite.
                *events -= (1.0 - uniform).ln() * *share;
                *events
            }
        };
        Some((self.profile.time_of(events) * NS).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(per_second: f64) -> Rate {
        Rate::per_second(per_second).expect("a rate")
    }

    fn even(profile: Profile) -> Schedule {
        Schedule::new(
            &Arrival {
                profile,
                spacing: Spacing::Even,
            },
            1,
            0,
            1,
        )
    }

    #[test]
    fn constant_rate_is_a_grid() {
        let times: Vec<u64> = even(Profile::Constant { rate: rate(1000.0) }).take(4).collect();
        assert_eq!(times, [0, 1_000_000, 2_000_000, 3_000_000]);
    }

    #[test]
    fn threads_share_the_grid() {
        let arrival = Arrival {
            profile: Profile::Constant { rate: rate(1000.0) },
            spacing: Spacing::Even,
        };
        let mut all: Vec<u64> = (0..3)
            .flat_map(|thread| Schedule::new(&arrival, 1, thread, 3).take(100))
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..300).map(|k| k * 1_000_000).collect::<Vec<u64>>());
    }

    #[test]
    fn a_ramp_holds_its_last_rate() {
        // 10/s to 100/s over 30 s holds 55 × 30 = 1,650 events, then 100/s for 60 s: 6,000.
        let within = even(Profile::Ramp {
            from: rate(10.0),
            to: rate(100.0),
            over_ns: 30_000_000_000,
        })
        .take_while(|&ns| ns < 90_000_000_000)
        .count();
        assert_eq!(within, 7_650);
    }

    #[test]
    fn a_staircase_rises_each_step() {
        let times: Vec<u64> = even(Profile::Staircase {
            from: rate(10.0),
            step: rate(10.0),
            every_ns: 1_000_000_000,
        })
        .take(60)
        .collect();
        for (stair, expected) in [10, 20, 30].into_iter().enumerate() {
            let (low, high) = (stair as u64 * 1_000_000_000, (stair as u64 + 1) * 1_000_000_000);
            assert_eq!(
                times.iter().filter(|&&ns| ns >= low && ns < high).count(),
                expected,
                "stair {stair}"
            );
        }
    }

    #[test]
    fn poisson_counts_have_their_mean_and_variance() {
        let arrival = Arrival {
            profile: Profile::Constant { rate: rate(1000.0) },
            spacing: Spacing::Poisson,
        };
        let counts: Vec<f64> = (0..400)
            .map(|seed| {
                (0..2)
                    .map(|thread| {
                        Schedule::new(&arrival, seed, thread, 2)
                            .take_while(|&ns| ns < 1_000_000_000)
                            .count()
                    })
                    .sum::<usize>() as f64
            })
            .collect();
        let mean = counts.iter().sum::<f64>() / 400.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 399.0;
        // Standard errors: √(1000/400) = 1.6 of the mean, 1000·√(2/399) = 71 of the variance; five of each.
        assert!((mean - 1000.0).abs() < 8.0, "mean {mean}");
        assert!((variance - 1000.0).abs() < 355.0, "variance {variance}");
    }

    proptest! {
        #[test]
        fn times_never_fall_and_match_the_intensity(
            kind in 0..3u8, first in 1.0..5000.0f64, second in 1.0..5000.0f64, seconds in 0.1..20.0f64, poisson: bool
        ) {
            let ns = (seconds * NS) as u64;
            let profile = match kind {
                0 => Profile::Constant { rate: rate(first) },
                1 => Profile::Ramp { from: rate(first), to: rate(second), over_ns: ns },
                _ => Profile::Staircase { from: rate(first), step: rate(second), every_ns: ns },
            };
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Even };
            let times: Vec<u64> = Schedule::new(&Arrival { profile, spacing }, 7, 0, 1).take(2000).collect();
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
            if !poisson {
                for (k, &time) in times.iter().enumerate() {
                    // Rounding to whole ns may move Λ by the rate times 1 ns.
                    prop_assert!((profile.events_within(time as f64 / NS) - k as f64).abs() < 1e-3);
                }
            }
        }
    }
}
