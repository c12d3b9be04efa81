//! Static pages of many runs: every link resolves, nothing is loaded, and no text of a run becomes markup.

use crate::sample;
use crate::sample::HOSTILE;
use prony_report::{SiteFile, SiteRun, site};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

const BASE: &str = "https://bench.example/all/";

/// The report of a run on a day of November, in which every service reached this share of its usual rate.
fn report(day: u32, level: f64) -> Value {
    let mut trials = sample::trials();
    for trial in &mut trials {
        if let Ok(measured) = &mut trial.result {
            measured.recording.throughput_per_s *= level;
            measured.recording.goodput_per_s *= level;
        }
    }
    let mut report = serde_json::to_value(sample::report_of(&trials)).expect("plain data");
    report["run"] = format!("2026-11-{day:02}T08-30-00-sample").into();
    report["started_at"] = format!("2026-11-{day:02}T08:30:00Z").into();
    report["ended_at"] = format!("2026-11-{day:02}T08:40:00Z").into();
    report["plan"]["title"] = format!("Sample {HOSTILE}").into();
    report
}

/// Eight runs of one suite, a fifth slower from the fifth on, and one of another suite with a hostile name.
fn reports() -> Vec<Value> {
    static MADE: OnceLock<Vec<Value>> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Vec<Value> {
    let wobble = |day: u32| 1.0 + f64::from(day * 7 % 4) / 1000.0;
    let level = |day: u32| if day < 5 { 1.0 } else { 0.8 };
    let mut all: Vec<Value> = (1..=8).map(|day| report(day, level(day) * wobble(day))).collect();
    let mut hostile = report(9, 1.0);
    hostile["run"] = format!("../../{HOSTILE}").into();
    hostile["suite"] = HOSTILE.into();
    all.push(hostile);
    all
}

/// All files by their paths.
fn made(reports: Vec<Value>, base_url: Option<&str>) -> BTreeMap<String, String> {
    let mut runs = Vec::new();
    let mut files = Vec::new();
    for report in reports {
        let (run, page) = SiteRun::read(report).expect("a report");
        runs.push(run);
        files.push(page);
    }
    files.extend(site(&runs, base_url).expect("sound runs"));
    let count = files.len();
    let files: BTreeMap<String, String> = files
        .into_iter()
        .map(|SiteFile { path, text }| (path, text))
        .collect();
    assert_eq!(files.len(), count, "two files of one name");
    files
}

/// The pages except the report pages of runs, which carry a script.
fn pages(files: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    files
        .iter()
        .filter(|(path, _)| ends(path, "html") && !path.starts_with("boards/"))
}

fn ends(path: &str, ending: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found == ending)
}

/// The values of an attribute.
fn values<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    text.split(begin.as_str())
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect()
}

/// The target of a relative link on a page.
fn target(page: &str, link: &str) -> String {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    for part in link.split('#').next().unwrap_or_default().split('/') {
        match part {
            ".." => drop(folders.pop().expect("no link leaves the site")),
            _ => folders.push(part),
        }
    }
    folders.join("/")
}

#[test]
fn every_link_leads_to_an_existing_file() {
    let files = made(reports(), None);
    let mut followed = 0;
    for (path, text) in pages(&files) {
        for link in values(text, "href") {
            if let Some(id) = link.strip_prefix('#') {
                assert!(text.contains(&format!(" id=\"{id}\"")), "{path}: {link}");
                continue;
            }
            if link == "data:," {
                continue;
            }
            assert!(!link.contains("://") && !link.starts_with('/'), "{path}: {link}");
            let target = target(path, link);
            assert!(files.contains_key(&target), "{path}: {link} leads to {target}");
            followed += 1;
        }
    }
    assert!(followed > 100, "{followed} links");
    // The links of report pages are in their data.
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("boards/")) {
        let data = text
            .split_once("id=\"prony-data\" type=\"application/json\">")
            .and_then(|(_, rest)| rest.split_once("</script>"))
            .expect("the data")
            .0;
        let data: Value = serde_json::from_str(data).expect("JSON");
        let services = data["site"]["services"].as_object().expect("pages of services");
        assert_eq!(services.len(), 4);
        for link in services.values().chain([&data["site"]["home"]]) {
            let target = target(path, link.as_str().expect("a link"));
            assert!(files.contains_key(&target), "{path}: {link}");
        }
    }
}

#[test]
fn every_file_stays_in_the_folder_of_the_site() {
    for path in made(reports(), None).keys() {
        let plain = |character: char| character.is_ascii_alphanumeric() || "-_.~/".contains(character);
        assert!(path.chars().all(plain), "{path}");
        assert!(
            path.split('/')
                .all(|part| !part.is_empty() && !part.starts_with('.')),
            "{path}"
        );
    }
}

#[test]
fn pages_load_nothing_and_say_so() {
    for base in [None, Some(BASE)] {
        let files = made(reports(), base);
        for (path, text) in pages(&files) {
            assert!(
                text.contains(
                    "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'"
                ),
                "{path}"
            );
            for loading in [
                "<script",
                "<img",
                "<iframe",
                " src=",
                "url(",
                "@import",
                "<link rel=\"stylesheet",
            ] {
                assert!(!text.contains(loading), "{path} has {loading}");
            }
            for link in values(text, "href") {
                assert!(!link.contains("://"), "{path} leads to {link}");
            }
        }
    }
    let without = made(reports(), None);
    for (path, text) in without.iter().filter(|(path, _)| !path.starts_with("boards/")) {
        let foreign = text.matches("://").count();
        // The names of the two formats are URLs that nothing requests.
        let names = text.matches("\"http://www.w3.org/").count();
        assert_eq!(foreign, names, "{path} names a host");
    }
}

#[test]
fn what_runs_say_is_text() {
    let files = made(reports(), Some(BASE));
    let mut met = 0;
    for (path, text) in files.iter().filter(|(path, _)| !path.starts_with("boards/")) {
        assert!(!text.contains("<script") && !text.contains('\u{1b}'), "{path}");
        met += text.matches("&lt;script&gt;document.title=").count();
    }
    assert!(met > 20, "the hostile text is met {met} times");
}

#[test]
fn the_first_page_names_the_leading_service() {
    let files = made(reports(), None);
    let first = &files["index.html"];
    assert!(
        first.contains("2 studies") && first.contains(">4 services<"),
        "{first}"
    );
    let finding = report(8, 0.8)["groups"][0]["finding"]
        .as_str()
        .expect("a sentence")
        .to_owned();
    assert!(
        first.contains(&finding.replace('\'', "&#39;")) || first.contains("axum leads"),
        "{first}"
    );
    assert!(
        first.contains("<a href=\"services/rust-axum.html\">axum</a>"),
        "{first}"
    );
    assert!(
        first.contains("7 earlier runs") && first.contains("Since the previous run"),
        "{first}"
    );
    assert!(first.contains("/s ± "), "a value with its interval");
}

#[test]
fn bars_of_the_first_page_have_intervals_and_ties_share_colour_and_label() {
    let files = made(reports(), None);
    let first = &files["index.html"];
    let list = first
        .split_once("<ul class=\"bars\">")
        .and_then(|(_, rest)| rest.split_once("</ul>"))
        .expect("bars")
        .0;
    let bars: Vec<&str> = list.lines().filter(|line| line.starts_with("<li")).collect();
    assert_eq!(bars.len(), 3, "{list}");
    let is_odd = |bar: &str| bar.starts_with("<li class=\"odd\">");
    assert!(bars[0].starts_with("<li class=\"first\">"), "{list}");
    assert_eq!(
        bars.iter().map(|bar| is_odd(bar)).collect::<Vec<_>>(),
        [false, true, true],
        "{list}"
    );
    let is_tied = |bar: &str| bar.contains(">tied for 2<");
    assert_eq!(
        bars.iter().map(|bar| is_tied(bar)).collect::<Vec<_>>(),
        [false, true, true],
        "{list}"
    );
    for bar in bars {
        let percent = |name: &str| -> f64 {
            let (_, rest) = bar
                .split_once(&format!("{name}:"))
                .unwrap_or_else(|| panic!("{name}: {bar}"));
            rest.split_once('%')
                .expect("a share")
                .0
                .parse()
                .expect("a number")
        };
        let (bar_end, low) = (percent("<b style=\"width"), percent("left"));
        assert!(
            low < bar_end && bar_end <= low + percent(";width"),
            "the interval contains the value: {bar}"
        );
    }
}

#[test]
fn a_service_has_its_boards_its_history_and_its_badges() {
    let files = made(reports(), Some(BASE));
    let page = &files["services/rust-axum.html"];
    for wanted in [
        "<h1>axum</h1>",
        "hello · closed loop on 64 connections",
        "<span>Rust</span>",
        "<span>micro</span>",
        "From 2026-11-05 on, goodput is 0.",
        "times what it was before.",
        "<svg class=\"history\"",
        "class=\"change\"",
        "(https://bench.example/all/badges/rust-axum/current/sample-hello-closed-loop-on-64-connections.svg)",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing:\n{page}");
    }
    // One table for each of two rankings over eight runs, and one of all rankings.
    assert_eq!(page.matches("<table>").count(), 3);
    let excluded = &files["services/python-flask.html"];
    assert!(
        excluded.contains("excluded: case <code>hello</code>: the body is one byte short"),
        "{excluded}"
    );
    assert!(files["services.html"].contains("<a href=\"services/python-flask.html\">Flask</a>"));
}

#[test]
fn runs_under_other_circumstances_are_no_change_of_the_service() {
    let mut all = reports();
    for report in &mut all[..4] {
        report["environment"]["kernel"] = "5.10.0".into();
    }
    let files = made(all, None);
    let page = &files["services/rust-axum.html"];
    assert!(
        page.contains("class=\"hollow\"") && page.contains(">different<"),
        "{page}"
    );
    assert!(!page.contains("times what it was before"), "{page}");
    let changes = &files["changes/2026-11-05T08-30-00-sample.html"];
    assert!(
        changes.contains("kernel: 5.10.0 in the base, 6.1.0 now"),
        "{changes}"
    );
}

#[test]
fn changes_between_two_runs_are_shown() {
    let files = made(reports(), None);
    let names: Vec<&String> = files.keys().filter(|path| path.starts_with("changes/")).collect();
    assert_eq!(names.len(), 7, "{names:?}");
    let slower = &files["changes/2026-11-05T08-30-00-sample.html"];
    // Two runs at different times cannot say that a service is better or worse.
    assert!(slower.contains("<b class=\"worse\">lower</b>"), "{slower}");
    assert!(
        slower.contains("0 higher, 3 lower, 3 without a proven change"),
        "{slower}"
    );
    assert!(
        slower.contains("how the machine varies from run to run is not in the intervals"),
        "{slower}"
    );
    assert!(
        !slower.contains(">worse<") && !slower.contains(" worse"),
        "{slower}"
    );
    let same = &files["changes/2026-11-06T08-30-00-sample.html"];
    assert!(!same.contains("class=\"worse\""), "{same}");
}

#[test]
fn the_feed_is_well_formed_and_its_ids_stay() {
    let read = |base| {
        let files = made(reports(), base);
        let feed = &files["feed.xml"];
        let document = roxmltree::Document::parse(feed).expect("well-formed XML");
        let root = document.root_element();
        assert_eq!(
            (root.tag_name().name(), root.tag_name().namespace()),
            ("feed", Some("http://www.w3.org/2005/Atom"))
        );
        for needed in ["title", "id", "updated", "author"] {
            assert!(
                root.children()
                    .any(|child| child.has_tag_name(("http://www.w3.org/2005/Atom", needed))),
                "{needed}"
            );
        }
        let named = |name: &'static str| {
            let all = document
                .descendants()
                .filter(move |node| node.tag_name().name() == name);
            all.map(|node| node.text().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        let links: Vec<String> = document
            .descendants()
            .filter_map(|node| Some(node.attribute("href")?.to_owned()))
            .collect();
        for link in &links {
            match base {
                Some(base) => assert!(link.starts_with(base), "{link}"),
                None => assert!(files.contains_key(link), "{link}"),
            }
        }
        for time in named("updated") {
            assert!(time.ends_with('Z') && time.len() == 20, "{time}");
        }
        assert!(
            named("summary")[1].contains("axum leads"),
            "{:?}",
            named("summary")
        );
        named("id")
    };
    let ids = read(None);
    assert_eq!(ids.len(), 10, "one of the feed and nine of runs");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 10);
    assert!(
        ids.iter().all(|id| id.starts_with("urn:uuid:") && id.len() == 45),
        "{ids:?}"
    );
    assert_eq!(ids, read(Some(BASE)));
}

#[test]
fn badges_are_pictures_with_rank_and_value() {
    let files = made(reports(), None);
    let badges: Vec<(&String, &String)> = files.iter().filter(|(path, _)| ends(path, "svg")).collect();
    // Four services in two rankings of two suites.
    assert_eq!(badges.len(), 16);
    for (path, text) in &badges {
        let document = roxmltree::Document::parse(text).expect(path);
        let width: f64 = document
            .root_element()
            .attribute("width")
            .and_then(|width| width.parse().ok())
            .expect("a width");
        assert!((60.0..760.0).contains(&width), "{path}: {width}");
    }
    // Each names its ranking, so no two of a service look alike.
    let labels: BTreeSet<(&str, &str)> = badges
        .iter()
        .map(|(path, text)| {
            let title = text
                .split_once("<title>")
                .and_then(|(_, rest)| rest.split_once("</title>"));
            let (label, _) = title
                .expect("a title")
                .0
                .rsplit_once(": ")
                .expect("a ranking and words");
            (path.split('/').nth(1).expect("a service"), label)
        })
        .collect();
    assert_eq!(labels.len(), 16, "{labels:?}");
    let badge = &files["badges/rust-axum/current/sample-hello-closed-loop-on-64-connections.svg"];
    assert!(
        badge.contains(">sample: hello · 64 connections</text>"),
        "{badge}"
    );
    assert!(
        badge.contains("rank 1 of 3 · ") && badge.contains("/s ± "),
        "{badge}"
    );
    let excluded = &files["badges/python-flask/current/sample-hello-closed-loop-on-64-connections.svg"];
    assert!(excluded.contains(">excluded<"), "{excluded}");
}

#[test]
fn exports_of_earlier_versions_are_read_and_others_refused() {
    let mut old = report(1, 1.0);
    for group in old["groups"].as_array_mut().expect("groups") {
        for row in group["services"].as_array_mut().expect("rows") {
            let row = row.as_object_mut().expect("a row");
            row.remove("rank_low");
            row.remove("rank_high");
            row.insert("rank_interval".to_owned(), json!({ "best": 2, "worst": 9 }));
        }
    }
    let files = made(vec![old], None);
    assert!(files["services/rust-axum.html"].contains("2–9 of 3"));
    let mut limited = report(1, 1.0);
    limited["schema"] = 1.into();
    limited["groups"][0]["finding"] = "axum cannot be ranked".into();
    let row = &mut limited["groups"][0]["services"][0];
    row["generator_bound"] = true.into();
    for rank in ["rank", "rank_low", "rank_high"] {
        row[rank] = Value::Null;
    }
    let files = made(vec![limited], None);
    assert!(files["services/rust-axum.html"].contains("1–3 of 3"));
    let first = &files["index.html"];
    assert!(
        first.contains("axum leads: at least 72,125") && first.contains("rates are lower bounds"),
        "{first}"
    );
    let mut newer = report(1, 1.0);
    newer["schema"] = 99.into();
    let told = SiteRun::read(newer).expect_err("another version").to_string();
    assert!(
        told.contains("version 99") && told.contains("version 2"),
        "{told}"
    );
    for nonsense in [
        json!(null),
        json!([1]),
        json!("<b>"),
        json!({ "groups": 1 }),
        json!({}),
    ] {
        let told = SiteRun::read(nonsense).expect_err("no report").to_string();
        assert!(told.contains("not a prony report"), "{told}");
    }
}

#[test]
fn nothing_measured_is_a_site_too() {
    let mut empty = report(1, 1.0);
    empty["groups"] = json!([]);
    for runs in [Vec::new(), vec![empty]] {
        let files = made(runs, None);
        assert!(files.contains_key("index.html") && files.contains_key("feed.xml"));
    }
}

/// The browser tests open these pages: this keeps the written pages in step with those tests.
#[test]
fn the_page_tests_open_what_is_written() {
    let opened = [
        "index.html",
        "services.html",
        "services/rust-axum.html",
        "changes/2026-11-05T08-30-00-sample.html",
        "feed.xml",
    ];
    let files = made(reports(), Some(BASE));
    let chosen: BTreeMap<&str, &str> = opened.map(|path| (path, files[path].as_str())).into();
    let written = serde_json::to_string(&chosen).expect("plain data") + "\n";
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/site.json");
    if std::env::var_os("PRONY_WRITE_SAMPLE").is_some() {
        std::fs::write(&file, &written).expect("writes");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == written,
        "web/tests/site.json is stale: run this test with PRONY_WRITE_SAMPLE=1"
    );
}
