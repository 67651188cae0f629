//! Layers: a module of the framework imports lower ones only, and no domain of the app another.

use super::arrows::Arrow;

/// The package of the app, each of whose folders is a domain.
const APP: &str = "tributary";

/// The package of the framework.
const FRAMEWORK: &str = "tributary-functions";

/// The modules of the framework from the lowest layer up. Modules of one layer may import each other
/// without a circle.
const LAYERS: &[&[&str]] = &[
    &["brand", "terminal", "values"],
    &["telemetry"],
    &["cosmos"],
    &["engines", "projection"],
    &["audit"],
    &["http"],
    &["rebuild"],
    &["dead_letters", "operator", "page", "config"],
    &["domain"],
    &["app"],
    &["program", "prelude"],
];

/// Returns false for an arrow to a higher layer or to another domain.
pub(super) fn is_allowed(package: &str, arrow: &Arrow) -> bool {
    let (Some(from), Some(to)) = (arrow.from.module.first(), arrow.to.module.first()) else {
        // The root declares the modules, and is in no layer.
        return arrow.from.module.is_empty() || !matches!(package, APP | FRAMEWORK);
    };
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    match package {
        _ if from == to => true,
        APP => false,
        FRAMEWORK => matches!((layer(from), layer(to)), (Some(from), Some(to)) if to <= from),
        _ => true,
    }
}
