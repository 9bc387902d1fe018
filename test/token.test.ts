/** A token gets a new secret without a moment in which its senders are refused. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { type CliResult, runWebhooks } from "./support/cli.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const SHOP_TOKEN = "token-of-the-shop-0123456789abcdef";

let service: Service;
afterEach(() => service.close());

test("rotate adds a secret that a running service accepts beside the older one, drop removes the older one", async () => {
  service = await startService({ watch: true, config: { store: { path: "state" } } });
  const secretFile = path.join(service.folder, "state/hook-token-2");
  const rotated = await token("rotate", "default", "--yes");
  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining("webhooks token drop default") });
  expect(statSync(secretFile).mode & 0o777).toBe(0o600);
  const secret = readFileSync(secretFile, "utf8").trim();
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(rotated.stdout + rotated.stderr).not.toContain(secret);
  expect(rotated.stdout).not.toContain(HOOK_TOKEN);
  await expect.poll(() => statusWith(secret)).toBe(200);
  expect(await statusWith(HOOK_TOKEN)).toBe(200);

  expect(await token("rotate", "default", "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/hooks\.token: The token has 2 secrets already. Run `webhooks token drop default`/),
  });
  expect(await token("drop", "default", "--yes")).toMatchObject({ code: 0 });
  await expect.poll(() => statusWith(HOOK_TOKEN)).toBe(401);
  expect(await statusWith(secret)).toBe(200);
  expect(await token("drop", "default", "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/only one secret\. Add the next one with `webhooks token rotate default`/),
  });
});

test("a named token keeps its comments, its hooks and its other settings, in YAML too", async () => {
  service = await startService();
  const text = [
    "# mine",
    "store: { path: state }",
    "hooks:",
    "  enabled: true",
    `  token: ${HOOK_TOKEN} # all of them`,
    "  tokens:",
    "    shop: # the shop",
    `      secret: ${SHOP_TOKEN} # since May`,
    "      hooks: [wake]",
    "",
  ].join("\n");
  service.write("other.yaml", text);
  const { code, stdout } = await token("rotate", "shop", "--yes", "--print", "--json", "--config", "other.yaml");
  const answer = JSON.parse(stdout);
  expect({ code, answer }).toMatchObject({
    code: 0,
    answer: { ok: true, written: true, secret: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  expect(readFileSync(answer.secretFile, "utf8").trim()).toBe(answer.secret);
  const rotated = readFileSync(path.join(service.folder, "other.yaml"), "utf8");
  for (const kept of ["# mine", "# all of them", "# the shop", "# since May", "hooks: [wake]"]) {
    expect(rotated).toContain(kept);
  }
  expect(rotated).toMatch(/secret:[^]*\$\{file:state\/hook-token-shop-2\}[^]*token-of-the-shop/);
  await token("drop", "shop", "--yes", "--config", "other.yaml");
  const dropped = readFileSync(path.join(service.folder, "other.yaml"), "utf8");
  expect(dropped).not.toContain(SHOP_TOKEN);
  expect(dropped).toContain("hook-token-shop-2");
});

test("nothing is written without an answer, in a dry run, or for an unknown name", async () => {
  service = await startService({ config: { store: { path: "state" } } });
  const before = readFileSync(path.join(service.folder, "webhooks.json5"), "utf8");
  const state = readdirSync(path.join(service.folder, "state"));
  expect(await token("rotate", "default")).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
  expect(await token("rotate", "default", "--dry-run")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\+ .*hook-token-2/),
  });
  expect(await token("rotate", "defualt", "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no token "defualt".*did you mean "default".*/),
  });
  expect(readFileSync(path.join(service.folder, "webhooks.json5"), "utf8")).toBe(before);
  expect(readdirSync(path.join(service.folder, "state"))).toEqual(state);
});

function token(...args: string[]): Promise<CliResult> {
  return runWebhooks(service.folder, "token", ...args);
}

async function statusWith(secret: string): Promise<number> {
  return (await service.post("wake", { text: "x" }, { authorization: `Bearer ${secret}` })).status;
}
