//! The tables of broadcasts.

pub mod broadcast {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "site_broadcasts")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub site_id: i64,
        pub author_id: i64,
        pub text: String,
        pub created_at: i64,
        pub cancelled_at: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod recipient {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "site_broadcast_recipients")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub broadcast_id: i64,
        #[sea_orm(primary_key, auto_increment = false)]
        pub user_id: i64,
        pub state: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
