# Что делали сотрудники, для страниц. Ключ — `audit-` и название действия через дефис; подробности подставляются по имени.
audit-role-granted = Дана роль: { $role }
audit-role-revoked = Забрана роль: { $role }
audit-status-changed = Статус: { $status }
audit-test-user-marked = Стал тестовым пользователем: входит с любым PIN, пока это разрешено
audit-test-user-unmarked = Больше не тестовый пользователь
audit-registration-deleted = Заявка удалена
audit-setting-changed = Изменена настройка: { $name }
audit-data-exported = Данные выгружены
audit-person-forgotten = Личные данные удалены

# Объекты, смены, выплаты.
audit-payment-marked = Отмечена выплата за { $period }
audit-payment-taken-back = Отменена отметка о выплате за { $period }
audit-pay-period-closed = Закрыт период: { $period }
audit-shift-closed = Смена закрыта
audit-plan-cancelled = План смены отменён
audit-cancellation-judged = Причина отмены рассмотрена
audit-site-created = Объект добавлен
audit-site-changed = Объект изменён
audit-site-deleted = Объект удалён
audit-site-restored = Объект восстановлен
audit-task-created = Задача добавлена
audit-task-changed = Задача изменена
audit-task-deleted = Задача удалена
audit-task-restored = Задача восстановлена
audit-contract-created = Договор заключён
audit-contract-changed = Договор изменён
audit-contract-deleted = Договор удалён
audit-contract-restored = Договор восстановлен
audit-permissions-changed = Изменены права менеджера
audit-permissions-given = { $place }: { $allowed } (было: { $before })
audit-slot-created = Окно расписания добавлено
audit-slot-changed = Окно расписания изменено
audit-slot-deleted = Окно расписания удалено
audit-slot-restored = Окно расписания восстановлено
audit-week-copied = Неделя расписания скопирована
audit-slots-filled = Расписание заполнено
