//! Which source a change is of.

/// Where a source is, and which version of it was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The logical partition of the source.
    pub partition: String,
    /// The id of the source.
    pub id: String,
    /// The version that was delivered.
    pub version: u64,
}

impl Origin {
    /// The source with this partition key and id.
    pub fn new(partition: &str, id: &str, version: u64) -> Self {
        Self { partition: partition.to_owned(), id: id.to_owned(), version }
    }

    /// Returns a name that no other source in the container has: an id alone is only unique within
    /// its logical partition. No id contains a space.
    pub fn name(&self) -> String {
        let Self { partition, id, .. } = self;
        if partition == id { id.clone() } else { format!("{partition} {id}") }
    }
}
