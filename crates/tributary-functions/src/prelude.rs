//! The names that the files of most domains use: `use tributary_functions::prelude::*;`.
//!
//! It has the parts of handlers, of commands and lists, of projections and their wiring. A file that needs
//! more names it beside.

pub use axum::{
    Json,
    extract::{RawQuery, State},
    http::StatusCode,
};

pub use crate::{
    audit::Audit,
    config::ConfigError,
    cosmos::{
        Attempt, Container, Cosmos, ETag, Query, ReadResult, Reason, Scope, StoreError, Stored,
        Transaction, retry,
    },
    domain::{Context, Domain, bind},
    engines::{
        child_list::{ChildList, DateRange, ListOrder, SortKey},
        command::{DesiredItem, ItemSlot, PutStep, WrittenItem},
        counted_children::{Changes, CountedChildren, CreateOutcome, Family, FamilyRequest},
        idempotency::{IdempotencyKey, RecentCommands, RemembersCommands, remembers},
        tombstone,
    },
    http::{
        self, Actor, ApiError,
        AuthLevel::{self, Anonymous, Function, Owner},
        Conditions, HttpFunction, ItemCommand, ItemResponse, JsonBody, List, PageRequest, Params,
        QueryParameter, StoredItems, delete, envelopes, from_form, get, list_filter, new_id, post,
        put,
    },
    projection::{
        ChangeFeedItem, ContainerItem, Effect, IntegrityProjection, LeavesTombstone, Origin,
        Projection, PublicItem, VersionedCopy,
        aggregate::{self, Aggregate, AggregateProjection, Contribution},
        copies::{AuditedCopies, Copies, CopyProjection},
        fan_out::{
            self, Continuation, FanOut, FanOutProjection, RepairProjection, Repairs, Update,
        },
        item, items,
        removal::ChildrenOf,
    },
    values::{
        CommandId, Timestamp, check_length, checked_text, id_rule, item_types, length_rule,
        may_be_rewritten_by_host,
    },
};
