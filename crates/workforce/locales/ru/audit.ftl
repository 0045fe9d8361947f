# Что делали сотрудники, для страниц. Ключ — `audit-` и название действия через дефис; подробности подставляются по имени.
audit-role-granted = Дана роль: { $role }
audit-role-revoked = Забрана роль: { $role }
audit-status-changed = Статус: { $status }
audit-registration-deleted = Заявка удалена
audit-setting-changed = Изменена настройка: { $name }
audit-data-exported = Данные выгружены
audit-person-forgotten = Личные данные удалены
