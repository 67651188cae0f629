//! A type of items, its tombstone, and the type that callers see.

use heck::{ToLowerCamelCase as _, ToSnakeCase as _};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Error, Expr, Field, Fields, Ident, ItemStruct, Result, Token, Type, Visibility,
    braced,
    meta::{self, ParseNestedMeta},
    parenthesized,
    parse::{Parse, ParseStream, Parser},
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
    texts: Option<Vec<Ident>>,
    unique: Vec<Ident>,
    child_of: Option<Parent>,
    tombstone: Option<Declared>,
    public: Option<Declared>,
}

struct Parent {
    parent: Ident,
    counts: Option<Ident>,
}

impl Parse for Parent {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let parent = input.parse()?;
        let counts = input.parse::<Option<Token![,]>>()?.map(|_| {
            let word: Ident = input.parse()?;
            if word != "counted" {
                return Err(Error::new(word.span(), "expected `counted = …`"));
            }
            input.parse::<Token![=]>()?;
            input.parse()
        });
        Ok(Self { parent, counts: counts.transpose()? })
    }
}

/// A type with some fields of the item, or a type that is declared elsewhere.
struct Declared {
    attributes: Vec<Attribute>,
    name: Ident,
    fields: Option<Vec<DeclaredField>>,
}

/// A field, which has the attributes and the type of the item's field by default.
struct DeclaredField {
    attributes: Vec<Attribute>,
    name: Ident,
    of: Option<Type>,
    from: Option<Expr>,
}

impl Parse for Declared {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        if input.parse::<Option<Token![struct]>>()?.is_none() {
            return Ok(Self { attributes, name: input.parse()?, fields: None });
        }
        let name = input.parse()?;
        let content;
        braced!(content in input);
        let fields = content.parse_terminated(DeclaredField::parse, Token![,])?;
        Ok(Self { attributes, name, fields: Some(fields.into_iter().collect()) })
    }
}

impl Parse for DeclaredField {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        let of = input.parse::<Option<Token![:]>>()?.map(|_| input.parse()).transpose()?;
        let from = input.parse::<Option<Token![=]>>()?.map(|_| input.parse()).transpose()?;
        Ok(Self { attributes, name, of, from })
    }
}

impl DeclaredField {
    fn declaration(&self, own: &[Field], visibility: &Visibility) -> Result<TokenStream> {
        let Self { attributes, name, of, .. } = self;
        if let Some(of) = of {
            return Ok(quote!(#(#attributes)* #visibility #name: #of));
        }
        let field = own.iter().find(|field| field.ident.as_ref() == Some(name));
        let missing = || Error::new(name.span(), format!("say the type of `{name}`"));
        let Field { attrs, ty, .. } = field.ok_or_else(missing)?;
        Ok(quote!(#(#attrs)* #(#attributes)* #visibility #name: #ty))
    }
}

impl Arguments {
    fn declared(&self) -> Option<(&Declared, &Vec<DeclaredField>)> {
        let tombstone = self.tombstone.as_ref()?;
        Some((tombstone, tombstone.fields.as_ref()?))
    }

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
            "texts" => self.texts = Some(names(argument)?),
            "unique" => self.unique = names(argument)?,
            "child_of" => {
                parenthesized!(content in argument.input);
                self.child_of = Some(content.parse()?);
            }
            "tombstone" => {
                parenthesized!(content in argument.input);
                self.tombstone = Some(content.parse()?);
            }
            "public" => {
                parenthesized!(content in argument.input);
                self.public = Some(content.parse()?);
            }
            _ if self.items.is_none() => self.items = Some(name),
            _ => {
                return Err(argument.error(
                    "expected `partition`, `id`, `version`, `recent`, `created_by`, `former_owners`, `texts`, \
                     `unique`, `child_of`, `tombstone` or `public`",
                ));
            }
        }
        Ok(())
    }
}

fn names(argument: &ParseNestedMeta<'_>) -> Result<Vec<Ident>> {
    let content;
    parenthesized!(content in argument.input);
    Ok(content.parse_terminated(Ident::parse, Token![,])?.into_iter().collect())
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
    let described: Vec<Field> = own.named.into_iter().collect();
    // Only what callers see has a schema.
    let mut own = described.clone();
    for field in &mut own {
        field.attrs.retain(|attribute| !attribute.path().is_ident("schemars"));
    }
    let (Some(items), Some(id)) = (&all.items, &all.id) else {
        let missing =
            "say of which items it is, and which field has the id: `RoomsItem, id = room_id`";
        return Err(Error::new(name.span(), missing));
    };
    if version.is_empty() && (!former.is_empty() || all.declared().is_some()) {
        let missing = "an item with a tombstone or former owners needs a `version`";
        return Err(Error::new(name.span(), missing));
    }
    let partition = all.partition.as_ref().unwrap_or(id);
    let property = |name: &Ident| property(&own, name);
    let claims: Vec<_> = (!all.unique.is_empty()).then(|| quote!(claims)).into_iter().collect();
    let parent_version: Vec<_> = all.child_of.iter().map(|_| quote!(parent_version)).collect();
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
    let texts = |texts: Vec<TokenStream>| {
        all.texts.as_ref().map(|_| {
            quote! {
                fn may_be_rewritten(&self) -> bool {
                    let texts: &[&str] = &[#(#texts.as_ref()),*];
                    texts.iter().any(|text| ::tributary_functions::values::may_be_rewritten_by_host(text))
                }
            }
        })
    };
    let container_item = |name: &Ident, tombstone: TokenStream, partition, id, texts| {
        let words = name.to_string().to_snake_case().replace('_', " ");
        let children = format!("ChildrenOf{name}");
        quote! {
            impl ::tributary_functions::projection::ContainerItem for #name {
                const NAME: &'static str = #words;
                const CHILDREN: &'static str = #children;
                type Items = #items;
                type Tombstone = #tombstone;

                fn key(&self) -> (&str, &str) {
                    (#partition.as_ref(), #id.as_ref())
                }

                #(fn version(&self) -> ::std::option::Option<u64> {
                    ::std::option::Option::Some(self.#version)
                })*

                #texts
            }
        }
    };
    let mut methods = TokenStream::new();
    let mut leaves = None;
    let mut tombstone_type = None;
    if let Some((Declared { attributes, name: tombstone, .. }, fields)) = all.declared() {
        let names: Vec<_> = fields.iter().map(|field| &field.name).collect();
        for key in [partition, id] {
            if !names.contains(&key) {
                let missing = format!("the tombstone needs the field `{key}`, as the item has it");
                return Err(Error::new(key.span(), missing));
            }
        }
        let value = |field: &DeclaredField| match &field.from {
            Some(Expr::Path(from)) => property(from.path.require_ident()?),
            Some(from) => Ok(from.to_token_stream()),
            None => property(&field.name),
        };
        let values = fields.iter().map(value).collect::<Result<Vec<_>>>()?;
        let declaration = |field: &DeclaredField| field.declaration(&own, &vis);
        let fields = fields.iter().map(declaration).collect::<Result<Vec<_>>>()?;
        let copied = all.texts.iter().flatten().filter(|text| names.contains(text));
        let own = container_item(
            tombstone,
            quote!(Self),
            quote!(self.#partition),
            quote!(self.#id),
            texts(copied.map(|text| quote!(self.#text)).collect()),
        );
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
                    #(#claims: ::std::default::Default::default(),)*
                    #(#parent_version: 0,)*
                    #(#former: ::std::default::Default::default(),)*
                }
            }

            /// Returns the item in its next version.
            #vis fn next(&self) -> Self {
                Self { version: self.version + 1, #(#former: self.#former.unexpired(),)* ..self.clone() }
            }
        }
    });
    let unique = unique(&all.unique, &name, &own)?;
    let family = all.child_of.as_ref().map(|parent| {
        let key = own.iter().find(|field| field.ident.as_ref() == Some(partition));
        let key = key.map(|field| &field.ty);
        family(parent, (&name, items), key, all.tombstone.is_some())
    });
    let remembers =
        (!recent.is_empty()).then(|| quote!(#idempotency::remembers!(#(#created_by:)* #name);));
    let tombstone = all.tombstone.as_ref().map(|tombstone| tombstone.name.to_token_stream());
    let copied = all.texts.iter().flatten().map(property).collect::<Result<Vec<_>>>()?;
    let texts = texts(copied);
    let left = leaves.is_some().then(|| {
        quote! {
            fn left(self) -> ::std::option::Option<#items> {
                ::std::option::Option::Some(::tributary_functions::projection::LeavesTombstone::leave(self))
            }
        }
    });
    let key = container_item(
        &name,
        tombstone.unwrap_or_else(|| quote!(Self)),
        property(partition)?,
        property(id)?,
        Some(quote!(#texts #left)),
    );
    let public = all.public.as_ref().map(|it| public(it, (&name, &vis), &described)).transpose()?;
    Ok(quote! {
        #derives
        #(#attrs)*
        #vis struct #name {
            #(#own,)*
            #(#[doc = " The version, which each write raises that a copy shows."] #vis #version: u64,)*
            #(#[doc = " The command that created the item."] #vis #created_by: #command,)*
            #memory
            #(#[doc = " The reservations of its unique values."]
            #[serde(default)]
            #vis #claims: ::tributary_functions::engines::unique_claim::Claims,)*
            #(#[doc = " The version of the parent that counted the child first; 0 before that."]
            #vis #parent_version: u64,)*
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
        #public
        #unique
        #family
    })
}

fn unique(values: &[Ident], item: &Ident, own: &[Field]) -> Result<Option<TokenStream>> {
    if values.is_empty() {
        return Ok(None);
    }
    let names = values.iter().map(|name| name.to_string().to_lower_camel_case());
    let values = values.iter().map(|name| property(own, name)).collect::<Result<Vec<_>>>()?;
    let claim = quote!(::tributary_functions::engines::unique_claim);
    Ok(Some(quote! {
        impl #claim::UniqueValues for #item {
            fn values(&self) -> ::std::vec::Vec<(&'static str, ::std::string::String)> {
                ::std::vec![#((#names, #values.to_string())),*]
            }

            fn claims(&self) -> #claim::Claims {
                self.claims.clone()
            }

            fn with_claims(self, claims: #claim::Claims) -> Self {
                Self { claims, ..self }
            }
        }
    }))
}

/// Returns the family of a child, which is the child itself. A child with a tombstone is toggled.
fn family(
    Parent { parent, counts }: &Parent,
    (child, items): (&Ident, &Ident),
    key: Option<&Type>,
    is_toggled: bool,
) -> TokenStream {
    let [counted, projection] = [
        quote!(::tributary_functions::engines::counted_children),
        quote!(::tributary_functions::projection),
    ];
    let after = counts.as_ref().map_or_else(
        || quote!(parent.clone()),
        |counts| {
            quote! {
                #parent { #counts: changes.count(parent.#counts, |_| true), ..parent.next() }
            }
        },
    );
    let toggled = is_toggled.then(|| {
        quote! {
            const TOMBSTONE: ::std::option::Option<fn(Self) -> #items> =
                ::std::option::Option::Some(#projection::LeavesTombstone::leave);

            fn recreated(child: &Self, tombstone: #items) -> ::std::option::Option<Self> {
                #projection::LeavesTombstone::recreated(child, tombstone)
            }
        }
    });
    quote! {
        impl #counted::Family for #child {
            const PARENT: &'static str = <#parent as #projection::ContainerItem>::NAME;
            const CHILD: &'static str = <Self as #projection::ContainerItem>::NAME;
            type Key = #key;
            type Item = #items;
            type Parent = #parent;
            type Child = Self;
            type ChildId = ::std::string::String;
            type Edit = ::std::convert::Infallible;
            type Refused = ::std::convert::Infallible;

            fn child_item(child: &Self, parent: &#parent) -> #items {
                Self { parent_version: parent.version, ..child.clone() }.into()
            }

            fn child_id(child: &Self) -> ::std::string::String {
                #projection::ContainerItem::key(child).1.to_owned()
            }

            fn after(parent: &#parent, changes: &#counted::Changes<'_, Self>) -> #parent {
                #after
            }

            fn is_created_once(_id: &::std::string::String) -> bool {
                !#is_toggled
            }

            #toggled
        }
    }
}

/// Returns the type that callers see, unless it is that of the flattened field, and the item as its value.
fn public(
    declared: &Declared,
    (item, vis): (&Ident, &Visibility),
    own: &[Field],
) -> Result<TokenStream> {
    let Declared { attributes, name: public, fields } = declared;
    let mut declaration = None;
    let value = if let Some(fields) = fields {
        let names: Vec<_> = fields.iter().map(|field| &field.name).collect();
        let declare = |field: &DeclaredField| field.declaration(own, vis);
        let fields = fields.iter().map(declare).collect::<Result<Vec<_>>>()?;
        let schema = item.to_string();
        let selected = names.iter().map(|name| name.to_string().to_lower_camel_case());
        let selected: Vec<_> = selected.collect();
        let select: Vec<_> = selected.iter().map(|name| format!("c.{name}")).collect();
        let shape: Vec<_> = selected.iter().map(|name| format!("{name}: c.{name}")).collect();
        let [select, shape] = [select.join(", "), format!("{{{}}}", shape.join(", "))];
        declaration = Some(quote! {
            #[derive(Debug, Clone, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
            #[serde(rename_all = "camelCase")]
            #[schemars(rename = #schema)]
            #(#attributes)*
            #vis struct #public { #(#fields,)* }

            #[allow(dead_code, reason = "as all items have it")]
            impl #public {
                /// Its properties of an item `c`, in a query.
                #vis const SELECT: &'static str = #select;
                /// The same, as an object.
                #vis const SHAPE: &'static str = #shape;
            }
        });
        quote!(#public { #(#names: self.#names.clone(),)* })
    } else {
        let flat = flat(own).ok_or_else(|| Error::new(public.span(), "no field is flattened"))?;
        quote!(self.#flat.clone())
    };
    Ok(quote! {
        #declaration

        impl ::tributary_functions::projection::PublicItem for #item {
            type Public = #public;

            fn public(&self) -> #public {
                #value
            }
        }
    })
}

fn property(own: &[Field], name: &Ident) -> Result<TokenStream> {
    if own.iter().any(|field| field.ident.as_ref() == Some(name)) {
        return Ok(quote!(self.#name));
    }
    let Some(flat) = flat(own) else {
        let missing = format!("the item has no field `{name}`, and none that is flattened");
        return Err(Error::new(name.span(), missing));
    };
    Ok(quote!(self.#flat.#name))
}

fn flat(own: &[Field]) -> Option<&Ident> {
    let is_flat = |it: &Attribute| {
        it.path().is_ident("serde") && it.to_token_stream().to_string().contains("flatten")
    };
    own.iter().find(|field| field.attrs.iter().any(is_flat))?.ident.as_ref()
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
            (quote!(RoomsItem, id = id, texts(name)), "has no field `name`"),
            (quote!(RoomsItem, id = id, unique(name)), "has no field `name`"),
            (quote!(RoomsItem, id = id, child_of(House, count = rooms)), "expected `counted = …`"),
            (quote!(RoomsItem, id = id, public(struct Shown { name })), "say the type of `name`"),
            (quote!(RoomsItem, id = id, public(Shown)), "no field is flattened"),
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
