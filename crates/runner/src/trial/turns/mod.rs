//! The story of a round in turns: all services of a group are started and warmed up, then loaded one after the other in
//! short windows, in a random order, many times. Who has no turn stands still.
//!
//! Windows of one cycle lie within seconds of each other, so that what the machine is like meets all of them alike. The
//! unit of every estimate stays the fresh start: `prony_statistics` makes one value of the windows of a start.

mod neighbours;
mod no_load;
mod player;
mod warm;
mod warming;

use super::Trial;
use crate::Progress;
use crate::RunContext;
use player::{Player, Slot};
use prony_records::TrialRecord;
use rand::seq::SliceRandom as _;
use rand::{SeedableRng as _, rngs::SmallRng};
use std::time::Duration;

/// How turns are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnsOf {
    /// Length of a window.
    pub window: Duration,
    /// Windows of each service.
    pub cycles: u32,
}

/// Cycles below which a round that the user ended early says nothing.
const FEWEST_CYCLES: u32 = 3;
/// Memory that is left free on the machine, bytes: services grow under load.
const SPARE_BYTES: u64 = 1 << 30;

/// Does the trials of one group and round in turns. The records are in the order of the trials; `None`: the user asked to
/// stop now.
pub fn run_turns(
    bench: &RunContext<'_>,
    trials: &[Trial<'_>],
    turns: TurnsOf,
    watch: &mut dyn FnMut(Progress),
) -> Option<Vec<TrialRecord>> {
    let mut records = Vec::new();
    let mut waiting = trials;
    let mut block = 0;
    // The first service stays for all blocks: by it they are put at one level.
    let mut control: Option<Player<'_>> = None;
    while !waiting.is_empty() {
        let mut players: Vec<Player<'_>> = control.take().into_iter().collect();
        waiting = enter_all(bench, waiting, trials.len() - waiting.len(), &mut players, watch);
        let enough = cycles(bench, &mut players, turns, block, watch);
        if !enough || players.iter().any(Player::interrupted) {
            return None;
        }
        block += 1;
        if bench.cancel.is_asked() {
            waiting = &[];
        }
        let leaving = players.split_off(usize::from(!waiting.is_empty()));
        control = players.pop();
        for player in leaving {
            records.push(player.leave(watch)?);
        }
    }
    if let Some(control) = control {
        records.push(control.leave(watch)?);
    }
    records.sort_by_key(|record| record.place);
    Some(records)
}

/// Starts and warms up as many as memory allows, one at least; what is left waits for the next block.
fn enter_all<'a>(
    bench: &'a RunContext<'a>,
    waiting: &'a [Trial<'a>],
    first: usize,
    players: &mut Vec<Player<'a>>,
    watch: &mut dyn FnMut(Progress),
) -> &'a [Trial<'a>] {
    let before = players.len();
    let mut largest = 0;
    for (index, trial) in waiting.iter().enumerate() {
        if bench.cancel.is_now() {
            return &[];
        }
        let room = bench.host().memory_available_bytes();
        if players.len() > before && room.is_some_and(|room| room < largest + SPARE_BYTES) {
            return &waiting[index..];
        }
        watch(Progress::Enters {
            place: trial.planned.place,
        });
        let mut player = Player::enter(bench, *trial, first + index, watch);
        largest = largest.max(player.memory_bytes().unwrap_or(0));
        players.push(player);
    }
    &[]
}

/// All cycles of a block; says whether there were enough.
fn cycles(
    bench: &RunContext<'_>,
    players: &mut [Player<'_>],
    turns: TurnsOf,
    block: u32,
    watch: &mut dyn FnMut(Progress),
) -> bool {
    let Some(seed) = players.first().map(|player| player.trial.seed()) else {
        return false;
    };
    let mut random = SmallRng::seed_from_u64(seed.wrapping_add(u64::from(block)));
    for number in 0..turns.cycles {
        if bench.cancel.is_now() {
            return false;
        }
        if bench.cancel.is_asked() {
            return number >= FEWEST_CYCLES;
        }
        watch(Progress::Cycle {
            number: number + 1,
            of: turns.cycles,
        });
        let mut order: Vec<usize> = (0..players.len()).collect();
        order.shuffle(&mut random);
        // Cycles of different blocks are different cycles.
        let cycle = block * turns.cycles + number;
        for (place, index) in (0..).zip(order) {
            let player = &mut players[index];
            if player.plays() {
                player.turn(Slot { block, cycle, place }, turns.window, watch);
            }
        }
    }
    true
}
