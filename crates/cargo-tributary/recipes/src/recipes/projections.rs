//! The projections: a card of each recipe in the list of all, and the number of recipes with each tag.

use tributary_functions::prelude::*;

use super::model::{Card, CardsItem, DeletedCard, RecipesItem};

/// The logical partition of all cards.
pub const LIST: &str = "recipes";

/// The cards of the recipes.
pub struct RecipeCards;

impl Copies for RecipeCards {
    const FUNCTION: &'static str = "RecipeCards";
    type Change = RecipesItem;
    type Copy = CardsItem;

    fn copies_of(change: &RecipesItem) -> Vec<VersionedCopy<CardsItem>> {
        let (id, version, list) = match change {
            RecipesItem::Recipe(recipe) => (&recipe.id, recipe.version, LIST.to_owned()),
            RecipesItem::DeletedRecipe(deleted) => (&deleted.id, deleted.version, LIST.to_owned()),
            RecipesItem::Favorite(_) => return Vec::new(),
        };
        let item = match change {
            RecipesItem::Recipe(recipe) => {
                Card { id: id.clone(), list, public: recipe.public.clone(), version }.into()
            }
            _ => DeletedCard { id: id.clone(), list, version, ttl: tombstone::TTL_SECONDS }.into(),
        };
        vec![VersionedCopy { partition: LIST.to_owned(), id: id.to_string(), version, item }]
    }

    fn may_be_rewritten(change: &RecipesItem) -> bool {
        let RecipesItem::Recipe(recipe) = change else { return false };
        let public = &recipe.public;
        let texts = [public.title.as_str(), public.description.as_str()].into_iter();
        texts.chain(public.tag_list.iter().map(AsRef::as_ref)).any(may_be_rewritten_by_host)
    }
}

/// The numbers of recipes, by tag.
pub struct TagCounts;

impl Aggregate for TagCounts {
    const FUNCTION: &'static str = "TagCounts";
    type Change = RecipesItem;

    fn contribution(change: &RecipesItem) -> Option<Contribution> {
        let RecipesItem::Recipe(recipe) = change else { return None };
        recipe.public.tag_list.first().map(|tag| Contribution::new(tag.as_str(), 1))
    }
}
