//! The declaration of a succession is checked before the app starts.

use tributary_functions::{
    config::ConfigError,
    domain::{Context, Domain},
    program::Program,
};

use super::{NEW, OLD, domain};

/// Builds the notes with other successions.
fn refused(build: fn(&Context<'_>) -> Result<Domain, ConfigError>) -> String {
    let program = Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(build);
    program.describe().err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn both_projections_exist_and_no_other_succession_names_them() {
    assert_eq!(refused(domain), "");
    let unknown = refused(|context| {
        let successions = vec![context.succession(OLD, "Unknown")];
        Ok(Domain { successions, ..domain(context)? })
    });
    assert!(unknown.contains("there is no projection Unknown"), "{unknown}");
    let itself = refused(|context| {
        let successions = vec![context.succession(OLD, OLD)];
        Ok(Domain { successions, ..domain(context)? })
    });
    assert!(itself.contains("is in a succession already"), "{itself}");
    let chain = refused(|context| {
        let successions = vec![context.succession(OLD, NEW), context.succession(NEW, OLD)];
        Ok(Domain { successions, ..domain(context)? })
    });
    assert!(chain.contains("is in a succession already"), "{chain}");
}

#[test]
fn a_container_with_sources_or_other_copies_is_not_removed() {
    let sources = refused(|context| {
        let [notes, new] = ["notes", "headings-of-owners"].map(|id| context.cosmos.container(id));
        let successions = vec![context.succession(OLD, NEW).of_own_containers(&notes, &new)];
        Ok(Domain { successions, ..domain(context)? })
    });
    assert!(sources.contains("the container notes has"), "{sources}");
    let same = refused(|context| {
        let old = context.cosmos.container("notes-of-owners");
        let successions = vec![context.succession(OLD, NEW).of_own_containers(&old, &old)];
        Ok(Domain { successions, ..domain(context)? })
    });
    assert!(same.contains("give the old copies a container of their own"), "{same}");
    // Without a container of their own the copies stay.
    let stays = refused(|context| {
        let successions = vec![context.succession(OLD, NEW)];
        Ok(Domain { successions, ..domain(context)? })
    });
    assert_eq!(stays, "");
}
