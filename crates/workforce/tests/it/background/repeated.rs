//! Each job twice in a row has the effect of once.

use opora::jobs::{JobRequest, JobState};
use workforce::rooms::Rooms;

use super::work::{dump, prepare};
use crate::kit::firm::{Firm, StorageKind};

#[tokio::test]
async fn each_job_twice_has_the_effect_of_once() {
    let workplace = prepare(Firm::open(StorageKind::Sqlite).await).await;
    let firm = &workplace.firm;
    for job in Rooms::all().jobs().list() {
        let before = dump(firm).await;
        let ran = firm.try_job(job.name).await;
        // No bot runs here, so that files cannot be requested.
        assert!(ran.state == JobState::Completed || job.name == "attachments", "{ran:?}");
        let once = dump(firm).await;
        assert_ne!(before, once, "{} finds nothing to do", job.name);
        let again = JobRequest::Retry(vec![ran.id]);
        firm.app.domain.store().operator().request_jobs(ran.bot, again, firm.app.clock.now()).await.unwrap();
        firm.try_job(job.name).await;
        assert_eq!(once, dump(firm).await, "{} has run twice", job.name);
    }
}
