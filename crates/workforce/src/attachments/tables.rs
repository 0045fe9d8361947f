//! The table of this room.

pub mod attachment {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "attachments")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub telegram_file: String,
        pub name: Option<String>,
        pub media_type: Option<String>,
        pub size_bytes: Option<i64>,
        pub sha256: Option<String>,
        pub asked_at: Option<i64>,
        pub failed_at: Option<i64>,
        pub is_too_large: bool,
        pub tries: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
