//! The columns of tables: which numbers of a service they show, in which order, and under which headings.

use super::{head_of, one_line, rate_of};
use crate::number::{Unit, digits, estimated, with_interval};
use crate::{GroupReport, Row};
use prony_statistics::{Estimate, Metric, Quantity};
use serde_json::Value;

/// Minimum confidence at which the score and error of JMH are shown, which are at 99.9 %.
const JMH: f64 = 0.999;

/// A column of a table, with the unit of its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Column {
    what: ColumnKind,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ColumnKind {
    /// The estimate of a metric.
    Of(Metric),
    /// Score ± error of a rate in the format of JMH.
    Score(Metric),
    /// The value of the ranked metric over that of the first service.
    Ratio,
    /// CPU per request over TLS ÷ in clear.
    TlsCpu,
    /// Goodput over TLS ÷ in clear.
    TlsGoodput,
    /// CPU time of a TLS handshake.
    Handshake,
    /// CPU time per request beyond that of the baseline.
    OverBaseline,
    /// Memory per connection that is held open.
    PerConnection,
    /// The rate that a further start sustains.
    Sustained,
    /// Share of the compiler threads in the CPU time of the service while it was measured.
    CompilerShare,
}

/// The columns of a group's table.
pub(super) struct Columns {
    /// Always shown.
    pub(super) first: Vec<Column>,
    /// Shown if they fit.
    pub(super) more: Vec<Column>,
}

/// Whether a service has this metric.
fn is_known(group: &GroupReport, metric: Metric) -> bool {
    let mut rows = group.services.iter();
    rows.any(|row| row.summary.metrics.get(metric).is_some())
}

/// The known metrics of a paired design.
fn added_by_service(group: &GroupReport) -> impl Iterator<Item = Metric> {
    let all = [
        Metric::OverheadFirstNsP50,
        Metric::OverheadFirstNsP99,
        Metric::OverheadGapNsP99,
        Metric::OverheadLastNsP50,
        Metric::CpuNsPerEvent,
        Metric::MemoryBytesPerStream,
    ];
    all.into_iter().filter(|metric| is_known(group, *metric))
}

impl Columns {
    /// The most important metrics for this kind of load. Where requests arrive independently of replies, these are the
    /// quantiles of the response time, and the resources that the service uses meanwhile.
    pub(super) fn of(group: &GroupReport) -> Self {
        use Metric::{
            BackingServiceCpuNsPerRequest as BackingCpu, CpuNsPerRequest as Cpu, CpusBusy,
            FirstMessageNsP50 as First, FirstMessageNsP99 as FirstP99, MemoryBytesPeak as Memory,
            MessagesPerS as Messages, ResponseTimeNsMax as Longest, ResponseTimeNsP50 as P50,
            ResponseTimeNsP75 as P75, ResponseTimeNsP95 as P95, ResponseTimeNsP99 as P99, StartMs as Start,
        };
        let rate = rate_of(group);
        let (first, more) = match group.load.get("kind").and_then(Value::as_str) {
            Some("start") => of_start(group),
            Some("users") => (
                vec![P75, P95, P99, Longest, CpusBusy, Memory],
                vec![Cpu, rate, P50, Start],
            ),
            Some("open") => (
                vec![P99, Cpu, Memory, CpusBusy, P75, P95, Longest],
                vec![rate, P50, Start],
            ),
            _ => (vec![rate, P99, Cpu, Memory], vec![CpusBusy, P50, Start]),
        };
        let column = |metric| Column {
            what: ColumnKind::Of(metric),
            unit: unit_of(group, metric),
        };
        let mut first: Vec<Column> = first.into_iter().map(column).collect();
        // What a service adds to the path past it says more than the times themselves.
        first.splice(0..0, added_by_service(group).map(column));
        // For streams, metrics of their messages say more than the time of the last message.
        if is_known(group, Messages) {
            let after = first
                .iter()
                .position(|column| column.what == ColumnKind::Of(rate));
            let at = after.map_or(0, |place| place + 1);
            first.splice(at..at, [Messages, First, FirstP99].map(column));
        }
        if is_known(group, BackingCpu) {
            let after = first.iter().position(|column| column.what == ColumnKind::Of(Cpu));
            first.insert(after.map_or(1, |place| place + 1), column(BackingCpu));
        }
        let any = |has: fn(&Row) -> bool| group.services.iter().any(has);
        if any(|row| row.summary.ratio_to_first.is_some()) {
            first.insert(1, Column::plain(ColumnKind::Ratio));
        }
        first.splice(1..1, tls_columns(group));
        if let Some(over) = over_baseline(group) {
            let after = first.iter().position(|column| column.what == ColumnKind::Of(Cpu));
            first.insert(after.map_or(1, |place| place + 1), over);
        }
        first.splice(1..1, per_connection(group));
        if any(|row| row.summary.sustained_per_s.is_some()) {
            first.insert(
                1,
                Column {
                    what: ColumnKind::Sustained,
                    unit: unit_of(group, rate),
                },
            );
        }
        if group.confidence >= JMH && !group.is_open() && group.load["kind"] != "start" {
            let score = Column {
                what: ColumnKind::Score(rate),
                unit: unit_of(group, rate),
            };
            first.insert(1, score);
        }
        let mut more: Vec<Column> = more.into_iter().map(column).collect();
        if any(|row| compiler_share(row).is_some()) {
            more.insert(0, Column::plain(ColumnKind::CompilerShare));
        }
        Self { first, more }
    }

    pub(super) fn all(self) -> Vec<Column> {
        [self.first, self.more].concat()
    }
}

/// The metrics of a measured start.
fn of_start(group: &GroupReport) -> (Vec<Metric>, Vec<Metric>) {
    use Metric::{
        AnonymousBytesIdle as Anonymous, ArtefactBytes as Artefact, ArtefactBytesUsed as Used,
        FileBytesIdle as Files, GoodputPerS as Rate, ListeningMs as Listening, MemoryBytesAfterLoad as After,
        MemoryBytesFirstReply as AtFirst, MemoryBytesIdle as Idle, StartCpuNs as Cpu, StartMs as Start,
        SteadyRateS as Steady,
    };
    match group.load["measures"].as_str() {
        Some("cold") => (vec![Start, Cpu, Used, Artefact], vec![AtFirst, Listening]),
        Some("memory") => (vec![Idle, AtFirst, After, Anonymous, Files], vec![Rate, Start]),
        Some("steady_rate") => (vec![Steady, Rate, Start], vec![Cpu]),
        _ => (vec![Start, Cpu, AtFirst], vec![Listening]),
    }
}

impl Column {
    /// A column of numbers without a unit.
    const fn plain(what: ColumnKind) -> Self {
        Self {
            what,
            unit: Unit::NONE,
        }
    }

    /// Whether it shows the ratio to the first service.
    pub(super) fn is_ratio(self) -> bool {
        self.what == ColumnKind::Ratio
    }

    /// The heading, with the unit where it is not obvious.
    pub(super) fn head(self, group: &GroupReport) -> String {
        match (self.what, self.unit.symbol) {
            (ColumnKind::Score(_), _) => "score ± error at 99.9 %, op/s".to_owned(),
            (ColumnKind::Of(Metric::BackingServiceCpuNsPerRequest), symbol)
                if !group.backing_services.is_empty() =>
            {
                format!(
                    "{} CPU/request, {symbol}",
                    one_line(&group.backing_services.join(" + "))
                )
            }
            _ => self.short_head(),
        }
    }

    /// A short heading, regardless of the names of backing services.
    pub(super) fn short_head(self) -> String {
        match (self.what, self.unit.symbol) {
            (ColumnKind::Score(_), _) => "score ± error, op/s".to_owned(),
            (ColumnKind::Ratio, _) => "ratio".to_owned(),
            (ColumnKind::TlsCpu, _) => "CPU, TLS ÷ clear".to_owned(),
            (ColumnKind::TlsGoodput, _) => "goodput, TLS ÷ clear".to_owned(),
            (ColumnKind::Handshake, symbol) => format!("CPU/handshake, {symbol}"),
            (ColumnKind::OverBaseline, symbol) => format!("CPU over baseline, {symbol}"),
            (ColumnKind::PerConnection, symbol) => format!("memory per connection, {symbol}"),
            (ColumnKind::Sustained, "") => "sustains".to_owned(),
            (ColumnKind::Sustained, symbol) => format!("sustains, {symbol}"),
            (ColumnKind::CompilerShare, _) => "compiler, %".to_owned(),
            (ColumnKind::Of(metric), "") => head_of(metric).to_owned(),
            (ColumnKind::Of(metric), symbol) => format!("{}, {symbol}", head_of(metric)),
        }
    }

    /// The value of a service in this column. A rate that the generator limited is a lower bound.
    pub(super) fn cell(self, row: &Row) -> String {
        let (metric, shown) = match self.what {
            ColumnKind::Of(metric) => (
                metric,
                row.summary
                    .metrics
                    .get(metric)
                    .and_then(|quantity| with_interval(quantity, self.unit)),
            ),
            ColumnKind::Score(metric) => (metric, row.summary.metrics.get(metric).and_then(score)),
            ColumnKind::Ratio => {
                let ratio = row.summary.ratio_to_first.as_ref();
                return ratio.map_or_else(|| "–".to_owned(), shown_ratio);
            }
            ColumnKind::TlsCpu | ColumnKind::TlsGoodput => {
                let ratio = tls_ratio(row, self.what);
                return ratio.map_or_else(|| "–".to_owned(), |ratio| estimated(ratio, Unit::NONE));
            }
            ColumnKind::Handshake => {
                let cpu = handshake(row);
                return cpu.map_or_else(|| "–".to_owned(), |cpu| estimated(cpu, self.unit));
            }
            ColumnKind::OverBaseline => {
                let over = row.summary.over_baseline.as_ref();
                return over.map_or_else(
                    || "–".to_owned(),
                    |over| signed(&over.cpu_ns_per_request, self.unit),
                );
            }
            ColumnKind::PerConnection => {
                let slope = row.summary.memory_bytes_per_connection.as_ref();
                return slope.map_or_else(|| "–".to_owned(), |slope| signed(slope, self.unit));
            }
            ColumnKind::Sustained => {
                let rate = row.summary.sustained_per_s.map(|rate| self.unit.show(rate));
                return rate.unwrap_or_else(|| "–".to_owned());
            }
            ColumnKind::CompilerShare => {
                return compiler_share(row).map_or_else(|| "–".to_owned(), |share| digits(100.0 * share));
            }
        };
        match shown {
            None => "not known".to_owned(),
            // The load ended before it.
            Some(shown) if metric == Metric::SteadyRateS => shown.replace("no bound", "> load"),
            Some(shown) if row.summary.is_lower_bound(metric) => format!("≥ {shown}"),
            Some(shown) => shown,
        }
    }
}

/// A difference with the ends of its interval, which may be on both sides of zero.
fn signed(difference: &Estimate, unit: Unit) -> String {
    let shown = |value: f64| {
        let sign = if value < 0.0 { "−" } else { "+" };
        format!("{sign}{}", unit.show(value.abs()))
    };
    let Estimate { point, low, high, .. } = *difference;
    format!("{} ({} … {})", shown(point), shown(low), shown(high))
}

/// The column of what services cost over their baselines, if any has one.
fn over_baseline(group: &GroupReport) -> Option<Column> {
    let mut rows = group.services.iter();
    let is_known = rows.any(|row| row.summary.over_baseline.is_some());
    is_known.then(|| Column {
        what: ColumnKind::OverBaseline,
        unit: unit_of(group, Metric::CpuNsPerRequest),
    })
}

/// The column of the memory per connection, if it is known of any service.
fn per_connection(group: &GroupReport) -> Option<Column> {
    let rows = group.services.iter();
    let slopes: Vec<f64> = rows
        .filter_map(|row| row.summary.memory_bytes_per_connection)
        .map(|slope| slope.point)
        .collect();
    (!slopes.is_empty()).then(|| Column {
        what: ColumnKind::PerConnection,
        unit: Unit::for_metric(Metric::MemoryBytesPeak, &slopes),
    })
}

/// A ratio to the first service. That of the first one has no interval.
fn shown_ratio(ratio: &Estimate) -> String {
    if ratio.high > ratio.low {
        estimated(ratio, Unit::NONE)
    } else {
        digits(ratio.point)
    }
}

/// The columns of the cost of TLS that a service of the group has.
fn tls_columns(group: &GroupReport) -> Vec<Column> {
    let has = |kind: &ColumnKind| group.services.iter().any(|row| tls_ratio(row, *kind).is_some());
    let ratios = [ColumnKind::TlsCpu, ColumnKind::TlsGoodput]
        .into_iter()
        .filter(has);
    let mut columns: Vec<Column> = ratios.map(Column::plain).collect();
    let rows = group.services.iter();
    let handshakes: Vec<f64> = rows.filter_map(|row| Some(handshake(row)?.point)).collect();
    if !handshakes.is_empty() {
        columns.push(Column {
            what: ColumnKind::Handshake,
            unit: Unit::for_metric(Metric::CpuNsPerRequest, &handshakes),
        });
    }
    columns
}

/// What TLS costs a service, as a ratio to the same without TLS.
fn tls_ratio(row: &Row, what: ColumnKind) -> Option<&Estimate> {
    let tls = row.summary.tls.as_ref()?;
    if what == ColumnKind::TlsCpu {
        tls.cpu_ratio.as_ref()
    } else {
        tls.goodput_ratio.as_ref()
    }
}

fn handshake(row: &Row) -> Option<&Estimate> {
    row.summary.tls.as_ref()?.handshake_cpu_ns.as_ref()
}

/// The highest share of the compiler threads in a trial of a service; `None` if it has none.
fn compiler_share(row: &Row) -> Option<f64> {
    let trials = row.details.iter().flat_map(|details| &details.points);
    trials.filter_map(|trial| trial.compiler_share).reduce(f64::max)
}

fn score(quantity: &Quantity) -> Option<String> {
    let Quantity::Estimated(estimated) = quantity else {
        return None;
    };
    let jmh = estimated.jmh.as_ref()?;
    Some(format!("{} ± {}", digits(jmh.score), digits(jmh.error)))
}

/// The unit in which a group's values of a metric are shown.
pub(super) fn unit_of(group: &GroupReport, metric: Metric) -> Unit {
    let rows = group.services.iter();
    let values: Vec<f64> = rows
        .filter_map(|row| row.summary.metrics.get(metric)?.position())
        .collect();
    Unit::for_metric(metric, &values)
}
