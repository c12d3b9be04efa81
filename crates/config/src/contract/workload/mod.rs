//! Workloads: the requests that a generator sends.

mod ceiling;
mod sequence;
mod state;

pub use self::sequence::SequenceFile;

use self::state::State;
use crate::contract::call::{BODY_END, Call, PlaceholderValues};
use crate::contract::source::{RowTable, SourceToml};
use crate::contract::template::{Bindings, BoundValue};
use crate::contract::toml::{CallToml, StepToml, WorkloadToml};
use crate::ConfigError;
use crate::contract::Contract;
use prony_load::{GeneratedBody, Operation, Order, Parameter, Pick, Protocol, Source, Step, Workload};
use std::collections::{BTreeMap, BTreeSet};
use crate::format::Spanned;

/// A workload under construction.
#[derive(Default)]
struct WorkloadBuilder {
    parameters: Vec<Parameter>,
    operations: Vec<Operation>,
    /// For each of `operations`: its name, its values, and the values among them that users carry.
    calls: Vec<(String, Values, BTreeSet<String>)>,
    state: State,
}

/// The values of the placeholders of a call.
type Values = BTreeMap<String, SourceToml>;

impl Contract {
    /// A workload by name, for a protocol.
    pub fn workload(&self, name: &str, protocol: Protocol) -> Result<Workload, ConfigError> {
        let (name, written) = self.written_workload(Some(name))?;
        let steps = self.steps(name, written)?;
        let calls = steps
            .iter()
            .map(|step| self.step(step, protocol))
            .collect::<Result<Vec<_>, _>>()?;
        let mut assembly = WorkloadBuilder {
            state: State::new(self, name, written.get_ref(), &calls)?,
            ..WorkloadBuilder::default()
        };
        let mut order = Vec::new();
        for (step, call) in steps.iter().zip(&calls) {
            let of_step = step.get_ref();
            for _ in 0..of_step.times {
                order.push(Step {
                    operation: assembly.operation(of_step, call, protocol)?,
                    weight: of_step.weight,
                });
            }
        }
        if order.iter().all(|step| step.weight == 0) {
            let message =
                format!("workload `{name}` has only weights of 0: give one operation a weight above 0");
            return Err(self.invalid(written.span(), message));
        }
        Ok(Workload {
            name: name.to_owned(),
            parameters: assembly.parameters,
            operations: assembly.operations,
            order: if written.get_ref().sequence.is_empty() {
                Order::Mix(order)
            } else {
                Order::Sequence(order)
            },
        })
    }

    fn steps<'a>(
        &self,
        name: &str,
        written: &'a Spanned<WorkloadToml>,
    ) -> Result<&'a [Spanned<StepToml>], ConfigError> {
        let WorkloadToml { mix, sequence, .. } = written.get_ref();
        match (mix.as_slice(), sequence.as_slice()) {
            ([], []) => {
                let message = format!("workload `{name}` has no operation: give `mix` or `sequence`");
                Err(self.invalid(written.span(), message))
            }
            (steps, []) | ([], steps) => Ok(steps),
            _ => {
                let message = format!("workload `{name}` has `mix` and `sequence`: give only one");
                Err(self.invalid(written.span(), message))
            }
        }
    }

    /// The call of a step.
    fn step(&self, step: &Spanned<StepToml>, protocol: Protocol) -> Result<Call<'_>, ConfigError> {
        let name = &step.get_ref().operation;
        let written = CallToml {
            operation: Some(name.clone()),
            with: step.get_ref().with.clone(),
            ..CallToml::default()
        };
        let call = self.call(&Spanned::new(step.span(), written))?;
        for (name, source) in call.with() {
            call.verify_row(name, source)?;
        }
        if call.speaks(protocol) {
            return Ok(call);
        }
        let message = format!(
            "operation `{}` is not available over {protocol:?}",
            name.get_ref()
        );
        Err(self.invalid(name.span(), message))
    }
}

impl WorkloadBuilder {
    /// The index of a step's operation. It is added unless it exists already with the same values.
    fn operation(
        &mut self,
        step: &StepToml,
        call: &Call<'_>,
        protocol: Protocol,
    ) -> Result<usize, ConfigError> {
        let name = step.operation.get_ref();
        let values: Values = call
            .with()
            .iter()
            .map(|(name, source)| (name.clone(), source.get_ref().clone()))
            .collect();
        let wanted = (name.clone(), values, self.state.carried(call));
        let known = self.calls.iter().position(|known| *known == wanted);
        let index = if let Some(index) = known {
            index
        } else {
            let mut built = self.build(call, protocol)?;
            self.state.add_cookies(&mut built, &mut self.parameters);
            self.operations.push(Operation {
                name: label(name, &step.with),
                ..built
            });
            self.calls.push(wanted);
            self.operations.len() - 1
        };
        self.state.pass(call);
        Ok(index)
    }

    fn build(&mut self, call: &Call<'_>, protocol: Protocol) -> Result<Operation, ConfigError> {
        let carried: Vec<(String, Source)> = self.state.sources().collect();
        let mut bindings: Bindings = carried
            .into_iter()
            .map(|(name, source)| (name.clone(), self.parameter(name, source)))
            .collect();
        for (name, source) in call.with() {
            if !bindings.contains_key(name) {
                let bound = self.bound(name, source.get_ref(), call.tables());
                bindings.insert(name.clone(), bound);
            }
        }
        self.bind_body(call, &mut bindings)?;
        self.bind_tokens(call, &mut bindings)?;
        let (request, expect) = call.build(
            protocol,
            &PlaceholderValues::for_load(&bindings, &self.parameters, &self.state.slots),
        )?;
        Ok(Operation {
            name: String::new(),
            request,
            expect,
        })
    }

    /// The end of a generated body, which differs between requests.
    fn bind_body(&mut self, call: &Call<'_>, bindings: &mut Bindings) -> Result<(), ConfigError> {
        let Some(bytes) = call.generated_bytes(bindings)? else {
            return Ok(());
        };
        let bound = match GeneratedBody::end_length(bytes) {
            0 => BoundValue::Text(String::new()),
            digits => self.parameter(BODY_END.to_owned(), Source::Hex { digits }),
        };
        bindings.insert(BODY_END.to_owned(), bound);
        Ok(())
    }

    /// Tokens whose claims have placeholders: one for each row that fills them.
    fn bind_tokens(&mut self, call: &Call<'_>, bindings: &mut Bindings) -> Result<(), ConfigError> {
        for (name, source) in call.tokens(bindings, &self.parameters)? {
            let bound = match source {
                SourceToml::List(values) => self.parameter(
                    name.clone(),
                    Source::Column {
                        values,
                        pick: Pick::Each,
                    },
                ),
                source => self.bound(&name, &source, call.tables()),
            };
            bindings.insert(name, bound);
        }
        Ok(())
    }

    fn bound(&mut self, name: &str, source: &SourceToml, tables: &BTreeMap<String, RowTable>) -> BoundValue {
        match (source, source.parameter(tables)) {
            (SourceToml::One(text), _) => BoundValue::Text(text.clone()),
            (_, source) => {
                let source = source.expect("invariant: only one value has no parameter");
                self.parameter(name.to_owned(), source)
            }
        }
    }

    fn parameter(&mut self, name: String, source: Source) -> BoundValue {
        let wanted = Parameter { name, source };
        let known = self.parameters.iter().position(|known| *known == wanted);
        BoundValue::Parameter(known.unwrap_or_else(|| {
            self.parameters.push(wanted);
            self.parameters.len() - 1
        }))
    }
}

/// The operation's name, with the values that the workload fixes: `getPerson(id=1)`.
fn label(operation: &str, with: &BTreeMap<String, Spanned<SourceToml>>) -> String {
    let fixed: Vec<String> = with
        .iter()
        .filter_map(|(name, source)| match source.get_ref() {
            SourceToml::One(text) => Some(format!("{name}={text}")),
            _ => None,
        })
        .collect();
    if fixed.is_empty() {
        operation.to_owned()
    } else {
        format!("{operation}({})", fixed.join(","))
    }
}
