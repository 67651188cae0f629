//! `GET /beds/{bedId}/seeds/{seedId}`.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

checked_text!(
    /// A parameter of the path.
    BedId, "a1", id_rule;

    /// A parameter of the path.
    SeedId, "a1", id_rule;
);

/// The answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FindSeedAnswer {
    bed_id: BedId,
    seed_id: SeedId,
}

/// Returns the ids of the path, without a store request.
pub(super) async fn find_seed(
    Params((bed_id, seed_id)): Params<(BedId, SeedId)>,
) -> Result<Json<FindSeedAnswer>, ApiError> {
    Ok(Json(FindSeedAnswer { bed_id, seed_id }))
}
