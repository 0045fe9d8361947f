//! Generates the code of the derive.

use std::collections::{HashMap, HashSet};

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Field, Fields, LitStr, Result, Variant};

use crate::{attributes, names};

/// The most fields that a handler takes as separate arguments.
const FIELDS_MAX: usize = 3;

struct State<'a> {
    variant: &'a Variant,
    name: LitStr,
    constant: Ident,
}

/// The implementation of `States`, and a constant for each state.
pub fn states(input: &DeriveInput) -> Result<TokenStream> {
    let data = attributes::check_shape(input)?;
    let enum_attributes = attributes::on_enum(&input.attrs)?;
    let states = data.variants.iter().map(state).collect::<Result<Vec<_>>>()?;
    reject_duplicates(&states)?;

    let ident = &input.ident;
    let vis = &input.vis;
    let default_dialogue = || LitStr::new(&names::snake(&ident.to_string()), ident.span());
    let dialogue = enum_attributes.dialogue.unwrap_or_else(default_dialogue);
    let version = enum_attributes.version.unwrap_or(1);
    let (all_names, patterns): (Vec<_>, Vec<_>) =
        states.iter().map(|State { name, variant, .. }| (name, whole_pattern(variant))).unzip();
    let constants = states.iter().map(|state| constant(state, ident, vis));
    Ok(quote! {
        #[allow(dead_code, unreachable_patterns)]
        impl #ident { #(#constants)* }

        #[automatically_derived]
        impl ::opora::dialogue::States for #ident {
            const DIALOGUE: &'static str = #dialogue;
            const VERSION: u32 = #version;
            const NAMES: &'static [&'static str] = &[#(#all_names),*];

            fn name(&self) -> &'static str {
                match *self { #(#patterns => #all_names,)* }
            }
        }
    })
}

fn state(variant: &Variant) -> Result<State<'_>> {
    check_fields(variant)?;
    let written = variant.ident.to_string();
    let capitals = names::capitals(&written);
    if capitals == written {
        let message =
            format!("`{written}` would hide the constant of the same name; write it as `{}`", suggest(&written));
        return Err(Error::new(variant.ident.span(), message));
    }
    let own = attributes::on_variant(variant)?;
    let name = own.unwrap_or_else(|| LitStr::new(&names::snake(&written), variant.ident.span()));
    Ok(State { variant, name, constant: Ident::new(&capitals, variant.ident.span()) })
}

/// Rejects too many fields, and fields that a handler could swap unnoticed.
fn check_fields(variant: &Variant) -> Result<()> {
    let ident = &variant.ident;
    if variant.fields.len() > FIELDS_MAX {
        let message = format!("a state has at most {FIELDS_MAX} fields; put them into a struct: `{ident}({ident})`");
        return Err(Error::new(ident.span(), message));
    }
    let mut seen = HashSet::new();
    match variant.fields.iter().find(|Field { ty, .. }| !seen.insert(quote!(#ty).to_string())) {
        Some(repeated) => {
            let message = format!(
                "two fields of `{ident}` have the same type, and a handler could swap them unnoticed; put the fields \
                 into a struct: `{ident}({ident})`"
            );
            Err(Error::new_spanned(repeated, message))
        }
        None => Ok(()),
    }
}

fn suggest(written: &str) -> String {
    if written.chars().count() == 1 {
        return format!("State{written}");
    }
    let small = written.to_lowercase();
    let mut letters = small.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn reject_duplicates(states: &[State<'_>]) -> Result<()> {
    let mut seen = HashMap::new();
    let mut errors: Option<Error> = None;
    for State { name, variant, constant } in states {
        for key in [format!("name `{}`", name.value()), format!("constant `{constant}`")] {
            let Some(first) = seen.get(&key) else {
                seen.insert(key, &variant.ident);
                continue;
            };
            let message = format!("the states `{first}` and `{}` would have the same {key}", variant.ident);
            let error = Error::new(name.span(), message);
            match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            }
            break;
        }
    }
    errors.map_or(Ok(()), Err)
}

/// A pattern that matches the variant with any fields.
fn whole_pattern(variant: &Variant) -> TokenStream {
    let ident = &variant.ident;
    match &variant.fields {
        Fields::Unit => quote!(Self::#ident),
        Fields::Named(_) => quote!(Self::#ident { .. }),
        Fields::Unnamed(_) => quote!(Self::#ident(..)),
    }
}

fn constant(state: &State<'_>, ident: &Ident, vis: &syn::Visibility) -> TokenStream {
    let State { variant, name, constant } = state;
    let types = variant.fields.iter().map(|field| &field.ty);
    let values: Vec<Ident> =
        (0..variant.fields.len()).map(|index| Ident::new(&format!("field_{index}"), Span::mixed_site())).collect();
    let own = &variant.ident;
    let pattern = match &variant.fields {
        Fields::Unit => quote!(#ident::#own),
        Fields::Named(fields) => {
            let written = fields.named.iter().map(|field| &field.ident);
            quote!(#ident::#own { #(#written: #values),* })
        }
        Fields::Unnamed(_) => quote!(#ident::#own(#(#values),*)),
    };
    let doc = format!("The state `{}`, for handlers.", name.value());
    let whole = format_ident!("state", span = Span::mixed_site());
    quote! {
        #[doc = #doc]
        #vis const #constant: ::opora::dialogue::At<#ident, (#(#types,)*)> =
            ::opora::dialogue::At::new(#name, |#whole| match #whole {
                #pattern => ::core::option::Option::Some((#(#values,)*)),
                _ => ::core::option::Option::None,
            });
    }
}

#[cfg(test)]
mod tests;
