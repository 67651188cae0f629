//! An app with a handler that is built already, for programs that run it themselves.

use std::{
    env, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{ConfigError, FunctionApp, HandlerOptions, Settings};

/// An app, and the executable that was built beside the running program.
#[derive(Debug, Clone)]
pub struct BuiltApp {
    /// The folder of `host.json`.
    pub root: PathBuf,
    /// The folder of the executable.
    pub folder: PathBuf,
    /// The environment variables of the handler.
    pub settings: Settings,
    /// The functions.
    pub functions: FunctionApp,
}

/// An error of [`BuiltApp::load`].
#[derive(Debug, thiserror::Error)]
pub enum BuiltAppError {
    /// A file of the app has a fault.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system does not know the path of this program.
    #[error("this program has no path: {0}")]
    NoPath(#[from] io::Error),
}

impl BuiltApp {
    /// Loads the app in `root` with the settings of its `local.settings.json.example`, on a store. Its
    /// handler logs warnings only. As everywhere, environment variables win over settings and
    /// `host.json`.
    pub fn load(root: &Path, connection: &str) -> Result<Self, BuiltAppError> {
        let settings = Settings::read(&root.join("local.settings.json.example"))?;
        let mut settings = settings.overridden_by(env::vars());
        settings.set_connection("CosmosConnection", connection);
        settings.set("RUST_LOG", "warn");
        let functions = FunctionApp::load(root, &settings)?;
        let mut folder = env::current_exe()?;
        folder.pop();
        Ok(Self { root: root.to_owned(), folder, settings, functions })
    }

    /// Returns the options of a handler without a host.
    pub fn handler(&self) -> HandlerOptions {
        HandlerOptions {
            executable: self.executable(),
            arguments: Vec::new(),
            working_directory: self.root.clone(),
            settings: self.settings.clone(),
            launcher: None,
            start_timeout: Duration::from_secs(30),
        }
    }

    /// Returns the path of the handler's executable.
    pub fn executable(&self) -> PathBuf {
        self.folder
            .join(&self.functions.host().executable)
            .with_extension(env::consts::EXE_EXTENSION)
    }
}
