//! The tables of people, for this room alone.

pub mod user {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "users")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub telegram_id: i64,
        pub full_name: String,
        pub search_name: String,
        pub phone: Option<String>,
        pub username: Option<String>,
        pub email: Option<String>,
        pub language: String,
        pub status: String,
        pub enrolled_by: String,
        pub is_test: bool,
        pub main_document_id: Option<String>,
        pub selfie_id: Option<String>,
        pub created_at: i64,
        pub updated_at: i64,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(has_many = "super::role::Entity")]
        Roles,
    }

    impl Related<super::role::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Roles.def()
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod role {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "user_roles")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub user_id: i64,
        #[sea_orm(primary_key, auto_increment = false)]
        pub role: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {
        #[sea_orm(belongs_to = "super::user::Entity", from = "Column::UserId", to = "super::user::Column::Id")]
        User,
    }

    impl Related<super::user::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::User.def()
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}
