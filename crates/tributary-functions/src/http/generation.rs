//! The generation of copies that a request reads, where their projection has a successor
//! ([`succession`](crate::projection::succession)).

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{ApiError, cursor, query::parameter_of};
use crate::projection::{
    control::Generation,
    succession::{ChosenGeneration, ServingGeneration, Succession, in_generations},
};

/// Runs a request, all parts of which read the copies of one generation: that of its cursor, or the one that
/// readers get now.
pub async fn one_generation(
    State(successions): State<Arc<[Succession]>>,
    request: Request,
    next: Next,
) -> Response {
    match choose(&successions, request.uri().query()).await {
        Ok(chosen) => in_generations(chosen, next.run(request)).await,
        Err(error) => error.into_response(),
    }
}

async fn choose(
    successions: &[Succession],
    query: Option<&str>,
) -> Result<Vec<ChosenGeneration>, ApiError> {
    // A list refuses a text that is no cursor.
    let began = parameter_of(query, "cursor")?.and_then(|text| cursor::successors(&text));
    let mut chosen = Vec::new();
    for succession in successions {
        let ServingGeneration { generation, is_confirmed } = succession.now().await?;
        let generation = match &began {
            Some(names) => generation_of_list(names, succession),
            None => generation,
        };
        if generation == Generation::Old && is_confirmed {
            return Err(ApiError::invalid(
                "cursor",
                "is of a list that has another shape now. Begin again without it",
            ));
        }
        chosen.push(succession.choose(generation));
    }
    Ok(chosen)
}

fn generation_of_list(names: &str, succession: &Succession) -> Generation {
    let is_new = names.split(',').any(|name| name == succession.successor());
    if is_new { Generation::New } else { Generation::Old }
}
