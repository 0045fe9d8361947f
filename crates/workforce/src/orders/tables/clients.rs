//! Tables about clients, and of lists that owners edit.

pub mod client {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "clients")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub name: String,
        pub phone: Option<String>,
        pub phone_is_known: bool,
        pub telegram_id: Option<i64>,
        pub language: String,
        pub notes: Option<String>,
        pub bot_blocked_at: Option<i64>,
        pub forgotten_at: Option<i64>,
        pub created_at: i64,
        pub updated_at: i64,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod equipment {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "equipment")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub client_id: i64,
        pub equipment_type: String,
        pub model: Option<String>,
        pub serial: Option<String>,
        pub warranty_until: Option<String>,
        pub notes: Option<String>,
        pub deleted_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod equipment_type {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "equipment_types")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub name: String,
        pub search_name: String,
        pub deleted_at: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod checklist_item {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "checklist_items")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub equipment_type_id: i64,
        pub place: i64,
        pub text: String,
        pub is_required: bool,
        pub deleted_at: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod price_item {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "price_items")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub name: String,
        pub equipment_type_id: Option<i64>,
        pub price_kopecks: i64,
        pub deleted_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod recurrence {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "order_recurrences")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub client_id: i64,
        pub rule: String,
        /// By the clock of the business: `2026-01-31T09:00:00`.
        pub starts_at_local: String,
        pub minutes: i64,
        pub lead_days: i64,
        pub next_at: Option<i64>,
        /// An `OrderDraft` as JSON.
        pub draft: String,
        pub created_at: i64,
        pub created_by: Option<i64>,
        pub stopped_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod notice {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "client_notices")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub client_id: i64,
        pub body: String,
        pub created_at: i64,
        pub is_told: bool,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
