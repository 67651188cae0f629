//! A function that a trigger starts: its name and its handler.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::invocation::{FromInvocation, Invocation, InvocationError};
use crate::outcome::{IntoOutcome, InvocationOutcome};

/// The future of a running handler: its outcome, or the text of its error.
pub type OutcomeFuture = Pin<Box<dyn Future<Output = Result<InvocationOutcome, String>> + Send>>;

/// An async function or closure with zero to four extractors as arguments, whose types are the tuple `Args`.
pub trait TriggerHandler<Args>: Send + Sync + 'static {
    /// Takes the arguments from the invocation and starts the handler with them.
    fn call(&self, invocation: &Invocation<'_>) -> Result<OutcomeFuture, InvocationError>;
}

pub(crate) type Trigger =
    Arc<dyn Fn(&Invocation<'_>) -> Result<OutcomeFuture, InvocationError> + Send + Sync>;

macro_rules! handler_with {
    ($($arg:ident),*) => {
        impl<F, Fut, $($arg),*> TriggerHandler<($($arg,)*)> for F
        where
            F: Fn($($arg),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: IntoOutcome> + Send + 'static,
            $($arg: FromInvocation,)*
        {
            #[allow(unused_variables, reason = "a handler without arguments")]
            fn call(&self, invocation: &Invocation<'_>) -> Result<OutcomeFuture, InvocationError> {
                let running = self($($arg::from_invocation(invocation)?),*);
                Ok(Box::pin(async move { running.await.into_outcome() }))
            }
        }
    };
}

handler_with!();
handler_with!(A1);
handler_with!(A1, A2);
handler_with!(A1, A2, A3);
handler_with!(A1, A2, A3, A4);
