//! What the bot tells a person whom staff gave a contract.

use opora::clock::Millis;

use super::contracts::{AboutContract, ContractStatus};
use super::local;
use super::records::Site;
use crate::notices::Notice;

/// None if the contract gives no right to work, now or later. `sites` are those of the contract.
pub fn of(about: &AboutContract, sites: &[Site], now: Millis) -> Option<Notice> {
    let today = local(now, sites.first()?.about.time_zone).date();
    let is_over = about.valid_until.is_some_and(|until| until < today);
    if about.status != ContractStatus::Active || is_over {
        return None;
    }
    let names = sites.iter().map(|site| site.about.name.clone()).collect();
    let from = about.valid_from.filter(|from| *from > today);
    Some(Notice::ContractMade { sites: names, from, is_again: false })
}

/// None unless the change gives the person a right to work that the contract did not give before. `sites` are those of
/// the changed contract.
pub fn of_change(before: &AboutContract, after: &AboutContract, sites: &[Site], now: Millis) -> Option<Notice> {
    if of(before, sites, now).is_some() {
        return None;
    }
    let mut notice = of(after, sites, now)?;
    if let Notice::ContractMade { is_again, .. } = &mut notice {
        *is_again = before.status != ContractStatus::Draft;
    }
    Some(notice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TIME_ZONE;
    use crate::sites::AboutSite;
    use crate::texts::Language;

    /// Thursday, January 1, 2026, noon in UTC.
    const NOON: Millis = Millis(1_767_268_800_000);

    fn told(change: impl FnOnce(&mut AboutContract)) -> Option<String> {
        let about = AboutSite { name: "Corner cafe".into(), ..AboutSite::usual(TIME_ZONE.default) };
        let site = Site { id: 1, about, deleted_at: None, version: 1 };
        let mut contract = AboutContract::active(vec![1]);
        change(&mut contract);
        of(&contract, &[site], NOON).map(|notice| notice.text(Language::En))
    }

    #[test]
    fn a_contract_says_where_and_from_when_a_person_works() {
        let day = |text: &str| text.parse().ok();
        let now = "You have a new contract. Your site: Corner cafe. You can pick up a shift now.";
        assert_eq!(told(|_| {}).as_deref(), Some(now));
        assert_eq!(told(|contract| contract.valid_from = day("2026-01-01")).as_deref(), Some(now));
        let later = "You have a new contract. Your site from Jan 2: Corner cafe.";
        assert_eq!(told(|contract| contract.valid_from = day("2026-01-02")).as_deref(), Some(later));
    }

    #[test]
    fn a_change_is_told_when_it_gives_a_right() {
        let site = Site { id: 1, about: AboutSite::usual(TIME_ZONE.default), deleted_at: None, version: 1 };
        let told = |before: ContractStatus, after: ContractStatus| {
            let about = |status| AboutContract { status, ..AboutContract::active(vec![1]) };
            let notice = of_change(&about(before), &about(after), std::slice::from_ref(&site), NOON)?;
            notice.text(Language::En).split('.').next().map(ToOwned::to_owned)
        };
        let (draft, active, suspended) = (ContractStatus::Draft, ContractStatus::Active, ContractStatus::Suspended);
        assert_eq!(told(draft, active).as_deref(), Some("You have a new contract"));
        assert_eq!(told(suspended, active).as_deref(), Some("Your contract is active again"));
        assert_eq!((told(active, active), told(draft, suspended), told(active, suspended)), (None, None, None));
    }

    #[test]
    fn nothing_is_said_of_a_contract_that_gives_no_right() {
        assert_eq!(told(|contract| contract.status = ContractStatus::Draft), None);
        assert_eq!(told(|contract| contract.valid_until = "2025-12-31".parse().ok()), None);
    }
}
