import { expect, test } from "vitest";
import { open } from "../../../test/contracts/journal/openers/sqlite.ts";
import { useJournals } from "../../../test/contracts/journal/harness.ts";
import { publish } from "../../../test/contracts/journal/publications.ts";
import { createGate } from "../../../test/support/gate.ts";
import { MCP_TOKEN, publishing } from "../../../test/support/mcp.ts";
import { startService } from "../../../test/support/service.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { createPublisher } from "./publisher.ts";
import { createSecretBox } from "./secrets.ts";

const { start } = useJournals(open);

test("a principal whose callbacks are slow keeps no other from its events", async () => {
  const principals = ["busy", "desk"].map((name) => [name, { secret: `${MCP_TOKEN}-${name}`, events: ["*"] }]);
  const config = publishing({ principals: Object.fromEntries(principals) });
  const service = await startService({ config });
  const journal = await start();
  const box = createSecretBox(["a key for tests"]);
  const gate = createGate();
  const posted: string[] = [];
  const publisher = createPublisher({
    journal,
    current: () => service.hookline.runtime(),
    sender: {
      async post({ subscription }) {
        posted.push(subscription);
        await gate.passed;
        return { kind: "ok", text: "" };
      },
      postOnce: () => Promise.reject(new Error("nobody is asked")),
      close: () => undefined,
    },
    secrets: () => box,
    alerts: { raise: () => undefined },
    haveOtherConfigurations: async () => false,
    log: silentLog,
    storeId: "store",
  });
  const subscribe = (principal: string, id: string) =>
    journal.publications.subscribe(
      {
        id,
        principal,
        name: "deploys",
        arguments: {},
        url: "https://example.com/",
        createdAt: 0,
        refreshedAt: 0,
        secret: box.encrypt("whsec_c2VjcmV0LW9mLTI0LWJ5dGVzLi4uLi4=", id),
      },
      { acked: 0, cursor: "", scanned: 0, open: [], abandonedCount: 0 },
    );
  for (let index = 0; index < 40; index += 1) await subscribe("busy", `sub_a${index}`);
  for (let count = 0; count < 10; count += 1) await publish(journal);
  publisher.wake();
  // The limit for one principal is nearly reached.
  await expect.poll(() => posted.length).toBeGreaterThan(60);
  await subscribe("desk", "sub_desk");
  publisher.wake();
  await expect.poll(() => posted).toContain("sub_desk");
  gate.open();
  await publisher.stop();
  await service.close();
});
