//! The `enum` of all items of a container.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    Error, GenericArgument, Ident, ItemEnum, LitStr, PathArguments, Result, Token, Type, Variant,
    meta::{self, ParseNestedMeta},
    parenthesized,
    parse::{Parse, Parser},
    punctuated::Punctuated,
};

pub(crate) fn expand(arguments: TokenStream, declaration: TokenStream) -> Result<TokenStream> {
    let mut tag = LitStr::new("type", Span::call_site());
    let mut partition_key: Option<LitStr> = None;
    let mut sources: Option<Vec<Ident>> = None;
    let mut secrets: Vec<LitStr> = Vec::new();
    let read = meta::parser(|argument| {
        if argument.path.is_ident("tag") {
            tag = argument.value()?.parse()?;
        } else if argument.path.is_ident("partition_key") {
            partition_key = Some(argument.value()?.parse()?);
        } else if argument.path.is_ident("sources") {
            sources = Some(list(&argument)?);
        } else if argument.path.is_ident("secrets") {
            secrets = list(&argument)?;
        } else {
            return Err(argument
                .error("expected `tag = …`, `partition_key = …`, `sources(…)` or `secrets(…)`"));
        }
        Ok(())
    });
    read.parse2(arguments)?;
    let ItemEnum { attrs, vis, ident: name, variants, .. } = syn::parse2(declaration)?;
    let types = variants.iter().map(item_type).collect::<Result<Vec<_>>>()?;
    let names: Vec<&Ident> = variants.iter().map(|variant| &variant.ident).collect();
    if let Some(unknown) = sources.iter().flatten().find(|source| !names.contains(source)) {
        return Err(Error::new(unknown.span(), format!("there is no variant `{unknown}`")));
    }
    let is_source = |name: &&&Ident| sources.as_ref().is_none_or(|all| all.contains(name));
    let (sources, others): (Vec<&Ident>, Vec<&Ident>) = names.iter().partition(is_source);
    let change = partition_key.map(|key| {
        quote! {
            impl ::tributary_functions::projection::ChangeFeedItem for #name {
                const PARTITION_KEY: &'static str = #key;
                const SECRETS: &'static [&'static str] = &[#(#secrets),*];

                fn origin(&self) -> ::std::option::Option<::tributary_functions::projection::Origin> {
                    #[allow(unused_imports, reason = "as all enums have it")]
                    use ::tributary_functions::projection::{ContainerItem as _, FrameworkItem as _};
                    match self {
                        #(Self::#sources(item) => item.origin(),)*
                        #(Self::#others(_) => ::std::option::Option::None,)*
                    }
                }

                fn left(self) -> ::std::option::Option<Self> {
                    #[allow(unused_imports, reason = "as all enums have it")]
                    use ::tributary_functions::projection::{ContainerItem as _, FrameworkItem as _};
                    match self {
                        #(Self::#sources(item) => item.left(),)*
                        #(Self::#others(_) => ::std::option::Option::None,)*
                    }
                }

                fn may_be_rewritten(&self) -> bool {
                    #[allow(unused_imports, reason = "as all enums have it")]
                    use ::tributary_functions::projection::{ContainerItem as _, FrameworkItem as _};
                    match self {
                        #(Self::#sources(item) => item.may_be_rewritten(),)*
                        #(Self::#others(_) => true,)*
                    }
                }
            }
        }
    });
    Ok(quote! {
        #[derive(Debug, Clone, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(tag = #tag, rename_all = "camelCase")]
        #(#attrs)*
        #vis enum #name { #variants }

        ::tributary_functions::values::item_types!(#name: #(#names(#types)),*);

        #change
    })
}

fn list<T: Parse>(argument: &ParseNestedMeta<'_>) -> Result<Vec<T>> {
    let content;
    parenthesized!(content in argument.input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&content)?.into_iter().collect())
}

fn item_type(variant: &Variant) -> Result<&Type> {
    let mut fields = variant.fields.iter();
    let (Some(field), None) = (fields.next().filter(|field| field.ident.is_none()), fields.next())
    else {
        return Err(Error::new_spanned(
            variant,
            "a variant has the type of its items: `Room(Room)`",
        ));
    };
    if let Type::Path(path) = &field.ty
        && let Some(last) = path.path.segments.last()
        && last.ident == "Box"
        && let PathArguments::AngleBracketed(boxed) = &last.arguments
        && let Some(GenericArgument::Type(boxed)) = boxed.args.first()
    {
        return Ok(boxed);
    }
    Ok(&field.ty)
}
