//! The limits of the data.

use crate::{
    checks::MIN_WINDOW_WRITES, estimates::model::ContainerModel, report::CandidateEstimates,
    words::float, words::whole,
};

/// Returns the limits of the data as sentences.
pub(super) fn unknown(estimates: &CandidateEstimates, model: &ContainerModel<'_>) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut say = |when: bool, sentence: String| {
        if when {
            unknown.push(sentence);
        }
    };
    let no_requests = estimates.requests.is_empty();
    let frequencies = estimates.requests.iter().any(|request| request.per_day.is_some());
    say(
        no_requests,
        "Which requests come, so what they cost and whether they name the key: there are no requests."
            .to_owned(),
    );
    say(
        !no_requests && !frequencies,
        "Request units a day: no request has a frequency, so each kind counts the same.".to_owned(),
    );
    say(
        estimates.growth.items_per_day.is_none(),
        "When a partition reaches 20 GB: neither a growth nor the frequency of a create is given."
            .to_owned(),
    );
    say(
        frequencies && model.options.items_in_container.is_none(),
        "When a partition reaches 10,000 RU/s: the number of items in the container is not given."
            .to_owned(),
    );
    let imported = estimates.times.as_ref().filter(|times| !times.are_of_creation);
    if let Some(times) = imported {
        say(
            true,
            format!(
                "Whether writes come together in one partition at a time: {} is from {} to {}, as after an import \
                 or a copy. --time names a property with the time of creation.",
                times.path, times.oldest, times.newest
            ),
        );
    }
    say(
        estimates.times.is_none(),
        "Whether writes come together in one partition at a time: no item has a time that can be read."
            .to_owned(),
    );
    if let Some(hot) = &estimates.hotness {
        say(
            hot.writes < MIN_WINDOW_WRITES,
            format!(
                "The busiest minute: even the busiest day of the sample has {} writes, too few to tell.",
                hot.writes
            ),
        );
        say(
            hot.window_seconds > 60 && hot.writes >= MIN_WINDOW_WRITES,
            "The busiest minute: no minute has enough writes in the sample to tell; a longer time is shown."
                .to_owned(),
        );
    }
    say(
        frequencies,
        "Which keys are read most: values are taken to be asked for as often as items have them. A single popular \
         item or key may be read far more; `tributary-partition monitor` shows the hot keys of the current one."
            .to_owned(),
    );
    for (kind, _) in &model.kinds {
        say(
            kind.found.items == 0
                && kind.request.operation != crate::request::RequestOperation::Create,
            format!(
                "What `{}` finds: no item of the sample has what it asks for.",
                kind.request.kind
            ),
        );
    }
    say(
        model.draw.scale > 1.0,
        format!(
            "The other {} items. Those of the sample are taken to be drawn at random, {}: what a value finds and \
             how large the partitions are is estimated, and how many keys there are (between {} and {}).",
            whole(model.n_items - float(estimates.items)),
            match &model.options.whole_keys {
                Some(key) => format!("each {key} with all its items"),
                None => "each item by itself".to_owned(),
            },
            whole(estimates.cardinality.low),
            whole(estimates.cardinality.high)
        ),
    );
    unknown
}
