//! The demo's people: all have an account on the chat page, and most are employed.

use opora::clock::Millis;
use opora::store::WriteError;
use opora_emulator::Emulator;
use opora_emulator::token::Token;
use opora_emulator::world::user::User;

use super::TOKEN;
use crate::application::App;
use crate::domain::Transaction;
use crate::people::{self, Grant};
use crate::person::{Person, Role, Status, role_name};
use crate::settings;
use crate::texts::Language;

/// The first Telegram id; the others follow.
pub const FIRST_TELEGRAM_ID: i64 = 1001;

/// A name in both languages, a username, and roles; a person without roles is an applicant.
struct Member {
    russian: (&'static str, &'static str),
    english: (&'static str, &'static str),
    username: &'static str,
    roles: &'static [Role],
}

/// The Telegram id of the first applicant whose documents wait for approval.
pub const FIRST_APPLICANT: i64 = FIRST_TELEGRAM_ID + 8;

const STAFF: [Member; 10] = [
    member(("Анна", "Петрова"), ("Anna", "Peters"), "anna_p", &[Role::Owner, Role::Superadmin]),
    member(("Борис", "Ким"), ("Boris", "Kim"), "boris_kim", &[Role::Manager]),
    member(("Вера", "Соколова"), ("Vera", "Hawkins"), "vera_desk", &[Role::Dispatcher]),
    member(("Глеб", "Орлов"), ("Glen", "Archer"), "gleb_master", &[Role::Master, Role::Employee]),
    member(("Дарья", "Морозова"), ("Daria", "Frost"), "daria_m", &[Role::Employee]),
    member(("Егор", "Лебедев"), ("Edgar", "Swann"), "egor_leb", &[Role::Employee]),
    member(("Жанна", "Волкова"), ("Jane", "Wolfe"), "zhanna_v", &[]),
    member(("Захар", "Новиков"), ("Zachary", "Newman"), "zakhar_n", &[]),
    // Their documents have these names.
    member(("Ирина", "Белова"), ("Irina", "Belova"), "irina_b", &[]),
    member(("Кирилл", "Фомин"), ("Kirill", "Fomin"), "kirill_f", &[]),
];

const fn member(
    russian: (&'static str, &'static str),
    english: (&'static str, &'static str),
    username: &'static str,
    roles: &'static [Role],
) -> Member {
    Member { russian, english, username, roles }
}

impl Member {
    fn name(&self, language: Language) -> (&'static str, &'static str) {
        match language {
            Language::Ru => self.russian,
            Language::En => self.english,
        }
    }
}

/// Creates the accounts and, on empty tables, hires people with roles. Later changes stay.
pub async fn set_up(emulator: &Emulator, app: &App, language: Language) -> anyhow::Result<()> {
    open_accounts(emulator, language);
    if app.people.by_telegram(FIRST_TELEGRAM_ID).await?.is_some() {
        return Ok(());
    }
    let at = app.clock.now();
    app.domain.write(move |db| Box::pin(hire(db, language, at))).await?;
    Ok(())
}

/// The full name of an account.
pub fn full_name(telegram_id: i64, language: Language) -> Option<String> {
    let (first_name, last_name) = member_of(telegram_id)?.name(language);
    Some(format!("{first_name} {last_name}"))
}

/// The username of an account.
pub fn username(telegram_id: i64) -> Option<String> {
    Some(member_of(telegram_id)?.username.to_owned())
}

fn member_of(telegram_id: i64) -> Option<&'static Member> {
    STAFF.get(usize::try_from(telegram_id - FIRST_TELEGRAM_ID).ok()?)
}

/// An account of the demo, and the person that it is now.
#[derive(Debug)]
pub struct RosterEntry {
    pub telegram_id: i64,
    pub name: String,
    /// None until the person has registered.
    pub person: Option<Person>,
}

impl RosterEntry {
    /// Whether any six digits open the dashboard.
    pub fn has_any_pin(&self) -> bool {
        self.person.as_ref().is_some_and(|person| person.is_test && person.status == Status::Verified)
    }

    /// Id, name and roles.
    pub fn describe(&self, language: Language) -> String {
        let Self { telegram_id, name, person } = self;
        let roles = person.as_ref().map(|person| person.roles).unwrap_or_default();
        let roles: Vec<_> = roles.iter().map(|role| role_name(role, language)).collect();
        format!("{telegram_id}  {name} ({})", roles.join(", "))
    }
}

/// The accounts of the demo as they are now: a newcomer of the first start may have registered since.
pub async fn roster(app: &App, language: Language) -> anyhow::Result<Vec<RosterEntry>> {
    let mut roster = Vec::new();
    for (telegram_id, member) in (FIRST_TELEGRAM_ID..).zip(&STAFF) {
        let (first_name, last_name) = member.name(language);
        let person = app.people.by_telegram(telegram_id).await?;
        roster.push(RosterEntry { telegram_id, name: format!("{first_name} {last_name}"), person });
    }
    Ok(roster)
}

async fn hire(db: &Transaction<'_, '_>, language: Language, at: Millis) -> Result<(), WriteError> {
    for (telegram_id, member) in (FIRST_TELEGRAM_ID..).zip(&STAFF) {
        let (first_name, last_name) = member.name(language);
        for role in member.roles {
            let full_name = format!("{first_name} {last_name}");
            let grant = Grant { telegram_id, full_name, role: *role, language, by: None };
            people::grant(db, grant, at).await?;
        }
        if !member.roles.is_empty() {
            people::mark_as_test(db, telegram_id, at).await?;
        }
    }
    settings::set(db, settings::ENABLE_TEST_USERS.name, "true", None, at).await
}

fn open_accounts(emulator: &Emulator, language: Language) {
    let Some(bot) = Token::parse(TOKEN).and_then(|token| emulator.bot(&token)) else { return };
    let mut world = bot.world();
    world.me.first_name = if language == Language::Ru { "Опора" } else { "Opora" }.into();
    world.me.username = Some("opora_demo_bot".into());
    world.me_changed();
    for (id, member) in (FIRST_TELEGRAM_ID..).zip(&STAFF) {
        let (first_name, last_name) = member.name(language);
        world.put_user(User {
            id,
            is_bot: false,
            first_name: first_name.into(),
            last_name: Some(last_name.into()),
            username: Some(member.username.into()),
            language_code: Some(language.code().into()),
        });
    }
}
