PRAGMA auto_vacuum = INCREMENTAL;
BEGIN;
CREATE TABLE bodies (event_seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
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
    text TEXT NOT NULL,
    claims INTEGER NOT NULL DEFAULT 0,  -- the token of the last claim
    node TEXT,                        -- that made it
    conversation TEXT,                -- the session whose reply goes to the place of its event
    edits INTEGER,                    -- 1: it replaces the conversation's earlier message
    message_id TEXT                   -- of the first part, in a conversation
  ) STRICT;
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,          -- a cursor
    session_key TEXT NOT NULL,
    role TEXT NOT NULL,
    at INTEGER NOT NULL,
    event_seq INTEGER,
    run_seq INTEGER,
    pending INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    content TEXT NOT NULL             -- JSON: Content
  ) STRICT;
CREATE TABLE event_index (          -- of events up to totals.last_seq
    seq INTEGER PRIMARY KEY,
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    pending INTEGER
  ) STRICT;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,          -- of its inline wake too
    id TEXT NOT NULL,                 -- UUIDv7
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,            -- its runs and deliveries that are not finished
    lost INTEGER NOT NULL,            -- its runs and deliveries that failed permanently
    pending INTEGER,                  -- of its inline wake; NULL: it has none
    received_at INTEGER NOT NULL,
    detail TEXT NOT NULL,             -- JSON: EventDetail
    body BLOB                         -- NULL: in bodies
  ) STRICT;
CREATE TABLE idempotency_keys (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    receipt TEXT NOT NULL,            -- JSON: the answer to the first one
    PRIMARY KEY (scope, key)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE joined_events (        -- what a coalesced run holds beside its own event
    run_seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
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
    until INTEGER NOT NULL            -- its claims and leases end then
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
    id TEXT NOT NULL,
    event_seq INTEGER,                -- NULL: a heartbeat
    mapping TEXT NOT NULL,            -- whose limits apply; empty: the service's own hooks, heartbeats
    session_key TEXT NOT NULL,
    coalesce_key TEXT,                -- while later events may join it: until it is claimed, or its window is over
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    claims INTEGER NOT NULL,          -- the token of the last claim
    node TEXT,                        -- that made it
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    error TEXT,
    hold_reason TEXT,                 -- of a held run, and of one that was released for good
    action TEXT,                      -- JSON; NULL: in run_actions, or a heartbeat
    outcome TEXT                      -- JSON: reply, model, usage, warnings
  , turn TEXT, pending INTEGER) STRICT;
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
CREATE TABLE spend (                -- what finished runs used
    hour INTEGER NOT NULL,            -- its start, in milliseconds since the epoch
    session_key TEXT NOT NULL,
    hook TEXT NOT NULL,
    mapping TEXT NOT NULL,
    model TEXT NOT NULL,
    runs INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    PRIMARY KEY (hour, session_key, hook, mapping, model)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE totals (               -- so that nothing is counted over a million rows
    events INTEGER NOT NULL,
    pending_runs INTEGER NOT NULL,
    pending_deliveries INTEGER NOT NULL,
    pending_system_events INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,        -- of events, runs and entries
    probes INTEGER NOT NULL
  ) STRICT;
INSERT INTO deliveries VALUES (1, '01997b1c-0000-7000-8000-027997000007', '01997b1c-0000-7000-8000-027997000004', '01997b1c-0000-7000-8000-027997000005', 'slack', 'C1', 'sent', 1, 1760000000010, 1760000000010, 1760000000020, 1, '{"channel":"slack","to":"C1"}', NULL, 'Done.', 1, '1072ad212c86', NULL, NULL, NULL);
INSERT INTO deliveries VALUES (2, '01997b1c-0000-7000-8000-027997000014', '01997b1c-0000-7000-8000-027997000011', '01997b1c-0000-7000-8000-027997000012', 'slack', 'C2', 'failed', 1, 1760000000010, 1760000000010, 1760000000020, 0, NULL, 'gone', 'Done.', 1, '1072ad212c86', NULL, NULL, NULL);
INSERT INTO deliveries VALUES (3, '01997b1c-0000-7000-8000-027997000015', '01997b1c-0000-7000-8000-027997000011', '01997b1c-0000-7000-8000-027997000012', 'slack', 'C3', 'sending', 1, 1760000000010, 1760000000010, NULL, 1, '{"channel":"slack","to":"C3"}', NULL, 'Done.', 1, '1072ad212c86', NULL, NULL, NULL);
INSERT INTO entries VALUES (7, 'done', 'user', 1760000000000, 5, 6, 0, 0, '{"text":"Hello."}');
INSERT INTO entries VALUES (8, 'done', 'assistant', 1760000000000, 5, 6, 0, 0, '{"text":"Done."}');
INSERT INTO event_index VALUES (1, 'github', 'done', NULL);
INSERT INTO events VALUES (1, '01997b1c-0000-7000-8000-027997000002', 'github', 'done', 0, 0, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"actions":[{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000001","sessionKey":"answered"}]}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (5, '01997b1c-0000-7000-8000-027997000005', 'github', 'done', 0, 0, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"actions":[{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000004","sessionKey":"done"}]}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (9, '01997b1c-0000-7000-8000-027997000009', 'github', 'dead', 0, 1, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"actions":[{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000008","sessionKey":"dead"}]}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (11, '01997b1c-0000-7000-8000-027997000012', 'github', 'accepted', 1, 1, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"actions":[{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000011","sessionKey":"undelivered"}]}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (13, '01997b1c-0000-7000-8000-027997000016', 'wake', 'done', 0, 0, 1, 1760000000000, '{"request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"actions":[{"kind":"wake","mode":"now"}],"wake":{"text":"It''s full.","urgent":true}}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (14, '01997b1c-0000-7000-8000-027997000018', 'github', 'skipped', 0, 0, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"}}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (15, '01997b1c-0000-7000-8000-027997000020', 'github', 'rejected', 0, 0, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"failure":{"code":"refused","message":"No."}}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (16, '01997b1c-0000-7000-8000-027997000022', 'github', 'failed', 0, 0, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"failure":{"code":"refused","message":"No."}}', X'7b22726566223a226d61696e227d');
INSERT INTO events VALUES (17, '01997b1c-0000-7000-8000-027997000027', 'github', 'accepted', 3, 0, NULL, 1760000000000, '{"mapping":"pull-requests","request":{"method":"POST","path":"/hooks/github","query":{"page":"2"},"headers":{"x-github-event":"push"},"contentType":"application/json","client":"127.0.0.1"},"actions":[{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000024","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000025","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000026","sessionKey":"waiting"}],"warnings":["one"],"log":[{"level":"warn","text":"odd"}]}', X'7b22726566223a226d61696e227d');
INSERT INTO idempotency_keys VALUES ('token:default github', 'known', 'content', 1760001000000, '{"eventId":"01997b1c-0000-7000-8000-027997000027","actions":[{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000024","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000025","sessionKey":"running"},{"kind":"agent","runId":"01997b1c-0000-7000-8000-027997000026","sessionKey":"waiting"}],"warnings":["one"]}');
INSERT INTO nodes VALUES ('1072ad212c86', 1795420155752);
INSERT INTO routes VALUES (1, 'slack', 'C1');
INSERT INTO runs VALUES (2, '01997b1c-0000-7000-8000-027997000001', 1, 'pull-requests', 'answered', NULL, 'done', 1, 1, '1072ad212c86', 1760000000000, 1760000000000, 1795420095765, 1760000000010, NULL, NULL, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"answered","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}', '{"reply":"Done.","warnings":[]}', '{"at":1760000000005,"user":{"text":"Look at this."},"summary":{"text":"Hook GitHub: Done.","urgent":false}}', 1);
INSERT INTO runs VALUES (6, '01997b1c-0000-7000-8000-027997000004', 5, 'pull-requests', 'done', NULL, 'done', 1, 1, '1072ad212c86', 1760000000000, 1760000000000, 1760000000000, 1760000000010, NULL, NULL, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"done","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}', '{"reply":"Done.","model":"echo","warnings":[]}', NULL, NULL);
INSERT INTO runs VALUES (10, '01997b1c-0000-7000-8000-027997000008', 9, 'pull-requests', 'dead', NULL, 'dead', 1, 1, '1072ad212c86', 1760000000000, 1760000000000, 1760000000000, 1760000000010, 'no', NULL, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"dead","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}', NULL, NULL, NULL);
INSERT INTO runs VALUES (12, '01997b1c-0000-7000-8000-027997000011', 11, 'pull-requests', 'undelivered', NULL, 'done', 1, 1, '1072ad212c86', 1760000000000, 1760000000000, 1760000000000, 1760000000010, NULL, NULL, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"undelivered","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}', '{"reply":"Done.","warnings":[]}', NULL, NULL);
INSERT INTO runs VALUES (18, '01997b1c-0000-7000-8000-027997000024', 17, 'pull-requests', 'running', NULL, 'running', 1, 1, '1072ad212c86', 1760000000000, 1760000000000, 1760000000000, NULL, NULL, NULL, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"running","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}', NULL, NULL, NULL);
INSERT INTO runs VALUES (19, '01997b1c-0000-7000-8000-027997000025', 17, 'pull-requests', 'running', NULL, 'queued', 0, 0, NULL, 1760000000000, 1760000000000, NULL, NULL, NULL, NULL, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"running","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}', NULL, NULL, NULL);
INSERT INTO runs VALUES (20, '01997b1c-0000-7000-8000-027997000026', 17, 'pull-requests', 'waiting', NULL, 'ready', 1, 1, '1072ad212c86', 1760000000000, 1760000005000, 1760000000000, NULL, 'busy', NULL, '{"kind":"agent","message":"Look at this.","name":"GitHub","sessionKey":"waiting","wakeMode":"now","deliver":true,"channel":"last","timeoutSeconds":600,"allowUnsafeExternalContent":false}', NULL, NULL, NULL);
INSERT INTO sent_messages VALUES ('C1:1', 1760000000020);
INSERT INTO sessions VALUES ('answered', 1760000000005, 1760000000010, 2);
INSERT INTO sessions VALUES ('main', 1760000000010, 1760000000010, 1);
INSERT INTO totals VALUES (1, 3, 1, 1, 4, 0);
CREATE INDEX deliveries_conversation ON deliveries (conversation, created_at) WHERE conversation IS NOT NULL;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'pending';
CREATE INDEX deliveries_event ON deliveries (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (id) WHERE state = 'failed';
CREATE INDEX deliveries_lane ON deliveries (channel, recipient) WHERE finished_at IS NULL;
CREATE INDEX deliveries_loose ON deliveries (finished_at) WHERE event_id IS NULL;
CREATE INDEX deliveries_state ON deliveries (state);
CREATE INDEX entries_event ON entries (event_seq) WHERE event_seq IS NOT NULL;
CREATE INDEX entries_loose ON entries (at) WHERE event_seq IS NULL;
CREATE INDEX entries_pending ON entries (pending) WHERE pending = 1;
CREATE INDEX entries_session ON entries (session_key, (role = 'system'));
CREATE TRIGGER event_changed AFTER UPDATE OF status, pending ON events
    WHEN NEW.status <> OLD.status OR NEW.pending IS NOT OLD.pending
    BEGIN UPDATE event_index SET status = NEW.status, pending = NEW.pending WHERE seq = NEW.seq; END;
CREATE TRIGGER event_deleted AFTER DELETE ON events
    BEGIN DELETE FROM event_index WHERE seq = OLD.seq; END;
CREATE INDEX event_index_hook ON event_index (hook, status);
CREATE INDEX event_index_status ON event_index (status);
CREATE INDEX event_index_wakes ON event_index (pending) WHERE pending IS NOT NULL;
CREATE VIEW event_states AS         -- of all events
    SELECT seq, hook, status, pending FROM event_index
    UNION ALL SELECT seq, hook, status, pending FROM events WHERE seq > (SELECT last_seq FROM totals);
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
CREATE INDEX runs_dead ON runs (id) WHERE state = 'dead' AND event_seq IS NOT NULL;
CREATE INDEX runs_due ON runs (mapping, due_at) WHERE state = 'ready';
CREATE INDEX runs_heartbeats ON runs (finished_at) WHERE event_seq IS NULL;
CREATE UNIQUE INDEX runs_id ON runs (id);
CREATE INDEX runs_session ON runs (session_key) WHERE finished_at IS NULL;
CREATE INDEX runs_state ON runs (state);
CREATE INDEX runs_summaries ON runs (pending) WHERE pending IS NOT NULL;
CREATE INDEX runs_turns ON runs (session_key) WHERE turn IS NOT NULL;
CREATE UNIQUE INDEX runs_window ON runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
CREATE INDEX sent_messages_age ON sent_messages (sent_at);
CREATE INDEX sessions_updated ON sessions (updated_at);
PRAGMA user_version = 6;
COMMIT;
