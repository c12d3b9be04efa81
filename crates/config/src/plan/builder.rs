//! Builds the plan of a suite: turns the groups of the suite into groups of a plan, and rejects impossible ones.

use crate::contract::Contract;
use crate::suite::SuiteGroup;
use crate::{
    Catalogue, Design, Entry, GroupPlan, Plan, ConfigError, PlanOverrides, RankBy, Service, Starts, Suite,
    WarmUpChoice,
};
use prony_load::{Arrival, Load, Profile, Protocol};

/// Files that a process needs in addition to its connections: its log, its pipes, the files of its runtime.
const OTHER_FILES: u64 = 64;

impl Plan {
    pub fn of(catalogue: &Catalogue, suite: &Suite, wishes: &PlanOverrides) -> Result<Self, ConfigError> {
        let design = suite.design_for(wishes.design);
        let mut plan = Self {
            suite: suite.name.clone(),
            title: suite.title.clone(),
            profile: suite.profile.clone(),
            seed: wishes.seed,
            rounds: wishes.rounds.unwrap_or(suite.rounds).max(1),
            builds: wishes.builds.unwrap_or(1).max(1),
            confidence: wishes.confidence.unwrap_or(suite.confidence),
            precision: wishes.precision.or(suite.precision),
            tie: wishes.tie.or(suite.tie),
            budget_ns: wishes
                .budget
                .or(suite.budget)
                .map(|budget| budget.as_nanos() as u64),
            design,
            // An interleaved round starts all services of a group again.
            starts: if design == Design::Sequence {
                suite.starts
            } else {
                Starts::Fresh
            },
            no_errors: suite.no_errors,
            limits: suite.limits,
            network: suite.network,
            address: wishes.address.clone().or(&suite.address),
            groups: Vec::new(),
            entries: Vec::new(),
        };
        let maker = PlanBuilder::new(catalogue, suite, wishes)?;
        maker.limits_fit()?;
        for (place, group) in suite.groups.iter().enumerate() {
            let (planned, entries) = maker.group(group, plan.groups.len())?;
            maker.is_alone(place, &planned)?;
            if !entries.is_empty() {
                plan.groups.push(planned);
                plan.entries.extend(entries);
            }
        }
        if plan.entries.is_empty() {
            let patterns = wishes.services.join(", ");
            return Err(ConfigError::Empty(format!(
                "suite `{}` has no service that `{patterns}` names",
                suite.name
            )));
        }
        Ok(plan)
    }
}

struct PlanBuilder<'a> {
    catalogue: &'a Catalogue,
    suite: &'a Suite,
    wishes: &'a PlanOverrides,
    /// The services that the command line selects; `None`: all.
    only: Option<Vec<&'a Service>>,
}

impl<'a> PlanBuilder<'a> {
    fn new(catalogue: &'a Catalogue, suite: &'a Suite, wishes: &'a PlanOverrides) -> Result<Self, ConfigError> {
        Ok(Self {
            catalogue,
            suite,
            wishes,
            only: wished_services(catalogue, wishes)?,
        })
    }

    /// The limits of the suite must not exceed the resources of the machine.
    fn limits_fit(&self) -> Result<(), ConfigError> {
        let Some(machine) = &self.wishes.machine else {
            return Ok(());
        };
        let (limits, lines) = (self.suite.limits, self.suite.limit_lines);
        if let Some(cpus) = limits.cpus.filter(|&cpus| cpus > f64::from(machine.cpus)) {
            let message = format!(
                "`cpus` is {cpus}, and this machine has {}: request at most that",
                machine.cpus
            );
            return Err(self.at(lines.cpus, &message));
        }
        let memory = limits.memory_bytes.zip(machine.memory());
        if let Some((wanted, (bytes, whose))) = memory.filter(|(wanted, (there, _))| wanted > there) {
            let message = format!(
                "`memory` is {} MiB, and {whose} {} MiB: request at most that",
                wanted >> 20,
                bytes >> 20
            );
            return Err(self.at(lines.memory, &message));
        }
        Ok(())
    }

    fn group(&self, group: &SuiteGroup, index: usize) -> Result<(GroupPlan, Vec<Entry>), ConfigError> {
        let contract = self
            .catalogue
            .contract(&group.contract)
            .map_err(|error| self.at(group.line, &error))?;
        let (workload, own_load) = contract
            .load_of(group.workload.as_deref())
            .map_err(|error| self.at(group.line, &error))?;
        let entries = self.entries(group, index)?;
        let wished = self
            .wishes
            .warm_up
            .map(|time| WarmUpChoice::FixedNs(time.as_nanos() as u64));
        let warm_up = match (wished.unwrap_or(group.warm_up), &group.search) {
            // A search changes the rate all the time, so nothing ever becomes steady.
            (WarmUpChoice::Steady { least_ns, .. }, Some(_)) => WarmUpChoice::FixedNs(least_ns),
            (warm_up, _) => warm_up,
        };
        let planned = GroupPlan {
            contract: group.contract.clone(),
            workload,
            load: group.load.clone().unwrap_or(own_load),
            warm_up,
            duration_ns: self.wishes.duration.unwrap_or(group.duration).as_nanos() as u64,
            timeout_ns: group.timeout.as_nanos() as u64,
            search: group.search.clone(),
            rank_by: self.rank_by(group),
        };
        self.is_ranked(group, &planned, contract)?;
        self.is_possible(group, &planned, contract)?;
        self.can_be_interleaved(group, &planned, &entries)?;
        Ok((planned, entries))
    }

    /// If only the command line requests an interleaved design, the default ranking of that design applies.
    fn rank_by(&self, group: &SuiteGroup) -> Option<RankBy> {
        let interleaved = self.suite.design_for(self.wishes.design) != Design::Sequence;
        let wished = interleaved && self.suite.design == Design::Sequence;
        group.rank_by.map(|(rank_by, _)| rank_by).filter(|_| !wished)
    }

    fn is_ranked(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        contract: &Contract,
    ) -> Result<(), ConfigError> {
        let Some((rank_by, line)) = group.rank_by else {
            return Ok(());
        };
        let is_sequence = contract.is_sequence(&planned.workload);
        match rank_by.refused(&planned.load, planned.search.is_some(), is_sequence) {
            None => Ok(()),
            Some(why) => Err(self.at(line, &format!("`rank_by`: {why}"))),
        }
    }

    /// Two groups with the same contract, workload and load must be one group.
    fn is_alone(&self, place: usize, planned: &GroupPlan) -> Result<(), ConfigError> {
        let group = &self.suite.groups[place];
        for before in &self.suite.groups[..place] {
            let (other, _) = self.group(before, place)?;
            let same = (&other.contract, &other.workload, &other.load, &other.search)
                == (
                    &planned.contract,
                    &planned.workload,
                    &planned.load,
                    &planned.search,
                );
            if same {
                let message = format!(
                    "the same contract, workload and load as the group in line {}: name its services there",
                    before.line
                );
                return Err(self.at(group.line, &message));
            }
        }
        Ok(())
    }

    fn entries(&self, group: &SuiteGroup, index: usize) -> Result<Vec<Entry>, ConfigError> {
        let mut entries = Vec::new();
        let mut anyone = false;
        for (pattern, line) in &group.services {
            let selected = self.catalogue.select(pattern);
            for service in selected.map_err(|error| self.at(*line, &error))? {
                let offered = entries_of(service, group, index);
                anyone |= !offered.is_empty();
                if offered.is_empty() && !pattern.contains(['*', '?', '[']) {
                    return Err(self.at(*line, &lacks(service, group)));
                }
                let wanted = self
                    .only
                    .as_ref()
                    .is_none_or(|only| only.iter().any(|one| one.label() == service.label()));
                for entry in offered {
                    if wanted && !entries.contains(&entry) {
                        entries.push(entry);
                    }
                }
            }
        }
        if anyone {
            return Ok(entries);
        }
        let message = format!(
            "none of its services offers contract `{}` over {}: `prony list services` shows the contracts of each",
            group.contract,
            words(&group.protocols)
        );
        Err(self.at(group.line, &message))
    }

    fn is_possible(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        contract: &Contract,
    ) -> Result<(), ConfigError> {
        if planned.duration_ns == 0 {
            return Err(self.at(group.line, &"`duration` is 0: nothing would be measured"));
        }
        if planned.timeout_ns == 0 {
            return Err(self.at(group.line, &"`timeout` is 0: no reply could arrive in time"));
        }
        if let WarmUpChoice::Steady { least_ns, most_ns } = planned.warm_up
            && least_ns > most_ns
        {
            return Err(self.at(group.line, &"`warm_up`: `least` is above `most`"));
        }
        let known = contract.protocols();
        if let Some(unknown) = group.protocols.iter().find(|protocol| !known.contains(protocol)) {
            let message = format!(
                "`protocols`: contract `{}` is not available over {}: known are {}",
                contract.name,
                words(&[*unknown]),
                words(&known)
            );
            return Err(self.at(group.line, &message));
        }
        if self.suite.network.is_some() && !contract.backing_services().is_empty() {
            let message = format!(
                "a service in a `[network]` of its own cannot connect to the backing services of contract `{}`: remove `[network]`",
                contract.name
            );
            return Err(self.at(group.line, &message));
        }
        if planned.search.is_some() && !has_one_rate(&planned.load) {
            let message = "`capacity` needs an open load with a constant `rate` as its start: give `load = { kind = \"open\", rate = 1000, connections = 64 }`";
            return Err(self.at(group.line, &message));
        }
        self.connections_fit(group, planned)
    }

    /// An interleaved design compares windows with the same load.
    fn can_be_interleaved(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        entries: &[Entry],
    ) -> Result<(), ConfigError> {
        let Design::Interleaved { window_ns, cycles } = self.suite.design_for(self.wishes.design) else {
            return Ok(());
        };
        let message = if matches!(planned.load, Load::Users { .. }) {
            "a load of users cannot be interleaved: users stay longer than a window; remove `turns`, or give a closed or an open load"
        } else if planned.search.is_some() {
            "a search for the capacity changes the rate all the time, but all windows of `turns` must have the same load: remove `turns`"
        } else if window_ns == 0 || cycles == 0 {
            "`turns` without a window measures nothing: give `window` and `cycles` above 0"
        } else if entries.len() == 1 {
            "`turns` needs at least two services: name more, or remove `turns`"
        } else {
            return Ok(());
        };
        Err(self.at(group.line, &message))
    }

    /// Connections are never dropped silently: a plan that the machine cannot hold is rejected.
    fn connections_fit(&self, group: &SuiteGroup, planned: &GroupPlan) -> Result<(), ConfigError> {
        let Some(machine) = &self.wishes.machine else {
            return Ok(());
        };
        // Users come and go, so their number is not known before the load.
        if matches!(planned.load, Load::Users { .. }) {
            return Ok(());
        }
        let connections = u64::from(planned.load.connections());
        if let Some(files) = machine
            .open_files
            .filter(|&files| connections + OTHER_FILES > files)
        {
            let message = format!(
                "{connections} connections need as many open files in one process, but only {files} are allowed here: run `ulimit -n {}` before prony",
                connections + OTHER_FILES
            );
            return Err(self.at(group.load_line, &message));
        }
        if let Some(ports) = machine
            .local_ports
            .filter(|&ports| connections > u64::from(ports))
        {
            let message = format!(
                "{connections} connections to one port need as many local ports, but this machine has only {ports} (net.ipv4.ip_local_port_range)"
            );
            return Err(self.at(group.load_line, &message));
        }
        Ok(())
    }

    fn at(&self, line: usize, problem: &dyn std::fmt::Display) -> ConfigError {
        self.suite.source.invalid_at_line(line, problem.to_string())
    }
}

/// Whether a load is open with a constant rate.
const fn has_one_rate(load: &Load) -> bool {
    matches!(
        load,
        Load::Open {
            arrival: Arrival {
                profile: Profile::Constant { .. },
                ..
            },
            ..
        }
    )
}

fn lacks(service: &Service, group: &SuiteGroup) -> String {
    format!(
        "`{}` does not offer contract `{}` over {}: it offers {} over {}",
        service.label(),
        group.contract,
        words(&group.protocols),
        service.contracts.join(", "),
        words(&service.protocols)
    )
}

fn words(protocols: &[Protocol]) -> String {
    let word = |protocol: &Protocol| match protocol {
        Protocol::Http1 => "http1",
        Protocol::Http2 => "http2",
        Protocol::Grpc => "grpc",
        Protocol::WebSocket => "websocket",
    };
    protocols.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn wished_services<'a>(
    catalogue: &'a Catalogue,
    wishes: &PlanOverrides,
) -> Result<Option<Vec<&'a Service>>, ConfigError> {
    if wishes.services.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for pattern in &wishes.services {
        // A bare name on the command line selects every variant of the suite.
        let pattern = if pattern.contains('/') {
            pattern.clone()
        } else {
            format!("{pattern}/*")
        };
        found.extend(catalogue.select(&pattern)?);
    }
    Ok(Some(found))
}

fn entries_of(service: &Service, group: &SuiteGroup, index: usize) -> Vec<Entry> {
    group
        .protocols
        .iter()
        .filter(|protocol| service.offers(&group.contract, **protocol))
        .map(|&protocol| Entry {
            service: service.name.clone(),
            variant: service.variant.clone(),
            protocol,
            group: index,
        })
        .collect()
}
