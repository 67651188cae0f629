//! `POST /beds/{bedId}/seeds/{seedId}`.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

checked_text!(
    /// A parameter of the path.
    BedId, "a1", id_rule;

    /// A parameter of the path.
    SeedId, "a1", id_rule;
);

checked_text!(
    /// The text of the body: 1 to 200 characters.
    Text, "A text", length_rule(1..=200)
);

from_form!(Text: text("text", Text::parse));

/// The answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlantSeedAnswer {
    text: Text,
    bed_id: BedId,
    seed_id: SeedId,
}

/// Returns the ids of the path and the text of the body, without a store request.
pub(super) async fn plant_seed(
    Params((bed_id, seed_id)): Params<(BedId, SeedId)>,
    JsonBody(text): JsonBody<Text>,
) -> Result<Json<PlantSeedAnswer>, ApiError> {
    Ok(Json(PlantSeedAnswer { text, bed_id, seed_id }))
}
