//! The guide's rules, and the changes of their answers.

use super::*;

fn selection(file: &str) -> StrategySelection {
    select(&DataCharacteristics::read(file).unwrap())
}

fn key(file: &str) -> String {
    selection(file).key.strategy.to_string()
}

/// The arms of the guide's switch, in its order, and the scenarios that are more precise than it.
#[test]
fn each_rule_and_scenario_of_the_guide_gives_its_strategy() {
    let temporal =
        |more: &str| format!("[access]\ntemporal = true\n[volume]\nitems = 2_000_000\n{more}");
    let fast =
        "items-per-entity-per-day = 1_001\n[paths]\nentity = '/deviceId'\ntime = '/timestamp'";
    let tenants = |more: &str| format!("[tenants]\ncount = {more}");
    for (file, expected) in [
        (temporal(""), "/createdAt by month"),
        (tenants("400"), "/tenantId"),
        ("[load]\nhigh-write-volume = true\n[access]\nuniform = true".into(), "/id in 100 buckets"),
        ("[volume]\nitems = 10\n[paths]\nentity = '/customerId'".into(), "/customerId"),
        ("[volume]\nitems = 10".into(), "/id"),
        (temporal(fast), "/deviceId+/timestamp by day"),
        (temporal("[load]\nwrites-per-second = 900"), "/createdAt by month+/id in 10 buckets"),
        (tenants("400\nlargest-gigabytes = 16\n[paths]\nentity = '/userId'"), "/tenantId,/userId"),
        (tenants("99"), "/tenantId,/id"),
        ("[access]\nby-id-only = true".into(), "/id"),
    ] {
        assert_eq!(key(&file), expected, "{file}");
    }
}

#[test]
fn the_framework_of_the_guide_chooses_the_containers() {
    use ContainerArchitecture::{HotWarm, HotWarmMigration, Single};
    for (file, expected) in [
        ("[volume]\ngigabytes = 501\n[load]\nhigh-query-load = true", HotWarm),
        ("[access]\nanalytics-and-real-time = true", HotWarmMigration),
        ("[volume]\ngigabytes = 99", Single),
        ("[volume]\ngigabytes = 501", Single),
    ] {
        assert_eq!(selection(file).containers.architecture, expected, "{file}");
    }
    let periods = selection("[access]\nindependent-periods = true").containers;
    assert!(periods.reasons[1].contains("not recommend"), "{periods:?}");
}

/// The changes are found by asking again, so each leads to the answer that it names.
#[test]
fn each_change_leads_to_its_answer() {
    let file =
        "[volume]\nitems = 2_000_000\n[access]\ntemporal = true\n[paths]\nentity = '/userId'";
    let answer = selection(file);
    let change = |clause: &str| answer.changes.iter().find(|change| change.if_.contains(clause));
    for (clause, not_said, changed) in [
        ("tenants", true, format!("{file}\n[tenants]\ncount = 1000")),
        ("did not ask for a time", false, file.replace("true", "false")),
    ] {
        let change = change(clause).unwrap();
        let strategy = change.strategy.as_ref().unwrap().to_string();
        assert_eq!((change.not_said, strategy), (not_said, key(&changed)), "{clause}");
    }
    assert!(change("each entity").is_none(), "an answer that stays is no change");
}

#[test]
fn a_wrong_file_is_refused_with_a_remedy() {
    let error = |file: &str| DataCharacteristics::read(file).unwrap_err().to_string();
    assert!(error("[paths]\nentity = 'userId'").contains("begin with /"));
    assert!(error("").contains("says nothing"));
    assert!(error("[paths]\nid = '/key'").contains("says nothing"));
    assert_eq!(
        error("[volume]\ngigabytes = -1.0"),
        "volume.gigabytes is -1: it must be a number from 0 on"
    );
    assert!(error("[volume]\ngigabytes = nan").contains("from 0 on"));
}
