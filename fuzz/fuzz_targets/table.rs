//! Tables of data in both formats: columns of equal length, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::input::table;

fuzz_target!(|text: &str| {
    for table in [table::parse_csv(text), table::parse_json_lines(text)]
        .into_iter()
        .flatten()
    {
        let rows = table.columns[0].1.len();
        assert!(rows > 0);
        for (name, values) in &table.columns {
            assert!(table::is_name(name));
            assert_eq!(values.len(), rows);
        }
    }
});
