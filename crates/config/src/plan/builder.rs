//! Builds the plan of a suite: turns the groups of the suite into groups of a plan, and rejects impossible ones.

use crate::contract::Contract;
use crate::format::{Faults, Spanned};
use crate::project::is_pattern;
use crate::suite::SuiteGroup;
use crate::{
    Catalogue, Channel, ConfigError, Design, Entry, GroupPlan, Plan, PlanOverrides, RankBy, Service, Starts,
    Suite, WarmUpChoice,
};
use prony_load::{Arrival, Load, Profile};
use std::collections::BTreeMap;
use std::ops::Range;

/// Files that a process needs in addition to its connections: its log, its pipes, the files of its runtime.
const OTHER_FILES: u64 = 64;

impl Plan {
    pub fn of(catalogue: &Catalogue, suite: &Suite, overrides: &PlanOverrides) -> Result<Self, ConfigError> {
        let builder = PlanBuilder::new(catalogue, suite, overrides)?;
        let design = builder.design;
        let mut plan = Self {
            suite: suite.name.clone(),
            title: suite.title.clone(),
            profile: suite.profile.clone(),
            seed: overrides.seed,
            rounds: overrides.rounds.unwrap_or(suite.rounds).max(1),
            builds: overrides.builds.unwrap_or(1).max(1),
            confidence: overrides.confidence.unwrap_or(suite.confidence),
            precision: overrides.precision.or(suite.precision),
            tie: overrides.tie.or(suite.equivalence),
            budget_ns: overrides
                .budget
                .or(suite.budget)
                .map(|budget| budget.as_nanos() as u64),
            design,
            starts: match design {
                Design::Sequence | Design::Interleaved { .. } => overrides.starts.unwrap_or(suite.starts),
                Design::Starts | Design::Paired { .. } | Design::Duet | Design::Regression => Starts::Fresh,
            },
            no_errors: suite.no_errors,
            limits: suite.limits,
            network: suite.network,
            address: overrides.address.clone().or(&suite.address),
            groups: Vec::new(),
            entries: Vec::new(),
        };
        let mut faults = Faults::default();
        builder.limits_fit(&mut faults);
        let mut planned: Vec<(&SuiteGroup, GroupPlan)> = Vec::new();
        for group in suite.groups.iter().filter(|group| group.rounds != Some(0)) {
            let made = builder.group(group, plan.groups.len());
            let Some((one, entries)) = faults.keep(made) else {
                continue;
            };
            faults.keep(builder.is_alone(group, &one, &planned));
            planned.push((group, one.clone()));
            if !entries.is_empty() {
                plan.groups.push(one);
                plan.entries.extend(entries);
            }
        }
        faults.or(())?;
        if plan.entries.is_empty() {
            let patterns = overrides.services.join(", ");
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
    overrides: &'a PlanOverrides,
    /// The services that the command line selects; `None`: all.
    only: Option<Vec<&'a Service>>,
    design: Design,
}

impl<'a> PlanBuilder<'a> {
    fn new(
        catalogue: &'a Catalogue,
        suite: &'a Suite,
        overrides: &'a PlanOverrides,
    ) -> Result<Self, ConfigError> {
        let mut builder = Self {
            catalogue,
            suite,
            overrides,
            only: selected_services(catalogue, overrides)?,
            design: suite.design_for(overrides.design),
        };
        if let Design::Interleaved { window_ns, .. } = builder.design {
            builder.design = builder.interleaved(window_ns);
        }
        Ok(builder)
    }

    /// The interleaved design, as long as the command line wants. A service that it selects alone has nothing to take turns with: then
    /// the design of a suite is a sequence.
    fn interleaved(&self, window_ns: u64) -> Design {
        let is_alone = |group: &SuiteGroup| {
            let contract = self.catalogue.contract(&group.contract).ok();
            let entries = contract.and_then(|contract| self.entries(group, contract, 0).ok());
            entries.is_some_and(|entries| entries.len() == 1)
        };
        if self.overrides.design.is_none() && self.only.is_some() && self.suite.groups.iter().any(is_alone) {
            return Design::Sequence;
        }
        match self.overrides.duration {
            Some(length) if window_ns > 0 => {
                let window_ns = window_ns.min(length.as_nanos() as u64).max(1);
                let cycles = (length.as_nanos() as u64).div_ceil(window_ns) as u32;
                Design::Interleaved { window_ns, cycles }
            }
            _ => self.design,
        }
    }

    /// The limits of the suite must not exceed the resources of the machine.
    fn limits_fit(&self, faults: &mut Faults) {
        let Some(machine) = &self.overrides.machine else {
            return;
        };
        let (limits, spans) = (self.suite.limits, &self.suite.limit_spans);
        if let Some(cpus) = limits.cpus.filter(|&cpus| cpus > f64::from(machine.cpus)) {
            let message = format!("`cpus` is {cpus}, and this machine has {}", machine.cpus);
            faults.keep::<()>(Err(self.at(&spans.cpus, message, "request at most that")));
        }
        let memory = limits.memory_bytes.zip(machine.memory());
        if let Some((wanted, (bytes, whose))) = memory.filter(|(wanted, (there, _))| wanted > there) {
            let message = format!(
                "`memory` is {} MiB, and {whose} {} MiB",
                wanted >> 20,
                bytes >> 20
            );
            faults.keep::<()>(Err(self.at(&spans.memory, message, "request at most that")));
        }
    }

    fn group(&self, group: &SuiteGroup, index: usize) -> Result<(GroupPlan, Vec<Entry>), ConfigError> {
        let spans = &group.spans;
        let contract = self.catalogue.contract(&group.contract);
        let contract = contract.map_err(|error| self.unknown(&spans.contract, error))?;
        let mut faults = Faults::default();
        let entries = faults.keep(self.entries(group, contract, index));
        let load = contract.load_of(group.workload.as_deref());
        let load = faults.keep(load.map_err(|error| self.unknown(&spans.workload, error)));
        let (Some(entries), Some((workload, own_load))) = (entries, load) else {
            return Err(faults.or(()).expect_err("invariant: a part is missing"));
        };
        let fixed = self.overrides.warm_up;
        let warm_up = fixed.map_or(group.warm_up, |length| WarmUpChoice::of_length(Some(length)));
        let planned = GroupPlan {
            contract: group.contract.clone(),
            workload,
            load: group.load.clone().unwrap_or(own_load),
            warm_up: if group.start.is_some() {
                WarmUpChoice::FixedNs(0)
            } else {
                warm_up
            },
            duration_ns: self.overrides.duration.unwrap_or(group.duration).as_nanos() as u64,
            timeout_ns: group.timeout.as_nanos() as u64,
            search: group.search.clone(),
            rank_by: self.rank_by(group),
            start: group.start,
            rounds: group.rounds,
            over: group.over,
            requests_per_connection: group.requests_per_connection,
            resumption: group.resumption,
            baselines: faults.keep(self.baselines(group, &entries)).unwrap_or_default(),
        };
        faults.keep(self.is_ranked(group, &planned, contract));
        faults.keep(self.is_possible(group, &planned, contract));
        faults.keep(self.measures_starts(group));
        faults.keep(self.connections_fit(group, &planned));
        faults.keep(self.can_be_interleaved(group, &planned, &entries));
        faults.keep(self.can_be_paired(group, &planned, contract));
        faults.or((planned, entries))
    }

    /// The baselines of the services of a group. One that the command line leaves out is left out here too.
    fn baselines(
        &self,
        group: &SuiteGroup,
        entries: &[Entry],
    ) -> Result<BTreeMap<String, String>, ConfigError> {
        let is_measured = |label: &String| {
            let mut entries = entries.iter();
            entries.any(|entry| format!("{}/{}", entry.service, entry.variant) == *label)
        };
        let select = |pattern: &Spanned<String>| {
            let found = self.catalogue.select(pattern.get_ref());
            found.map_err(|error| self.unknown(&pattern.span(), error))
        };
        let mut baselines = BTreeMap::new();
        for (pattern, baseline) in &group.baselines {
            let [one] = select(baseline)?[..] else {
                let message = format!("`{}` names several services", baseline.get_ref());
                return Err(self.at(
                    &baseline.span(),
                    message,
                    "name one, such as \"go-nethttp/current\"",
                ));
            };
            let one = one.label();
            for service in select(pattern)? {
                let label = service.label();
                if label != one && is_measured(&one) && is_measured(&label) {
                    baselines.insert(label, one.clone());
                }
            }
        }
        Ok(baselines)
    }

    /// If only the command line requests an interleaved design, the default ranking of that design applies.
    fn rank_by(&self, group: &SuiteGroup) -> Option<RankBy> {
        let interleaved = !matches!(self.design, Design::Sequence | Design::Starts);
        let is_overridden = interleaved && self.suite.design == Design::Sequence;
        let own = group.rank_by.filter(|_| !is_overridden);
        own.or(group.start.map(|start| start.measures.rank_by()))
    }

    fn is_ranked(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        contract: &Contract,
    ) -> Result<(), ConfigError> {
        let Some(rank_by) = group.rank_by else {
            return Ok(());
        };
        if group
            .start
            .is_some_and(|start| start.measures.rank_by() == rank_by)
        {
            return Ok(());
        }
        let is_sequence = contract.is_sequence(&planned.workload);
        match rank_by.refused(&planned.load, planned.search.is_some(), is_sequence) {
            None => Ok(()),
            Some((why, advice)) => {
                let message = format!("`rank_by` is \"{}\", but {why}", rank_by.name());
                Err(self.at(&group.spans.rank_by, message, advice))
            }
        }
    }

    /// Two groups with the same contract, workload and load must be one group.
    fn is_alone(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        others: &[(&SuiteGroup, GroupPlan)],
    ) -> Result<(), ConfigError> {
        let same = |(_, other): &&(&SuiteGroup, GroupPlan)| {
            (&other.contract, &other.workload, &other.search, &other.start)
                == (
                    &planned.contract,
                    &planned.workload,
                    &planned.search,
                    &planned.start,
                )
                && other.load_record() == planned.load_record()
        };
        let Some((other, _)) = others.iter().find(same) else {
            return Ok(());
        };
        let factors: Vec<String> = group.factors.iter().map(ToString::to_string).collect();
        let what = match factors.as_slice() {
            [] => "the group has".to_owned(),
            factors => format!("the group has with {}", factors.join(", ")),
        };
        let message = format!(
            "{what} the same contract, workload and load as the group in line {}",
            self.suite.source.line(other.spans.group.clone())
        );
        Err(self.at(&group.spans.group, message, "name its services there"))
    }

    fn entries(
        &self,
        group: &SuiteGroup,
        contract: &Contract,
        index: usize,
    ) -> Result<Vec<Entry>, ConfigError> {
        let known = contract.protocols();
        if let Some(unknown) = group
            .channels
            .iter()
            .find(|channel| !known.contains(&channel.protocol()))
        {
            let message = format!(
                "contract `{}` is not available over {}",
                contract.name,
                unknown.word()
            );
            let help = format!("known are {}", words(known.into_iter().map(Channel::from)));
            return Err(self.at(&group.spans.protocols, message, help));
        }
        let mut entries = Vec::new();
        let mut faults = Faults::default();
        let mut anyone = false;
        for pattern in &group.services {
            let selected = self.catalogue.select(pattern.get_ref());
            let selected = selected.map_err(|error| self.unknown(&pattern.span(), error));
            for service in faults.keep(selected).unwrap_or_default() {
                let offered = entries_of(service, group, index);
                anyone |= !offered.is_empty();
                if offered.is_empty() && !is_pattern(pattern.get_ref()) {
                    let (message, help) = lacks(service, group);
                    faults.keep::<()>(Err(self.at(&pattern.span(), message, help)));
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
        // A group in clear is there only for the services of a group over TLS.
        let may_be_empty = group.over.is_some_and(|channel| !channel.is_tls());
        if faults.is_empty() && !anyone && !may_be_empty {
            let message = format!(
                "none of its services offers contract `{}` over {}",
                group.contract,
                words(group.channels.iter().copied())
            );
            let help = "`prony list services` shows the contracts of each";
            return Err(self.at(&group.spans.group, message, help));
        }
        faults.or(entries)
    }

    fn is_possible(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        contract: &Contract,
    ) -> Result<(), ConfigError> {
        let spans = &group.spans;
        // The command line may override it.
        if planned.duration_ns == 0 {
            let message = "the measurement takes no time";
            return Err(self.at(&spans.duration, message, "give a duration above 0"));
        }
        if self.suite.network.is_some() && !contract.backing_services().is_empty() {
            let message = format!(
                "a service in a `[network]` of its own cannot connect to the backing services of contract `{}`",
                contract.name
            );
            return Err(self.at(&spans.contract, message, "remove `[network]`"));
        }
        if planned.search.is_some() && !has_one_rate(&planned.load) {
            let message =
                "`capacity` starts at the constant rate of an open load, which the group does not have";
            let help = "give `load = { kind = \"open\", rate = 1000, connections = 64 }`";
            return Err(self.at(&spans.capacity, message, help));
        }
        Ok(())
    }

    /// Only one design measures starts, and it measures nothing else.
    fn measures_starts(&self, group: &SuiteGroup) -> Result<(), ConfigError> {
        let (message, help) = match (self.design == Design::Starts, group.start) {
            (false, Some(_)) => (
                "`start` needs the design \"starts\"",
                "write `design = \"starts\"` at the top, and request no other",
            ),
            (true, None) => (
                "the group does not say what is measured of starts",
                "add `start`, such as `start = \"warm\"`",
            ),
            _ if group.start.is_some() && group.search.is_some() => (
                "a group cannot measure starts and search a rate",
                "remove `capacity` or `start`",
            ),
            _ => return Ok(()),
        };
        Err(self.at(&group.spans.start, message, help))
    }

    /// A paired design compares with the direct path to a backing service, under the same load.
    fn can_be_paired(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        contract: &Contract,
    ) -> Result<(), ConfigError> {
        let Design::Paired { held, .. } = self.design else {
            return Ok(());
        };
        let spans = &group.spans;
        let has_direct_path = contract.backing_services().iter().any(|requirement| {
            let backing = self.catalogue.backing_services.get(requirement.uses());
            backing.is_some_and(|backing| backing.direct_headers.is_some())
        });
        let (span, message, help) = if !has_direct_path {
            (
                &spans.contract,
                "a paired design loads a backing service directly, and this contract has none for that",
                "use the design \"sequence\", or give its backing service `direct_headers`",
            )
        } else if planned.search.is_some() {
            (
                &spans.capacity,
                "a search cannot be paired: it changes the rate, but all blocks must have the same load",
                "use the design \"sequence\"",
            )
        } else if held && !matches!(planned.load, Load::Closed { .. }) {
            (
                &spans.load,
                "streams are held open under a closed load",
                "give a closed load, or remove `held`",
            )
        } else {
            return Ok(());
        };
        Err(self.at(span, message.to_owned(), help))
    }

    /// An interleaved design compares windows with the same load.
    fn can_be_interleaved(
        &self,
        group: &SuiteGroup,
        planned: &GroupPlan,
        entries: &[Entry],
    ) -> Result<(), ConfigError> {
        let Design::Interleaved { window_ns, cycles } = self.design else {
            return Ok(());
        };
        let spans = &group.spans;
        let (span, message, help) = if matches!(planned.load, Load::Users { .. }) {
            (
                &spans.load,
                "a load of users cannot be interleaved: users stay longer than a window",
                "give a closed or an open load, or use the design \"sequence\"",
            )
        } else if planned.search.is_some() {
            (
                &spans.capacity,
                "a search cannot be interleaved: it changes the rate, but all windows must have the same load",
                "use the design \"sequence\"",
            )
        } else if window_ns == 0 || cycles == 0 {
            (
                &spans.group,
                "an interleaved design without a window measures nothing",
                "give `window` and `cycles` above 0",
            )
        } else if entries.len() == 1 {
            (
                &spans.group,
                "an interleaved design needs at least two services",
                "name more, or use the design \"sequence\"",
            )
        } else {
            return Ok(());
        };
        Err(self.at(span, message, help))
    }

    /// Connections are never dropped silently: a plan that the machine cannot hold is rejected.
    fn connections_fit(&self, group: &SuiteGroup, planned: &GroupPlan) -> Result<(), ConfigError> {
        let Some(machine) = &self.overrides.machine else {
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
                "{connections} connections need as many open files in one process, but only {files} are allowed here"
            );
            let help = format!("run `ulimit -n {}` before prony", connections + OTHER_FILES);
            return Err(self.at(&group.spans.load, message, help));
        }
        if let Some(ports) = machine
            .local_ports
            .filter(|&ports| connections > u64::from(ports))
        {
            let message = format!(
                "{connections} connections to one port need as many local ports, but this machine has only {ports}"
            );
            let help = "widen net.ipv4.ip_local_port_range, or give fewer connections";
            return Err(self.at(&group.spans.load, message, help));
        }
        Ok(())
    }

    fn at(&self, span: &Range<usize>, message: impl Into<String>, help: impl Into<String>) -> ConfigError {
        self.suite.source.invalid_with(span.clone(), message, help)
    }

    /// The error of a name that does not exist, at its position.
    fn unknown(&self, span: &Range<usize>, error: ConfigError) -> ConfigError {
        match error {
            ConfigError::Unknown { kind, name, allowed } => {
                self.at(span, format!("no {kind} `{name}`"), allowed)
            }
            ConfigError::UnknownInContract {
                contract,
                kind,
                name,
                allowed,
            } => self.at(
                span,
                format!("contract `{contract}` has no {kind} `{name}`"),
                allowed,
            ),
            other => other,
        }
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

fn lacks(service: &Service, group: &SuiteGroup) -> (String, String) {
    let message = format!(
        "`{}` does not offer contract `{}` over {}",
        service.label(),
        group.contract,
        words(group.channels.iter().copied())
    );
    let help = format!(
        "it offers {} over {}",
        service.contracts.join(", "),
        words(service.channels())
    );
    (message, help)
}

fn words(channels: impl Iterator<Item = Channel>) -> String {
    channels.map(Channel::word).collect::<Vec<_>>().join(", ")
}

fn selected_services<'a>(
    catalogue: &'a Catalogue,
    overrides: &PlanOverrides,
) -> Result<Option<Vec<&'a Service>>, ConfigError> {
    if overrides.services.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for pattern in &overrides.services {
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
    let is_left_out = group.over.is_some() && service.tls.is_empty();
    group
        .channels
        .iter()
        .filter(|channel| !is_left_out && service.offers(&group.contract, **channel))
        .map(|&channel| Entry::of(service, channel, index))
        .collect()
}
