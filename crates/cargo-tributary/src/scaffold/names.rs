//! Names in the forms that code, routes, containers and sentences have.

use std::collections::BTreeSet;

use anyhow::ensure;
use heck::{
    ToKebabCase as _, ToLowerCamelCase as _, ToShoutySnakeCase as _, ToSnakeCase as _,
    ToUpperCamelCase as _,
};
use proc_macro2::{TokenStream, TokenTree};

/// A name as its user has given it, in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(String);

impl Name {
    /// Parses a name: letters, digits, `-` and `_`, in any case, with a letter first.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let is_valid = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && text.len() <= 60;
        ensure!(
            is_valid && syn::parse_str::<syn::Ident>(&text.to_snake_case()).is_ok(),
            "{text:?} is no name: at most 60 letters, digits and '-' or '_', with a letter first, and no \
             keyword of Rust"
        );
        Ok(Self(text.to_snake_case()))
    }

    /// Returns the regular plural in English: `box` as `boxes`, `story` as `stories`.
    pub(crate) fn plural(&self) -> Self {
        let name = &self.0;
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        Self(match name.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
            _ if ends(&["s", "x", "z", "ch", "sh"]) => format!("{name}es"),
            _ => format!("{name}s"),
        })
    }

    /// `meeting_room`.
    pub(crate) fn snake(&self) -> String {
        self.0.clone()
    }

    /// `MeetingRoom`.
    pub(crate) fn pascal(&self) -> String {
        self.0.to_upper_camel_case()
    }

    /// `meetingRoom`.
    pub(crate) fn camel(&self) -> String {
        self.0.to_lower_camel_case()
    }

    /// `meeting-room`.
    pub(crate) fn kebab(&self) -> String {
        self.0.to_kebab_case()
    }

    fn shouty(&self) -> String {
        self.0.to_shouty_snake_case()
    }

    /// `meeting room`.
    fn words(&self) -> String {
        self.0.replace('_', " ")
    }

    /// Returns the forms of both names, side by side.
    fn beside<'a>(&'a self, own: &'a Self) -> impl Iterator<Item = (String, String)> + 'a {
        let forms =
            [Self::snake, Self::pascal, Self::camel, Self::kebab, Self::shouty, Self::words];
        forms.into_iter().map(move |form| (form(self), form(own)))
    }
}

/// The names of a template, each with the one that takes its place.
pub(crate) struct Replacements(Vec<(String, String)>);

impl Replacements {
    /// Replaces names of a template, plurals before their singulars.
    pub(crate) fn new(names: &[(&str, &Name)]) -> anyhow::Result<Self> {
        let mut pairs = Vec::new();
        for (of_template, own) in names {
            let of_template = Name::parse(of_template)?;
            let [from, to] = [of_template.words(), own.words()];
            let n = if to.starts_with(['a', 'e', 'i', 'o', 'u']) { "n" } else { "" };
            pairs.extend(["a", "A"].map(|a| (format!("{a} {from}"), format!("{a}{n} {to}"))));
            pairs.extend(of_template.beside(own));
        }
        Ok(Self(pairs))
    }

    /// Adds the replacement of a text. It goes before those that were added earlier.
    pub(crate) fn and(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.0.insert(0, (from.into(), to.into()));
        self
    }

    /// Adds the import of the app under test, `crate::App`, and its name.
    pub(crate) fn under_test(self, path: &str) -> Self {
        let name = path.rsplit("::").next().unwrap_or(path);
        self.and("UnderTest", name).and("app::UnderTest", path)
    }

    /// Returns a template with all names replaced at once, so that no new name is replaced again.
    pub(crate) fn apply(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(next) = rest.chars().next() {
            if let Some((from, to)) = self.0.iter().find(|(from, _)| rest.starts_with(from)) {
                text.push_str(to);
                rest = &rest[from.len()..];
            } else {
                text.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        text
    }
}

/// Refuses names that are words of the code around them.
pub(crate) fn check(templates: &[&str], names: &[&Name]) -> anyhow::Result<()> {
    let mut words = BTreeSet::new();
    for template in templates {
        let tokens: TokenStream = template.parse().unwrap_or_default();
        add_words(tokens, &mut words);
    }
    for name in names {
        for form in [name.snake(), name.pascal()] {
            ensure!(
                !words.contains(&form),
                "the name {form:?} has another meaning in the code around it; choose another"
            );
        }
    }
    Ok(())
}

fn add_words(tokens: TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => add_words(group.stream(), words),
            TokenTree::Ident(word) => drop(words.insert(word.to_string())),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_in_any_case_and_written_in_each() -> anyhow::Result<()> {
        for text in ["meeting-room", "meeting_room", "MeetingRoom", "meetingRoom"] {
            let name = Name::parse(text)?;
            assert_eq!(name.pascal(), "MeetingRoom");
            assert_eq!([name.snake(), name.camel()], ["meeting_room", "meetingRoom"]);
            assert_eq!([name.kebab(), name.words()], ["meeting-room", "meeting room"]);
        }
        for bad in ["", "1st", "type", "a b", "a/b", "é", &"a".repeat(61)] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
        Ok(())
    }

    #[test]
    fn regular_plurals_are_known() -> anyhow::Result<()> {
        for (one, many) in [
            ("note", "notes"),
            ("story", "stories"),
            ("day", "days"),
            ("fox", "foxes"),
            ("batch", "batches"),
        ] {
            assert_eq!(Name::parse(one)?.plural().snake(), many);
        }
        Ok(())
    }

    #[test]
    fn a_new_name_is_not_replaced_again() -> anyhow::Result<()> {
        let tool = Name::parse("club_member")?;
        let member = Name::parse("garden_tool")?;
        let names = Replacements::new(&[("garden_tool", &tool), ("club_member", &member)])?;
        assert_eq!(names.apply("GardenTool of club-member"), "ClubMember of garden-tool");
        Ok(())
    }
}
