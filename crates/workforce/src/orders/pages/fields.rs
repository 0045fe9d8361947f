//! The fields of an order in forms: for new orders and for edits.

use chrono_tz::Tz;
use maud::{Markup, html};
use opora::clock::Millis;

use super::time;
use crate::orders::fields::{self, MAX_ADDRESS, MAX_CLIENT_NAME, MAX_DESCRIPTION, MAX_EQUIPMENT, MAX_NOTES};
use crate::orders::{AboutOrder, EquipmentType, FieldChange, FieldMistake};
use crate::sites::Period;
use crate::text;
use crate::web::form::{FieldErrors, FieldLabel, Fields, FilledForm, Reader, fields as form_fields};

/// The list with the kinds of equipment that are suggested.
const KINDS: &str = "equipment-kinds";

/// The form fields of an order.
pub fn write(about: &AboutOrder, zone: Tz) -> Fields {
    let mut now = form_fields([
        ("equipment_type", about.equipment_type.clone()),
        ("description", about.description.clone()),
        ("client_name", about.client_name.clone()),
        ("client_phone", about.phone.clone()),
        ("client_address", about.address.clone()),
        ("notes", about.notes.clone().unwrap_or_default()),
    ]);
    now.extend(time::write(about.window, zone));
    now
}

/// Reads an order. A time that is `kept` may be past.
pub fn read(typed: &Fields, now: Millis, zone: Tz, kept: Option<Period>) -> Result<AboutOrder, FieldErrors> {
    let mut reader = Reader::new(typed);
    let about = AboutOrder {
        equipment_type: checked(&mut reader, "equipment_type", fields::equipment_type),
        description: checked(&mut reader, "description", fields::description),
        client_name: checked(&mut reader, "client_name", fields::client_name),
        phone: checked(&mut reader, "client_phone", fields::phone),
        address: checked(&mut reader, "client_address", fields::address),
        notes: checked(&mut reader, "notes", fields::notes),
        window: time::read(&mut reader, now, zone, kept),
        position: None,
    };
    reader.bad.or(about)
}

/// A field by its rule, with the text of its mistake.
pub fn checked<T: Default>(
    reader: &mut Reader<'_>,
    name: &'static str,
    rule: impl FnOnce(&str) -> Result<T, FieldMistake>,
) -> T {
    rule(&reader.clean_lines(name)).unwrap_or_else(|mistake| {
        reader.bad.add(name, mistake.key());
        T::default()
    })
}

/// What differs, field by field.
pub fn changes(before: &AboutOrder, after: AboutOrder) -> Vec<FieldChange> {
    let changes = [
        (before.equipment_type != after.equipment_type, FieldChange::EquipmentType(after.equipment_type)),
        (before.description != after.description, FieldChange::Description(after.description)),
        (before.client_name != after.client_name, FieldChange::ClientName(after.client_name)),
        (before.phone != after.phone, FieldChange::Phone(after.phone)),
        (before.address != after.address, FieldChange::Address(after.address, after.position)),
        (before.notes != after.notes, FieldChange::Notes(after.notes.unwrap_or_default())),
        (before.window != after.window, FieldChange::Window(after.window)),
    ];
    changes.into_iter().filter(|(differs, _)| *differs).map(|(_, change)| change).collect()
}

/// The inputs of an order. A page has one such form at most.
pub fn inputs(form: &FilledForm<'_>, kinds: &[EquipmentType]) -> Markup {
    let language = form.language;
    let phone = text!(language, "orders-client-phone");
    html! {
        div.row.fields {
            (form.line("client_phone", FieldLabel::hinted(&phone, "+7 999 123-45-67"), 40))
            (form.line("client_name", &text!(language, "orders-client-name"), MAX_CLIENT_NAME))
        }
        (form.line("client_address", &text!(language, "orders-address"), MAX_ADDRESS))
        (form.suggested("equipment_type", &text!(language, "orders-equipment"), MAX_EQUIPMENT, KINDS))
        datalist id=(KINDS) { @for kind in kinds { option value=(kind.name) {} } }
        (form.lines("description", &text!(language, "orders-problem"), MAX_DESCRIPTION))
        (time::inputs(form))
        (form.lines("notes", &text!(language, "orders-notes"), MAX_NOTES))
    }
}
