//! A table of the stages of an open load.

use super::kind;
use super::times::{in_unit, unit_of};
use prony_records::{Quantile, Recording, StageRecording};
use prony_runner::{number, percent_down};

/// Maximum number of stages that are shown; a ramp has ten parts.
const MOST: usize = 40;

/// One column: its title, its cells, its width, and how important it is.
struct Column {
    title: String,
    cells: Vec<String>,
    width: usize,
    level: u8,
}

/// The table, without its least important columns if the terminal is narrow.
pub(super) fn table(recording: &Recording, columns: usize) -> Option<String> {
    let stages = &recording.stages[..recording.stages.len().min(MOST)];
    if stages.is_empty() {
        return None;
    }
    let all = of_stages(stages);
    let width_of = |most: u8| {
        let shown = all.iter().filter(|column| column.level <= most);
        shown.map(|column| column.width).sum::<usize>()
    };
    let most = [3, 2, 1].into_iter().find(|&most| width_of(most) <= columns);
    let shown: Vec<&Column> = all
        .iter()
        .filter(|column| column.level <= most.unwrap_or(0))
        .collect();
    let line = |cell: &dyn Fn(&Column) -> String| {
        let cells = shown
            .iter()
            .map(|column| format!("{:>width$}", cell(column), width = column.width));
        cells.collect::<String>()
    };
    let head = line(&|column| column.title.clone());
    let rows = (0..stages.len()).map(|place| line(&|column| column.cells[place].clone()));
    Some(std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n"))
}

fn of_stages(stages: &[StageRecording]) -> Vec<Column> {
    let column = |title: &str, width, level, cell: &dyn Fn(&StageRecording) -> String| Column {
        title: title.to_owned(),
        cells: stages.iter().map(cell).collect(),
        width,
        level,
    };
    // One unit for all times: that of the longest.
    let all = stages.iter().flat_map(|stage| [stage.p50, stage.p99]).flatten();
    let longest = all
        .filter(|time| time.at_least().is_some())
        .max_by_key(|time| time.at_least());
    let unit = unit_of(longest.as_slice());
    let times = |name: &str, level, of: fn(&StageRecording) -> Option<Quantile>| {
        column(&format!("{name}, {}", unit.name), 10, level, &|stage| {
            of(stage).map_or_else(|| "–".to_owned(), |found| in_unit(found, unit))
        })
    };
    let mut place = column("stage", 7, 0, &|_| String::new());
    place.cells = (1..=stages.len()).map(|place| place.to_string()).collect();
    vec![
        place,
        column("time, s", 11, 2, &|stage| {
            format!(
                "{}–{}",
                second(stage.start_s),
                second(stage.start_s + stage.length_s)
            )
        }),
        column("offered/s", 12, 0, &|stage| kind::offered(stage.offered_per_s)),
        column("valid/s", 10, 0, &|stage| {
            number(stage.valid as f64 / stage.length_s.max(1e-9))
        }),
        column("success", 10, 1, &success),
        times("p50", 3, |stage| stage.p50),
        times("p99", 0, |stage| stage.p99),
    ]
}

fn success(stage: &StageRecording) -> String {
    match stage.valid + stage.errors {
        0 => "–".to_owned(),
        due => percent_down(stage.valid as f64 / due as f64),
    }
}

/// A time in s, without a fraction if it is whole.
fn second(time: f64) -> String {
    let tenths = (time * 10.0).round() / 10.0;
    format!("{tenths}")
}
