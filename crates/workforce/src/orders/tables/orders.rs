//! Orders, and what happens to them.

pub mod order {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub number: i64,
        pub status: String,
        pub status_since: i64,
        pub overdue_noted_at: Option<i64>,
        pub unaccepted_noted_at: Option<i64>,
        pub source: String,
        pub client_id: i64,
        pub equipment_id: Option<i64>,
        pub recurrence_id: Option<i64>,
        pub recurrence_at: Option<i64>,
        pub equipment_type: String,
        pub description: String,
        pub client_name: String,
        pub phone: String,
        pub address: String,
        pub address_key: String,
        pub latitude: Option<f64>,
        pub longitude: Option<f64>,
        pub notes: Option<String>,
        pub scheduled_from: Option<i64>,
        pub scheduled_to: Option<i64>,
        pub master_id: Option<i64>,
        pub assigned_at: Option<i64>,
        pub accepted_at: Option<i64>,
        pub on_the_way_at: Option<i64>,
        pub arrives_at: Option<i64>,
        pub arrived_at: Option<i64>,
        pub confirmed_at: Option<i64>,
        pub confirmed_by: Option<i64>,
        pub long_repair_until: Option<String>,
        pub prepayment_kopecks: i64,
        pub total_kopecks: Option<i64>,
        pub materials_kopecks: Option<i64>,
        pub share_kopecks: Option<i64>,
        pub has_review: bool,
        pub is_out_of_town: bool,
        pub amount_confirmed_at: Option<i64>,
        pub amount_confirmed_by: Option<String>,
        pub refusal_reason: Option<String>,
        pub closed_at: Option<i64>,
        pub created_at: i64,
        pub created_by: Option<i64>,
        pub updated_at: i64,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod counter {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "order_counter")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: i64,
        pub last_number: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod word {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "order_words")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub word: String,
        #[sea_orm(primary_key, auto_increment = false)]
        pub order_id: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod history {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "order_history")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub order_id: i64,
        pub at: i64,
        pub actor: String,
        pub by_id: Option<i64>,
        pub fact: String,
        pub from_status: Option<String>,
        pub to_status: Option<String>,
        pub reason: Option<String>,
        pub detail: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod offer {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "order_offers")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub order_id: i64,
        pub master_id: i64,
        pub place: i64,
        pub minutes: i64,
        pub opened_at: Option<i64>,
        pub until: Option<i64>,
        pub answer: Option<String>,
        pub answered_at: Option<i64>,
        pub reason: Option<String>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
