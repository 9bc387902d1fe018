PRAGMA auto_vacuum = INCREMENTAL;
BEGIN;
CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    event_id TEXT,
    channel TEXT NOT NULL,
    recipient TEXT,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    finished_at INTEGER,
    parts_sent INTEGER NOT NULL,
    route TEXT,                       -- JSON: Route
    error TEXT,
    text TEXT NOT NULL
  , claims INTEGER NOT NULL DEFAULT 0, node TEXT) STRICT;
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- a cursor: never used twice, also after deletion
    session_key TEXT NOT NULL,
    role TEXT NOT NULL,
    at INTEGER NOT NULL,
    event_id TEXT,
    run_id TEXT,
    pending INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
CREATE TABLE event_states (
    seq INTEGER PRIMARY KEY,          -- of the event
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,            -- its runs and deliveries that are not finished
    lost INTEGER NOT NULL             -- its runs and deliveries that failed for good
  ) STRICT;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,          -- UUIDv7
    hook TEXT NOT NULL,
    mapping TEXT,
    received_at INTEGER NOT NULL,
    replay_of TEXT,                   -- the event that this one repeats at an operator's wish
    actions TEXT NOT NULL,            -- JSON: ActionReceipt[]
    detail TEXT NOT NULL,             -- JSON: the request without its body, warnings, log, failure
    body BLOB NOT NULL
  , credential TEXT, traceparent TEXT) STRICT;
CREATE TABLE idempotency_keys (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    receipt TEXT NOT NULL,            -- JSON: what the first one was answered
    PRIMARY KEY (scope, key)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE joined_events (        -- what a coalesced run holds beside its own event
    run_seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    message TEXT,                     -- NULL: left out, there are too many
    PRIMARY KEY (run_seq, place)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL,               -- empty: released
    token INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    until INTEGER NOT NULL            -- what it holds is free after this
  ) STRICT, WITHOUT ROWID;
CREATE TABLE routes (
    seq INTEGER PRIMARY KEY,          -- the highest was used last
    channel TEXT NOT NULL UNIQUE,
    recipient TEXT NOT NULL
  ) STRICT;
CREATE TABLE run_actions (run_seq INTEGER PRIMARY KEY, action TEXT NOT NULL) STRICT;
CREATE TABLE run_starts (           -- of mappings with a rate limit, within its period
    mapping TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    run_seq INTEGER NOT NULL,
    PRIMARY KEY (mapping, started_at, run_seq)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    event_id TEXT,
    hook TEXT,
    mapping TEXT NOT NULL DEFAULT '', -- whose limits hold; empty: the service's own hooks, heartbeats
    session_key TEXT NOT NULL,
    coalesce_key TEXT,                -- while later events may join it: until it is claimed, or its window is over
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    error TEXT,
    outcome TEXT                      -- JSON: reply, model, usage, warnings
  , claims INTEGER NOT NULL DEFAULT 0, node TEXT) STRICT;
CREATE TABLE sent_messages (        -- of deliveries in the last hour
    id TEXT PRIMARY KEY,              -- that the channel gave
    sent_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    key TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    entries INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE totals (
    events INTEGER NOT NULL,
    pending_runs INTEGER NOT NULL,
    pending_deliveries INTEGER NOT NULL,
    pending_system_events INTEGER NOT NULL,
    probes INTEGER NOT NULL
  ) STRICT;
INSERT INTO deliveries VALUES (1, '01997b1c-0000-7000-8000-001257000004', '01997b1c-0000-7000-8000-001257000001', '01997b1c-0000-7000-8000-001257000002', 'slack', 'C1', 'sent', 1, 1760000000010, 1760000000010, 1760000000020, 1, '{"channel":"slack","to":"C1"}', NULL, 'Done.', 1, '626f4a331a48');
INSERT INTO deliveries VALUES (2, '01997b1c-0000-7000-8000-001257000011', '01997b1c-0000-7000-8000-001257000008', '01997b1c-0000-7000-8000-001257000009', 'slack', 'C2', 'failed', 1, 1760000000010, 1760000000010, 1760000000020, 0, NULL, 'gone', 'Done.', 1, '626f4a331a48');
INSERT INTO deliveries VALUES (3, '01997b1c-0000-7000-8000-001257000012', '01997b1c-0000-7000-8000-001257000008', '01997b1c-0000-7000-8000-001257000009', 'slack', 'C3', 'sending', 1, 1760000000010, 1760000000010, NULL, 1, '{"channel":"slack","to":"C3"}', NULL, 'Done.', 1, '626f4a331a48');
INSERT INTO entries VALUES (1, 'done', 'user', 1760000000000, '01997b1c-0000-7000-8000-001257000002', '01997b1c-0000-7000-8000-001257000001', 0, 0, 'Hello.');
INSERT INTO entries VALUES (2, 'done', 'assistant', 1760000000000, '01997b1c-0000-7000-8000-001257000002', '01997b1c-0000-7000-8000-001257000001', 0, 0, 'Done.');
INSERT INTO entries VALUES (3, 'main', 'system', 1760000000000, '01997b1c-0000-7000-8000-001257000013', NULL, 1, 1, 'It''s full.');
INSERT INTO event_states VALUES (1, 'github', 'done', 0, 0);
INSERT INTO event_states VALUES (2, 'github', 'dead', 0, 1);
INSERT INTO event_states VALUES (3, 'github', 'accepted', 1, 1);
INSERT INTO event_states VALUES (4, 'wake', 'done', 0, 0);
INSERT INTO event_states VALUES (5, 'github', 'skipped', 0, 0);
INSERT INTO event_states VALUES (6, 'github', 'rejected', 0, 0);
INSERT INTO event_states VALUES (7, 'github', 'failed', 0, 0);
INSERT INTO event_states VALUES (8, 'github', 'accepted', 3, 0);
INSERT INTO events VALUES (1, '01997b1c-0000-7000-8000-001257000002', 'github', 'pull-requests', 1760000000000, NULL, '[{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000001","sessionKey":"done"}]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":[],"log":[]}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO events VALUES (2, '01997b1c-0000-7000-8000-001257000006', 'github', 'pull-requests', 1760000000000, NULL, '[{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000005","sessionKey":"dead"}]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":[],"log":[]}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO events VALUES (3, '01997b1c-0000-7000-8000-001257000009', 'github', 'pull-requests', 1760000000000, NULL, '[{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000008","sessionKey":"undelivered"}]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":[],"log":[]}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO events VALUES (4, '01997b1c-0000-7000-8000-001257000013', 'wake', NULL, 1760000000000, NULL, '[{"kind":"wake","mode":"now"}]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":[],"log":[]}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO events VALUES (5, '01997b1c-0000-7000-8000-001257000015', 'github', 'pull-requests', 1760000000000, NULL, '[]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":[],"log":[]}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO events VALUES (6, '01997b1c-0000-7000-8000-001257000017', 'github', 'pull-requests', 1760000000000, NULL, '[]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":[],"log":[],"failure":{"code":"refused","message":"No."}}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO events VALUES (7, '01997b1c-0000-7000-8000-001257000019', 'github', 'pull-requests', 1760000000000, NULL, '[]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":[],"log":[],"failure":{"code":"refused","message":"No."}}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO events VALUES (8, '01997b1c-0000-7000-8000-001257000024', 'github', 'pull-requests', 1760000000000, NULL, '[{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000021","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000022","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000023","sessionKey":"waiting"}]', '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"warnings":["one"],"log":[{"level":"warn","text":"odd"}]}', X'7b22726566223a226d61696e227d', NULL, NULL);
INSERT INTO idempotency_keys VALUES ('token:default github', 'known', 'content', 1760001000000, '{"eventId":"01997b1c-0000-7000-8000-001257000024","actions":[{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000021","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000022","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-001257000023","sessionKey":"waiting"}],"warnings":["one"]}');
INSERT INTO nodes VALUES ('626f4a331a48', 1795344166284);
INSERT INTO routes VALUES (1, 'slack', 'C1');
INSERT INTO run_actions VALUES (1, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"done","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}');
INSERT INTO run_actions VALUES (2, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"dead","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}');
INSERT INTO run_actions VALUES (3, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"undelivered","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}');
INSERT INTO run_actions VALUES (4, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"running","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}');
INSERT INTO run_actions VALUES (5, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"running","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}');
INSERT INTO run_actions VALUES (6, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"waiting","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}');
INSERT INTO runs VALUES (1, '01997b1c-0000-7000-8000-001257000001', 'hook', '01997b1c-0000-7000-8000-001257000002', 'github', 'pull-requests', 'done', NULL, 'done', 1, 1760000000000, 1760000000000, 1760000000000, 1760000000010, NULL, '{"reply":"Done.","model":"echo","warnings":[]}', 1, '626f4a331a48');
INSERT INTO runs VALUES (2, '01997b1c-0000-7000-8000-001257000005', 'hook', '01997b1c-0000-7000-8000-001257000006', 'github', 'pull-requests', 'dead', NULL, 'dead', 1, 1760000000000, 1760000000000, 1760000000000, 1760000000010, 'no', NULL, 1, '626f4a331a48');
INSERT INTO runs VALUES (3, '01997b1c-0000-7000-8000-001257000008', 'hook', '01997b1c-0000-7000-8000-001257000009', 'github', 'pull-requests', 'undelivered', NULL, 'done', 1, 1760000000000, 1760000000000, 1760000000000, 1760000000010, NULL, '{"reply":"Done.","warnings":[]}', 1, '626f4a331a48');
INSERT INTO runs VALUES (4, '01997b1c-0000-7000-8000-001257000021', 'hook', '01997b1c-0000-7000-8000-001257000024', 'github', 'pull-requests', 'running', NULL, 'running', 1, 1760000000000, 1760000000000, 1760000000000, NULL, NULL, NULL, 1, '626f4a331a48');
INSERT INTO runs VALUES (5, '01997b1c-0000-7000-8000-001257000022', 'hook', '01997b1c-0000-7000-8000-001257000024', 'github', 'pull-requests', 'running', NULL, 'queued', 0, 1760000000000, 1760000000000, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO runs VALUES (6, '01997b1c-0000-7000-8000-001257000023', 'hook', '01997b1c-0000-7000-8000-001257000024', 'github', 'pull-requests', 'waiting', NULL, 'ready', 1, 1760000000000, 1760000005000, 1760000000000, NULL, 'busy', NULL, 1, '626f4a331a48');
INSERT INTO sent_messages VALUES ('C1:1', 1760000000020);
INSERT INTO sessions VALUES ('done', 1760000000000, 1760000000000, 2);
INSERT INTO sessions VALUES ('main', 1760000000000, 1760000000000, 1);
INSERT INTO totals VALUES (8, 3, 1, 1, 0);
INSERT INTO sqlite_sequence VALUES ('entries', 3);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'pending';
CREATE INDEX deliveries_event ON deliveries (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (id) WHERE state = 'failed';
CREATE INDEX deliveries_lane ON deliveries (channel, recipient) WHERE finished_at IS NULL;
CREATE INDEX deliveries_loose ON deliveries (finished_at) WHERE event_id IS NULL;
CREATE INDEX deliveries_state ON deliveries (state);
CREATE TRIGGER delivery_added AFTER INSERT ON deliveries WHEN NEW.finished_at IS NULL
    BEGIN UPDATE totals SET pending_deliveries = pending_deliveries + 1; END;
CREATE TRIGGER delivery_finished AFTER UPDATE OF finished_at ON deliveries
    BEGIN UPDATE totals SET pending_deliveries = pending_deliveries - (OLD.finished_at IS NULL) + (NEW.finished_at IS NULL); END;
CREATE INDEX entries_event ON entries (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX entries_loose ON entries (at) WHERE event_id IS NULL;
CREATE INDEX entries_pending ON entries (pending) WHERE pending = 1;
CREATE INDEX entries_session ON entries (session_key);
CREATE INDEX entries_turns ON entries (session_key) WHERE role <> 'system';
CREATE TRIGGER entry_added AFTER INSERT ON entries WHEN NEW.pending
    BEGIN UPDATE totals SET pending_system_events = pending_system_events + 1; END;
CREATE TRIGGER entry_consumed AFTER UPDATE OF pending ON entries
    BEGIN UPDATE totals SET pending_system_events = pending_system_events - OLD.pending + NEW.pending; END;
CREATE TRIGGER event_added AFTER INSERT ON event_states
    BEGIN UPDATE totals SET events = events + 1; END;
CREATE TRIGGER event_removed AFTER DELETE ON event_states
    BEGIN UPDATE totals SET events = events - 1; END;
CREATE INDEX event_states_both ON event_states (hook, status);
CREATE INDEX event_states_hook ON event_states (hook);
CREATE INDEX event_states_status ON event_states (status);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
CREATE TRIGGER run_added AFTER INSERT ON runs WHEN NEW.finished_at IS NULL
    BEGIN UPDATE totals SET pending_runs = pending_runs + 1; END;
CREATE TRIGGER run_finished AFTER UPDATE OF finished_at ON runs
    BEGIN UPDATE totals SET pending_runs = pending_runs - (OLD.finished_at IS NULL) + (NEW.finished_at IS NULL); END;
CREATE TRIGGER run_removed AFTER DELETE ON runs
    BEGIN DELETE FROM joined_events WHERE run_seq = OLD.seq; END;
CREATE INDEX runs_dead ON runs (id) WHERE state = 'dead' AND kind = 'hook';
CREATE INDEX runs_due ON runs (mapping, due_at) WHERE state = 'ready';
CREATE INDEX runs_lane ON runs (session_key) WHERE finished_at IS NULL;
CREATE INDEX runs_loose ON runs (finished_at) WHERE event_id IS NULL;
CREATE INDEX runs_running ON runs (mapping) WHERE state = 'running';
CREATE INDEX runs_state ON runs (state);
CREATE UNIQUE INDEX runs_window ON runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
CREATE INDEX sent_messages_age ON sent_messages (sent_at);
CREATE INDEX sessions_updated ON sessions (updated_at);
PRAGMA user_version = 3;
COMMIT;
