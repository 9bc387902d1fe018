/** A failed start says what to fix, and leaves nothing running. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createHookline } from "../../src/service/hookline.ts";
import { runWebhooks } from "../support/cli.ts";
import { spawnService } from "../support/process.ts";
import { withTokens } from "../support/service.ts";

let folder: string;
let config: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-start-"));
  config = path.join(folder, "webhooks.json5");
  writeFileSync(config, JSON.stringify(withTokens({})));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("beside another service on the same state folder", async () => {
  const owner = await createHookline({ config, port: 0, watch: false });
  expect(await runWebhooks(folder, "serve", "--port", "0")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("store.path: The folder is in use: another process owns this state folder"),
  });
  await owner.close();
});

test("on a port in use; the state folder is released", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const port = (other.address() as { port: number }).port;
  expect(await runWebhooks(folder, "serve", "--port", String(port))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("because another program does. Stop it, or set another port."),
  });
  other.close();
  await (await createHookline({ config, port: 0, watch: false })).close();
});

test("SIGTERM before it listens, here while it waits for a database that does not answer, ends it with 0", async () => {
  const database = createServer().listen(0, "127.0.0.1");
  await once(database, "listening");
  const { port } = database.address() as AddressInfo;
  writeFileSync(
    config,
    JSON.stringify(withTokens({ store: { url: `postgres://postgres@127.0.0.1:${port}/hookline` } })),
  );
  const service = spawnService(config);
  const ended = once(service, "exit");
  const [connection] = await once(database, "connection");
  service.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  connection.destroy();
  database.close();
});
