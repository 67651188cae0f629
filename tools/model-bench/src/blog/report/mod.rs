//! The measurements of the blog as tables, as JSON, and as one HTML file with charts.

mod tables;

mod html;

use serde::Serialize;
use serde_json::json;

use super::{
    measure::BlogRow,
    request::{BlogRequest, ModelVersion},
    seed::published,
};
use crate::report::{Forms, Machine};

/// All measurements.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BlogReport {
    pub(crate) command: String,
    pub(crate) machine: Machine,
    pub(crate) seed: u64,
    /// From the smallest to the largest.
    pub(crate) sizes: Vec<BlogMeasurements>,
}

/// The measurements with one data set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BlogMeasurements {
    pub(crate) users: u32,
    pub(crate) density: f64,
    pub(crate) posts: u64,
    pub(crate) comments: u64,
    pub(crate) likes: u64,
    /// The number for each container; unknown in an account.
    pub(crate) physical_partitions: Option<u32>,
    /// The times for each model.
    pub(crate) load_seconds: Vec<f64>,
    pub(crate) rows: Vec<BlogRow>,
}

impl BlogMeasurements {
    /// Returns the measurement of a request in a model.
    pub(crate) fn row(&self, request: BlogRequest, model: ModelVersion) -> Option<&BlogRow> {
        self.rows.iter().find(|row| row.request == request && row.model == model)
    }

    fn in_words(&self) -> String {
        let Self { users, posts, comments, likes, .. } = self;
        let partitions = self.physical_partitions.map_or_else(String::new, |n| {
            format!(", {n} physical partition{} a container", if n == 1 { "" } else { "s" })
        });
        format!("{users} users, {posts} posts, {comments} comments, {likes} likes{partitions}")
    }
}

impl Forms for BlogReport {
    fn text(&self) -> String {
        tables::text(self)
    }

    fn markdown(&self) -> String {
        tables::markdown(self)
    }

    fn json(&self) -> serde_json::Value {
        let published = BlogRequest::ALL
            .map(|request| json!({ "request": request, "v1_v2_v3": published(request) }));
        json!({ "measured": self, "published": published })
    }

    fn html(&self) -> String {
        html::page(self)
    }
}

impl BlogReport {
    fn is_sweep(&self) -> bool {
        self.sizes.len() > 1
    }

    fn has_throttled(&self) -> bool {
        self.sizes.iter().flat_map(|size| &size.rows).any(|row| row.measured.throttled > 0)
    }
}
