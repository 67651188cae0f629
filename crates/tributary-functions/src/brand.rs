//! The name and version of the app, as others see them: a global value, as OpenTelemetry's instruments are.

use std::{borrow::Cow, sync::OnceLock};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Brand {
    /// The name, in small letters, digits and hyphens.
    pub name: &'static str,
    pub version: &'static str,
}

static BRAND: OnceLock<Brand> = OnceLock::new();

pub(crate) fn set(brand: Brand) {
    let _ = BRAND.set(brand);
}

pub(crate) fn brand() -> Brand {
    let framework = Brand { name: "tributary", version: env!("CARGO_PKG_VERSION") };
    BRAND.get().copied().unwrap_or(framework)
}

/// Returns the name of a metric or an attribute of this app.
pub fn branded(name: &str) -> Cow<'static, str> {
    format!("{}.{name}", brand().name).into()
}
