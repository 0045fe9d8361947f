//! The tables of this room.

pub mod period {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "payroll_periods")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: String,
        pub status: String,
        pub closed_at: Option<i64>,
        pub closed_by: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod adjustment {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "adjustments")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub user_id: i64,
        pub period: String,
        pub day: String,
        pub kind: String,
        pub amount_kopecks: i64,
        pub hours_hundredths: i64,
        pub shift_id: Option<i64>,
        pub task_id: Option<i64>,
        pub plan_id: Option<i64>,
        pub order_id: Option<i64>,
        /// The site where it was earned, if any.
        pub site_id: Option<i64>,
        pub corrects_id: Option<i64>,
        pub basis: String,
        pub reason: Option<String>,
        pub created_at: i64,
        pub created_by: Option<i64>,
        pub deleted_at: Option<i64>,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod change {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "adjustment_changes")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub adjustment_id: i64,
        pub at: i64,
        pub by_id: i64,
        pub deed: String,
        pub amount_kopecks: i64,
        pub reason: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod entry {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "payroll_entries")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub period: String,
        #[sea_orm(primary_key, auto_increment = false)]
        pub user_id: i64,
        pub hours_hundredths: i64,
        pub earned_kopecks: i64,
        pub bonus_kopecks: i64,
        pub deduction_kopecks: i64,
        pub total_kopecks: i64,
        pub paid_kopecks: i64,
        pub version: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod payment {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "payments")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub period: String,
        pub user_id: i64,
        pub amount_kopecks: i64,
        pub paid_at: i64,
        pub paid_by: i64,
        pub taken_back_at: Option<i64>,
        pub taken_back_by: Option<i64>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
