//! The rounds of a duet: both services fresh, warm at the same time, measured at the same time.

use super::placement::Places;
use super::player::Player;
use super::round::Round;
use super::{Tell, Wish};
use crate::BenchError;
use crate::testbed::{Link, network_bound};
use crate::{Began, Built, ConcurrentSlot, RunContext, Trial, TrialPlacement, enter};
use prony_config::contract::Contract;
use prony_config::{Plan, PlannedTrial, Service};
use prony_records::{Bottleneck, Command, Exclusion};
use std::time::{Duration, Instant};

/// Longest wait for the two to come to the same point.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Stage<'a> {
    pub(super) bench: RunContext<'a>,
    pub(super) wish: &'a Wish<'a>,
    pub(super) plan: &'a Plan,
    pub(super) contract: &'a Contract,
    pub(super) services: [&'a Service; 2],
    pub(super) built: &'a [Built],
    pub(super) places: [Places; 4],
    /// The network between the hosts of a lab.
    pub(super) links: &'a [Link],
}

impl Stage<'_> {
    /// The rounds of the plan, until the user has had enough; each is given to `keep` as it ends.
    pub(super) fn play(
        &self,
        tell: Tell<'_>,
        keep: &mut dyn FnMut(&Round) -> Result<(), BenchError>,
    ) -> Result<Vec<Round>, BenchError> {
        let rounds = self.plan.rounds;
        let began = Instant::now();
        let mut played = Vec::new();
        for round in 0..rounds {
            if self.bench.cancel.is_asked() || self.is_late(round, began) {
                break;
            }
            let done = self.round(round)?;
            keep(&done)?;
            let [first, second] = done.goodput_per_s;
            tell(&format!(
                "[{}/{rounds}] {first:.0}/s and {second:.0}/s, {} windows",
                round + 1,
                done.ratios.len()
            ));
            played.push(done);
        }
        Ok(played)
    }

    /// Whether two further rounds, as long as those so far, would end too late. Both orders of starts are played as often.
    fn is_late(&self, round: u32, began: Instant) -> bool {
        let Some(until) = self.wish.until.filter(|_| round >= 2 && round.is_multiple_of(2)) else {
            return false;
        };
        Instant::now() + 2 * began.elapsed() / round > until
    }

    /// What is not as it should be where they run, and was not in these rounds.
    pub(super) fn warnings(&self, rounds: &[Round]) -> Vec<String> {
        let mut texts: Vec<String> = self
            .places
            .iter()
            .flat_map(|places| &places.placement.warnings)
            .map(|warning| warning.text.clone())
            .collect();
        texts.sort();
        texts.dedup();
        texts.extend(full_network(rounds));
        texts
    }

    fn round(&self, round: u32) -> Result<Round, BenchError> {
        let places = &self.places[(round % 4) as usize];
        let order = if places.reversed { [1, 0] } else { [0, 1] };
        let mut players: [Option<Player>; 2] = [None, None];
        for index in order {
            players[index] = Some(self.enter(index, round, places)?);
        }
        let mut players = players.map(|player| player.expect("invariant: both have entered"));
        self.together(&mut players)?;
        let began = players.each_ref().map(|player| player.began);
        let [first, second] = players;
        let measured = |player: Player, index: usize| {
            let measured = player.measurement(&self.bench, self.contract);
            let label = self.services[index].label();
            measured.map_err(|reason| BenchError::Failed(format!("{label}: {reason}")))
        };
        let mut both = [measured(first, 0)?, measured(second, 1)?];
        // Both loads go over the same network at the same time.
        let recordings = both.each_ref().map(|measurement| &measurement.recording);
        let bound = network_bound(&recordings, self.links, &self.bench.lab.service().name);
        for measurement in &mut both {
            measurement.warnings.extend(bound.clone());
        }
        let mut done = Round::of(places.reversed, &both);
        for (index, measurement) in both.into_iter().enumerate() {
            let trial = self.trial(index, round);
            done.trials.push(trial.record(began[index], Ok(measurement)));
        }
        Ok(done)
    }

    /// The trial that one of the two is in a round.
    fn trial(&self, index: usize, round: u32) -> Trial<'_> {
        Trial {
            plan: self.plan,
            planned: PlannedTrial {
                place: 2 * round + index as u32,
                round,
                entry: index,
            },
            service: self.services[index],
            built: &self.built[index],
            contract: self.contract,
        }
    }

    /// Starts a service in its place, checks it, and begins its load.
    fn enter(&self, index: usize, round: u32, places: &Places) -> Result<Player, BenchError> {
        let service = self.services[index];
        let began = Began::now();
        let seat = TrialPlacement {
            placement: places.placement.clone(),
            lane: Some(ConcurrentSlot {
                number: index,
                warm_up_limit: self.wish.warm_up + PATIENCE,
                yardstick: false,
            }),
        };
        let entered = enter(&self.bench, &self.trial(index, round), &seat, &mut |_| {});
        let entered = entered.map_err(|excluded| self.failed(service, &excluded))?;
        Ok(Player::new(entered, began))
    }

    fn failed(&self, service: &Service, excluded: &Exclusion) -> BenchError {
        if self.bench.cancel.is_now() {
            return ended();
        }
        BenchError::Failed(format!("{}: {}", service.label(), excluded.reason))
    }

    /// Warms both up, begins both measurements at once, and waits for both recordings. The warm-up counts from when both are under load.
    fn together(&self, players: &mut [Player; 2]) -> Result<(), BenchError> {
        let mut until = Instant::now() + PATIENCE;
        let mut warm = None;
        let mut told = false;
        while players.iter().any(|player| !player.is_done()) {
            for (player, service) in players.iter_mut().zip(self.services) {
                player
                    .hear()
                    .map_err(|reason| BenchError::Failed(format!("{}: {reason}", service.label())))?;
            }
            if warm.is_none() && players.iter().all(|player| player.is_loaded) {
                let end = Instant::now() + self.wish.warm_up;
                warm = Some(end);
                until = end + self.wish.pair.duration + PATIENCE;
            }
            if !told && warm.is_some_and(|end| Instant::now() >= end) {
                for player in players.iter_mut() {
                    player.tell(Command::Measure);
                }
                told = true;
            }
            if self.bench.cancel.is_now() {
                return Err(ended());
            }
            if Instant::now() > until {
                return Err(self.too_late(players));
            }
        }
        Ok(())
    }

    fn too_late(&self, players: &[Player; 2]) -> BenchError {
        let late = players.iter().zip(self.services);
        let what: Vec<String> = late
            .filter(|(player, _)| !player.is_done())
            .map(|(player, service)| {
                let not_done = if player.is_loaded { "end" } else { "begin" };
                format!("the load of {} did not {not_done} in time", service.label())
            })
            .collect();
        BenchError::Failed(what.join(", and "))
    }
}

/// That the network was the limit, with how many rounds it was that in.
fn full_network(rounds: &[Round]) -> Option<String> {
    let of = |round: &Round| {
        let trials = round.trials.iter().filter_map(|trial| trial.result.as_ref().ok());
        let mut warnings = trials.flat_map(|measurement| &measurement.warnings);
        let found = warnings.find(|warning| warning.kind.facts().bottleneck == Some(Bottleneck::Network));
        found.map(|warning| warning.text.clone())
    };
    let full: Vec<String> = rounds.iter().filter_map(of).collect();
    let text = full.first()?;
    Some(format!("in {} of {} rounds {text}", full.len(), rounds.len()))
}

fn ended() -> BenchError {
    BenchError::Interrupted("ended by the user".to_owned())
}
