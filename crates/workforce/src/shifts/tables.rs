//! The tables of this room.

pub mod plan {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "shift_plans")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub user_id: i64,
        pub slot_id: i64,
        pub site_id: i64,
        pub starts_at: i64,
        pub ends_at: i64,
        pub status: String,
        pub created_at: i64,
        pub updated_at: i64,
        pub reminded_at: Option<i64>,
        pub missed_at: Option<i64>,
        pub version: i64,
        pub awaited_from: Option<i64>,
        pub given_back_at: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod cancellation {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "plan_cancellations")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub plan_id: i64,
        pub user_id: i64,
        pub reason: String,
        pub words: Option<String>,
        pub document: Option<String>,
        pub photo_file: Option<String>,
        pub photo_kind: Option<String>,
        pub is_short_notice: bool,
        pub cancelled_at: i64,
        pub status: String,
        pub decided_by: Option<i64>,
        pub decided_at: Option<i64>,
        pub reversed_by: Option<i64>,
        pub reversed_at: Option<i64>,
        pub notice_hours: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod shift {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "shifts")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub user_id: i64,
        pub site_id: i64,
        pub slot_id: Option<i64>,
        pub plan_id: Option<i64>,
        pub contract_id: Option<i64>,
        pub status: String,
        pub planned_start: Option<i64>,
        pub planned_end: Option<i64>,
        pub started_at: i64,
        pub ended_at: Option<i64>,
        pub rate_kopecks: i64,
        pub penalises_lateness: bool,
        pub late_threshold_minutes: i64,
        pub late_minute_kopecks: i64,
        pub opened_latitude: Option<f64>,
        pub opened_longitude: Option<f64>,
        pub closed_latitude: Option<f64>,
        pub closed_longitude: Option<f64>,
        pub closed_by: Option<String>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod task {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "shift_tasks")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub shift_id: i64,
        pub task_id: Option<i64>,
        pub source: String,
        pub place: i64,
        pub text: String,
        pub amount_kopecks: i64,
        pub is_mandatory: bool,
        pub needs_media: bool,
        pub media_count: i64,
        pub done_at: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod medium {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "task_media")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub shift_task_id: i64,
        pub kind: String,
        pub telegram_file: String,
        pub unique_id: String,
        pub created_at: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod opening {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "site_openings")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub site_id: i64,
        pub opened_by: i64,
        pub opened_at: i64,
        pub closed_by: Option<i64>,
        pub closed_at: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
