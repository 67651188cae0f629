//! Exports as the portal and the command line give them, and the handler's lines.

use serde_json::{Value, json};

use super::*;

fn traffic(files: &[&str]) -> Traffic {
    let mut traffic = Traffic::new(None, None, Notation::default());
    for file in files {
        traffic.read(file.as_bytes()).unwrap();
    }
    traffic
}

#[test]
fn rows_of_the_command_line_tell_queries_in_one_partition_from_others() {
    let row = |(activity, key, hour): (&str, &str, u32)| {
        json!({"TableName": "PrimaryResult", "Type": "CDBPartitionKeyRUConsumption", "CollectionName": "posts",
            "OperationName": "Query", "ActivityId": activity, "PartitionKey": format!("[\"{key}\"]"),
            "RequestCharge": "2.5", "TimeGenerated": format!("2026-11-22T{hour:02}:00:00.000Z")})
    };
    let rows =
        [("1", "ada", 0), ("2", "ada", 6), ("3", "ada", 6), ("3", "bob", 6), ("4", "bob", 12)];
    let traffic = traffic(&[&Value::from(rows.map(row).to_vec()).to_string()]);
    let kinds = traffic.requests(Some(&"/userId".parse().unwrap())).unwrap();
    let expected = [("one logical partition", 6.0, 1), ("over logical partitions", 2.0, 0)];
    for (found, (part, per_day, n_filters)) in kinds.iter().zip(expected) {
        assert!(found.kind.contains(part) && found.filters.len() == n_filters, "{found:?}");
        assert_eq!(found.per_day(), Some(per_day));
    }
    let notes = traffic.measured().unwrap().notes;
    assert!(notes[0].contains("[\"ada\"] takes the most request units: 60 %"), "{notes:?}");
    assert!(notes[1].contains("CDBQueryRuntimeStatistics"), "{notes:?}");
}

#[test]
fn large_partitions_and_throttled_requests_are_noted() {
    let sizes = json!({"TimeGenerated": "2026-11-22T00:00:00Z", "PartitionKey": "[\"ada\"]", "SizeKb": 16 * 1024 * 1024});
    let throttled = json!({"TimeGenerated": "2026-11-22T01:00:00Z", "OperationName": "Read", "RequestCharge": 0,
        "StatusCode": 429});
    let notes = traffic(&[&format!("{sizes}\n{throttled}")]).measured().unwrap().notes;
    assert!(notes[0].contains("[\"ada\"] with 16.0 GB. The guide's alert"), "{notes:?}");
    assert!(notes[1].contains("1 request got 429"), "{notes:?}");
}

#[test]
fn a_file_that_is_no_traffic_is_refused_with_a_remedy() {
    let error = |text: &str| {
        Traffic::new(None, None, Notation::default()).read(text.as_bytes()).unwrap_err().to_string()
    };
    assert!(error("a,b\n1,2\n").contains("has the columns a, b"));
    assert!(error("{\"a\": 1").contains("item 1: not JSON"));
    assert!(error("[{\"a\": 1}").contains("its array does not end"));
    assert!(error("a,b\n1\n").contains("is no CSV"));
    assert!(error("").contains("(none)"));
    let timeless = "{\"OperationName\":\"Read\",\"RequestCharge\":1}";
    let requests = |traffic: &Traffic| traffic.requests(None).map_err(|error| error.to_string());
    assert!(requests(&traffic(&[timeless])).unwrap_err().contains("--days"));
    let two = "TimeGenerated,OperationName,CollectionName,RequestCharge\n\
               2026-11-22T00:00:00Z,Read,posts,1\n2026-11-22T01:00:00Z,Read,users,1\n";
    assert!(requests(&traffic(&[two])).unwrap_err().contains("posts, users"));
    let mut of_posts = Traffic::new(Some("posts"), Some(1.0), Notation::default());
    of_posts.read(two.as_bytes()).unwrap();
    assert_eq!(requests(&of_posts).unwrap()[0].per_day(), Some(1.0));
}

fn per_day(requests: &str, time: &str, notation: Notation) -> Result<f64, String> {
    let mut traffic = Traffic::new(None, None, notation);
    let heads = "TimeGenerated [Local Time]\tOperationName\tRequestCharge\tRequests";
    let rows = format!("{time}\tRead\t1\t{requests}\n2026-07-16T00:00:00Z\tRead\t1\t0");
    let read = traffic.read(format!("{heads}\n{rows}\n").as_bytes());
    read.map_err(|error| format!("{error:#}"))?;
    let told = traffic.measured().unwrap();
    let is_left_out = told.notes.iter().any(|note| note.contains("1 row with times that are not"));
    assert_eq!(told.rows, if is_left_out { 1 } else { 2 }, "{told:?}");
    Ok(traffic.requests(None).unwrap()[0].per_day().unwrap())
}

#[test]
fn a_number_is_read_where_its_form_has_one_meaning() {
    let per_day = |text: &str, decimal_comma| {
        per_day(text, "2026/7/16 0:00:00.000", Notation { decimal_comma, day_first: None })
    };
    let thousand = "1 000|1\u{202f}000|1'000|1e3|1000.0|1.000,0|1,000.00";
    for (texts, expected) in
        [(thousand, 1_000.0), ("1,234,567|1.234.567", 1_234_567.0), ("2,83|2.83", 2.83)]
    {
        for text in texts.split('|') {
            assert_eq!(per_day(text, None), Ok(expected), "{text}");
        }
    }
    for (text, comma, point) in [("1.000", 1_000.0, 1.0), ("1,000", 1.0, 1_000.0)] {
        let error = per_day(text, None).unwrap_err();
        assert!(error.contains("Requests such as 0"), "{error}");
        let both = [true, false].map(|decimal_comma| per_day(text, Some(decimal_comma)));
        assert_eq!(both, [Ok(comma), Ok(point)]);
    }
    assert!(per_day("2,83", Some(false)).is_err());
}

/// A row of the other's day makes one day, and a row without a time is left out.
#[test]
fn times_of_the_portal_are_read_and_rows_without_one_are_no_requests() {
    let per_day =
        |text: &str, day_first| per_day("8", text, Notation { day_first, ..Notation::default() });
    let same_day =
        "2026/7/16 0:00:00.403|16/07/2026 00:00:00.030|7/16/2026, 12:00:00.000\u{202f}AM";
    let other_day = "7/8/2026, 12:00:00.000 AM|2026-07-15 00:00:00|15/7/2026, 12:00:00.000 a. m.";
    for (texts, expected) in
        [(same_day, 8.0), (other_day, 4.0), ("yesterday||99/99/2026 0:00", 0.0)]
    {
        for text in texts.split('|') {
            assert_eq!(per_day(text, None), Ok(expected), "{text}");
        }
    }
    let error = per_day("07/08/2026 00:00:00.000", None).unwrap_err();
    assert!(error.contains("00/00/0000 00:00:00.000"), "{error}");
    assert_eq!(per_day("07/08/2026 00:00:00.000", Some(true)), Ok(4.0));
}

#[test]
fn lines_of_the_handler_add_up_as_they_are_and_in_rows() {
    let line = |container: &str, top: Value| {
        json!({
            "message": "Measured the use of logical partitions", "container": container,
            "timestamp": "2026-11-22T19:00:00Z", "request_charge_ru": 100.0, "store.queries": 8,
            "store.cross_partition_queries": 2, "store.throttled": 3, "partitions": 12,
            "partitions.gini": 0.5, "partitions.top": top.to_string(),
        })
    };
    let second = line("posts", json!([["b", 50.0, 6]])).to_string();
    let rows = json!([
        line("posts", json!([["a", 60.0, 6], ["b", 10.0, 1]])),
        {"TimeGenerated": "2026-11-22T19:01:00Z", "Message": second},
        line("users", json!([["u", 9.0, 1]])),
    ]);
    let mut traffic = Traffic::new(Some("posts"), None, Notation::default());
    traffic.read(rows.to_string().as_bytes()).unwrap();
    let told = traffic.partition_use().unwrap();
    assert_eq!((told.queries, told.cross_partition_queries, told.throttled), (16.0, 4.0, 6.0));
    assert_eq!((told.request_units, told.gini), (200.0, Some(0.5)));
    assert_eq!(told.hottest, [("a".to_owned(), 60.0), ("b".to_owned(), 60.0)]);
}
