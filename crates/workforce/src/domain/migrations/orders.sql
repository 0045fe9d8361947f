-- Clients are no users: they have no role and no documents. One that the office wrote down has a phone; one that came by the
-- bot has a Telegram account.
CREATE TABLE clients (
  id {id},
  name TEXT NOT NULL,
  phone TEXT,
  -- The office wrote the phone down, or Telegram says that it is the client's. One that a client typed proves nothing.
  phone_is_known BOOLEAN NOT NULL DEFAULT FALSE,
  telegram_id BIGINT UNIQUE,
  language TEXT NOT NULL DEFAULT 'ru' CHECK (language IN ('ru', 'en')),
  notes TEXT,
  -- The client has blocked the bot: nothing is sent.
  bot_blocked_at BIGINT,
  forgotten_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX clients_by_phone ON clients (phone) WHERE phone_is_known;
CREATE INDEX clients_by_any_phone ON clients (phone) WHERE phone IS NOT NULL;

-- Kinds of equipment that are offered. Orders keep the name as text.
CREATE TABLE equipment_types (
  id {id},
  name TEXT NOT NULL,
  -- The name in small letters: SQLite itself knows those of English only.
  search_name TEXT NOT NULL UNIQUE,
  deleted_at BIGINT
);

CREATE TABLE checklist_items (
  id {id},
  equipment_type_id BIGINT NOT NULL REFERENCES equipment_types (id),
  place BIGINT NOT NULL,
  text TEXT NOT NULL,
  is_required BOOLEAN NOT NULL DEFAULT FALSE,
  deleted_at BIGINT
);
CREATE INDEX checklist_items_by_type ON checklist_items (equipment_type_id, place);

-- What a client owns.
CREATE TABLE equipment (
  id {id},
  client_id BIGINT NOT NULL REFERENCES clients (id),
  equipment_type TEXT NOT NULL,
  model TEXT,
  serial TEXT,
  -- A day: 2026-01-31.
  warranty_until TEXT,
  notes TEXT,
  deleted_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1
);
CREATE INDEX equipment_by_client ON equipment (client_id);

CREATE TABLE price_items (
  id {id},
  name TEXT NOT NULL,
  -- None: for every kind of equipment.
  equipment_type_id BIGINT REFERENCES equipment_types (id),
  price_kopecks BIGINT NOT NULL CHECK (price_kopecks >= 0),
  deleted_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1
);

-- A rule by which orders are made.
CREATE TABLE order_recurrences (
  id {id},
  client_id BIGINT NOT NULL REFERENCES clients (id),
  -- As in RFC 5545: FREQ=MONTHLY;INTERVAL=3.
  rule TEXT NOT NULL,
  -- The first day and the time of day by the clock of the business: 2026-01-31T09:00:00.
  starts_at_local TEXT NOT NULL,
  minutes BIGINT NOT NULL CHECK (minutes > 0),
  -- How long before its time an order is made.
  lead_days BIGINT NOT NULL DEFAULT 3 CHECK (lead_days >= 0),
  -- The next time that has no order yet; none if the rule has ended or was stopped.
  next_at BIGINT,
  -- What the orders have in common, as JSON.
  draft TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  created_by BIGINT,
  stopped_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1
);
CREATE INDEX order_recurrences_next ON order_recurrences (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX order_recurrences_by_client ON order_recurrences (client_id);

-- The last number that was given to an order.
CREATE TABLE order_counter (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  last_number BIGINT NOT NULL
);
INSERT INTO order_counter (id, last_number) VALUES (1, 0);

CREATE TABLE orders (
  id {id},
  -- What people call it.
  number BIGINT NOT NULL UNIQUE,
  status TEXT NOT NULL DEFAULT 'new'
    CHECK (status IN ('new', 'assigned', 'accepted', 'on_site', 'long_repair', 'closed', 'refused')),
  -- Since when it has this status; when staff was told that this is too long.
  status_since BIGINT NOT NULL,
  overdue_noted_at BIGINT,
  unaccepted_noted_at BIGINT,
  source TEXT NOT NULL CHECK (source IN ('dispatcher', 'client', 'recurring')),
  client_id BIGINT NOT NULL REFERENCES clients (id),
  equipment_id BIGINT REFERENCES equipment (id),
  recurrence_id BIGINT REFERENCES order_recurrences (id),
  recurrence_at BIGINT,
  equipment_type TEXT NOT NULL,
  description TEXT NOT NULL,
  client_name TEXT NOT NULL,
  phone TEXT NOT NULL,
  address TEXT NOT NULL,
  -- The address in small letters and without punctuation, by which the same one is recognised.
  address_key TEXT NOT NULL,
  latitude DOUBLE PRECISION,
  longitude DOUBLE PRECISION,
  notes TEXT,
  scheduled_from BIGINT,
  scheduled_to BIGINT,
  master_id BIGINT REFERENCES users (id),
  assigned_at BIGINT,
  accepted_at BIGINT,
  on_the_way_at BIGINT,
  -- When the master said that he will be there.
  arrives_at BIGINT,
  arrived_at BIGINT,
  confirmed_at BIGINT,
  confirmed_by BIGINT,
  -- A day: 2026-01-31.
  long_repair_until TEXT,
  prepayment_kopecks BIGINT NOT NULL DEFAULT 0 CHECK (prepayment_kopecks >= 0),
  total_kopecks BIGINT CHECK (total_kopecks >= 0),
  materials_kopecks BIGINT CHECK (materials_kopecks >= 0),
  share_kopecks BIGINT CHECK (share_kopecks >= 0),
  has_review BOOLEAN NOT NULL DEFAULT FALSE,
  is_out_of_town BOOLEAN NOT NULL DEFAULT FALSE,
  amount_confirmed_at BIGINT,
  -- By the client's button, or because the master took cash.
  amount_confirmed_by TEXT CHECK (amount_confirmed_by IN ('client', 'cash')),
  refusal_reason TEXT,
  closed_at BIGINT,
  created_at BIGINT NOT NULL,
  created_by BIGINT,
  updated_at BIGINT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1,
  CONSTRAINT orders_materials CHECK (materials_kopecks <= total_kopecks),
  CHECK ((total_kopecks IS NULL) = (materials_kopecks IS NULL)),
  CHECK ((latitude IS NULL) = (longitude IS NULL)),
  CHECK ((scheduled_from IS NULL) = (scheduled_to IS NULL)),
  CHECK (scheduled_to > scheduled_from),
  CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
  CHECK (status <> 'closed' OR (total_kopecks IS NOT NULL AND share_kopecks IS NOT NULL)),
  CHECK (status <> 'new' OR master_id IS NULL),
  CHECK (status NOT IN ('assigned', 'accepted', 'on_site', 'long_repair', 'closed') OR master_id IS NOT NULL),
  CHECK (status <> 'long_repair' OR long_repair_until IS NOT NULL),
  CHECK (status <> 'refused' OR refusal_reason IS NOT NULL),
  CHECK ((amount_confirmed_at IS NULL) = (amount_confirmed_by IS NULL))
);
-- A tick of a rule makes one order.
CREATE UNIQUE INDEX orders_once_by_recurrence ON orders (recurrence_id, recurrence_at) WHERE recurrence_id IS NOT NULL;
CREATE INDEX orders_by_status ON orders (status, status_since, id) WHERE status NOT IN ('closed', 'refused');
CREATE INDEX orders_ended ON orders (updated_at DESC, id) WHERE status IN ('closed', 'refused');
CREATE INDEX orders_by_master ON orders (master_id, status, scheduled_from);
CREATE INDEX orders_by_master_closed ON orders (master_id, closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX orders_by_closed ON orders (closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX orders_by_created ON orders (created_at, id);
CREATE INDEX orders_by_schedule ON orders (scheduled_from, id) WHERE scheduled_from IS NOT NULL;
CREATE INDEX orders_by_client ON orders (client_id, id);
CREATE INDEX orders_by_phone ON orders (phone, id);
CREATE INDEX orders_by_address ON orders (address_key, id);
CREATE INDEX orders_by_equipment ON orders (equipment_id, id) WHERE equipment_id IS NOT NULL;

-- The words by which an order is found: its number, phone, name and address.
CREATE TABLE order_words (
  --sqlite: word TEXT NOT NULL,
  --postgres: word TEXT COLLATE "C" NOT NULL,
  order_id BIGINT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  PRIMARY KEY (word, order_id)
);
CREATE INDEX order_words_by_order ON order_words (order_id, word);

-- Who did what with an order, when and why.
CREATE TABLE order_history (
  id {id},
  order_id BIGINT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  at BIGINT NOT NULL,
  -- A member, the client, or a job.
  actor TEXT NOT NULL CHECK (actor IN ('member', 'client', 'job')),
  by_id BIGINT,
  fact TEXT NOT NULL,
  from_status TEXT,
  to_status TEXT,
  reason TEXT,
  detail TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX order_history_by_order ON order_history (order_id, id);
CREATE INDEX order_history_by_time ON order_history (at, to_status);

-- Masters to whom a new order is offered. Those without opened_at wait for the ones before them.
CREATE TABLE order_offers (
  id {id},
  order_id BIGINT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  master_id BIGINT NOT NULL REFERENCES users (id),
  place BIGINT NOT NULL,
  minutes BIGINT NOT NULL CHECK (minutes > 0),
  opened_at BIGINT,
  until BIGINT,
  -- Null: not answered.
  answer TEXT CHECK (answer IN ('accepted', 'declined', 'expired', 'withdrawn')),
  answered_at BIGINT,
  reason TEXT,
  CHECK ((opened_at IS NULL) = (until IS NULL)),
  CHECK ((answer IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX order_offers_once ON order_offers (order_id, master_id) WHERE answer IS NULL;
CREATE UNIQUE INDEX order_offers_one_taker ON order_offers (order_id, opened_at) WHERE answer = 'accepted';
CREATE INDEX order_offers_due ON order_offers (until) WHERE answer IS NULL AND until IS NOT NULL;
CREATE INDEX order_offers_by_master ON order_offers (master_id, order_id) WHERE answer IS NULL;
CREATE INDEX order_offers_by_order ON order_offers (order_id, id);

-- Photos and voice messages; attachments have the files.
CREATE TABLE order_files (
  id {id},
  order_id BIGINT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  stage TEXT NOT NULL CHECK (stage IN ('request', 'before', 'after')),
  kind TEXT NOT NULL CHECK (kind IN ('photo', 'video', 'voice', 'document')),
  telegram_file TEXT NOT NULL,
  unique_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  actor TEXT NOT NULL CHECK (actor IN ('member', 'client', 'job')),
  by_id BIGINT,
  UNIQUE (order_id, stage, unique_id)
);
CREATE INDEX order_files_by_file ON order_files (telegram_file);

-- The checklist as it was when the master arrived.
CREATE TABLE order_checklist (
  id {id},
  order_id BIGINT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  place BIGINT NOT NULL,
  text TEXT NOT NULL,
  is_required BOOLEAN NOT NULL,
  done_at BIGINT,
  done_by BIGINT,
  UNIQUE (order_id, place)
);

CREATE TABLE order_lines (
  id {id},
  order_id BIGINT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  place BIGINT NOT NULL,
  price_item_id BIGINT REFERENCES price_items (id),
  name TEXT NOT NULL,
  quantity BIGINT NOT NULL CHECK (quantity > 0),
  price_kopecks BIGINT NOT NULL CHECK (price_kopecks >= 0),
  UNIQUE (order_id, place)
);

CREATE TABLE order_ratings (
  order_id BIGINT PRIMARY KEY REFERENCES orders (id) ON DELETE CASCADE,
  master_id BIGINT NOT NULL REFERENCES users (id),
  stars BIGINT NOT NULL CHECK (stars BETWEEN 1 AND 5),
  comment TEXT,
  at BIGINT NOT NULL
);
CREATE INDEX order_ratings_by_master ON order_ratings (master_id, stars);

-- Between the client and the staff of an order, without phone numbers.
CREATE TABLE order_messages (
  id {id},
  order_id BIGINT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  from_client BOOLEAN NOT NULL,
  -- The member; none for the client.
  by_id BIGINT,
  text TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX order_messages_by_order ON order_messages (order_id, id);

-- News for clients, written in the commit of what they tell of, and sent after it.
CREATE TABLE client_notices (
  id {id},
  client_id BIGINT NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  is_told BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX client_notices_by_client ON client_notices (client_id);

-- The same table of transitions as in orders/status.rs; a test compares them.
--sqlite: CREATE TRIGGER orders_transitions BEFORE UPDATE OF status ON orders
--sqlite: WHEN OLD.status <> NEW.status AND OLD.status || '>' || NEW.status NOT IN ('new>assigned', 'new>refused',
--sqlite:   'assigned>accepted', 'assigned>new', 'assigned>refused', 'accepted>on_site', 'accepted>long_repair',
--sqlite:   'accepted>refused', 'on_site>closed', 'on_site>long_repair', 'on_site>refused', 'long_repair>closed',
--sqlite:   'long_repair>on_site', 'long_repair>refused', 'refused>new')
--sqlite: BEGIN SELECT RAISE(ABORT, 'orders_transitions'); END;
--sqlite: CREATE TRIGGER orders_begin_new BEFORE INSERT ON orders WHEN NEW.status <> 'new'
--sqlite: BEGIN SELECT RAISE(ABORT, 'orders_transitions'); END;
--postgres: CREATE FUNCTION orders_transitions() RETURNS trigger LANGUAGE plpgsql AS $$
--postgres: BEGIN RAISE EXCEPTION 'orders_transitions'; END $$;
--postgres: CREATE TRIGGER orders_transitions BEFORE UPDATE OF status ON orders FOR EACH ROW
--postgres:   WHEN (OLD.status <> NEW.status AND OLD.status || '>' || NEW.status NOT IN ('new>assigned', 'new>refused',
--postgres:   'assigned>accepted', 'assigned>new', 'assigned>refused', 'accepted>on_site', 'accepted>long_repair',
--postgres:   'accepted>refused', 'on_site>closed', 'on_site>long_repair', 'on_site>refused', 'long_repair>closed',
--postgres:   'long_repair>on_site', 'long_repair>refused', 'refused>new'))
--postgres:   EXECUTE FUNCTION orders_transitions();
--postgres: CREATE TRIGGER orders_begin_new BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.status <> 'new')
--postgres:   EXECUTE FUNCTION orders_transitions();
