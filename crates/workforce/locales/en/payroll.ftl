# Pay: amounts, their reasons, periods and payments.
payroll-money = { $amount } ₽

payroll-month-1 = January
payroll-month-2 = February
payroll-month-3 = March
payroll-month-4 = April
payroll-month-5 = May
payroll-month-6 = June
payroll-month-7 = July
payroll-month-8 = August
payroll-month-9 = September
payroll-month-10 = October
payroll-month-11 = November
payroll-month-12 = December

payroll-kind-shift-base = Hours worked
payroll-kind-late-start = Late start
payroll-kind-task-bonus = Bonus for a task
payroll-kind-task-completed = Task done
payroll-kind-task-penalty = Task not done
payroll-kind-order-share = Share of an order
payroll-kind-cancelled-late = Shift cancelled at short notice
payroll-kind-cancelled-invalid = Shift cancelled without a valid reason
payroll-kind-manual-bonus = Bonus
payroll-kind-manual-deduction = Deduction
payroll-kind-correction = Correction
