//! The tables of this room.

pub mod site {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "sites")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub name: String,
        pub address: String,
        pub latitude: Option<f64>,
        pub longitude: Option<f64>,
        pub time_zone: String,
        pub opens_minute: i64,
        pub closes_minute: i64,
        pub working_days: i64,
        pub rate_kopecks: i64,
        pub max_distance_m: i64,
        pub auto_close_minutes: i64,
        pub late_threshold_minutes: i64,
        pub late_minute_kopecks: i64,
        pub filled_year: i64,
        pub created_at: i64,
        pub updated_at: i64,
        pub deleted_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod slot {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "time_slots")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub site_id: i64,
        pub title: String,
        pub day: String,
        pub starts_minute: i64,
        pub ends_minute: i64,
        pub starts_at: i64,
        pub ends_at: i64,
        pub rate_kopecks: Option<i64>,
        pub capacity: i64,
        pub taken: i64,
        pub penalises_lateness: bool,
        pub ignores_site_tasks: bool,
        pub created_at: i64,
        pub updated_at: i64,
        pub deleted_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod task {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "site_tasks")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub site_id: i64,
        pub slot_id: Option<i64>,
        pub place: i64,
        pub text: String,
        pub amount_kopecks: i64,
        pub is_mandatory: bool,
        pub needs_media: bool,
        pub created_at: i64,
        pub updated_at: i64,
        pub deleted_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod contract {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "contracts")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub user_id: i64,
        pub status: String,
        pub rate_kopecks: Option<i64>,
        pub allows_spontaneous: bool,
        pub valid_from: Option<String>,
        pub valid_until: Option<String>,
        pub created_at: i64,
        pub updated_at: i64,
        pub deleted_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod contract_site {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "contract_sites")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub contract_id: i64,
        #[sea_orm(primary_key, auto_increment = false)]
        pub site_id: i64,
        pub user_id: i64,
        pub is_active: bool,
        pub first_day: i64,
        pub last_day: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod permission {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "manager_permissions")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub user_id: i64,
        pub site_id: i64,
        pub permission: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
