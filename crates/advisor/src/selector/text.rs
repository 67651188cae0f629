//! The answer as text for a terminal.

use std::fmt;

use super::{StatementVerdict, StrategySelection};

impl fmt::Display for StrategySelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Key:        {}   ({})", self.key.strategy, self.key.kind.name())?;
        writeln!(f, "Containers: {}", self.containers.architecture.name())?;
        section(f, "Why this key", &self.key.reasons)?;
        section(f, "Why these containers", &self.containers.reasons)?;
        section(f, "What it costs", &self.trade_offs)?;
        for (title, signs) in
            [("When to use it", &self.when_to_use), ("When to avoid it", &self.when_to_avoid)]
        {
            let lines = signs.iter().map(|sign| {
                let here = match sign.here {
                    StatementVerdict::Yes => "yes",
                    StatementVerdict::No => "no",
                    StatementVerdict::Unknown => "not said",
                };
                format!("{}: {here}", sign.says)
            });
            section(f, title, &lines.collect::<Vec<_>>())?;
        }
        let changes = self.changes.iter().map(|change| {
            let mut then = Vec::new();
            if let Some(strategy) = &change.strategy {
                then.push(strategy.to_string());
            }
            if let Some(architecture) = change.architecture {
                then.push(architecture.name().to_owned());
            }
            let not_said = if change.not_said { " (the file does not say)" } else { "" };
            format!("If {}{not_said}: {}", change.if_, then.join("; "))
        });
        section(f, "What would change the answer", &changes.collect::<Vec<_>>())?;
        section(f, "What only data can tell", &self.unknown)?;
        writeln!(
            f,
            "\nWith a sample of items, `tributary-partition advise --items items.jsonl --candidate \
             '{}'` measures it.",
            self.key.strategy
        )
    }
}

fn section<T: fmt::Display>(f: &mut fmt::Formatter<'_>, title: &str, lines: &[T]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    lines.iter().try_for_each(|line| writeln!(f, "  - {line}"))
}
