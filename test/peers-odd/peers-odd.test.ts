/**
 * Models and MCP servers do not follow their specifications. Each row of the tables is one peer and one event that goes the
 * whole way: event, turn, calls, record, reply. All rows share one service; PostgreSQL has those whose calls change something, whose
 * record decides what is sent.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { createPostgresUrl } from "../support/postgres.ts";
import { MCP_SERVERS } from "./mcp-servers.ts";
import { MODELS } from "./models.ts";
import type { OddPeer } from "./odd-peer.ts";
import { startWorld, type World } from "./world.ts";

const ROWS: OddPeer[] = [...MODELS, ...MCP_SERVERS];

const CHANGING = ROWS.filter(({ expected }) => expected.written !== undefined);

const STORES: [name: string, rows: OddPeer[], open: () => Promise<UserConfig["store"]>][] = [
  ["SQLite", ROWS, async () => undefined],
  ["PostgreSQL", CHANGING, async () => ({ url: await createPostgresUrl() })],
];

describe.each(STORES)("%s", (_, rows, openStore) => {
  let world: World;
  beforeAll(async () => void (world = await startWorld(rows, await openStore())));
  afterAll(() => world.close());

  test.each(rows.map((row) => [row.name, row] as const))("%s", async (__, row) => {
    const { reply, error, written = [], asked = [], results = [], warnings = [] } = row.expected;
    const outcome = await world.finish(row);
    expect(outcome).toMatchObject({
      replies: reply === undefined ? [] : [reply],
      error: error === undefined ? undefined : expect.stringMatching(error),
      written,
      asked,
      results: results.map((result) => expect.stringMatching(result)),
      warnings: warnings.map((warning) => expect.stringMatching(warning)),
    });
    // The record says what was sent, once each.
    const sent = outcome.effects.filter(({ state, text }) => state === "done" || !text.startsWith("Not sent"));
    expect(sent.filter(({ call }) => call.startsWith("work."))).toHaveLength(written.length);
    for (const field of ["callId", "toolCallId"] as const) {
      expect(new Set(outcome.effects.map((effect) => effect[field])).size).toBe(outcome.effects.length);
    }
  });
});
