# Расчёты: суммы, их причины, периоды и выплаты.
payroll-money = { $amount } ₽

payroll-month-1 = Январь
payroll-month-2 = Февраль
payroll-month-3 = Март
payroll-month-4 = Апрель
payroll-month-5 = Май
payroll-month-6 = Июнь
payroll-month-7 = Июль
payroll-month-8 = Август
payroll-month-9 = Сентябрь
payroll-month-10 = Октябрь
payroll-month-11 = Ноябрь
payroll-month-12 = Декабрь

payroll-kind-shift-base = Отработанные часы
payroll-kind-late-start = Опоздание
payroll-kind-task-bonus = Премия за задачу
payroll-kind-task-completed = Задача выполнена
payroll-kind-task-penalty = Задача не выполнена
payroll-kind-order-share = Доля от заказа
payroll-kind-cancelled-late = Поздняя отмена смены
payroll-kind-cancelled-invalid = Отмена смены без уважительной причины
payroll-kind-manual-bonus = Премия
payroll-kind-manual-deduction = Удержание
payroll-kind-correction = Исправление
