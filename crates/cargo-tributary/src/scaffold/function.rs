//! A function over HTTP: a query or a command, with its row in the table and its story.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use syn::Item;

use crate::scaffold::{
    app::{AppFolder, DomainFolder, SourceFile},
    names::{self, Name, Replacements},
    options::Common,
    plan::WritePlan,
    source,
    types::{self, checked_texts, module_of},
};

/// A query or a command over HTTP. It sends nothing to the store yet.
#[derive(Debug, Args)]
pub struct NewFunction {
    /// The name, such as `GetWordCount`.
    #[arg(value_name = "NAME")]
    name: String,

    /// A query: GET. It is the default.
    #[arg(long, conflicts_with_all = ["command", "method"])]
    query: bool,

    /// A command with a body: POST.
    #[arg(long, conflicts_with = "method")]
    command: bool,

    /// Another method.
    #[arg(long, value_enum, value_name = "METHOD")]
    method: Option<HttpMethod>,

    /// The route, such as /api/owners/{ownerId}/word-count; by default the name.
    #[arg(long, value_name = "ROUTE")]
    route: Option<String>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HttpMethod {
    Get,
    Post,
    Put,
    Delete,
}

impl HttpMethod {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Delete => "delete",
        }
    }

    fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put)
    }
}

const QUERY: &str = include_str!("templates/function/query.rs");
const COMMAND: &str = include_str!("templates/function/command.rs");
const STORY: &str = include_str!("templates/function/story.rs");

/// A parameter of the route.
struct Parameter {
    name: Name,
    /// The module of its type, if the domain has one.
    module: Option<String>,
    example: String,
}

/// The module of a new handler.
struct Place {
    file: PathBuf,
    /// The file that declares it.
    parent: PathBuf,
    /// The folder `commands` or `queries` of the domain, if it has one.
    folder: Option<&'static str>,
}

/// Plans the files of a function. Returns the name of its story.
pub(crate) fn plan(
    app: &AppFolder,
    domain: &DomainFolder,
    new: &NewFunction,
    plan: &mut WritePlan,
) -> anyhow::Result<String> {
    let name = Name::parse(&new.name)?;
    let module = name.snake();
    let command = if new.command { HttpMethod::Post } else { HttpMethod::Get };
    let method = new.method.unwrap_or(command);
    let route = new.route.clone().unwrap_or_else(|| format!("/api/{}", name.kebab()));
    ensure!(route.starts_with("/api/"), "the route {route:?} does not begin with /api/");
    app.check_functions(&[name.pascal()])?;

    let files = types::files(app, domain)?;
    let place = Place::of(app, domain, (&module, method));
    let table_file = table_file(domain, &files, plan)?;
    let state = source::table(&plan.text(&table_file)?)
        .ok()
        .with_context(|| format!("the domain {} has no table of functions", domain.name))?
        .state;
    let parameters = parameters(&route, domain, &files)?;
    let program = app.story_program(domain)?;
    let template = if method.has_body() { COMMAND } else { QUERY };
    let depth = if place.folder.is_some() { "super::super" } else { "super" };
    let imports = imports(&parameters, depth, &state);
    let names = Replacements::new(&[("shed_card", &name)])?
        .and("use state::Garden;\n", imports)
        .and("Garden>", format!("{state}>"))
        .under_test(&app.under_test(&program)?)
        .and("pub(super)", if place.folder.is_some() { "pub(crate)" } else { "pub(super)" });
    let names = with_parameters(names, &parameters);
    let names = with_request(names, (method, &route), &parameters);
    names::check(&[template, STORY], &[&name])?;

    plan.create(&place.file, &names.apply(template))?;
    plan.add_module(&place.parent, ("", &module))?;
    if place.folder.is_some() {
        let line = format!("pub(crate) use {module}::{module};");
        plan.edit(&place.parent, ("among the exports", &line), |text| {
            source::add_use(text, &line)
        })?;
    }
    add_row(domain, &place, (&table_file, &files), (method, &name, &route), plan)?;
    AppFolder::add_story(plan, &program, (&module, &names.apply(STORY)))?;
    Ok(module)
}

impl Place {
    fn of(app: &AppFolder, domain: &DomainFolder, (module, method): (&str, HttpMethod)) -> Self {
        let kind = if method == HttpMethod::Get { "queries" } else { "commands" };
        let parent = domain.folder.join(kind).join("mod.rs");
        let file = format!("{module}.rs");
        if app.root.join(&parent).exists() {
            Self { file: parent.with_file_name(file), parent, folder: Some(kind) }
        } else {
            Self { file: domain.folder.join(file), parent: domain.file.clone(), folder: None }
        }
    }
}

/// Returns the file with the table of a domain: its own, or the first that has one.
fn table_file(
    domain: &DomainFolder,
    files: &[SourceFile],
    plan: &WritePlan,
) -> anyhow::Result<PathBuf> {
    let others = files.iter().map(|file| &file.path);
    for path in [&domain.file].into_iter().chain(others) {
        if source::table(&plan.text(path)?).is_ok() {
            return Ok(path.clone());
        }
    }
    Ok(domain.file.clone())
}

fn add_row(
    domain: &DomainFolder,
    place: &Place,
    (table_file, files): (&PathBuf, &[SourceFile]),
    (method, name, route): (HttpMethod, &Name, &str),
    plan: &mut WritePlan,
) -> anyhow::Result<()> {
    let tree = files.iter().find(|file| file.path == *table_file).map(|file| &file.tree);
    let imported = |item: &str, path: &str| {
        let is_imported = tree.is_some_and(|tree| source::imports(tree, item));
        if is_imported { item.to_owned() } else { format!("tributary_functions::http::{path}") }
    };
    let call = imported(method.name(), method.name());
    let level = imported("AuthLevel", "AuthLevel");
    let module = name.snake();
    let up = if *table_file == domain.file { "" } else { "super::" };
    let handler = match place.folder {
        Some(folder) => format!("{up}{folder}::{module}"),
        None => format!("{up}{module}::{module}"),
    };
    let edits = if method.has_body() { ".edits()" } else { "" };
    let parts = [
        format!("{call}(\"{}\",", name.pascal()),
        format!("{route:?},"),
        format!("{level}::Function,"),
        format!("{handler}){edits},"),
    ];
    plan.edit(table_file, ("in the table of functions", &parts.join(" ")), |text| {
        source::add_row(text, &parts)
    })
}

/// Returns the parameters of a route, with the types that the domain has for them.
fn parameters(
    route: &str,
    domain: &DomainFolder,
    files: &[SourceFile],
) -> anyhow::Result<Vec<Parameter>> {
    let mut parameters = Vec::new();
    for part in route.split('{').skip(1) {
        let (text, _) = part.split_once('}').with_context(|| format!("{route:?} lacks a `}}`"))?;
        let name = Name::parse(text)?;
        ensure!(name.camel() == text, "write the parameter {text:?} as {:?}", name.camel());
        let module = module_of(domain, files, &name.pascal());
        let known = files.iter().flat_map(|file| &file.tree.items);
        let texts = known.flat_map(|item| match item {
            Item::Macro(one) => checked_texts(one),
            _ => Vec::new(),
        });
        let mut own = texts.filter(|(one, _)| *one == name.pascal());
        let example = own.next().map_or_else(|| "a1".to_owned(), |(_, example)| example);
        parameters.push(Parameter { name, module, example });
    }
    Ok(parameters)
}

/// Returns the imports of the state and of the types that the domain has, and the missing types.
fn imports(parameters: &[Parameter], depth: &str, state: &str) -> String {
    let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    modules.entry("").or_default().push(state.to_owned());
    let mut types = String::new();
    for Parameter { name, module, example } in parameters {
        let name = name.pascal();
        match module.as_deref().map(|module| module.trim_start_matches("super")) {
            Some(module) => modules.entry(module.trim_start_matches("::")).or_default().push(name),
            None => types.extend([
                "\nchecked_text!(\n    /// The parameter of the path.\n    ",
                &format!("{name}, {example:?}, id_rule\n);\n"),
            ]),
        }
    }
    let paths = modules.iter().map(|(module, names)| match *module {
        "" => names.join(", "),
        module => format!("{module}::{{{}}}", names.join(", ")),
    });
    format!("use {depth}::{{{}}};\n{types}", paths.collect::<Vec<_>>().join(", "))
}

/// Replaces the two parameters of the templates.
fn with_parameters(names: Replacements, parameters: &[Parameter]) -> Replacements {
    let list = |separator: &str, form: &dyn Fn(&Name) -> String| {
        let names: Vec<String> = parameters.iter().map(|one| form(&one.name)).collect();
        names.join(separator)
    };
    let fields = list("", &|name| format!("    {}: {},\n", name.snake(), name.pascal()));
    let variables = list(", ", &Name::snake);
    let types = list(", ", &Name::pascal);
    let argument = match parameters.len() {
        0 => String::new(),
        1 => format!("    Params({variables}): Params<{types}>,\n"),
        _ => format!("    Params(({variables})): Params<({types})>,\n"),
    };
    let all = "club_member_id, garden_tool_id";
    let without_comma = if variables.is_empty() { String::new() } else { format!("{variables}, ") };
    names
        .and("    club_member_id: ClubMemberId,\n    garden_tool_id: GardenToolId,\n", fields)
        .and(format!("    Params(({all})): Params<(ClubMemberId, GardenToolId)>,\n"), argument)
        .and(format!("{{ {all} }}"), format!("{{ {variables} }}"))
        .and(format!("{all}, "), without_comma)
}

/// Replaces the request and the answer of the story.
fn with_request(
    names: Replacements,
    (method, route): (HttpMethod, &str),
    parameters: &[Parameter],
) -> Replacements {
    let verb = method.name().to_uppercase();
    let mut path = route.to_owned();
    let mut answer = String::new();
    for Parameter { name, example, .. } in parameters {
        path = path.replace(&format!("{{{}}}", name.camel()), example);
        answer.extend([format!("{:?}: {example:?}, ", name.camel())]);
    }
    let body = if method.has_body() {
        answer.push_str("\"text\": \"A text\", ");
        "Some(json!({\"text\": \"A text\"}))"
    } else {
        "None"
    };
    let template_route = "/club-members/{clubMemberId}/garden-tools/{gardenToolId}";
    let documented = format!("`{verb} {}`", route.trim_start_matches("/api"));
    names
        .and(format!("`GET {template_route}`"), documented.clone())
        .and(format!("`POST {template_route}`"), documented)
        .and(
            "(\"GET\", \"/api/club-members/ann/garden-tools/a1\", None)",
            format!("({verb:?}, {path:?}, {body})"),
        )
        .and(
            "json!({\"clubMemberId\": \"ann\", \"gardenToolId\": \"a1\"})",
            format!("json!({{{}}})", answer.trim_end_matches(", ")),
        )
}
