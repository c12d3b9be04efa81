//! Measures the resource usage of a process tree, and of the machine meanwhile.

mod compiler_clock;
mod counters;
mod cpu_speed_probe;
mod machine;
mod sampler;

pub(super) use counters::Probe;
pub(crate) use machine::Machine;
pub(crate) use machine::tick_ns;
pub(super) use sampler::Sampler;
