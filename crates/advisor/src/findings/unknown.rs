//! The limits of the data.

use crate::{
    checks::MIN_WINDOW_WRITES,
    estimates::ContainerModel,
    report::CandidateReport,
    request::RequestOperation,
    words::{float, whole},
};

pub(super) fn unknown(report: &CandidateReport, model: &ContainerModel<'_>) -> Vec<String> {
    let no_requests = report.requests.is_empty();
    let frequencies = report.requests.iter().any(|request| request.per_day.is_some());
    let hot = report.hotness.as_ref();
    let is_busy = hot.is_some_and(|hot| hot.writes >= MIN_WINDOW_WRITES);
    let fixed = [
        (
            no_requests,
            "Which requests come, so what they cost and whether they name the key: there are no requests.",
        ),
        (
            !no_requests && !frequencies,
            "Request units a day: no request has a frequency, so each kind counts the same.",
        ),
        (
            report.growth.items_per_day.is_none(),
            "When a partition reaches 20 GB: neither a growth nor the frequency of a create is given.",
        ),
        (
            frequencies && model.options.items_in_container.is_none(),
            "When a partition reaches 10,000 RU/s: the number of items in the container is not given.",
        ),
        (
            report.times.is_none(),
            "Whether writes come together in one partition at a time: no item has a time that can be read.",
        ),
        (
            is_busy && hot.is_some_and(|hot| hot.window_seconds > 60),
            "The busiest minute: no minute has enough writes in the sample to tell; a longer time is shown.",
        ),
        (
            frequencies,
            "Which keys are read most: values are taken to be asked for as often as items have them. A single popular \
             item or key may be read far more; `tributary-partition monitor` shows the hot keys of the current one.",
        ),
    ];
    let fixed = fixed.into_iter().filter(|(holds, _)| *holds);
    let mut unknown: Vec<String> = fixed.map(|(_, sentence)| sentence.to_owned()).collect();
    unknown.extend(report.times.as_ref().filter(|times| !times.are_of_creation).map(|times| {
        format!(
            "Whether writes come together in one partition at a time: {} is from {} to {}, as after an import \
             or a copy. --time names a property with the time of creation.",
            times.path, times.oldest, times.newest
        )
    }));
    unknown.extend(hot.filter(|_| !is_busy).map(|hot| {
        let writes = hot.writes;
        format!("The busiest minute: even the busiest day of the sample has {writes} writes, too few to tell.")
    }));
    let finds_nothing =
        model.kinds.iter().map(|(kind, _)| kind).filter(|kind| {
            kind.found.items == 0 && kind.request.operation != RequestOperation::Create
        });
    unknown.extend(finds_nothing.map(|kind| {
        format!("What `{}` finds: no item of the sample has what it asks for.", kind.request.kind)
    }));
    if model.draw.scale > 1.0 {
        let drawn = model.options.whole_keys.as_ref();
        unknown.push(format!(
            "The other {} items. Those of the sample are taken to be drawn at random, {}: what a value finds and \
             how large the partitions are is estimated, and how many keys there are (between {} and {}).",
            whole(model.n_items - float(report.items)),
            drawn.map_or("each item by itself".to_owned(), |key| format!("each {key} with all its items")),
            whole(report.cardinality.low),
            whole(report.cardinality.high)
        ));
    }
    unknown
}
