//! An aggregate: an item type in the logical partitions of its owners, with commands, queries and stories.

use clap::Args;

use crate::scaffold::{
    app::{AppFolder, DomainFolder},
    names::{self, Name, Replacements},
    options::Common,
    plan::WritePlan,
    source,
};

/// An item that is created, edited and deleted under ETags, and listed by name in its logical partition.
#[derive(Debug, Args)]
pub struct NewAggregate {
    /// The name of one item, such as `recipe`.
    #[arg(value_name = "NAME")]
    name: String,

    /// The name of many items, if it is irregular.
    #[arg(long, value_name = "NAME")]
    plural: Option<String>,

    /// The owner of the items: its id is the partition key.
    #[arg(long, value_name = "NAME", default_value = "owner")]
    of: String,

    #[command(flatten)]
    pub(crate) common: Common,
}

const SOURCES: [(&str, &str); 4] = [
    ("mod.rs", include_str!("templates/aggregate/mod.rs")),
    ("model.rs", include_str!("templates/aggregate/model.rs")),
    ("commands.rs", include_str!("templates/aggregate/commands.rs")),
    ("queries.rs", include_str!("templates/aggregate/queries.rs")),
];
const STORY: &str = include_str!("templates/aggregate/story.rs");
const CONTAINER: &str = include_str!("templates/aggregate/container.json");

/// Plans the files of an aggregate. Returns the name of its story.
pub(crate) fn plan(
    app: &AppFolder,
    domain: &DomainFolder,
    new: &NewAggregate,
    plan: &mut WritePlan,
) -> anyhow::Result<String> {
    let one = Name::parse(&new.name)?;
    let many = new.plural.as_deref().map_or_else(|| Ok(one.plural()), Name::parse)?;
    let owner = Name::parse(&new.of)?;
    let owners = owner.plural();
    let program = app.story_program(domain)?;
    let names = Replacements::new(&[
        ("garden_tools", &many),
        ("garden_tool", &one),
        ("club_members", &owners),
        ("club_member", &owner),
    ])?
    .and("my_app::garden::", format!("{}::{}::", app.library, domain.name))
    .under_test(&app.under_test(&program)?);
    let templates: Vec<&str> = SOURCES.iter().map(|(_, text)| *text).chain([STORY]).collect();
    names::check(&templates, &[&one, &many, &owner])?;
    app.check_functions(&[
        format!("Put{}", one.pascal()),
        format!("Get{}", one.pascal()),
        format!("Delete{}", one.pascal()),
        format!("List{}", many.pascal()),
    ])?;

    let module = many.snake();
    for (file, text) in SOURCES {
        let text = aligned(&names.apply(text));
        plan.create(domain.folder.join(&module).join(file), &text)?;
    }
    add_part(domain, &module, plan)?;
    app.add_container(plan, &many.kebab(), &names.apply(CONTAINER))?;
    AppFolder::add_story(plan, &program, (&module, &names.apply(STORY)))?;
    Ok(module)
}

/// Plans the lines of a domain for one of its parts.
pub(crate) fn add_part(
    domain: &DomainFolder,
    module: &str,
    plan: &mut WritePlan,
) -> anyhow::Result<()> {
    plan.add_module(&domain.file, ("pub ", module))?;
    let line = format!(".and({module}::part(context))");
    plan.edit(&domain.file, ("behind the `Domain { … }` of `fn domain`", &line), |text| {
        source::add_part(text, module)
    })
}

/// Returns the text with the rows of its table in columns.
fn aligned(text: &str) -> String {
    let is_row = |line: &&str| {
        ["put(\"", "get(\"", "delete(\""].iter().any(|call| line.trim_start().starts_with(call))
    };
    let rows = text.lines().filter(is_row).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(row.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let align = |line: &str| {
        if !is_row(&line) {
            return line.to_owned() + "\n";
        }
        let cells = line.split_whitespace().zip(&widths);
        let row: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("        {}\n", row.join(" ").trim_end())
    };
    text.lines().map(align).collect()
}
