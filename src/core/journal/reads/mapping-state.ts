import type { StateRow } from "../records/event.ts";
import type { Note } from "../records/node.ts";
import { text } from "../columns.ts";
import type { Reader } from "./reader.ts";

export async function readState({ all, clockOffsetMs }: Reader, name: string, keys: string[]): Promise<StateRow[]> {
  const found = await all(
    `SELECT key, version, value FROM hookline.state
     WHERE name = $1 AND key = ANY($2::text[]) AND (expires_at IS NULL OR expires_at > $3)`,
    [name, keys, Date.now() + clockOffsetMs],
  );
  return found.map(({ key, version, value }) => ({ key: text(key), version: text(version), json: text(value) }));
}

export async function listNotes({ all, clockOffsetMs }: Reader, kind: string): Promise<Note[]> {
  const found = await all(
    `SELECT key, value FROM hookline.notes
     WHERE kind = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY key`,
    [kind, Date.now() + clockOffsetMs],
  );
  return found.map(({ key, value }) => ({ key: text(key), json: text(value) }));
}
