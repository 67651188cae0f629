//! The projections under the proof: late, duplicate and out-of-order deliveries, to two instances, one of
//! which is killed.

use std::collections::HashMap;

use serde_json::Value;
use tributary_functions::values::CommandId;
use tributary_testing::proof::{self, Sources};

use my_app::recipes::{
    RecipeCards, TagCounts,
    model::{Recipe, RecipeText, RecipesItem, Slug, Steps, Summary, Tag, Title, Username},
};

use crate::App;

/// Recipes, as the commands write them.
#[derive(Default)]
struct RecipeWriter(HashMap<u8, RecipesItem>);

fn tags(owner: u8) -> Vec<Tag> {
    (0..owner).map(|n| Tag::parse(format!("tag{n}")).unwrap()).collect()
}

fn text(title: String, owner: u8) -> RecipeText {
    RecipeText {
        title: Title::parse(title).unwrap(),
        description: Summary::parse("D".to_owned()).unwrap(),
        body: Steps::parse("B".to_owned()).unwrap(),
        tag_list: tags(owner),
    }
}

fn new_recipe(source: u8, owner: u8) -> Recipe {
    let cook = Username::parse("ann".to_owned()).unwrap();
    let text = text(format!("Recipe {source}"), owner);
    let mut recipe = Recipe::new(text, cook, &CommandId::fresh()).unwrap();
    recipe.id = Slug::parse(format!("recipe{source}")).unwrap();
    recipe.card.slug = recipe.id.clone();
    recipe
}

impl Sources for RecipeWriter {
    type App = App;

    const CONTAINER: &'static str = "recipes";
    const PARTITION_KEY: &'static str = "slug";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let recipe = match self.0.get(&source) {
            Some(RecipesItem::Recipe(recipe)) => {
                recipe.edited(&text(format!("Title {}", recipe.version), owner))
            }
            Some(RecipesItem::DeletedRecipe(before)) => {
                new_recipe(source, owner).replacing(Some(before))
            }
            _ => new_recipe(source, owner),
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

#[test]
fn counts_of_tags_end_as_their_definition_says() {
    proof::aggregate::<RecipeWriter, TagCounts>("tag-counts").unwrap();
}
