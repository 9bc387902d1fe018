import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createSecret, publishing, rpc, startCallback } from "../support/mcp.ts";
import { startProcess } from "../support/process.ts";
import { HOOK_TOKEN, withTokens } from "../support/service.ts";
import { loadByNode } from "./load.ts";
import { untilIdle, usageOf } from "./server.ts";

const SUBSCRIBERS = 100;
const REQUESTS = 6000;

/** How many times the CPU of a published hook is with subscribers, who wait for other values of an argument. */
export async function measureSubscriptions(): Promise<number> {
  const without = await measureHook(0);
  return (await measureHook(SUBSCRIBERS)) / without;
}

/** Microseconds of CPU a hook, until all of them are numbered. */
async function measureHook(subscribers: number): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-bench-"));
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens(publishing())));
  const [service, callback] = [await startProcess(file), await startCallback()];
  try {
    for (let index = 0; index < subscribers; index += 1) {
      const delivery = { mode: "webhook", url: callback.url, secret: createSecret() };
      const { error } = await rpc(service.url, "events/subscribe", {
        name: "deploys",
        arguments: { env: `other-${index}` },
        delivery,
      });
      if (error) throw new Error(error.message);
    }
    const usage = (): ReturnType<typeof usageOf> => usageOf(service.child.pid ?? 0);
    const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
    const payload = JSON.stringify({ env: "production", n: 1, text: "x".repeat(900) });
    const url = `${service.url}/hooks/deploys`;
    // V8 still compiles a new process.
    await loadByNode({ url, headers, payload, connections: 16, seconds: 60, requests: REQUESTS });
    await untilIdle(usage);
    const before = usage().cpuSeconds;
    await loadByNode({ url, headers, payload, connections: 16, seconds: 60, requests: REQUESTS });
    await untilIdle(usage);
    return ((usage().cpuSeconds - before) / REQUESTS) * 1e6;
  } finally {
    await service.end("SIGTERM");
    await callback.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
