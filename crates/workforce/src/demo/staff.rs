//! The people of the demo: everybody's account is on the chat page, and most of them work here.

use opora::clock::Millis;
use opora::store::WriteError;
use opora_emulator::Emulator;
use opora_emulator::token::Token;
use opora_emulator::world::user::User;

use super::TOKEN;
use crate::application::App;
use crate::domain::Writing;
use crate::people::{self, Grant};
use crate::person::{Role, role_name};
use crate::settings;
use crate::texts::Language;

/// The first one's number; the others follow.
pub const FIRST: i64 = 1001;

/// A name in both languages, a username, and the roles; who has none comes to apply.
struct Member {
    russian: (&'static str, &'static str),
    english: (&'static str, &'static str),
    username: &'static str,
    roles: &'static [Role],
}

const STAFF: [Member; 8] = [
    member(("Анна", "Петрова"), ("Anna", "Peters"), "anna_p", &[Role::Owner, Role::Superadmin]),
    member(("Борис", "Ким"), ("Boris", "Kim"), "boris_kim", &[Role::Manager]),
    member(("Вера", "Соколова"), ("Vera", "Hawkins"), "vera_desk", &[Role::Dispatcher]),
    member(("Глеб", "Орлов"), ("Glen", "Archer"), "gleb_master", &[Role::Master, Role::Employee]),
    member(("Дарья", "Морозова"), ("Daria", "Frost"), "daria_m", &[Role::Employee]),
    member(("Егор", "Лебедев"), ("Edgar", "Swann"), "egor_leb", &[Role::Employee]),
    member(("Жанна", "Волкова"), ("Jane", "Wolfe"), "zhanna_v", &[]),
    member(("Захар", "Новиков"), ("Zachary", "Newman"), "zakhar_n", &[]),
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

/// Makes the accounts, and, on fresh tables, hires whoever has a role. What has been changed since stays.
pub async fn arrive(emulator: &Emulator, app: &App, language: Language) -> anyhow::Result<()> {
    open_accounts(emulator, language);
    if app.people.by_telegram(FIRST).await?.is_some() {
        return Ok(());
    }
    let at = app.clock.now();
    app.domain.write(move |db| Box::pin(hire(db, language, at))).await?;
    Ok(())
}

/// Who can sign in to the pages: number, name and roles of each person who has a role.
pub fn who_sign_in(language: Language) -> Vec<String> {
    let describe = |(number, member): (i64, &Member)| {
        let (first_name, last_name) = member.name(language);
        let roles: Vec<_> = member.roles.iter().map(|role| role_name(*role, language)).collect();
        format!("{number}  {first_name} {last_name} ({})", roles.join(", "))
    };
    (FIRST..).zip(&STAFF).filter(|(_, member)| !member.roles.is_empty()).map(describe).collect()
}

/// The names of those who have no role yet and can register.
pub fn newcomers(language: Language) -> String {
    let newcomers = STAFF.iter().filter(|member| member.roles.is_empty()).map(|member| member.name(language));
    newcomers.map(|(first_name, last_name)| format!("{first_name} {last_name}")).collect::<Vec<_>>().join(", ")
}

async fn hire(db: &Writing<'_, '_>, language: Language, at: Millis) -> Result<(), WriteError> {
    for (telegram_id, member) in (FIRST..).zip(&STAFF) {
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
    for (id, member) in (FIRST..).zip(&STAFF) {
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
