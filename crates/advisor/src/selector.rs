//! A strategy without data: the guide's decision framework, applied to characteristics of the data.
//!
//! Two decisions of the guide are taken, each by its own rules: which key ("Dynamic Partition Strategy
//! Selection", with the scenarios where they are more precise) and which containers ("Implementation
//! Decision Framework"). Both are pure functions of the [`DataCharacteristics`]. So the changes of
//! an answer are found by asking again: each characteristic is reversed, and the decisions are taken anew.

use serde::Serialize;

use crate::output::{Block, Section};

mod changes;
mod characteristics;
mod decision;
mod kinds;

pub(crate) use changes::AnswerChange;
pub(crate) use characteristics::DataCharacteristics;
pub(crate) use decision::{ContainerArchitecture, ContainerDecision, KeyDecision};
pub(crate) use kinds::{GuideStatement, StrategyKind};

use kinds::StatementRule;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StrategySelection {
    pub(crate) key: KeyDecision,
    pub(crate) containers: ContainerDecision,
    pub(crate) when_to_use: Vec<GuideStatement>,
    pub(crate) when_to_avoid: Vec<GuideStatement>,
    pub(crate) trade_offs: [&'static str; 2],
    pub(crate) changes: Vec<AnswerChange>,
    pub(crate) unknown: [&'static str; 3],
}

pub(crate) fn select(characteristics: &DataCharacteristics) -> StrategySelection {
    let key = decision::key(characteristics);
    let (_, to_use, to_avoid, trade_offs) = key.kind.guide();
    let statements = |rules: &[StatementRule]| {
        let statement =
            |(says, holds): &StatementRule| GuideStatement { says, here: holds(characteristics) };
        rules.iter().map(statement).collect()
    };
    StrategySelection {
        containers: decision::containers(characteristics),
        when_to_use: statements(to_use),
        when_to_avoid: statements(to_avoid),
        trade_offs,
        changes: changes::changes(characteristics),
        unknown: [
            "how evenly the values are spread: one customer may have half of all items",
            "which requests do not name the key, and what they cost",
            "items without the property, or in which it changes",
        ],
        key,
    }
}

impl StrategySelection {
    pub(crate) fn sections(&self) -> Vec<Section> {
        let strategy = &self.key.strategy;
        let changes = self.changes.iter().map(|change| {
            let key = change.strategy.as_ref().map(ToString::to_string);
            let containers = change.architecture.map(|architecture| architecture.name().to_owned());
            let then: Vec<_> = key.into_iter().chain(containers).collect();
            let not_said = if change.not_said { " (the file does not say)" } else { "" };
            format!("If {}{not_said}: {}", change.if_, then.join("; "))
        });
        let signs = |statements: &[GuideStatement]| {
            let line = |statement: &GuideStatement| {
                let here =
                    statement.here.map_or("not said", |here| if here { "yes" } else { "no" });
                format!("{}: {here}", statement.says)
            };
            statements.iter().map(line).collect()
        };
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let next = format!(
            "With a sample of items, `tributary-partition advise --items items.jsonl --candidate '{strategy}'` \
             measures it."
        );
        let answer = [
            format!("Key: {strategy} ({})", self.key.kind.guide().0),
            format!("Containers: {}", self.containers.architecture.name()),
        ];
        [
            ("Answer", answer.to_vec()),
            ("Why this key", self.key.reasons.clone()),
            ("Why these containers", self.containers.reasons.clone()),
            ("What it costs", owned(&self.trade_offs)),
            ("When to use it", signs(&self.when_to_use)),
            ("When to avoid it", signs(&self.when_to_avoid)),
            ("What would change the answer", changes.collect()),
            ("What only data can tell", owned(&self.unknown)),
            ("Next", vec![next]),
        ]
        .map(|(title, lines)| Section::new(title, vec![Block::Sentences(lines)]))
        .into()
    }
}

#[cfg(test)]
mod tests;
