//! The cost of each domain's triggers without any call, held against the table in `docs/costs.md`.

use std::fmt::Write;

use tributary_functions::app::App;
use tributary_testing::budget::hold_table;

use crate::budgets::path;
use crate::world::World;

/// The cost of a trigger's leases for each physical partition, in request units a second.
const LEASES: f64 = 1.3;

/// The cost of one poll of a partition without changes, and of all that goes with it.
const POLL: f64 = 0.8;

const SECONDS_A_MONTH: f64 = 30.4 * 24.0 * 60.0 * 60.0;

/// Dollars for a million request units, serverless (`docs/infrastructure.md`).
const PRICE: f64 = 0.25;

#[tokio::test]
async fn the_price_at_rest_is_that_of_the_triggers_of_each_domain() {
    let world = World::new().await;
    let App { domains, .. } = World::app(&World::cosmos(&world.endpoint).await, World::options());
    let mut table = String::from(
        "| domain | triggers | `feedPollDelay` | request units a second | dollars a month |\n\
         | --- | --- | ---: | ---: | ---: |\n",
    );
    for domain in domains.iter().filter(|domain| !domain.projections.is_empty()) {
        let mut triggers: Vec<&str> =
            domain.projections.iter().map(|projection| projection.function()).collect();
        triggers.sort_unstable();
        let delay = domain.feeds.poll_delay_ms;
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let per_second = triggers.len() as f64 * (LEASES + POLL * 1_000.0 / f64::from(delay));
        let dollars = per_second * SECONDS_A_MONTH * PRICE / 1_000_000.0;
        let triggers = triggers.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let name = domain.name;
        let triggers = triggers.join(", ");
        writeln!(table, "| `{name}` | {triggers} | {delay} | {per_second:.1} | {dollars:.2} |")
            .unwrap();
    }
    hold_table(path("docs/costs.md"), &table);
}
