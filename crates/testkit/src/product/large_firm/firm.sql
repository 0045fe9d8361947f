-- People and sites. large_firm.rs replaces the words in braces.
INSERT INTO settings (name, value, changed_at) VALUES ('enable_test_users', 'true', 0);

INSERT INTO users (id, telegram_id, full_name, search_name, phone, username, language, status, enrolled_by, is_test,
  created_at, updated_at)
SELECT 10000 + i, 7000000 + i, name, lower(name), '+7900' || lpad(i::text, 7, '0'), 'member_' || i,
  CASE WHEN i % 10 = 9 THEN 'en' ELSE 'ru' END, 'verified', 'grant', TRUE, {now} - 1000, {now} - 1000
FROM (SELECT i, (ARRAY['Иван', 'Пётр', 'Анна', 'Мария', 'Олег', 'Вера', 'Борис', 'Ольга', 'Павел', 'Нина'])[1 + i % 10]
  || ' ' || (ARRAY['Ким', 'Цой', 'Ли', 'Дюма', 'Гюго', 'Шоу', 'Верди', 'Гойя', 'Золя', 'Роше', 'Моро'])[1 + i % 11]
  || ' ' || i AS name FROM generate_series(0, {people} - 1) AS i) AS named;

INSERT INTO user_roles (user_id, role)
SELECT 10000 + i, CASE WHEN i < {owners} THEN 'owner' WHEN i < {owners} + {managers} THEN 'manager' ELSE 'employee' END
FROM generate_series(0, {people} - 1) AS i;

INSERT INTO audit (at, actor, action, subject_kind, subject_id, detail)
SELECT {now} - 1000000 + j, 10000, 'role granted', 'user', 10000 + i, '{"role": "employee"}'
FROM generate_series(0, {people} - 1) AS i, generate_series(1, 5) AS j;

INSERT INTO sites (id, name, address, latitude, longitude, time_zone, opens_minute, closes_minute, working_days,
  rate_kopecks, late_threshold_minutes, late_minute_kopecks, created_at, updated_at)
SELECT s, 'Кофейня № ' || s, 'Москва, Тверская, ' || s, 55.75, 37.6, 'Europe/Moscow', 480, 1380, 127, 28000, 5, 1000, 0, 0
FROM generate_series(1, {sites}) AS s;

-- A manager has five sites.
INSERT INTO manager_permissions (user_id, site_id, permission)
SELECT 10000 + {owners} + m, 1 + (m * 5 + s) % {sites}, permission
FROM generate_series(0, {managers} - 1) AS m, generate_series(0, 4) AS s,
  unnest(ARRAY['view', 'edit', 'delete', 'employees', 'finances', 'rates', 'schedule']) AS permission;

INSERT INTO site_tasks (id, site_id, place, text, amount_kopecks, is_mandatory, needs_media, created_at, updated_at)
SELECT s * 10 + j, s, j, (ARRAY['Помыть кофемашину', 'Пересчитать кассу', 'Полить цветы'])[j],
  (ARRAY[15000, -20000, 0])[j], j = 2, j = 1, 0, 0
FROM generate_series(1, {sites}) AS s, generate_series(1, 3) AS j;

INSERT INTO contracts (id, user_id, status, rate_kopecks, allows_spontaneous, created_at, updated_at)
SELECT 10000 + i, 10000 + i, 'active', CASE WHEN i % 4 = 0 THEN 32000 END, TRUE, 0, 0
FROM generate_series(0, {people} - 1) AS i;
INSERT INTO contract_sites (contract_id, site_id, user_id, is_active)
SELECT 10000 + i, 1 + (i + j) % {sites}, 10000 + i, TRUE FROM generate_series(0, {people} - 1) AS i, generate_series(0, 2) AS j;
