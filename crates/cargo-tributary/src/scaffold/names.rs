//! Names in the forms that code, routes, containers and sentences have.

use anyhow::ensure;
use heck::{
    ToKebabCase as _, ToLowerCamelCase as _, ToShoutySnakeCase as _, ToSnakeCase as _,
    ToUpperCamelCase as _,
};

/// The keywords of Rust, and `self`'s kin, which no item can have as its name.
const KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn else enum \
    extern false final fn for gen if impl in let loop macro match mod move mut override priv pub ref \
    return self static struct super trait true try type typeof unsafe unsized use virtual where while \
    yield";

/// A name as its user has given it, in any case. It is kept in snake case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(String);

impl Name {
    /// Parses a name: letters, digits, `-` and `_`, in any case, with a letter first.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let name = text.to_snake_case();
        let is_valid = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && text.len() <= 60
            && KEYWORDS.split(' ').all(|keyword| keyword != name);
        ensure!(
            is_valid,
            "{text:?} is no name: at most 60 letters, digits and '-' or '_', with a letter first, and no \
             keyword of Rust"
        );
        Ok(Self(name))
    }

    /// Returns the regular plural in English: `box` as `boxes`, `story` as `stories`.
    pub(super) fn plural(&self) -> Self {
        let name = &self.0;
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        Self(match name.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
            _ if ends(&["s", "x", "z", "ch", "sh"]) => format!("{name}es"),
            _ => format!("{name}s"),
        })
    }

    /// `meeting_room`.
    pub(super) fn snake(&self) -> String {
        self.0.clone()
    }

    /// `MeetingRoom`.
    pub(super) fn pascal(&self) -> String {
        self.0.to_upper_camel_case()
    }

    /// `meetingRoom`.
    pub(super) fn camel(&self) -> String {
        self.0.to_lower_camel_case()
    }

    /// `meeting-room`.
    pub(super) fn kebab(&self) -> String {
        self.0.to_kebab_case()
    }

    fn shouty(&self) -> String {
        self.0.to_shouty_snake_case()
    }

    /// `meeting room`.
    fn words(&self) -> String {
        self.0.replace('_', " ")
    }
}

/// The texts of a template, each with the text that takes its place.
pub struct Replacements(Vec<(String, String)>);

impl Replacements {
    /// Replaces names of a template in all forms, plurals before their singulars.
    pub(super) fn of_names(names: &[(&str, &Name)]) -> Self {
        let forms =
            [Name::snake, Name::pascal, Name::camel, Name::kebab, Name::shouty, Name::words];
        let mut pairs = Vec::new();
        for (of_template, own) in names {
            let of_template = Name((*of_template).to_owned());
            let [from, to] = [of_template.words(), own.words()];
            let n = if to.starts_with(['a', 'e', 'i', 'o', 'u']) { "n" } else { "" };
            pairs.extend(["a", "A"].map(|a| (format!("{a} {from}"), format!("{a}{n} {to}"))));
            pairs.extend(forms.map(|form| (form(&of_template), form(own))));
        }
        Self(pairs)
    }

    /// Makes the garden tools of the template's club members the notes of owners.
    pub fn of_notes() -> Self {
        let names = [
            ("garden_tools", "notes"),
            ("garden_tool", "note"),
            ("club_members", "owners"),
            ("club_member", "owner"),
            ("garden", "notebook"),
        ];
        let names = names.map(|(of_template, own)| (of_template, Name(own.to_owned())));
        Self::of_names(&names.each_ref().map(|(of_template, own)| (*of_template, own)))
    }

    /// Adds the replacement of a text. It goes before those that were added earlier.
    pub(super) fn and(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.0.insert(0, (from.into(), to.into()));
        self
    }

    /// Returns a template with all texts replaced at once, so that no new name is replaced again.
    pub fn apply(&self, template: &str) -> String {
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
pub(super) fn check(templates: &[&str], names: &[&Name]) -> anyhow::Result<()> {
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let lines = templates.iter().flat_map(|text| text.lines()).filter(|line| !is_comment(line));
    let words: Vec<&str> = lines
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .collect();
    for form in names.iter().flat_map(|name| [name.snake(), name.pascal()]) {
        ensure!(
            !words.contains(&form.as_str()),
            "the name {form:?} has another meaning in the code around it; choose another"
        );
    }
    Ok(())
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
        for bad in ["", "1st", "type", "Self", "a b", "a/b", "é", &"a".repeat(61)] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
        for (singular, plural) in
            [("note", "notes"), ("story", "stories"), ("day", "days"), ("batch", "batches")]
        {
            assert_eq!(Name::parse(singular)?.plural().snake(), plural);
        }
        Ok(())
    }

    #[test]
    fn a_new_name_is_not_replaced_again() -> anyhow::Result<()> {
        let tool = Name::parse("club_member")?;
        let member = Name::parse("garden_tool")?;
        let names = Replacements::of_names(&[("garden_tool", &tool), ("club_member", &member)]);
        assert_eq!(names.apply("GardenTool of club-member"), "ClubMember of garden-tool");
        Ok(())
    }
}
