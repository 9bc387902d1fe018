import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, createClient } from "../support/client.ts";
import { PROGRAM } from "../support/program.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";

const canLimit = spawnSync("unshare", ["-Ur", "true"]).status === 0;

let folder: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-limits-"));
  mkdirSync(path.join(folder, "transforms"));
  const hooks = { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" } }] };
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({ hooks, log: { level: "warn" } })));
  writeFileSync(path.join(folder, "transforms/x.ts"), says("one"));
});

afterEach(async () => {
  if (child?.kill("SIGTERM")) await once(child, "exit");
  rmSync(folder, { recursive: true, force: true });
});

// A user namespace has its own limits, so the machine's limits stay unchanged.
test.skipIf(!canLimit).each(["watches", "instances"])(
  "with no inotify %s left, files are polled, and the log says so",
  async (limit) => {
    const { client, errors } = await serveWithout(limit);
    expect(await messageOf(client)).toBe("one");
    await expect.poll(errors).toMatch(/"level":40.*so they are polled/);
    writeFileSync(path.join(folder, "transforms/x.ts"), says("two"));
    await expect.poll(() => messageOf(client)).toBe("two");
    expect(errors().match(/so they are polled/g)).toHaveLength(1);
    expect(errors()).not.toContain("watching files failed");
  },
);

/** Serves with the system's `limit` exhausted. */
async function serveWithout(limit: string): Promise<{ client: Client; errors: () => string }> {
  const script = `echo 0 > /proc/sys/user/max_inotify_${limit} && exec "$@"`;
  const service = [process.execPath, PROGRAM, "serve", "--config", path.join(folder, "webhooks.json5")];
  const started = spawn("unshare", ["-Ur", "sh", "-c", script, "sh", ...service, "--port", "0"]);
  child = started;
  let [output, errors] = ["", ""];
  started.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  started.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  await expect.poll(() => output + errors).toMatch(/Listening on http\S+/);
  const url = /Listening on (http\S+)/.exec(output)?.[1] ?? "";
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  return { client, errors: () => errors };
}

function says(text: string): string {
  return `export default () => ({ message: ${JSON.stringify(text)} });\n`;
}

async function messageOf(client: Client): Promise<string> {
  const { actions } = await client.try("x", {});
  return actions[0].message;
}
