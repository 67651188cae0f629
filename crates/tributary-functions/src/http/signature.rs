//! What OpenAPI says of a handler. The signature of a handler is the one declaration: each of its
//! arguments describes what it takes from a request, and its result what the function answers.

use axum::{
    Json,
    http::{HeaderMap, StatusCode},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{ApiError, ItemResponse, QueryParameter, StoredItems, Takes, takes::Argument};

/// What a caller sends to a function, and gets from it. It is worked out only when somebody asks, since a
/// start must be short.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    takes: fn() -> Takes,
    gives: fn(&mut SchemaGenerator) -> Gives,
    /// The parameters of the query string that the handler reads by itself.
    query: &'static [QueryParameter],
}

impl Signature {
    /// Returns the signature of a handler.
    pub(super) fn of<T, H: Described<T>>() -> Self {
        Self { takes: H::takes, gives: H::gives, query: &[] }
    }

    /// Returns the signature with parameters that the handler reads by itself.
    pub(super) fn reading(self, query: &'static [QueryParameter]) -> Self {
        Self { query, ..self }
    }

    /// Returns what a request may have besides the parameters of its path.
    pub fn takes(self) -> Takes {
        let mut takes = (self.takes)();
        for parameter in self.query {
            takes.query(*parameter);
        }
        takes
    }

    /// Returns what the function answers when it has succeeded; schemas of several functions go to the
    /// generator.
    pub fn gives(self, schemas: &mut SchemaGenerator) -> Gives {
        (self.gives)(schemas)
    }
}

/// The successful answer of a handler.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gives {
    /// The schema of the body; none where the answer has no body.
    pub body: Option<Schema>,
    /// True if the answer is an item with its ETag.
    pub is_item: bool,
}

/// The result of a handler.
pub trait Answer {
    /// Returns what the answer has; schemas of several functions go to the generator.
    fn describe(schemas: &mut SchemaGenerator) -> Gives;
}

impl Answer for StatusCode {
    fn describe(_: &mut SchemaGenerator) -> Gives {
        Gives::default()
    }
}

impl<T: JsonSchema> Answer for Json<T> {
    fn describe(schemas: &mut SchemaGenerator) -> Gives {
        Gives { body: Some(schemas.subschema_for::<T>()), is_item: false }
    }
}

impl<T: JsonSchema> Answer for ItemResponse<T> {
    fn describe(schemas: &mut SchemaGenerator) -> Gives {
        Gives { body: Some(schemas.subschema_for::<T>()), is_item: true }
    }
}

impl<T: JsonSchema> Answer for StoredItems<T> {
    fn describe(schemas: &mut SchemaGenerator) -> Gives {
        let items = schemas.subschema_for::<Vec<T>>();
        let body = json_schema!({
            "type": "object",
            "properties": {"items": items},
            "required": ["items"],
        });
        Gives { body: Some(body), is_item: false }
    }
}

/// Headers of its own beside the answer.
impl<A: Answer> Answer for (HeaderMap, A) {
    fn describe(schemas: &mut SchemaGenerator) -> Gives {
        A::describe(schemas)
    }
}

impl<A: Answer> Answer for Result<A, ApiError> {
    fn describe(schemas: &mut SchemaGenerator) -> Gives {
        A::describe(schemas)
    }
}

/// A function whose arguments and result describe themselves; `T` are its arguments, behind a marker of
/// axum.
pub trait Described<T> {
    /// Returns what it takes from a request.
    fn takes() -> Takes;

    /// Returns what it answers.
    fn gives(schemas: &mut SchemaGenerator) -> Gives;
}

macro_rules! described {
    ($($argument:ident)*) => {
        impl<M, F, R, $($argument: Argument),*> Described<(M, $($argument,)*)> for F
        where
            F: FnOnce($($argument),*) -> R,
            R: Future<Output: Answer>,
        {
            fn takes() -> Takes {
                #[allow(unused_mut, reason = "a handler without arguments")]
                let mut takes = Takes::default();
                $($argument::describe(&mut takes);)*
                takes
            }

            fn gives(schemas: &mut SchemaGenerator) -> Gives {
                R::Output::describe(schemas)
            }
        }
    };
}

described!();
described!(A);
described!(A B);
described!(A B C);
described!(A B C D);
described!(A B C D E);
described!(A B C D E G);
described!(A B C D E G H);
described!(A B C D E G H I);
