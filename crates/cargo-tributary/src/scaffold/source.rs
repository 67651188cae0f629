//! Edits of Rust sources, at the places of the syntax tree.

use std::ops::Range;

use proc_macro2::Span;
use syn::{
    Expr, ExprCall, File, FnArg, GenericArgument, Item, ItemFn, Pat, PathArguments, ReturnType,
    Stmt, Token, Type, UseTree, Visibility, punctuated::Punctuated, spanned::Spanned as _,
};

/// An edit that has found no place for a line.
#[derive(Debug)]
pub(crate) struct NoPlace;

/// A table of functions: `fn … -> Vec<HttpFunction<State>> { vec![…] }`.
pub(crate) struct Table {
    /// The type of the state.
    pub state: String,
    rows: Range<usize>,
    last: Option<[usize; 4]>,
}

pub(crate) fn parse(text: &str) -> Result<File, NoPlace> {
    syn::parse_file(text).map_err(|_| NoPlace)
}

fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

/// Returns true if a file declares this module.
pub(crate) fn has_module(text: &str, name: &str) -> bool {
    let is_module = |item: &Item| matches!(item, Item::Mod(module) if module.ident == name);
    parse(text).is_ok_and(|file| file.items.iter().any(is_module))
}

/// Declares a module behind the last one, or before all items.
pub(crate) fn add_module(text: &str, (visibility, name): (&str, &str)) -> Result<String, NoPlace> {
    let file = parse(text)?;
    let line = format!("{visibility}mod {name};\n");
    let is_file = |item: &&Item| matches!(item, Item::Mod(module) if module.content.is_none());
    if let Some(last) = file.items.iter().rfind(is_file) {
        return Ok(behind_line(text, range(last.span()).end, &line));
    }
    let first = file.items.first().ok_or(NoPlace)?;
    let mut text = text.to_owned();
    text.insert_str(range(first.span()).start, &format!("{line}\n"));
    Ok(text)
}

/// Adds an import behind the last one.
pub(crate) fn add_use(text: &str, line: &str) -> Result<String, NoPlace> {
    let file = parse(text)?;
    let last = file.items.iter().rfind(|item| matches!(item, Item::Use(_))).ok_or(NoPlace)?;
    Ok(behind_line(text, range(last.span()).end, &format!("{line}\n")))
}

fn behind_line(text: &str, position: usize, line: &str) -> String {
    let end = text[position..].find('\n').map_or(text.len(), |end| position + end + 1);
    let mut text = text.to_owned();
    text.insert_str(end, line);
    text
}

/// Adds a part to the result of `fn domain(context: …) -> …`, which ends with `Ok(…)`.
pub(crate) fn add_part(text: &str, module: &str) -> Result<String, NoPlace> {
    let file = parse(text)?;
    let domain = functions(&file).find(|function| function.sig.ident == "domain");
    let domain = domain.ok_or(NoPlace)?;
    let Some(FnArg::Typed(argument)) = domain.sig.inputs.first() else { return Err(NoPlace) };
    let Pat::Ident(context) = &*argument.pat else { return Err(NoPlace) };
    let Some(Stmt::Expr(Expr::Call(ok), None)) = domain.block.stmts.last() else {
        return Err(NoPlace);
    };
    let is_ok = matches!(&*ok.func, Expr::Path(path) if path.path.is_ident("Ok"));
    let value = ok.args.first().filter(|value| {
        let takes_methods = matches!(
            value,
            Expr::Struct(_) | Expr::Path(_) | Expr::Call(_) | Expr::MethodCall(_) | Expr::Paren(_)
        );
        is_ok && takes_methods
    });
    let mut text = text.to_owned();
    let part = format!(".and({module}::part({}))", context.ident);
    text.insert_str(range(value.ok_or(NoPlace)?.span()).end, &part);
    Ok(text)
}

fn functions(file: &File) -> impl Iterator<Item = &ItemFn> {
    file.items
        .iter()
        .filter_map(|item| if let Item::Fn(function) = item { Some(function) } else { None })
}

/// Returns the first table of a file.
pub(crate) fn table(text: &str) -> Result<Table, NoPlace> {
    let file = parse(text)?;
    let mut tables = functions(&file).filter_map(|function| {
        let state = state_of(function)?;
        let list = match function.block.stmts.last()? {
            Stmt::Expr(Expr::Macro(list), None) => &list.mac,
            Stmt::Macro(list) => &list.mac,
            _ => return None,
        };
        table_of(text, state, list)
    });
    tables.next().ok_or(NoPlace)
}

fn table_of(text: &str, state: Span, list: &syn::Macro) -> Option<Table> {
    let rows = list.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated).ok()?;
    let span = list.delimiter.span();
    let columns = rows.last().and_then(row).and_then(|row| columns(text, row));
    let open = range(span.open()).end;
    let close = range(span.close()).start;
    list.path.is_ident("vec").then(|| Table {
        state: text[range(state)].to_owned(),
        rows: open..close,
        last: columns,
    })
}

/// Returns the type `S` of `-> Vec<HttpFunction<S>>`.
fn state_of(function: &ItemFn) -> Option<Span> {
    let ReturnType::Type(_, list) = &function.sig.output else { return None };
    let functions = argument(list, "Vec")?;
    argument(functions, "HttpFunction").map(syn::spanned::Spanned::span)
}

/// Returns `T` of a type `Name<T>`.
fn argument<'a>(outer: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = outer else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let Some(GenericArgument::Type(inner)) = arguments.args.first() else { return None };
    Some(inner)
}

/// Returns the call `get(…)` of a row, which may have methods behind it.
fn row(expression: &Expr) -> Option<&ExprCall> {
    match expression {
        Expr::Call(call) => Some(call),
        Expr::MethodCall(call) => row(&call.receiver),
        _ => None,
    }
}

/// Returns the columns of a row's parts, if they stand in one line.
fn columns(text: &str, row: &ExprCall) -> Option<[usize; 4]> {
    let starts: Vec<usize> = row.args.iter().map(|part| range(part.span()).start).collect();
    let [name, route, level, handler] = starts[..] else { return None };
    let begin = range(row.span()).start;
    let line = text[..begin].rfind('\n').map_or(0, |end| end + 1);
    (!text[begin..handler].contains('\n'))
        .then(|| [name, route, level, handler].map(|at| at - line))
}

/// Adds a row to a table, with its parts in the columns of the last row.
pub(crate) fn add_row(text: &str, parts: &[String; 4]) -> Result<String, NoPlace> {
    let Table { rows, last, .. } = table(text)?;
    let [call, route, level, handler] = parts;
    let mut line = format!("        {call}");
    for (index, part) in [route, level, handler].into_iter().enumerate() {
        line.push(' ');
        if let Some(columns) = last {
            let missing = columns[index + 1].saturating_sub(line.len());
            line.push_str(&" ".repeat(missing));
        }
        line.push_str(part);
    }
    let before = text[..rows.end].trim_end();
    let comma = if before.ends_with([',', '[']) { "" } else { "," };
    Ok(format!("{before}{comma}\n{line}\n    {}", &text[rows.end..]))
}

/// Returns true if a name is imported, by itself or by the prelude of the framework.
pub(crate) fn imports(file: &File, name: &str) -> bool {
    fn has(tree: &UseTree, name: &str, behind: &str) -> bool {
        match tree {
            UseTree::Path(path) => has(&path.tree, name, &path.ident.to_string()),
            UseTree::Name(one) => one.ident == name,
            UseTree::Rename(one) => one.rename == name,
            UseTree::Glob(_) => behind == "prelude",
            UseTree::Group(group) => group.items.iter().any(|tree| has(tree, name, behind)),
        }
    }
    file.items.iter().any(|item| matches!(item, Item::Use(one) if has(&one.tree, name, "")))
}

/// Makes a private type of a file visible in its crate.
pub(crate) fn make_visible(text: &str, name: &str) -> Result<String, NoPlace> {
    let file = parse(text)?;
    let mut text = text.to_owned();
    for item in &file.items {
        if let Item::Struct(found) = item
            && found.ident == name
            && matches!(found.vis, Visibility::Inherited)
        {
            text.insert_str(range(found.struct_token.span()).start, "pub(crate) ");
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: &str = "//! Notes.\n\nmod commands;\nmod model;\n\nuse x::prelude::*;\n\n\
        pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {\n    Ok(Domain { ..Domain::new(\"notes\") })\n}\n\n\
        fn http_functions() -> Vec<HttpFunction<Notes>> {\n    vec![\n        \
        put(\"PutNote\",   \"/api/notes/{id}\", Function,  put_note).edits(),\n    ]\n}\n";

    #[test]
    fn a_domain_gets_a_module_a_part_and_a_row() -> Result<(), NoPlace> {
        let text = add_module(DOMAIN, ("pub ", "recipes"))?;
        assert!(text.contains("mod model;\npub mod recipes;\n\nuse"), "{text}");
        let text = add_part(&add_part(&text, "recipes")?, "cards")?;
        let parts = ".and(recipes::part(context)).and(cards::part(context)))\n}";
        assert!(text.contains(parts), "{text}");
        assert_eq!(table(&text)?.state, "Notes");
        let parts = ["get(\"GetIt\",", "\"/api/it\",", "Function,", "it::it),"].map(str::to_owned);
        let text = add_row(&text, &parts)?;
        let rows = "edits(),\n        get(\"GetIt\",     \"/api/it\",         Function,  it::it),\n    ]\n}";
        assert!(text.contains(rows), "{text}");
        assert!(imports(&parse(&text)?, "delete"));
        Ok(())
    }

    #[test]
    fn a_domain_of_another_form_has_no_place() {
        for (from, to) in [
            ("Ok(Domain", "build(Domain"),
            ("fn domain", "fn notes"),
            ("context: &Context<'_>", "Context { cosmos, .. }: &Context<'_>"),
        ] {
            let text = DOMAIN.replace(from, to);
            assert!(add_part(&text, "recipes").is_err(), "{text}");
        }
        assert!(table(&DOMAIN.replace("vec![", "list![")).is_err());
        assert!(add_module("not Rust", ("", "recipes")).is_err());
    }

    #[test]
    fn a_private_type_becomes_visible_and_a_visible_one_stays() -> Result<(), NoPlace> {
        for text in ["/// It.\n#[derive(Default)]\nstruct It(u8);\n", "pub(crate) struct It(u8);\n"]
        {
            let visible = make_visible(text, "It")?;
            assert!(visible.contains("pub(crate) struct It(u8);"), "{visible}");
            assert_eq!(make_visible(&visible, "It")?, visible);
        }
        Ok(())
    }
}
