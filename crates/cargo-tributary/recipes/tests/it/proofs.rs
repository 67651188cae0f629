//! The cards under the proof: late, duplicate and out-of-order deliveries, to two instances, one of which is
//! killed.

use std::collections::HashMap;

use serde_json::Value;
use tributary_functions::values::CommandId;
use tributary_testing::proof::{self, Sources};

use my_app::recipes::{
    RecipeCards,
    model::{Recipe, RecipeText, RecipesItem, Slug, Steps, Title, Username},
};

use crate::App;

/// Recipes, as the commands write them.
#[derive(Default)]
struct RecipeWriter(HashMap<u8, RecipesItem>);

fn text(title: String) -> RecipeText {
    let body = Steps::parse("B".to_owned()).unwrap();
    RecipeText { title: Title::parse(title).unwrap(), body }
}

fn new_recipe(source: u8, owner: u8) -> Recipe {
    let cook = Username::parse(format!("cook{owner}")).unwrap();
    let recipe = Recipe::new(text(format!("Recipe {source}")), cook, &CommandId::fresh()).unwrap();
    let slug = Slug::parse(format!("recipe{source}")).unwrap();
    Recipe { id: slug.clone(), slug, ..recipe }
}

impl Sources for RecipeWriter {
    type App = App;

    const CONTAINER: &'static str = "recipes";
    const PARTITION_KEY: &'static str = "slug";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let recipe = match self.0.get(&source) {
            Some(RecipesItem::Recipe(recipe)) => {
                recipe.edited(text(format!("Title {}", recipe.version)))
            }
            Some(RecipesItem::DeletedRecipe(before)) => {
                new_recipe(source, owner).replacing(Some(before))
            }
            None => new_recipe(source, owner),
        };
        self.set(source, recipe.into())
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let Some(RecipesItem::Recipe(recipe)) = self.0.get(&source) else { return None };
        let tombstone = recipe.tombstone();
        Some(self.set(source, tombstone.into()))
    }
}

impl RecipeWriter {
    fn set(&mut self, source: u8, item: RecipesItem) -> Value {
        let state = serde_json::to_value(&item).unwrap();
        self.0.insert(source, item);
        state
    }
}

#[test]
fn cards_end_as_their_definition_says() {
    proof::copies::<RecipeWriter, RecipeCards>("cards").unwrap();
}
