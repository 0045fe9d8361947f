//! What needs no words: a button carries a command out with the commit of its turn.

use opora::prelude::*;

use super::order_button::OrderButton;
use super::{OrderWork, card, order_reader, refused};
use crate::application::App;
use crate::domain::WriteInTurn;
use crate::front::navigation::{menu_of_question, show_final_with};
use crate::front::reply;
use crate::front::text_limits::caption;
use crate::notices::order_buttons::{ACCEPT, DO};
use crate::orders::{self, Actor, Command, MasterLoad, OrderEvent, OrderRefusal, Orders, SeenOrder};
use crate::person::Person;
use crate::shifts::distance_text;
use crate::texts::Language;
use crate::{key, text};

pub const MASTERS: &str = "orders:masters:";
pub const OFFERS: &str = "orders:offers:";
const GIVE: &str = "orders:give:";
const OFFER: &str = "orders:offer:";
/// In place of a master: all who are on an open shift.
const ALL: &str = "all";
/// How long a master may think about an offer.
const OFFER_MINUTES: u16 = 15;
const MAX_MASTERS: usize = 20;

/// A command without words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direct {
    Confirm,
    Withdraw,
    Accept,
    Arrive,
    Resume,
    Reopen,
}

impl Direct {
    const EVERY: [Self; 6] = [Self::Confirm, Self::Withdraw, Self::Accept, Self::Arrive, Self::Resume, Self::Reopen];

    const fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Withdraw => "withdraw",
            Self::Accept => ACCEPT,
            Self::Arrive => "arrive",
            Self::Resume => "resume",
            Self::Reopen => "reopen",
        }
    }

    const fn command(self) -> Command {
        match self {
            Self::Confirm => Command::Confirm,
            Self::Withdraw => Command::WithdrawOffers,
            Self::Accept => Command::Accept,
            Self::Arrive => Command::Arrive,
            Self::Resume => Command::Resume,
            Self::Reopen => Command::Reopen,
        }
    }

    fn caption(self, language: Language) -> String {
        language.text(match self {
            Self::Confirm => key!("orders-confirm-button"),
            Self::Withdraw => key!("orders-withdraw-button"),
            Self::Accept => key!("orders-accept-button"),
            Self::Arrive => key!("orders-arrive-button"),
            Self::Resume => key!("orders-resume-button"),
            Self::Reopen => key!("orders-reopen-button"),
        })
    }

    fn done(self) -> &'static str {
        match self {
            Self::Confirm => key!("orders-confirmed"),
            Self::Withdraw => key!("orders-withdrawn"),
            Self::Accept => key!("orders-accepted"),
            Self::Arrive => key!("orders-arrived"),
            Self::Resume => key!("orders-resumed"),
            Self::Reopen => key!("orders-reopened"),
        }
    }
}

pub fn button_of(what: Direct, seen: &SeenOrder, language: Language) -> Button {
    let data = OrderButton::data(DO, seen.order.id, Some(seen.order.version), what.name());
    Button::new(what.caption(language), data)
}

/// Carries a command out with the commit of this turn, and says so. A refusal of the commit is said instead.
pub async fn carry_out<S>(
    turn: &mut Turn,
    person: &Person,
    (seen, version): (&SeenOrder, Option<i64>),
    command: Command,
    done: &'static str,
) -> Step<S> {
    let done = person.language.text(done);
    carry_out_and_say(turn, person, (seen, version), command, done).await
}

/// Like [`carry_out`], with a text.
pub async fn carry_out_and_say<S>(
    turn: &mut Turn,
    person: &Person,
    (seen, version): (&SeenOrder, Option<i64>),
    command: Command,
    done: String,
) -> Step<S> {
    let (language, id, at) = (person.language, seen.order.id, turn.now());
    if let Some(why) = refused(turn) {
        return turn.refuse(why.text(language));
    }
    let actor = Actor::Member(person.clone());
    turn.write(move |db| {
        Box::pin(async move { orders::execute(db, actor, (id, version), command, at).await.map(drop) })
    });
    OrderEvent::of(id).after(turn);
    let number = seen.order.number.to_string();
    let text = format!("{} {}", text!(language, "orders-chat-number", number = number), done);
    show_final_with(turn, text, [card::open_button(id, language)], language);
    Ok(Next::End)
}

/// The order of a button, if the person may see it. Otherwise says that there is none.
pub async fn pressed(turn: &mut Turn, data: &str) -> Result<Option<(Person, SeenOrder, OrderButton)>, BoxError> {
    let Some(person) = order_reader(turn).await? else { return Ok(None) };
    let seen = match OrderButton::parse(data) {
        None => None,
        Some(button) => {
            let orders = Orders::of_app(&turn.context::<App>());
            let seen = orders.seen_order(&Actor::Member(person.clone()), button.order_id).await?;
            seen.map(|seen| (seen, button))
        }
    };
    // An order that is taken by another master is refused in the same way as one that never was.
    let Some((seen, button)) = seen else {
        let _: Step<OrderWork> = turn.refuse(OrderRefusal::Gone.text(person.language));
        return Ok(None);
    };
    Ok(Some((person, seen, button)))
}

pub async fn act(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let Some(what) = Direct::EVERY.into_iter().find(|what| what.name() == button.rest) else { return Ok(Next::Stay) };
    let _: Step<OrderWork> = carry_out(turn, &person, (&seen, button.version), what.command(), what.done()).await;
    Ok(Next::Stay)
}

pub async fn masters(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    choose_master(turn, press, GIVE).await
}

pub async fn offers(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    choose_master(turn, press, OFFER).await
}

/// Lists masters: those on an open shift nearby first, with what they have to do.
async fn choose_master(turn: &mut Turn, press: Press, prefix: &str) -> Step<OrderWork> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let language = person.language;
    if !card::dispatches(&seen) {
        return turn.refuse(OrderRefusal::NotAllowed.text(language));
    }
    let masters = Orders::of_app(&turn.context::<App>()).masters(seen.order.about.position).await?;
    let data = |to: &str| OrderButton::data(prefix, button.order_id, button.version, to);
    let others = masters.iter().filter(|master| Some(master.person.id) != seen.order.master_id).take(MAX_MASTERS);
    let mut rows: Vec<_> = others
        .map(|master| vec![Button::new(caption(&load(master, language)), data(&master.person.id.to_string()))])
        .collect();
    let is_offer = prefix == OFFER;
    let text = match (rows.is_empty(), is_offer) {
        (true, _) => text!(language, "orders-chat-no-masters"),
        (false, true) => text!(language, "orders-choose-offer", minutes = OFFER_MINUTES),
        (false, false) => text!(language, "orders-choose-master"),
    };
    if is_offer && masters.iter().filter(|master| master.is_on_shift).count() > 1 {
        rows.insert(0, vec![Button::new(text!(language, "orders-offer-all-button"), data(ALL))]);
    }
    let back = Button::new(text!(language, "back-button"), format!("{}{}", card::OPEN, button.order_id));
    rows.push(vec![back, menu_of_question(language)]);
    reply::show(turn, text, rows);
    Ok(Next::Stay)
}

/// A master with the load: `🟢 Max · 2 orders · 800 m`.
fn load(master: &MasterLoad, language: Language) -> String {
    let sign = if master.is_on_shift { "🟢" } else { "⚪" };
    let name = master.person.full_name.as_str();
    let load = text!(language, "orders-chat-load", name = name, count = master.open);
    let distance = master.distance_m.map(|metres| format!(" · {}", distance_text(metres, language)));
    format!("{sign} {load}{}", distance.unwrap_or_default())
}

pub async fn give(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let Ok(master) = button.rest.parse() else { return Ok(Next::Stay) };
    let command = Command::Assign { master };
    let _: Step<OrderWork> = carry_out(turn, &person, (&seen, button.version), command, key!("orders-assigned")).await;
    Ok(Next::Stay)
}

pub async fn offer(turn: &mut Turn, press: Press) -> Step<OrderWork> {
    let Some((person, seen, button)) = pressed(turn, &press.rest).await? else { return Ok(Next::Stay) };
    let masters = if button.rest == ALL {
        let all = Orders::of_app(&turn.context::<App>()).masters(seen.order.about.position).await?;
        all.into_iter().filter(|master| master.is_on_shift).map(|master| master.person.id).collect()
    } else {
        button.rest.parse().into_iter().collect()
    };
    let command = Command::Offer { masters, minutes: OFFER_MINUTES, all_at_once: true };
    let _: Step<OrderWork> =
        carry_out(turn, &person, (&seen, button.version), command, key!("orders-chat-offered")).await;
    Ok(Next::Stay)
}

/// Registers the buttons.
pub fn starts(dialogue: Dialogue<OrderWork>) -> Dialogue<OrderWork> {
    dialogue
        .start(button(DO), act)
        .start(button(MASTERS), masters)
        .start(button(OFFERS), offers)
        .start(button(GIVE), give)
        .start(button(OFFER), offer)
}
