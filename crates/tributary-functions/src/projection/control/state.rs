//! The state of a projection, and its changes: pure functions. Each field is read by itself, since another
//! version of the app may have written it in another form. A pause that cannot be read is a pause. A
//! rebuild that cannot be read is none here, and stays for the version that can.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Rebuild;
use crate::values::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectionState {
    /// The function's name; the partition key, too.
    pub id: String,
    /// The pause; none while the projection runs.
    #[serde(default, deserialize_with = "read_pause", skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    #[serde(default, deserialize_with = "read", skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
    /// The last rebuild, under way or ended.
    #[serde(default, deserialize_with = "read", skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<Rebuild>,
}

fn read<'a, T: DeserializeOwned, D: Deserializer<'a>>(field: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(field)?).ok())
}

fn read_pause<'a, D: Deserializer<'a>>(field: D) -> Result<Option<Pause>, D::Error> {
    let reason = "This version cannot read the pause. Deploy the one that wrote it, or resume.";
    let pause = Pause { since: Timestamp::EPOCH, by: None, reason: Some(reason.into()) };
    Ok(serde_json::from_value(Value::deserialize(field)?).unwrap_or(Some(pause)))
}

/// A pause of a projection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Pause")]
pub(crate) struct Pause {
    /// The time at which it began.
    pub since: Timestamp,
    /// The user of the command, or the limit of failures; none of a request.
    #[schemars(example = &"ann")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason that the operator gave.
    #[schemars(example = &"A bug in the copies, to be deployed at noon")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ProjectionState {
    pub(crate) fn running(function: &str) -> Self {
        Self { id: function.to_owned(), pause: None, resumed_at: None, rebuild: None }
    }

    pub(crate) fn paused(&self, pause: Pause) -> Option<Self> {
        self.pause.is_none().then(|| Self { pause: Some(pause), ..self.clone() })
    }

    pub(crate) fn resumed(&self, now: Timestamp) -> Option<Self> {
        let resumed = || Self { pause: None, resumed_at: Some(now), ..self.clone() };
        self.pause.is_some().then(resumed)
    }

    pub(crate) fn with_rebuild(&self, rebuild: Rebuild) -> Self {
        Self { rebuild: Some(rebuild), ..self.clone() }
    }

    pub(crate) fn rebuild_under_way(&self) -> Option<&Rebuild> {
        self.rebuild.as_ref().filter(|rebuild| rebuild.is_under_way())
    }
}

/// The status of a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ProjectionStatus {
    /// It applies each batch.
    Running,
    /// It refuses each batch.
    Paused,
    /// It applies each batch, and its sources again.
    Rebuilding,
}

impl ProjectionState {
    pub(crate) fn status(&self) -> ProjectionStatus {
        if self.pause.is_some() {
            ProjectionStatus::Paused
        } else if self.rebuild_under_way().is_some() {
            ProjectionStatus::Rebuilding
        } else {
            ProjectionStatus::Running
        }
    }
}
