import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { createMailbox } from "../../../test/support/mailbox.ts";
import { resolveUserConfig } from "../../core/config/load.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import { type MailStore, openMailStore } from "../store.ts";
import { createMailService } from "./service.ts";

test("a store that cannot be closed does not keep the next watch from starting, nor the service from closing", async () => {
  const { source, follows } = createMailbox();
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-"));
  const service = createMailService({
    openStore: async (mailbox) => {
      const opened = await openMailStore({ folder, mailbox });
      return opened && { ...opened, close: () => closeBadly(opened) };
    },
    send: async () => new Response(undefined, { status: 202 }),
    telemetry: silentTelemetry,
  });
  const use = (batchSize: number): void => {
    const config = resolveUserConfig({}, { baseDir: "/" });
    const settings = { ...config.hooks.mail[0], autoStart: true, batchSize };
    const mappings = { maxBodyBytes: () => 262_144 };
    service.use({ config, mappings, drivers: { mailSources: {} }, mailboxes: [{ settings, source }] });
  };
  use(1);
  await expect.poll(() => follows.map(({ batchSize }) => batchSize)).toEqual([1]);
  use(2);
  await expect.poll(() => follows.map(({ batchSize }) => batchSize)).toEqual([1, 2]);
  await service.close();
});

async function closeBadly(store: MailStore): Promise<void> {
  await store.close();
  throw new Error("database is away");
}
