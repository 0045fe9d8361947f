# Что делали сотрудники, для страниц. Ключ — `audit-` и название действия через дефис; подробности подставляются по имени.
audit-role-granted = Дана роль: { $role }
audit-role-revoked = Снята роль: { $role }
audit-status-changed = Статус: { $status }
audit-person-imported = Импорт сотрудника: { $role }
audit-person-edited = Данные изменены
audit-test-user-marked = Отмечен тестовый пользователь: вход с любым PIN, пока это разрешено
audit-test-user-unmarked = Снята отметка тестового пользователя
audit-registration-deleted = Заявка удалена
audit-setting-changed = Изменена настройка: { $name }
audit-data-exported = Личные данные выгружены
audit-documents-forgotten = Документы удалены: истёк срок хранения
audit-document-validity-noted = Срок действия документа: до { $valid_until }
audit-person-forgotten = Личные данные удалены

# Объекты, смены, выплаты.
audit-payment-marked = Выплата отмечена · { $period }
audit-payment-taken-back = Отметка о выплате отменена · { $period }
audit-pay-period-closed = Месяц закрыт · { $period }
audit-pay-period-reopened = Месяц снова открыт · { $period }: { $reason }
audit-shift-closed = Смена закрыта
audit-plan-made = Сотрудник записан на смену
audit-plan-cancelled = Запланированная смена отменена
audit-plan-restored = Смена сотрудника восстановлена
audit-cancellation-judged = Причина отмены рассмотрена
audit-cancellation-decision-taken-back = Решение об отмене смены отменено
audit-site-created = Объект добавлен
audit-site-changed = Объект изменён
audit-site-deleted = Объект удалён
audit-site-restored = Объект восстановлен
audit-site-opened = Объект открыт
audit-site-closed = Объект закрыт
audit-task-created = Задача добавлена
audit-task-changed = Задача изменена
audit-task-deleted = Задача удалена
audit-task-restored = Задача восстановлена
audit-contract-created = Договор добавлен
audit-contract-changed = Договор изменён
audit-contract-deleted = Договор удалён
audit-contract-restored = Договор восстановлен
audit-permissions-changed = Изменены права менеджера
audit-permissions-given = { $place }: { $allowed } (было: { $before })
audit-slot-created = Смена в расписании добавлена
audit-slot-changed = Смена в расписании изменена
audit-slot-deleted = Смена в расписании удалена
audit-slot-restored = Смена в расписании восстановлена
audit-week-copied = Неделя расписания скопирована
audit-slots-filled = Расписание заполнено
audit-slots-taken-back = Добавленные смены убраны: { $slots }
audit-broadcast-sent = Отправлено сообщение сотрудникам: { $count }
audit-broadcast-cancelled = Отменена отправка сообщения: { $count }

# Фоновые задачи.
audit-job-run = Запущено вручную: { $what }
audit-jobs-retried = Выполнить снова: { $what }
audit-jobs-cancelled = Отменено: { $what }
audit-queue-paused = Очередь приостановлена: { $what }
audit-queue-resumed = Очередь возобновлена: { $what }
