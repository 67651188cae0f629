//! A strategy without data: the guide's decision framework, applied to characteristics of the data.
//!
//! Two decisions of the guide are taken, each by its own rules: which key ("Dynamic Partition Strategy
//! Selection", with the scenarios where they are more precise) and which containers ("Implementation
//! Decision Framework"). Both are pure functions of the [`DataCharacteristics`]. So the changes of
//! an answer are found by asking again: each characteristic is reversed, and the decisions are taken anew.

use serde::Serialize;

mod architecture;
mod changes;
mod characteristics;
mod decision;
mod kinds;
mod text;

pub use architecture::{ContainerArchitecture, ContainerDecision};
pub use changes::AnswerChange;
pub use characteristics::{
    CharacteristicsError, DataAccess, DataCharacteristics, DataLoad, DataTenants, DataVolume,
    KeyPaths,
};
pub use decision::KeyDecision;
pub use kinds::{GuideStatement, StatementVerdict, StrategyKind};

/// The answer to a file of characteristics.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrategySelection {
    /// The key, with reasons.
    pub key: KeyDecision,
    /// The containers, with reasons.
    pub containers: ContainerDecision,
    /// The guide's statements of "When to Use", each with the verdict of the characteristics.
    pub when_to_use: Vec<GuideStatement>,
    /// The guide's statements of "When to Avoid", likewise.
    pub when_to_avoid: Vec<GuideStatement>,
    /// The costs of the key.
    pub trade_offs: Vec<&'static str>,
    /// Other characteristics that would lead to another answer.
    pub changes: Vec<AnswerChange>,
    /// The questions that only data can answer.
    pub unknown: Vec<&'static str>,
}

/// Returns the strategy for data of these characteristics.
pub fn select(characteristics: &DataCharacteristics) -> StrategySelection {
    let key = decision::decide(characteristics);
    let kind = key.kind;
    StrategySelection {
        containers: architecture::decide(characteristics),
        when_to_use: kind.when_to_use(characteristics),
        when_to_avoid: kind.when_to_avoid(characteristics),
        trade_offs: kind.trade_offs(),
        changes: changes::changes(characteristics),
        unknown: vec![
            "how evenly the values are spread: one customer may have half of all items",
            "which requests do not name the key, and what they cost",
            "items without the property, or in which it changes",
        ],
        key,
    }
}

#[cfg(test)]
mod tests;
