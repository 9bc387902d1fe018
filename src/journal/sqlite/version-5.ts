import type { Migration } from "./database.ts";
import { copyRows } from "./version-4.ts";

/*
 * Each index of `events` would be another page in each commit. So what lists are filtered by is also in a table with these
 * indexes, which is written for many events at once: see `Counters`.
 */
export const EVENT_INDEX = `
  CREATE TABLE event_index (          -- of events up to totals.last_seq
    seq INTEGER PRIMARY KEY,
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    pending INTEGER
  ) STRICT;
  CREATE INDEX event_index_hook ON event_index (hook, status);
  CREATE INDEX event_index_status ON event_index (status);
  CREATE INDEX event_index_wakes ON event_index (pending) WHERE pending IS NOT NULL;
  CREATE VIEW event_states AS         -- of all events
    SELECT seq, hook, status, pending FROM event_index
    UNION ALL SELECT seq, hook, status, pending FROM events WHERE seq > (SELECT last_seq FROM totals);
  CREATE TRIGGER event_changed AFTER UPDATE OF status, pending ON events
    WHEN NEW.status <> OLD.status OR NEW.pending IS NOT OLD.pending
    BEGIN UPDATE event_index SET status = NEW.status, pending = NEW.pending WHERE seq = NEW.seq; END;
  CREATE TRIGGER event_deleted AFTER DELETE ON events
    BEGIN DELETE FROM event_index WHERE seq = OLD.seq; END;
`;

export const migrateToVersion5: Migration = (database, report) => {
  database.exec(`DROP INDEX events_hook; DROP INDEX events_status; DROP INDEX events_wakes; ${EVENT_INDEX}`);
  copyRows(database, { table: "event_index", from: "events", sql: COPY }, report);
};

const COPY = `
  INSERT INTO event_index SELECT seq, hook, status, pending FROM events
  WHERE seq >= ?1 AND seq < ?2 AND seq <= (SELECT last_seq FROM totals)`;
