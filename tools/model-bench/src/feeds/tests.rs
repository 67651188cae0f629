//! The architectures on the local endpoint: equal answers, a migration without losses and duplicates,
//! and complete reports.

use std::sync::Arc;

use clap::Parser;
use proptest::prelude::*;
use tributary_tools::html::page::check_page;

use super::{
    DAY_SECONDS, FeedsCli, MIGRATION_AGE, TimeWindow,
    architecture::Architecture,
    calls::{MONTH_DAYS, PAGE_ITEMS, QUARTER_DAYS, WEEK_DAYS, YEAR_DAYS},
    containers::midnight,
    data::{DataSet, FeedsShape as Data, RARE_WORD},
    keys::{KeyStrategy, Provider},
    report::{FeedsMeasurements, FeedsReport},
    router::{Ask, Feeds},
    run::{load, run},
    shape::RequestShape,
    writes::MIGRATED_AT_ONCE,
};
use crate::{
    cli::{ModelCli, OtherFamily},
    progress::ProgressLine,
    report::Forms,
};

/// Returns a data set that ends at the beginning of a quarter: windows include the ends of months,
/// quarters and, with 12 months, a year.
fn data(items: usize) -> Arc<DataSet> {
    let now = midnight("2026-10-05").unwrap();
    Arc::new(
        DataSet::generate(Data { items, months: 12, providers: 8, seed: 5, now, bulk: 20 })
            .unwrap(),
    )
}

async fn loaded(architecture: Architecture, data: &Arc<DataSet>) -> Arc<Feeds> {
    let feeds = Arc::new(Feeds::make(architecture, data, 150).await.unwrap());
    load(&feeds, data, ProgressLine::new("Loading".into(), 0)).await.unwrap();
    feeds
}

/// Returns the data set's answer to a query.
fn expected(data: &DataSet, ask: &Ask<'_>) -> Vec<String> {
    let items = data.of_window(ask.window).filter(|plan| {
        ask.provider.is_none_or(|provider| provider.id == data.provider(plan.provider).id)
            && (ask.word.is_none() || data.has_rare_word(plan))
    });
    items.take(ask.limit as usize).map(|plan| data.id_of(plan)).collect()
}

#[tokio::test]
async fn all_architectures_answer_with_what_was_stored_newest_first() {
    let data = data(600);
    let now = data.shape.now;
    let window = |days| TimeWindow::days_before(now, days);
    let some = |window, provider, word, limit| Ask { window, provider, word, limit, page_size: 20 };
    let over_the_age = TimeWindow {
        from: now - MIGRATION_AGE - 3 * DAY_SECONDS,
        to: now - MIGRATION_AGE + 3 * DAY_SECONDS,
    };
    let asks = [
        some(window(WEEK_DAYS), None, None, PAGE_ITEMS),
        some(window(MONTH_DAYS), Some(data.provider(0)), None, PAGE_ITEMS),
        some(window(MONTH_DAYS), Some(data.provider(7)), None, PAGE_ITEMS),
        some(window(QUARTER_DAYS), None, Some(RARE_WORD), PAGE_ITEMS),
        some(window(YEAR_DAYS), None, None, 100),
        some(window(YEAR_DAYS), Some(data.provider(6)), None, 1_000),
        some(over_the_age, None, None, 1_000),
    ];
    for architecture in Architecture::ALL {
        let feeds = loaded(architecture, &data).await;
        for ask in &asks {
            let found = feeds.page(ask).await.unwrap();
            let found: Vec<_> = found.into_iter().map(|item| item.id).collect();
            assert_eq!(found, expected(&data, ask), "{architecture}: {ask:?}");
            assert!(!found.is_empty());
        }
        let counts = feeds.counts(window(YEAR_DAYS)).await.unwrap();
        let all = data.of_window(window(YEAR_DAYS)).count();
        assert_eq!((counts.len(), counts.values().sum::<u64>()), (8, all as u64));
        assert_eq!(
            feeds.looked_at(window(QUARTER_DAYS)).await.unwrap(),
            data.of_window(window(QUARTER_DAYS)).count()
        );
        for plan in data.items.iter().step_by(30) {
            let item = feeds.item(&data, plan).unwrap();
            let found = feeds.read(&item.partition_key, &item.id).await.unwrap();
            assert_eq!(found.id, item.id);
        }
    }
}

#[tokio::test]
async fn writes_are_found_wherever_they_went_and_a_repost_is_no_second_item() {
    let data = data(60);
    let now = data.shape.now;
    let all = TimeWindow { from: now - 13 * YEAR_DAYS * DAY_SECONDS / 12, to: now };
    for architecture in Architecture::ALL {
        let feeds = loaded(architecture, &data).await;
        // Two of each container, and many of one partition.
        let ages = [1, 2, 40, 41, 300, 301].into_iter().chain(3..=40);
        let plans: Vec<_> =
            ages.enumerate().map(|(n, age)| data.another(n, now - age * DAY_SECONDS / 4)).collect();
        let items: Vec<_> = plans.iter().map(|plan| feeds.item(&data, plan).unwrap()).collect();
        feeds.put(&items[0]).await.unwrap();
        feeds.put_all(&items).await.unwrap();
        feeds.put_all(&items).await.unwrap();
        let count: u64 = feeds.counts(all).await.unwrap().values().sum();
        assert_eq!(count, (data.items.len() + items.len()) as u64, "{architecture}");
    }
}

#[tokio::test]
async fn a_migrated_item_is_returned_once_before_and_after() {
    let data = data(60);
    for architecture in [Architecture::HotWarm, Architecture::HotWarmMonthly] {
        let feeds = loaded(architecture, &data).await;
        let (hot, warm) = feeds.hot_and_warm().unwrap();
        // As many as a run migrates, and one more.
        let new: Vec<_> = (0..=MIGRATED_AT_ONCE as usize)
            .map(|n| data.another(n, feeds.threshold() - 1 - i64::try_from(n).unwrap()))
            .map(|plan| feeds.item(&data, &plan).unwrap())
            .collect();
        feeds.put_unmigrated(&new).await.unwrap();
        let whole = TimeWindow { from: data.shape.now - 400 * DAY_SECONDS, to: data.shape.now };
        let count = async || feeds.counts(whole).await.unwrap().values().sum::<u64>();
        let before = count().await;

        assert_eq!(feeds.migrate().await.unwrap(), 100);
        assert_eq!(feeds.migrate().await.unwrap(), 1);
        assert_eq!(feeds.migrate().await.unwrap(), 0);
        assert_eq!(count().await, before + 101);
        for item in &new {
            let key = &item.partition_key;
            let id = &item.id;
            assert!(hot.read::<serde_json::Value>(key, id).await.unwrap().is_none());
            let copy = warm.read::<serde_json::Value>(key, id).await.unwrap().unwrap().item;
            assert!(copy.get("migrated").is_none() && copy.get("ttl").is_none(), "{copy}");
        }
    }
}

proptest! {
    /// A query visits the partition of each of its items.
    #[test]
    fn the_partitions_of_a_window_have_all_its_items(
        from in 0_i64..2_000_000_000, length in 1_i64..200 * DAY_SECONDS, within in 0.0..1.0_f64,
        id in ".{1,12}", has_high_volume in any::<bool>(),
    ) {
        let window = TimeWindow { from, to: from + length };
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "days")]
        let published = from + (length as f64 * within) as i64;
        let provider = Provider { id: &id, has_high_volume };
        for (keys, asked) in [
            (KeyStrategy::Hybrid, Some(provider)), (KeyStrategy::Monthly, None), (KeyStrategy::Monthly, Some(provider)),
        ] {
            let key = keys.of_item("item", provider, published);
            let visited = keys.of_window(asked, window).unwrap();
            prop_assert!(visited.contains(&key), "{key}: {visited:?}");
            let of_key = keys.window_of(&key).unwrap();
            prop_assert!(of_key.contains(published));
        }
        prop_assert_eq!(KeyStrategy::Hybrid.of_window(None, window), None);
        prop_assert_eq!(KeyStrategy::Id.of_window(Some(provider), window), None);
    }
}

async fn measured(options: &str) -> (FeedsCli, FeedsReport) {
    let options = ["model-bench", "feeds"].into_iter().chain(options.split_whitespace());
    let Some(OtherFamily::Feeds(cli)) = ModelCli::parse_from(options).other else { unreachable!() };
    let report = run(&cli).await.unwrap();
    (cli, report)
}

#[tokio::test]
async fn only_requests_without_a_partition_key_grow_with_the_data() {
    let options =
        "--items 400 --providers 8 --months 12,24 --items-per-partition 50 --bulk 40 --requests 1";
    let (_, report) = measured(options).await;
    let [small, large] = report.sizes.as_slice() else { panic!("{report:?}") };
    let units = |size: &FeedsMeasurements, shape, of| size.row(shape, of).unwrap().request_units;
    let seen = |size: &FeedsMeasurements, shape, of| size.row(shape, of).unwrap().seen.unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "a handful")]
    let physical = |shape, of| {
        [small, large].map(|size| seen(size, shape, of).physical_partitions.round() as i64)
    };

    for of in [Architecture::OneMonthly, Architecture::HotWarmMonthly, Architecture::HotWarm] {
        assert_eq!(physical(RequestShape::Recent, of), [1, 1], "{of}");
    }
    for of in [Architecture::One, Architecture::Unseparated] {
        assert_eq!(physical(RequestShape::Recent, of), [4, 8], "{of}");
        assert!(
            units(large, RequestShape::Recent, of) > 1.5 * units(small, RequestShape::Recent, of),
            "{of}"
        );
    }
    for of in [Architecture::One, Architecture::HotWarm, Architecture::Yearly] {
        for shape in [RequestShape::ProviderHigh, RequestShape::ProviderOther] {
            assert!(seen(small, shape, of).logical_partitions <= 2.0, "{of}");
            assert!(seen(large, shape, of).logical_partitions <= 2.0, "{of}");
        }
    }
    // The item is found by its key, in any container.
    for of in Architecture::ALL {
        assert!(units(large, RequestShape::Item, of) < 2.2, "{of}");
    }

    // A migration costs more than the post, and the sum of its steps.
    for (of, steps) in &large.migrations {
        assert_eq!(
            steps.keys().copied().collect::<Vec<_>>(),
            ["copy", "expire", "find", "flag", "verify"]
        );
        let whole = units(large, RequestShape::Migrate, *of);
        assert!((steps.values().sum::<f64>() - whole).abs() < 0.1, "{steps:?}, {whole}");
        assert!(whole > units(large, RequestShape::Post, *of));
    }
    assert_eq!(large.migrations.len(), 2);

    // A bulk request: a transaction for each partition, and one for each item without any in common.
    let requests = |of| large.row(RequestShape::Bulk, of).unwrap().store_requests;
    assert!((requests(Architecture::OneMonthly) - 1.0 / 40.0).abs() < 1e-9);
    assert!((requests(Architecture::Unseparated) - 1.0).abs() < 1e-9);
    assert!(requests(Architecture::One) < 0.7);
}

#[tokio::test]
async fn the_report_tells_all_and_needs_nothing_from_elsewhere() {
    let (cli, report) =
        measured("--items 100 --months 6,12 --providers 6 --bulk 9 --requests 1").await;
    let folder = std::env::temp_dir().join(format!("model-bench-feeds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [html, json] = ["report.html", "report.json"].map(|name| folder.join(name));
    let mut output = cli.output;
    (output.html, output.json, output.markdown) = (Some(html.clone()), Some(json.clone()), true);
    report.write(&output).unwrap();
    let [html, json] = [html, json].map(|path| std::fs::read_to_string(path).unwrap());
    std::fs::remove_dir_all(folder).unwrap();

    check_page(&html);
    assert!(report.text().contains("The guide's table"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["measured"]["sizes"][1]["rows"].as_array().unwrap();
    // Eleven shapes of six architectures, and the migration of two.
    assert_eq!(rows.len(), 68);
    for row in rows {
        for number in ["store_requests", "physical_partitions", "request_units", "p99_ms"] {
            assert!(row[number].as_f64().is_some_and(|value| value > 0.0), "{number}: {row}");
        }
    }
    assert_eq!(json["published"][0]["guide"]["request_units"], "10-50");
    let yearly = &json["measured"]["sizes"][1]["capacities"][4];
    assert_eq!(yearly["containers"].as_array().unwrap().len(), 2);
    assert!((yearly["least_dollars_a_month"].as_f64().unwrap() - 70.08).abs() < 1e-9);
}
