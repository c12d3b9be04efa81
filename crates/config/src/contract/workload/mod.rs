//! Workloads: the requests that a generator sends.

mod ceiling;
mod sequence;
mod state;

pub use self::sequence::SequenceFile;
pub(crate) use self::sequence::SequenceToml;

use self::state::State;
use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::{BODY_END, Bindings, BoundValue, Call, PlaceholderValues, Slots};
use crate::contract::cases::assign_slots;
use crate::contract::source::{DrawnSource, SourceToml, text_of};
use crate::contract::toml::{CallToml, StepToml, WorkloadToml};
use crate::format::Faults;
use crate::format::Spanned;
use crate::format::suggestion::suggest;
use prony_load::{GeneratedBody, Operation, Order, Parameter, Pick, Protocol, Step, Workload};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A workload under construction.
struct WorkloadBuilder<'a> {
    contract: &'a Contract,
    parameters: RefCell<Vec<Parameter>>,
    operations: Vec<Operation>,
    /// For each of `operations`: its name, its values, and the values among them that users carry.
    calls: Vec<(String, Values, BTreeSet<String>)>,
    state: State,
    slots: Slots,
}

/// The most steps of a workload, repetitions included.
const MOST_STEPS: usize = 10_000;

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
        let mut builder = WorkloadBuilder {
            contract: self,
            parameters: RefCell::default(),
            operations: Vec::new(),
            calls: Vec::new(),
            state: State::new(self, name, written.get_ref())?,
            slots: Slots::default(),
        };
        let mut order = Vec::new();
        for (step, call) in steps.iter().zip(&calls) {
            let of_step = step.get_ref();
            if order.len() + of_step.times as usize > MOST_STEPS {
                let message = format!("workload `{name}` has more than {MOST_STEPS} steps");
                let help = "lower `times`: the whole sequence is repeated anyway";
                return Err(self.file.invalid_with(step.span(), message, help));
            }
            for _ in 0..of_step.times {
                order.push(Step {
                    operation: builder.operation(of_step, call, protocol)?,
                    weight: of_step.weight,
                });
            }
        }
        if order.iter().all(|step| step.weight == 0) {
            let message = format!("workload `{name}` has only weights of 0");
            let help = "give one operation a weight above 0";
            return Err(self.file.invalid_with(written.span(), message, help));
        }
        let is_sequence = !written.get_ref().sequence.is_empty();
        Ok(Workload {
            name: name.to_owned(),
            operations: builder.finished(is_sequence),
            parameters: builder.parameters.into_inner(),
            order: if is_sequence {
                Order::Sequence(order)
            } else {
                Order::Mix(order)
            },
        })
    }

    /// The steps of a workload, with the operations that others need before them.
    pub(crate) fn steps(
        &self,
        name: &str,
        written: &Spanned<WorkloadToml>,
    ) -> Result<Vec<Spanned<StepToml>>, ConfigError> {
        let WorkloadToml { mix, sequence, .. } = written.get_ref();
        match (mix.as_slice(), sequence.as_slice()) {
            ([], []) => {
                let message = format!("workload `{name}` has no operation");
                Err(self
                    .file
                    .invalid_with(written.span(), message, "give `mix` or `sequence`"))
            }
            (steps, []) => {
                for step in steps {
                    let operation = step.get_ref().operation.get_ref();
                    if let Some(need) = self.needed(operation)?.first() {
                        let message =
                            format!("`{operation}` needs `{need}` before, which a mix cannot ensure");
                        let help = "use `sequence` instead of `mix`";
                        return Err(self
                            .file
                            .invalid_with(step.get_ref().operation.span(), message, help));
                    }
                }
                Ok(steps.to_vec())
            }
            ([], steps) => {
                let mut all: Vec<Spanned<StepToml>> = Vec::new();
                for step in steps {
                    for need in self.needed(step.get_ref().operation.get_ref())? {
                        if all
                            .iter()
                            .all(|before| *before.get_ref().operation.get_ref() != need)
                        {
                            all.push(Spanned::new(
                                step.span(),
                                StepToml::of(Spanned::new(step.span(), need)),
                            ));
                        }
                    }
                    all.push(step.clone());
                }
                Ok(all)
            }
            _ => {
                let message = format!("workload `{name}` has `mix` and `sequence`");
                Err(self
                    .file
                    .invalid_with(written.span(), message, "give only one of them"))
            }
        }
    }

    /// Every operation of a workload must exist.
    pub(crate) fn verify_steps(&self, written: &WorkloadToml, faults: &mut Faults) {
        let all = &self.written.operation;
        for step in written.mix.iter().chain(&written.sequence) {
            let name = &step.get_ref().operation;
            if !all.contains_key(name.get_ref()) {
                let help = suggest(all.keys().map(String::as_str), name.get_ref());
                let message = format!("there is no operation `{}`", name.get_ref());
                faults.keep::<()>(Err(self.file.invalid_with(name.span(), message, help)));
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
        if call.speaks(protocol) {
            return Ok(call);
        }
        let key = match protocol {
            Protocol::Http1 | Protocol::Http2 => "http",
            Protocol::Grpc => "grpc",
            Protocol::WebSocket => "websocket",
        };
        let message = format!("operation `{}` has no `{key}`", name.get_ref());
        let help =
            format!("add `{key}` to it: all operations of a workload are called over the same protocol");
        Err(self.file.invalid_with(name.span(), message, help))
    }
}

impl WorkloadBuilder<'_> {
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
            let mut built = self.build(call, &step.with, protocol)?;
            self.state
                .add_cookies(&mut built, &mut self.parameters.borrow_mut(), &self.slots);
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

    /// The operations, once it is known which captured values are used, and how. Without a sequence, nothing is captured.
    fn finished(&mut self, is_sequence: bool) -> Vec<Operation> {
        for operation in &mut self.operations {
            if is_sequence {
                assign_slots(&mut operation.expect, &self.slots);
            }
        }
        std::mem::take(&mut self.operations)
    }

    /// `own`: the values that the step sets, which take precedence over those that users carry.
    fn build(
        &mut self,
        call: &Call<'_>,
        own: &BTreeMap<String, Spanned<SourceToml>>,
        protocol: Protocol,
    ) -> Result<Operation, ConfigError> {
        let mut bindings: Bindings = self
            .state
            .bindings()
            .filter(|(name, _)| !own.contains_key(name))
            .collect();
        for (name, bound) in call.drawn_rows()? {
            bindings.insert(name, bound);
        }
        for (name, source) in call.with() {
            bindings
                .entry(name.clone())
                .or_insert_with(|| bound(source.get_ref()));
        }
        if let Some(bytes) = call.generated_bytes(&bindings)? {
            // The end of a generated body differs between requests.
            let end = match GeneratedBody::end_length(bytes) {
                0 => BoundValue::Known("".into()),
                digits => bound(&SourceToml::RandomHex(digits)),
            };
            bindings.insert(BODY_END.to_owned(), end);
        }
        // Tokens whose claims have placeholders: one for each row that fills them.
        for (name, mut tokens) in call.tokens(&bindings)? {
            let token = match tokens.as_slice() {
                [_] => BoundValue::Known(tokens.remove(0)),
                _ => BoundValue::Drawn(DrawnSource::Values {
                    values: tokens,
                    pick: Some(Pick::Each),
                }),
            };
            bindings.insert(name, token);
        }
        let filling = PlaceholderValues::for_load(self.contract, &bindings, &self.slots, &self.parameters);
        let (request, expect) = call.build(protocol, &filling)?;
        self.contract.verify_used(own, &filling.used())?;
        Ok(Operation {
            name: String::new(),
            request,
            expect,
        })
    }
}

fn bound(source: &SourceToml) -> BoundValue {
    match (source, source.drawn()) {
        (SourceToml::One(value), _) => BoundValue::Known(value.clone()),
        (SourceToml::Reference(name), _) => BoundValue::Alias(name.clone()),
        (_, drawn) => BoundValue::Drawn(drawn.expect("invariant: only one value is not drawn")),
    }
}

/// The operation's name, with the values that the workload fixes: `getPerson(id=1)`.
fn label(operation: &str, with: &BTreeMap<String, Spanned<SourceToml>>) -> String {
    let fixed: Vec<String> = with
        .iter()
        .filter_map(|(name, source)| match source.get_ref() {
            SourceToml::One(value) => Some(format!("{name}={}", text_of(value))),
            _ => None,
        })
        .collect();
    if fixed.is_empty() {
        operation.to_owned()
    } else {
        format!("{operation}({})", fixed.join(","))
    }
}
