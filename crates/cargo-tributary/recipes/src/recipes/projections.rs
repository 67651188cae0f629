//! The projections: a card of each recipe in the list of all, and the number of recipes with each tag.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tributary_functions::prelude::*;

use super::model::{RecipesItem, Tag};

/// The logical partition of all cards.
pub(super) const LIST: &str = "recipes";

/// The cards of the recipes.
pub struct RecipeCards;

impl Copies for RecipeCards {
    const FUNCTION: &'static str = "RecipeCards";
    type Change = RecipesItem;
    type Copy = Value;

    fn copies_of(change: &RecipesItem) -> Vec<VersionedCopy<Value>> {
        let (id, version, mut item) = match change {
            RecipesItem::Recipe(recipe) => (&recipe.id, recipe.version, json!(recipe.card)),
            RecipesItem::DeletedRecipe(it) => (&it.id, it.version, json!({"ttl": it.ttl})),
            RecipesItem::Favorite(_) => return Vec::new(),
        };
        for (name, value) in [("id", json!(id)), ("list", json!(LIST)), ("version", json!(version))]
        {
            item[name] = value;
        }
        vec![VersionedCopy { partition: LIST.to_owned(), id: id.to_string(), version, item }]
    }

    fn may_be_rewritten(change: &RecipesItem) -> bool {
        let RecipesItem::Recipe(recipe) = change else { return false };
        let card = &recipe.card;
        let texts = [card.title.as_str(), card.description.as_str()].into_iter();
        texts.chain(card.tag_list.iter().map(AsRef::as_ref)).any(may_be_rewritten_by_host)
    }
}

/// The numbers of recipes, by tag.
pub struct TagCounts;

impl Aggregate for TagCounts {
    const FUNCTION: &'static str = "TagCounts";
    type Change = RecipesItem;

    fn contributions(change: &RecipesItem) -> impl IntoIterator<Item = Contribution> {
        let tags = match change {
            RecipesItem::Recipe(recipe) => recipe.card.tag_list.as_slice(),
            RecipesItem::DeletedRecipe(_) | RecipesItem::Favorite(_) => &[],
        };
        // A tag that stands twice in a recipe is one tag.
        let tags: BTreeSet<&str> = tags.iter().map(Tag::as_str).collect();
        tags.into_iter().map(|tag| Contribution::new(tag, 1)).collect::<Vec<_>>()
    }
}
