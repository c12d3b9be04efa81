//! Workloads: what a generator sends.

mod ceiling;

use crate::call::{Call, Filling};
use crate::source::WrittenSource;
use crate::template::{Bindings, Bound};
use crate::written::{WrittenCall, WrittenStep, WrittenWorkload};
use crate::{Contract, ContractError};
use prony_load::{Operation, Order, Parameter, Protocol, Source, Step, Workload};
use std::collections::BTreeMap;
use toml::Spanned;

/// A workload while it is put together.
#[derive(Default)]
struct Assembly {
    parameters: Vec<Parameter>,
    operations: Vec<Operation>,
    /// Operation and values of each of `operations`.
    calls: Vec<(String, Values)>,
}

/// The values of the places of a call.
type Values = BTreeMap<String, WrittenSource>;

impl Contract {
    /// A workload by name, as it is sent over a protocol.
    pub fn workload(&self, name: &str, protocol: Protocol) -> Result<Workload, ContractError> {
        let (name, written) = self.written_workload(Some(name))?;
        let steps = self.steps(name, written)?;
        let mut assembly = Assembly::default();
        let mut order = Vec::new();
        for step in steps {
            order.push(Step {
                operation: self.operation(&mut assembly, step, protocol)?,
                weight: step.get_ref().weight,
            });
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
        written: &'a Spanned<WrittenWorkload>,
    ) -> Result<&'a [Spanned<WrittenStep>], ContractError> {
        let WrittenWorkload { mix, sequence, .. } = written.get_ref();
        match (mix.as_slice(), sequence.as_slice()) {
            ([], []) => {
                let message = format!("workload `{name}` has no operation: give `mix` or `sequence`");
                Err(self.invalid(written.span(), message))
            }
            (steps, []) | ([], steps) => Ok(steps),
            _ => {
                let message = format!("workload `{name}` has `mix` and `sequence`: give one of them");
                Err(self.invalid(written.span(), message))
            }
        }
    }

    /// The index of a step's operation, which is added unless it is already there with the same values.
    fn operation(
        &self,
        assembly: &mut Assembly,
        step: &Spanned<WrittenStep>,
        protocol: Protocol,
    ) -> Result<usize, ContractError> {
        let name = &step.get_ref().operation;
        let written = WrittenCall {
            operation: Some(name.clone()),
            with: step.get_ref().with.clone(),
            ..WrittenCall::default()
        };
        let call = self.call(&Spanned::new(step.span(), written))?;
        if !call.speaks(protocol) {
            let message = format!("operation `{}` does not speak {protocol:?}", name.get_ref());
            return Err(self.invalid(name.span(), message));
        }
        let values: Values = call
            .with()
            .iter()
            .map(|(name, source)| (name.clone(), source.get_ref().clone()))
            .collect();
        let wanted = (name.get_ref().clone(), values);
        if let Some(index) = assembly.calls.iter().position(|known| *known == wanted) {
            return Ok(index);
        }
        let built = assembly.build(&call, protocol)?;
        assembly.operations.push(Operation {
            name: label(&wanted.0, &step.get_ref().with),
            ..built
        });
        assembly.calls.push(wanted);
        Ok(assembly.operations.len() - 1)
    }
}

impl Assembly {
    fn build(&mut self, call: &Call<'_>, protocol: Protocol) -> Result<Operation, ContractError> {
        let bindings: Bindings = call
            .with()
            .iter()
            .map(|(name, source)| (name.clone(), self.bound(name, source.get_ref())))
            .collect();
        let (request, expect) = call.build(protocol, &Filling::for_load(&bindings, &self.parameters))?;
        Ok(Operation {
            name: String::new(),
            request,
            expect,
        })
    }

    fn bound(&mut self, name: &str, source: &WrittenSource) -> Bound {
        let source: Source = match source {
            WrittenSource::One(text) => return Bound::Text(text.clone()),
            other => other
                .parameter()
                .expect("invariant: only one value has no parameter"),
        };
        let wanted = Parameter {
            name: name.to_owned(),
            source,
        };
        let index = self
            .parameters
            .iter()
            .position(|known| *known == wanted)
            .unwrap_or_else(|| {
                self.parameters.push(wanted);
                self.parameters.len() - 1
            });
        Bound::Parameter(index)
    }
}

/// The operation's name, with the values that the workload fixes: `getPerson(id=1)`.
fn label(operation: &str, with: &BTreeMap<String, Spanned<WrittenSource>>) -> String {
    let fixed: Vec<String> = with
        .iter()
        .filter_map(|(name, source)| match source.get_ref() {
            WrittenSource::One(text) => Some(format!("{name}={text}")),
            _ => None,
        })
        .collect();
    if fixed.is_empty() {
        operation.to_owned()
    } else {
        format!("{operation}({})", fixed.join(","))
    }
}
