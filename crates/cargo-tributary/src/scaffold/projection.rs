//! A projection: versioned copies of the items of a container in another container, with audit and proof.

use anyhow::{Context as _, bail};
use clap::Args;

use crate::scaffold::{
    aggregate,
    app::{self, AppFolder, DomainFolder},
    names::{self, Name, Replacements},
    options::Common,
    plan::WritePlan,
    source,
    types::{self, module_of},
};

/// Copies of the items of a container, in a container of their own. The change feed updates them.
#[derive(Debug, Args)]
pub struct NewProjection {
    /// The name of the copies, such as `recipe-cards`.
    #[arg(value_name = "NAME")]
    name: String,

    /// The container of the sources.
    #[arg(long, value_name = "CONTAINER")]
    from: String,

    /// The type of the items of this container, if it is not named after it.
    #[arg(long, value_name = "TYPE")]
    item: Option<String>,

    #[command(flatten)]
    pub(crate) common: Common,
}

const COPIES: &str = include_str!("templates/projection/copies.rs");
const STORY: &str = include_str!("templates/projection/story.rs");
const CONTAINER: &str = include_str!("templates/projection/container.json");

/// Plans the files of a projection. Returns the name of its story.
pub(crate) fn plan(
    app: &AppFolder,
    domain: &DomainFolder,
    new: &NewProjection,
    plan: &mut WritePlan,
) -> anyhow::Result<String> {
    let name = Name::parse(&new.name)?;
    let from = &new.from;
    let key = partition_key(app, from)?;
    let (item, item_module) = item(app, domain, new)?;
    let sources = app.story_sources(from)?.with_context(|| {
        format!(
            "no test implements `tributary_testing::proof::Sources` with the container {from:?}, by which the \
             proof writes sources; nothing was written"
        )
    })?;
    let module = name.snake();
    // The last one that fits is taken.
    let names = Replacements::new(&[("shed_cards", &name)])?
        .and("GardenTools", &sources.name)
        .and("\"garden-tools\"", format!("{from:?}"))
        .and("`garden-tools`", format!("`{from}`"))
        .and("/clubMemberId", &key)
        .and("super::garden_tools::GardenToolsItem", format!("{item_module}::{item}"))
        .and("GardenToolsItem", &item)
        .and("my_app::garden::", format!("{}::{}::", app.library, domain.name))
        .and("sources::GardenTools;", format!("{}::{};", sources.module, sources.name));
    names::check(&[COPIES, STORY], &[&name])?;
    app.check_functions(&[name.pascal()])?;

    plan.create(domain.folder.join(format!("{module}.rs")), &names.apply(COPIES))?;
    aggregate::add_part(domain, &module, plan)?;
    app.add_container(plan, &name.kebab(), &names.apply(CONTAINER))?;
    let line = format!("pub(crate) struct {}", sources.name);
    plan.edit(&sources.file, ("where the type is", &line), |text| {
        source::make_visible(text, &sources.name)
    })?;
    AppFolder::add_story(plan, &sources.program, (&module, &names.apply(STORY)))?;
    Ok(module)
}

/// Returns the path of the partition key of a container: `/ownerId`.
fn partition_key(app: &AppFolder, id: &str) -> anyhow::Result<String> {
    let containers = app.containers()?;
    let Some(container) = containers.iter().find(|container| container["id"] == id) else {
        let ids: Vec<&str> = containers.iter().filter_map(|one| one["id"].as_str()).collect();
        bail!("{} has no container {id:?}, but {}", app::CONTAINERS, ids.join(", "));
    };
    let paths = container["partitionKey"]["paths"].as_array().map_or(&[][..], Vec::as_slice);
    match paths {
        [path] => path.as_str().map(str::to_owned).context("a partition key is a text"),
        _ => bail!("the partition key of {id:?} has {} parts; a copy needs one", paths.len()),
    }
}

/// Returns the type of the items of the container, and the module from which the domain imports it.
fn item(
    app: &AppFolder,
    domain: &DomainFolder,
    new: &NewProjection,
) -> anyhow::Result<(String, String)> {
    let files = types::files(app, domain)?;
    let known: Vec<String> = files
        .iter()
        .flat_map(|file| app::impls(&file.tree, "ChangeFeedItem").map(|(name, _)| name))
        .collect();
    let wanted = match &new.item {
        Some(item) => item.clone(),
        None => format!("{}Item", Name::parse(&new.from)?.pascal()),
    };
    if !known.contains(&wanted) {
        bail!(
            "no type {wanted} of the domain {} implements `ChangeFeedItem`, but {}; name the type of the items \
             of {:?} with --item",
            domain.name,
            if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            new.from
        );
    }
    let module = module_of(domain, &files, &wanted);
    Ok((wanted.clone(), module.with_context(|| format!("the domain has no type {wanted}"))?))
}
