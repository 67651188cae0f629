//! A function over HTTP: a query or a command, with its story.

use anyhow::{Context as _, ensure};
use clap::Args;

use super::{
    InDomain, Plan,
    names::{self, Name, Replacements},
};

/// A query or a command over HTTP. It sends nothing to the store yet.
#[derive(Debug, Args)]
pub struct NewFunction {
    /// The name, such as `GetWordCount`.
    #[arg(value_name = "NAME")]
    name: String,

    /// A query: GET. It is the default.
    #[arg(long, conflicts_with = "command")]
    query: bool,

    /// A command with a body: POST.
    #[arg(long)]
    command: bool,

    /// The route, such as /api/owners/{ownerId}/word-count; by default the name.
    #[arg(long, value_name = "ROUTE")]
    route: Option<String>,

    #[command(flatten)]
    pub(super) within: InDomain,
}

const QUERY: &str = include_str!("templates/query.rs");
const COMMAND: &str = include_str!("templates/command.rs");
const STORY: &str = include_str!("templates/function_story.rs");

const ROUTE: &str = "/api/beds/{bedId}/seeds/{seedId}";

pub(super) fn plan(domain: &str, new: &NewFunction) -> anyhow::Result<Plan> {
    let name = Name::parse(&new.name)?;
    let module = name.snake();
    let route = new.route.clone().unwrap_or_else(|| format!("/api/{}", name.kebab()));
    ensure!(route.starts_with("/api/"), "the route {route:?} does not begin with /api/");
    let (template, own_name) =
        if new.command { (COMMAND, "plant_seed") } else { (QUERY, "find_seed") };
    names::check(&[template, STORY], &[&name])?;

    let texts = texts(new.command, &route)?;
    let filled = |template: &str, is_command: bool| {
        let names = Replacements::of_names(&[(own_name, &name)]);
        let from = self::texts(is_command, ROUTE)?;
        let names =
            from.into_iter().zip(&texts).fold(names, |names, (from, to)| names.and(from, to));
        anyhow::Ok(names.apply(template))
    };
    let file = format!("src/{domain}/mod.rs");
    let row = format!(
        "        {}({:?}, {route:?}, Function, {module}::{module}){},",
        if new.command { "post" } else { "get" },
        name.pascal(),
        if new.command { ".edits()" } else { "" }
    );
    Ok(Plan {
        functions: vec![name.pascal()],
        files: vec![
            (format!("src/{domain}/{module}.rs"), filled(template, new.command)?),
            (format!("tests/it/{module}.rs"), filled(STORY, false)?),
        ],
        lines: vec![
            (format!("{file}, with the modules"), format!("mod {module};")),
            (format!("{file}, in the table of functions"), row),
            ("tests/it/main.rs, with the modules".to_owned(), format!("mod {module};")),
        ],
        story: module,
    })
}

/// Returns the texts of the templates that depend on the method and on the parameters of the route.
fn texts(is_command: bool, route: &str) -> anyhow::Result<[String; 7]> {
    let mut parameters = Vec::new();
    let mut path = route.to_owned();
    let mut fields_of_json = String::new();
    for part in route.split('{').skip(1) {
        let (text, _) = part.split_once('}').with_context(|| format!("{route:?} lacks a `}}`"))?;
        let name = Name::parse(text)?;
        ensure!(name.camel() == text, "write the parameter {text:?} as {:?}", name.camel());
        path = path.replace(&format!("{{{text}}}"), "a1");
        fields_of_json.extend([", ", &format!("{text:?}: \"a1\"")]);
        parameters.push(name);
    }
    let each = |form: &dyn Fn(&Name) -> String, separator: &str| {
        parameters.iter().map(form).collect::<Vec<_>>().join(separator)
    };
    let variables = each(&Name::snake, ", ");
    let types = each(&Name::pascal, ", ");
    let definition = |name: &Name| {
        format!("    /// A parameter of the path.\n    {}, \"a1\", id_rule", name.pascal())
    };
    let definitions = format!("checked_text!(\n{};\n);\n\n", each(&definition, ";\n\n"));
    let verb = if is_command { "POST" } else { "GET" };
    let text = "\"text\": \"A text\"";
    let (body, json) = if is_command {
        (format!("Some(json!({{{text}}}))"), format!("{text}{fields_of_json}"))
    } else {
        ("None".to_owned(), fields_of_json.trim_start_matches(", ").to_owned())
    };
    Ok([
        if parameters.is_empty() { String::new() } else { definitions },
        format!("`{verb} {}`", route.trim_start_matches("/api")),
        each(&|name| format!("    {}: {},\n", name.snake(), name.pascal()), ""),
        match parameters.len() {
            0 => String::new(),
            1 => format!("    Params({variables}): Params<{types}>,\n"),
            _ => format!("    Params(({variables})): Params<({types})>,\n"),
        },
        variables,
        format!("({verb:?}, {path:?}, {body})"),
        format!("json!({{{json}}})"),
    ])
}
