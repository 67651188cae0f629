//! The description of a handler for OpenAPI. The signature of a handler is the one declaration: each
//! argument describes the part of the request that it takes, and the result describes the answer.

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{self, MethodFilter, MethodRouter},
};
use futures::FutureExt;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};

use super::{
    Actor, ApiError, Conditions, Filter, Form, FromForm, ItemCommand, ItemResponse, JsonBody,
    OffsetPage, PageRequest, Params, QueryParameter, StoredItems,
};
use crate::{engines::idempotency::IdempotencyKey, values::CommandId};

/// The parts of the request and of the answer of a function, computed on demand.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    takes: fn() -> RequestShape,
    gives: fn(&mut SchemaGenerator) -> AnswerShape,
    /// True if the item has an ETag, and the request may have conditions.
    pub is_conditional: bool,
    /// True if the answer may depend on the caller.
    pub is_personal: bool,
    pub(super) query: &'static [QueryParameter],
    /// An example of the body, where those of its fields do not go together.
    pub(super) example: Option<fn() -> Value>,
    /// True if the handler creates no item, though its answer is one.
    pub(crate) is_edit: bool,
}

impl Signature {
    pub(super) fn new<T, S, H: DescribedHandler<T, S>>() -> Self {
        Self {
            takes: H::takes,
            gives: H::gives,
            is_conditional: H::IS_CONDITIONAL,
            is_personal: H::IS_PERSONAL,
            query: &[],
            example: None,
            is_edit: false,
        }
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

pub(crate) trait HandlerResult {
    type Answer: DescribedAnswer;

    fn into_answer(self) -> Response;
}

impl<A: DescribedAnswer + IntoResponse> HandlerResult for A {
    type Answer = A;

    fn into_answer(self) -> Response {
        self.into_response()
    }
}

impl<A: DescribedAnswer + IntoResponse, E: Into<ApiError>> HandlerResult for Result<A, E> {
    type Answer = A;

    fn into_answer(self) -> Response {
        self.map_err(Into::into).into_response()
    }
}

/// A function whose arguments and result describe themselves; `T` are its arguments, behind a marker of
/// axum. Its state is `S`.
#[diagnostic::on_unimplemented(
    message = "this function cannot handle requests",
    label = "not a handler",
    note = "a handler is an `async fn` that takes at most 8 arguments by value, such as `State`, `Params` and `Actor`, each a `HandlerArgument`",
    note = "the body (`JsonBody`) is the last argument: move the others in front of it",
    note = "the state is that of the table: `State<S>` for `HttpFunction<S>`",
    note = "it returns a `DescribedAnswer` such as `ItemResponse` or `Json`, or a `Result` of one with an error that turns into an `ApiError`",
    note = "its future is `Send`: it keeps no `Rc`, `RefCell` borrow or guard of `std::sync::Mutex` over an `.await`"
)]
pub trait DescribedHandler<T, S> {
    /// True if the handler checks the conditions of the request.
    const IS_CONDITIONAL: bool;

    /// True if the handler asks for the caller.
    const IS_PERSONAL: bool;

    /// Returns the parts of a request that the handler takes.
    fn takes() -> RequestShape;

    /// Returns the shape of the handler's answer.
    fn gives(schemas: &mut SchemaGenerator) -> AnswerShape;

    /// Returns the handler at its method.
    fn at(self, method: MethodFilter) -> MethodRouter<S>;
}

macro_rules! described {
    ($marker:ty, $($argument:ident)*, $($body:ident)?) => {
        impl<S, F, R, $($argument,)* $($body, M)?> DescribedHandler<($marker, $($argument,)* $($body,)?), S> for F
        where
            F: FnOnce($($argument,)* $($body)?) -> R + Clone + Send + Sync + 'static,
            R: Future<Output: HandlerResult> + Send,
            S: Clone + Send + Sync + 'static,
            $($argument: HandlerArgument + FromRequestParts<S> + Send + 'static,)*
            $($body: HandlerArgument + FromRequest<S, M> + Send + 'static, M: Send + 'static,)?
        {
            const IS_CONDITIONAL: bool =
                false $(|| $argument::IS_CONDITIONAL)* $(|| $body::IS_CONDITIONAL)?;
            const IS_PERSONAL: bool =
                false $(|| $argument::IS_PERSONAL)* $(|| $body::IS_PERSONAL)?;

            fn takes() -> RequestShape {
                #[allow(unused_mut, reason = "a handler without arguments")]
                let mut takes = RequestShape::default();
                $($argument::describe(&mut takes);)*
                $($body::describe(&mut takes);)?
                takes
            }

            fn gives(schemas: &mut SchemaGenerator) -> AnswerShape {
                <R::Output as HandlerResult>::Answer::describe(schemas)
            }

            #[allow(non_snake_case, reason = "the names of the types")]
            fn at(self, method: MethodFilter) -> MethodRouter<S> {
                let handler = |$($argument: $argument,)* $($body: $body)?| {
                    self($($argument,)* $($body)?).map(HandlerResult::into_answer)
                };
                routing::on(method, handler)
            }
        }
    };
}

described!((), ,);
described!(M, , A);
described!(M, A, B);
described!(M, A B, C);
described!(M, A B C, D);
described!(M, A B C D, E);
described!(M, A B C D E, G);
described!(M, A B C D E G, H);
described!(M, A B C D E G H, I);

/// The parts of a request that a handler takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestShape {
    /// Parameters of the query string and headers, as OpenAPI has them.
    pub parameters: Vec<Value>,
    /// The schema of the path parameters: that of the only one, or of the tuple of all.
    pub path: Value,
    /// The schema of the body.
    pub body: Option<Value>,
    /// True if the caller has to act for a user.
    pub has_actor: bool,
}

/// An argument of a handler.
pub trait HandlerArgument {
    /// True for the conditions of the request.
    const IS_CONDITIONAL: bool = false;

    /// True for the caller.
    const IS_PERSONAL: bool = false;

    /// Adds the parts of a request that the argument takes: none of what only the host sets.
    fn describe(_: &mut RequestShape) {}
}

impl RequestShape {
    pub(super) fn query(&mut self, QueryParameter { name, rule, example }: QueryParameter) {
        self.parameter("query", name, rule);
        if let (Some(example), Some(parameter)) = (example, self.parameters.last_mut()) {
            parameter["example"] = example.into();
        }
    }

    pub(crate) fn parameter(&mut self, place: &str, name: &str, description: &str) {
        let schema = json!({"type": "string"});
        self.parameters
            .push(json!({"name": name, "in": place, "description": description, "schema": schema}));
    }
}

impl HandlerArgument for CommandId {}

impl HandlerArgument for HeaderMap {}

impl<S> HandlerArgument for State<S> {}

impl HandlerArgument for RawQuery {}

/// The types of the path parameters. Their names are in the route, their rule in [`Params`].
impl<T: JsonSchema> HandlerArgument for Params<T> {
    fn describe(takes: &mut RequestShape) {
        // The document has no schema of the type to refer to.
        let inline = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
        takes.path = T::json_schema(&mut inline.into_generator()).to_value();
    }
}

impl HandlerArgument for Option<Actor> {
    const IS_PERSONAL: bool = true;
}

impl HandlerArgument for Actor {
    const IS_PERSONAL: bool = true;

    fn describe(takes: &mut RequestShape) {
        takes.has_actor = true;
    }
}

impl HandlerArgument for Conditions {
    const IS_CONDITIONAL: bool = true;

    fn describe(takes: &mut RequestShape) {
        for (name, which) in [("If-Match", "one"), ("If-None-Match", "none")] {
            let rule = format!("ETags, or `*`: the item must be in {which} of these states.");
            takes.parameter("header", name, &rule);
        }
    }
}

impl HandlerArgument for ItemCommand {
    const IS_CONDITIONAL: bool = true;

    fn describe(takes: &mut RequestShape) {
        Conditions::describe(takes);
    }
}

impl HandlerArgument for Option<IdempotencyKey> {
    fn describe(takes: &mut RequestShape) {
        let rule = "1 to 255 printable ASCII characters, without a comma outside of quotes. The same key and body have the same outcome.";
        takes.parameter("header", "Idempotency-Key", rule);
    }
}

impl<T: FromForm, const LIMIT: usize> HandlerArgument for JsonBody<T, LIMIT> {
    fn describe(takes: &mut RequestShape) {
        let mut schema = Form::schema_of::<T>();
        schema["description"] = json!(format!("At most {LIMIT} bytes. Other fields are ignored."));
        takes.body = Some(schema);
    }
}

const LIMIT: QueryParameter =
    QueryParameter::new("limit", "The number of items of a page: 1 to 100, by default 20.")
        .example("20");

impl<F: Filter> HandlerArgument for OffsetPage<F> {
    fn describe(takes: &mut RequestShape) {
        let offset = "The number of items before the page: 0 to 1000, by default 0. The store reads and charges them.";
        let offset = QueryParameter::new("offset", offset).example("0");
        [LIMIT, offset].iter().chain(F::PARAMETERS).for_each(|parameter| takes.query(*parameter));
    }
}

impl<K, F: Filter> HandlerArgument for PageRequest<K, F> {
    fn describe(takes: &mut RequestShape) {
        let cursor = "The `nextCursor` of the same list with the same filter.";
        let cursor = QueryParameter::new("cursor", cursor);
        [LIMIT, cursor].iter().chain(F::PARAMETERS).for_each(|parameter| takes.query(*parameter));
    }
}
