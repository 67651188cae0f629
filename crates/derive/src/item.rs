//! A type of items, and its tombstone.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Error, Field, Fields, Ident, ItemStruct, Result, Token,
    meta::{self, ParseNestedMeta},
    parenthesized,
    parse::Parser,
};

/// The arguments. What is there once or not at all is a list, which `quote` repeats.
#[derive(Default)]
struct Arguments {
    items: Option<Ident>,
    partition: Option<Ident>,
    id: Option<Ident>,
    version: Vec<Ident>,
    recent: Vec<Ident>,
    created_by: Vec<Ident>,
    former: Vec<Ident>,
    owner: Vec<Ident>,
    tombstone: Option<Ident>,
    /// Without it, the tombstone is declared elsewhere.
    declared: Option<ItemStruct>,
}

impl Arguments {
    fn read(&mut self, argument: &ParseNestedMeta<'_>) -> Result<()> {
        let name = argument.path.require_ident()?.clone();
        let content;
        match name.to_string().as_str() {
            "partition" => self.partition = Some(argument.value()?.parse()?),
            "id" => self.id = Some(argument.value()?.parse()?),
            "version" => self.version = vec![name],
            "recent" => self.recent = vec![name],
            "created_by" => {
                self.recent = vec![Ident::new("recent", name.span())];
                self.created_by = vec![name];
            }
            "former_owners" => {
                parenthesized!(content in argument.input);
                self.former = vec![content.parse()?];
                content.parse::<Token![=]>()?;
                self.owner = vec![content.parse()?];
            }
            "tombstone" => {
                parenthesized!(content in argument.input);
                if content.peek(Ident) {
                    self.tombstone = Some(content.parse()?);
                } else {
                    self.tombstone = Some(self.declared.insert(content.parse()?).ident.clone());
                }
            }
            _ if self.items.is_none() => self.items = Some(name),
            _ => {
                return Err(argument.error(
                    "expected `partition`, `id`, `version`, `recent`, `created_by`, `former_owners` or `tombstone`",
                ));
            }
        }
        Ok(())
    }
}

#[expect(clippy::too_many_lines, reason = "nearly all of them are what is written, in its order")]
pub(crate) fn expand(arguments: TokenStream, declaration: TokenStream) -> Result<TokenStream> {
    let mut all = Arguments::default();
    meta::parser(|argument| all.read(&argument)).parse2(arguments)?;
    let Arguments { version, recent, created_by, former, owner, .. } = &all;
    let declaration: ItemStruct = syn::parse2(declaration)?;
    let ItemStruct { attrs, vis, ident: name, fields: Fields::Named(own), .. } = declaration else {
        return Err(Error::new_spanned(declaration, "an item is a struct with named fields"));
    };
    let own: Vec<Field> = own.named.into_iter().collect();
    let (Some(items), Some(id)) = (&all.items, &all.id) else {
        let missing =
            "say of which items it is, and which field has the id: `RoomsItem, id = room_id`";
        return Err(Error::new(name.span(), missing));
    };
    if version.is_empty() && (!former.is_empty() || all.declared.is_some()) {
        let missing = "an item with a tombstone or former owners needs a `version`";
        return Err(Error::new(name.span(), missing));
    }
    let partition = all.partition.as_ref().unwrap_or(id);
    let property = |name: &Ident| property(&own, name);
    let present = owner.iter().map(property).collect::<Result<Vec<_>>>()?;

    let command = quote!(::tributary_functions::values::CommandId);
    let idempotency = quote!(::tributary_functions::engines::idempotency);
    let tombstones = quote!(::tributary_functions::engines::tombstone);
    let derives = quote! {
        #[derive(Debug, Clone, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
    };
    let memory = quote! {
        #(#[doc = " The commands that were lately carried out on the item."]
        #[serde(default, skip_serializing_if = "::tributary_functions::engines::idempotency::RecentCommands::is_empty")]
        #vis #recent: #idempotency::RecentCommands,)*
        #(#[doc = " The owners of earlier items with this id."]
        #[serde(default, skip_serializing_if = "::tributary_functions::engines::tombstone::FormerOwners::is_empty")]
        #vis #former: #tombstones::FormerOwners,)*
    };
    let container_item = |name: &Ident, tombstone: TokenStream, partition, id| {
        quote! {
            impl ::tributary_functions::projection::ContainerItem for #name {
                type Items = #items;
                type Tombstone = #tombstone;

                fn key(&self) -> (&str, &str) {
                    (#partition.as_ref(), #id.as_ref())
                }

                #(fn version(&self) -> ::std::option::Option<u64> {
                    ::std::option::Option::Some(self.#version)
                })*
            }
        }
    };
    let mut methods = TokenStream::new();
    let mut leaves = None;
    let mut tombstone_type = None;
    if let (Some(tombstone), Some(declared)) = (&all.tombstone, &all.declared) {
        let mut fields: Vec<Field> = declared.fields.iter().cloned().collect();
        let names: Vec<_> = declared.fields.iter().map(|field| field.ident.clone()).collect();
        for key in [partition, id] {
            if !names.iter().flatten().any(|name| name == key) {
                let missing = format!("the tombstone needs the field `{key}`, as the item has it");
                return Err(Error::new(key.span(), missing));
            }
        }
        let mut values = Vec::new();
        for field in &mut fields {
            let from = field.default.take().map(|(_, from)| from.into_token_stream());
            let from = from.unwrap_or_else(|| field.ident.to_token_stream());
            values.push(match syn::parse2(from.clone()) {
                Ok(name) => property(&name)?,
                Err(_) => from,
            });
            field.vis = vis.clone();
        }
        let attributes = &declared.attrs;
        let own =
            container_item(tombstone, quote!(Self), quote!(self.#partition), quote!(self.#id));
        let remembers = (!recent.is_empty()).then(|| quote!(#idempotency::remembers!(#tombstone);));
        let doc = format!(
            " The tombstone of a [`{name}`], which the change feed delivers to the copies."
        );
        tombstone_type = Some(quote! {
            #[doc = #doc]
            #derives
            #(#attributes)*
            #vis struct #tombstone {
                #(#fields,)*
                /// The version after the last one of the deleted item.
                #vis version: u64,
                #memory
                /// The time to live, in seconds.
                #vis ttl: u32,
            }

            #remembers
            #own
        });
        let (result, replaced) = if former.is_empty() {
            (quote!(Self), quote!(self))
        } else {
            (quote!(::std::option::Option<Self>), quote!(::std::option::Option::Some(self)))
        };
        let deleted = (!recent.is_empty()).then(|| {
            quote! {
                /// Returns the tombstone after the deletion by this command, which it remembers.
                #vis fn deleted(&self, command: &#command) -> #tombstone {
                    #idempotency::RemembersCommands::remembering(self.tombstone(), command)
                }
            }
        });
        leaves = Some(quote! {
            #[allow(clippy::useless_conversion, reason = "as all items have it")]
            impl ::tributary_functions::projection::LeavesTombstone for #name {
                fn leave(self) -> #items {
                    let tombstone = self.tombstone();
                    #(let tombstone = #idempotency::RemembersCommands::remembering(tombstone, &self.#created_by);)*
                    tombstone.into()
                }

                fn recreated(&self, tombstone: #items) -> ::std::option::Option<Self> {
                    let tombstone = #tombstone::try_from(tombstone).ok()?;
                    #(if #idempotency::RemembersCommands::knows(&tombstone, &self.#created_by) {
                        return ::std::option::Option::None;
                    })*
                    self.clone().replacing(::std::option::Option::Some(&tombstone)).into()
                }
            }
        });
        methods = quote! {
            /// Returns the tombstone that the item leaves, in its next version.
            #vis fn tombstone(&self) -> #tombstone {
                #tombstone {
                    #(#names: ::std::clone::Clone::clone(&#values).into(),)*
                    version: self.version + 1,
                    #(#recent: self.#recent.clone(),)*
                    #(#former: self.#former.clone(),)*
                    ttl: #tombstones::TTL_SECONDS,
                }
            }

            #deleted

            /// Returns the item in the version after the tombstone that it replaces, if there is one, with its
            /// memory. `None` if the id had too many owners.
            #vis fn replacing(mut self, tombstone: ::std::option::Option<&#tombstone>) -> #result {
                if let ::std::option::Option::Some(tombstone) = tombstone {
                    self.version = tombstone.version + 1;
                    #(self.#recent = tombstone.#recent.clone();)*
                    #(self.#former = tombstone.#former.followed_by(
                        tombstone.#owner.as_ref(), tombstone.version, #present.as_ref(),
                    )?;)*
                }
                #replaced
            }
        };
    }
    let names: Vec<_> = own.iter().map(|field| &field.ident).collect();
    let types = own.iter().map(|field| &field.ty);
    let versions = (!version.is_empty()).then(|| {
        quote! {
            /// Creates the item in its first version.
            #vis fn first(#(#names: #types,)* #(#created_by: &#command,)*) -> Self {
                Self {
                    #(#names,)*
                    version: 1,
                    #(#created_by: #created_by.clone(),)*
                    #(#recent: ::std::default::Default::default(),)*
                    #(#former: ::std::default::Default::default(),)*
                }
            }

            /// Returns the item in its next version.
            #vis fn next(&self) -> Self {
                Self { version: self.version + 1, #(#former: self.#former.unexpired(),)* ..self.clone() }
            }
        }
    });
    let remembers =
        (!recent.is_empty()).then(|| quote!(#idempotency::remembers!(#(#created_by:)* #name);));
    let tombstone_name =
        all.tombstone.as_ref().map_or_else(|| quote!(Self), Ident::to_token_stream);
    let key = container_item(&name, tombstone_name, property(partition)?, property(id)?);
    Ok(quote! {
        #derives
        #(#attrs)*
        #vis struct #name {
            #(#own,)*
            #(#[doc = " The version, which each write raises that a copy shows."] #vis #version: u64,)*
            #(#[doc = " The command that created the item."] #vis #created_by: #command,)*
            #memory
        }

        #[allow(dead_code, clippy::too_many_arguments, clippy::useless_conversion, reason = "as all items have it")]
        impl #name {
            #versions
            #methods
        }

        #remembers
        #key
        #leaves
        #tombstone_type
    })
}

/// Returns the expression of a field of the struct, or of its flattened field.
fn property(own: &[Field], name: &Ident) -> Result<TokenStream> {
    if own.iter().any(|field| field.ident.as_ref() == Some(name)) {
        return Ok(quote!(self.#name));
    }
    let is_flat = |it: &Attribute| {
        it.path().is_ident("serde") && it.to_token_stream().to_string().contains("flatten")
    };
    let Some(flat) = own.iter().find(|field| field.attrs.iter().any(is_flat)) else {
        let missing = format!("the item has no field `{name}`, and none that is flattened");
        return Err(Error::new(name.span(), missing));
    };
    let flat = &flat.ident;
    Ok(quote!(self.#flat.#name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_declaration_says_what_to_write() {
        for (arguments, error) in [
            (quote!(RoomsItem), "which field has the id"),
            (quote!(RoomsItem, id = name), "has no field `name`, and none that is flattened"),
            (quote!(RoomsItem, id = id, size), "expected `partition`, `id`, `version`"),
            (quote!(RoomsItem, id = id, tombstone(struct Gone { id: Id })), "needs a `version`"),
            (
                quote!(RoomsItem, id = id, version, tombstone(struct Gone { at: Id = id })),
                "needs the field `id`",
            ),
        ] {
            let found = expand(
                arguments,
                quote!(
                    struct Room {
                        id: Id,
                    }
                ),
            )
            .map_err(|it| it.to_string());
            assert!(found.as_ref().is_err_and(|found| found.contains(error)), "{found:?}");
        }
    }
}
