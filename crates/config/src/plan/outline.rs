//! What a plan will do, in words: for people who want to know it before it runs.

use crate::{Channel, Design, Entry, GroupPlan, Plan, Starts, WarmUpChoice};
use prony_load::{Arrival, DurationText, Load, Profile, Rate, Search, Spacing};
use serde::Serialize;
use std::time::Duration;

/// What a plan will do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanOutline {
    pub suite: String,
    pub title: String,
    pub profile: Option<String>,
    /// The largest number of rounds.
    pub rounds: u32,
    /// The number of trials of all rounds.
    pub trials: u32,
    /// The number of builds of each service.
    pub builds: u32,
    /// `sequence`, `interleaved`, `starts`, `duet` or `regression`.
    pub design: &'static str,
    pub starts: Starts,
    /// The approximate time of the run, s.
    pub expected_s: f64,
    /// Time after which no new round starts, s.
    pub budget_s: Option<f64>,
    pub groups: Vec<GroupOutline>,
}

/// Services under a workload and a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupOutline {
    pub contract: String,
    pub workload: String,
    /// The load, in words.
    pub load: String,
    /// The search for the highest rate, in words.
    pub capacity: Option<String>,
    /// The protocols over which services are measured.
    pub protocols: Vec<Channel>,
    /// The services as `name/variant`, in the order of the suite.
    pub services: Vec<String>,
    /// The warm-up, in words.
    pub warm_up: String,
    /// The length of each measurement, s.
    pub duration_s: f64,
    /// The name of the metric of the ranking, if the suite sets one.
    pub rank_by: Option<&'static str>,
    /// What is measured of the start of its services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<&'static str>,
    /// The number of rounds in which it takes part, if they are not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// The number of trials of a round.
    pub trials_per_round: u32,
}

impl Plan {
    /// What the plan will do.
    pub fn outline(&self) -> PlanOutline {
        let groups = self.groups.iter().enumerate();
        PlanOutline {
            suite: self.suite.clone(),
            title: self.title.clone(),
            profile: self.profile.clone(),
            rounds: self.rounds,
            trials: self.len(),
            builds: self.builds,
            design: match self.design {
                Design::Sequence => "sequence",
                Design::Interleaved { .. } => "interleaved",
                Design::Starts => "starts",
                Design::Paired { .. } => "paired",
                Design::Duet => "duet",
                Design::Regression => "regression",
            },
            starts: self.starts,
            expected_s: self.expected().as_secs_f64(),
            budget_s: self.budget_ns.map(|ns| Duration::from_nanos(ns).as_secs_f64()),
            groups: groups
                .map(|(index, group)| self.outline_of(index, group))
                .collect(),
        }
    }

    fn outline_of(&self, index: usize, group: &GroupPlan) -> GroupOutline {
        let entries: Vec<&Entry> = self.entries.iter().filter(|entry| entry.group == index).collect();
        let mut protocols = Vec::new();
        let mut services = Vec::new();
        for entry in &entries {
            if !protocols.contains(&entry.channel) {
                protocols.push(entry.channel);
            }
            let label = format!("{}/{}", entry.service, entry.variant);
            if !services.contains(&label) {
                services.push(label);
            }
        }
        GroupOutline {
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: load_in_words(&group.load) + &connections_in_words(group),
            capacity: group.search.as_ref().map(search_in_words),
            protocols,
            services,
            warm_up: match group.warm_up {
                WarmUpChoice::FixedNs(0) => "none".to_owned(),
                WarmUpChoice::FixedNs(ns) => time(ns),
                WarmUpChoice::Steady { least_ns, most_ns } => {
                    format!("until steady, {} to {}", time(least_ns), time(most_ns))
                }
            },
            duration_s: Duration::from_nanos(group.duration_ns).as_secs_f64(),
            rank_by: group.rank_by.map(crate::RankBy::name),
            start: group.start.map(|start| start.measures.name()),
            rounds: group.rounds,
            trials_per_round: entries.len() as u32,
        }
    }
}

fn load_in_words(load: &Load) -> String {
    let in_flight_each = |in_flight: u32| match in_flight {
        1 => String::new(),
        several => format!(", {several} requests in flight on each"),
    };
    let rooms =
        |members: Option<u32>| members.map_or_else(String::new, |size| format!(" in rooms of {size}"));
    match load {
        Load::Closed {
            connections,
            in_flight,
            think_ns,
            members,
            ..
        } => {
            format!(
                "closed: {}{}{}{}",
                counted(*connections, "connection"),
                rooms(*members),
                in_flight_each(*in_flight),
                between_requests(*think_ns)
            )
        }
        Load::Open {
            arrival,
            connections,
            in_flight,
            members,
            ..
        } => format!(
            "open: {} on {}{}{}",
            arrival_in_words(arrival),
            counted(*connections, "connection"),
            rooms(*members),
            in_flight_each(*in_flight)
        ),
        Load::Users {
            arrival,
            requests_per_user,
            think_ns,
            ..
        } => {
            format!(
                "users: {}, {} each{}",
                arrival_in_words(arrival),
                counted(*requests_per_user, "request"),
                between_requests(*think_ns)
            )
        }
    }
}

/// What becomes of connections, if they do not stay open.
fn connections_in_words(group: &GroupPlan) -> String {
    let requests = group
        .requests_per_connection
        .map_or_else(String::new, |requests| {
            format!(", {} on each connection", counted(requests, "request"))
        });
    let resumption = match group.resumption {
        None => "",
        Some(true) => ", TLS sessions resumed",
        Some(false) => ", full TLS handshakes",
    };
    requests + resumption
}

fn between_requests(think_ns: u64) -> String {
    match think_ns {
        0 => String::new(),
        ns => format!(", {} between requests", time(ns)),
    }
}

fn arrival_in_words(arrival: &Arrival) -> String {
    let rates = match &arrival.profile {
        Profile::Constant { rate } => rate.to_string(),
        Profile::Ramp { from, to, over_ns } => format!("{from} to {to} over {}", time(*over_ns)),
        Profile::StepLoad { from, step, every_ns } => {
            format!("{from}, {step} more every {}", time(*every_ns))
        }
        Profile::Stages { .. } => "a rate in stages".to_owned(),
    };
    match arrival.spacing {
        Spacing::Even => rates,
        Spacing::Poisson => rates + " at random times",
    }
}

fn search_in_words(search: &Search) -> String {
    let to: Rate = search.limit;
    format!(
        "highest rate up to {to} with {}, {} at each",
        search.objective,
        time(search.step_ns)
    )
}

fn time(ns: u64) -> String {
    DurationText(Duration::from_nanos(ns)).to_string()
}

fn counted(count: u32, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        several => format!("{several} {noun}s"),
    }
}
