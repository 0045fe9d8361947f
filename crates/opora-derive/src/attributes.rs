//! Reads `#[states(…)]` attributes.

use syn::spanned::Spanned;
use syn::{Attribute, Error, LitInt, LitStr, Result, Variant};

/// The attributes of the enum.
#[derive(Default)]
pub struct EnumAttributes {
    pub dialogue: Option<LitStr>,
    pub version: Option<u32>,
}

/// Reads the attributes of the enum.
pub fn on_enum(attributes: &[Attribute]) -> Result<EnumAttributes> {
    let mut read = EnumAttributes::default();
    for attribute in ours(attributes) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("dialogue") {
                once(&meta, read.dialogue.is_some())?;
                read.dialogue = Some(name(&meta)?);
                Ok(())
            } else if meta.path.is_ident("version") {
                once(&meta, read.version.is_some())?;
                let number: LitInt = meta.value()?.parse()?;
                let version = number.base10_parse::<u32>()?;
                if version == 0 {
                    return Err(Error::new(number.span(), "versions count from 1"));
                }
                read.version = Some(version);
                Ok(())
            } else {
                Err(meta.error("the enum takes `dialogue = \"…\"` and `version = …`"))
            }
        })?;
    }
    Ok(read)
}

/// Reads the name of a variant, if an attribute sets it.
pub fn on_variant(variant: &Variant) -> Result<Option<LitStr>> {
    if let Some(misplaced) = variant.fields.iter().find_map(|field| ours(&field.attrs).next()) {
        return Err(Error::new(misplaced.span(), "`states` goes on an enum or a variant, not on a field"));
    }
    let mut own_name = None;
    for attribute in ours(&variant.attrs) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                once(&meta, own_name.is_some())?;
                own_name = Some(name(&meta)?);
                Ok(())
            } else {
                Err(meta.error("a variant takes `name = \"…\"`"))
            }
        })?;
    }
    Ok(own_name)
}

fn ours(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("states"))
}

/// Rejects an attribute that is set twice.
fn once(meta: &syn::meta::ParseNestedMeta<'_>, is_set: bool) -> Result<()> {
    if is_set { Err(meta.error("this is set twice")) } else { Ok(()) }
}

fn name(meta: &syn::meta::ParseNestedMeta<'_>) -> Result<LitStr> {
    let literal: LitStr = meta.value()?.parse()?;
    let text = literal.value();
    // Logs, metrics and keys contain names as `dialogue:state`.
    if text.is_empty() || text.contains(|letter: char| letter == ':' || letter.is_whitespace() || letter.is_control()) {
        return Err(Error::new(literal.span(), "a name is not empty and holds no colon and no space"));
    }
    Ok(literal)
}

/// Rejects types that cannot be the states of a dialogue.
pub fn check_shape(input: &syn::DeriveInput) -> Result<&syn::DataEnum> {
    if !input.generics.params.is_empty() {
        let message = "the states of a dialogue are one type: they take no generics and no lifetimes";
        return Err(Error::new(input.generics.span(), message));
    }
    match &input.data {
        syn::Data::Enum(data) => Ok(data),
        _ => Err(Error::new(input.ident.span(), "`States` is for an enum: one variant for each state of the dialogue")),
    }
}
