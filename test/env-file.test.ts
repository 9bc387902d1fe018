/** `.env` beside the configuration, and `--env-file`, for every command that reads the configuration. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { leafCommands } from "../src/cli/command-list.ts";
import { createProgram } from "../src/cli/all-commands.ts";
import { createClient } from "./support/client.ts";
import { createTestIo, runWebhooks, startWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "./support/service.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-env-file-"));
  write("webhooks.json5", JSON.stringify(withTokens({ gateway: { port: 0, auth: { token: "${GATEWAY}" } } })));
  write(".env", `GATEWAY=${GATEWAY_TOKEN}\n`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
}

test.each(["dev", "serve"])("%s reads .env beside the configuration", async (command) => {
  const running = startWebhooks(folder, [command, "--json"]);
  await expect.poll(running.stdout).toContain("http://127.0.0.1:");
  const { url } = JSON.parse(running.stdout().split("\n")[0] ?? "");
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  expect((await fetch(`${url}/api/status`, { headers })).status).toBe(200);
  running.stop();
  expect((await running.ended).code).toBe(0);
});

test("so does every other command, from any folder; --no-env-file reads none, and another file replaces it", async () => {
  const elsewhere = path.join(folder, "..");
  const file = path.join(folder, "webhooks.json5");
  expect(await runWebhooks(elsewhere, "check", "--config", file)).toMatchObject({ code: 0 });
  const none = await runWebhooks(folder, "check", "--no-env-file");
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("variable GATEWAY is not set") });
  write(".env.example", "GATEWAY=an-example-token-of-good-length\n");
  expect(await runWebhooks(folder, "check", "--env-file", ".env.example")).toMatchObject({ code: 0 });
  write("other.env", "OTHER=1\n");
  expect(await runWebhooks(folder, "check", "--env-file", "other.env")).toMatchObject({ code: 1 });
});

test("a change of the file is a reload, and the real environment still wins", async () => {
  const mappings = [{ match: { path: "x" }, messageTemplate: "${WORD:-none} ${OWN:-none}", deliver: false }];
  write("webhooks.json5", JSON.stringify(withTokens({ gateway: { port: 0 }, hooks: { mappings } })));
  for (const args of [["dev"], ["serve", "--env-file", ".env"]]) {
    write(".env", "WORD=one\n");
    const running = startWebhooks(folder, [...args, "--json"], { env: { OWN: "own" } });
    await expect.poll(running.stdout).toContain("http://127.0.0.1:");
    const { url } = JSON.parse(running.stdout().split("\n")[0] ?? "");
    const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
    const message = async () => (await client.try("x", {})).actions[0].message;
    expect(await message()).toBe("one own");
    write(".env", "WORD=two\nOWN=other\n");
    await expect.poll(message, { timeout: 10_000 }).toBe("two own");
    rmSync(path.join(folder, ".env"));
    await expect.poll(message, { timeout: 10_000 }).toBe("none own");
    running.stop();
    await running.ended;
  }
});

test("the real environment wins", async () => {
  write("other.env", "GATEWAY=\n");
  const equal = { env: { GATEWAY: HOOK_TOKEN } };
  expect(await startWebhooks(folder, ["check", "--env-file", ".env"], equal).ended).toMatchObject({ code: 1 });
  expect(await startWebhooks(folder, ["check", "--env-file", ".env"]).ended).toMatchObject({ code: 0 });
  const missing = await runWebhooks(folder, "check", "--env-file", "gone.env");
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("gone.env") });
});

test("every command that reads the configuration has the options", () => {
  const { io } = createTestIo(folder);
  const without = leafCommands(createProgram(io)).filter(
    ({ options }) =>
      options.some(({ long }) => long === "--config") !== options.some(({ long }) => long === "--env-file"),
  );
  expect(without.map((command) => command.name())).toEqual([]);
});
