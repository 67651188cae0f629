//! The description of a handler for OpenAPI. The signature of a handler is the one declaration: each
//! argument describes the part of the request that it takes, and the result describes the answer.

use axum::{
    Json,
    http::{HeaderMap, StatusCode},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{
    ApiError, ItemResponse, QueryParameter, RequestShape, StoredItems, takes::HandlerArgument,
};

/// The parts of the request and of the answer of a function. They are computed on demand, to keep the start
/// of the process short.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    takes: fn() -> RequestShape,
    gives: fn(&mut SchemaGenerator) -> AnswerShape,
    /// The parameters of the query string that the handler parses itself.
    query: &'static [QueryParameter],
    /// An example of the body, where those of its fields do not go together.
    example: Option<fn() -> Value>,
    is_edit: bool,
}

impl Signature {
    pub(super) fn new<T, H: DescribedHandler<T>>() -> Self {
        Self { takes: H::takes, gives: H::gives, query: &[], example: None, is_edit: false }
    }

    pub(super) fn reading(self, query: &'static [QueryParameter]) -> Self {
        Self { query, ..self }
    }

    pub(super) fn with_example(self, body: fn() -> Value) -> Self {
        Self { example: Some(body), ..self }
    }

    pub(super) fn editing(self) -> Self {
        Self { is_edit: true, ..self }
    }

    /// Returns true if the handler creates no item, though its answer is one.
    pub(crate) fn is_edit(self) -> bool {
        self.is_edit
    }

    /// Returns the parts of a request.
    pub fn takes(self) -> RequestShape {
        let mut takes = (self.takes)();
        for parameter in self.query {
            takes.query(*parameter);
        }
        if let (Some(schema), Some(example)) = (&mut takes.body, self.example) {
            schema["examples"] = json!([example()]);
        }
        takes
    }

    /// Returns the shape of a successful answer. Schemas that several functions share go to the generator.
    pub(crate) fn gives(self, schemas: &mut SchemaGenerator) -> AnswerShape {
        (self.gives)(schemas)
    }
}

/// The successful answer of a handler.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerShape {
    /// The schema of the body; none where the answer has no body.
    pub body: Option<Schema>,
    /// True if the answer is an item with its ETag.
    pub is_item: bool,
}

/// The result of a handler.
pub trait DescribedAnswer {
    /// Returns the shape of the answer. Schemas that several functions share go to the generator.
    fn describe(schemas: &mut SchemaGenerator) -> AnswerShape;
}

impl DescribedAnswer for StatusCode {
    fn describe(_: &mut SchemaGenerator) -> AnswerShape {
        AnswerShape::default()
    }
}

impl<T: JsonSchema> DescribedAnswer for Json<T> {
    fn describe(schemas: &mut SchemaGenerator) -> AnswerShape {
        AnswerShape { body: Some(schemas.subschema_for::<T>()), ..AnswerShape::default() }
    }
}

impl<T: JsonSchema> DescribedAnswer for ItemResponse<T> {
    fn describe(schemas: &mut SchemaGenerator) -> AnswerShape {
        AnswerShape { body: Some(schemas.subschema_for::<T>()), is_item: true }
    }
}

impl<T: JsonSchema> DescribedAnswer for StoredItems<T> {
    fn describe(schemas: &mut SchemaGenerator) -> AnswerShape {
        let items = schemas.subschema_for::<Vec<T>>();
        let body = json_schema!({
            "type": "object",
            "properties": {"items": items},
            "required": ["items"],
        });
        AnswerShape { body: Some(body), ..AnswerShape::default() }
    }
}

impl<A: DescribedAnswer> DescribedAnswer for (HeaderMap, A) {
    fn describe(schemas: &mut SchemaGenerator) -> AnswerShape {
        A::describe(schemas)
    }
}

impl<A: DescribedAnswer> DescribedAnswer for Result<A, ApiError> {
    fn describe(schemas: &mut SchemaGenerator) -> AnswerShape {
        A::describe(schemas)
    }
}

/// A function whose arguments and result describe themselves; `T` are its arguments, behind a marker of
/// axum.
pub trait DescribedHandler<T> {
    /// Returns the parts of a request that the handler takes.
    fn takes() -> RequestShape;

    /// Returns the shape of the handler's answer.
    fn gives(schemas: &mut SchemaGenerator) -> AnswerShape;
}

macro_rules! described {
    ($($argument:ident)*) => {
        impl<M, F, R, $($argument: HandlerArgument),*> DescribedHandler<(M, $($argument,)*)> for F
        where
            F: FnOnce($($argument),*) -> R,
            R: Future<Output: DescribedAnswer>,
        {
            fn takes() -> RequestShape {
                #[allow(unused_mut, reason = "a handler without arguments")]
                let mut takes = RequestShape::default();
                $($argument::describe(&mut takes);)*
                takes
            }

            fn gives(schemas: &mut SchemaGenerator) -> AnswerShape {
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
