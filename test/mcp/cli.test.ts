import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plainEnv, startWebhooks } from "../support/cli.ts";
import { type Callback, createSecret, MCP_TOKEN, publishing, rpc, startCallback } from "../support/mcp.ts";
import { PROGRAM } from "../support/program.ts";
import { type Service, startService } from "../support/service.ts";

let service: Service;
let callback: Callback;
beforeAll(async () => {
  callback = await startCallback();
  service = await startService({ config: publishing() });
});
afterAll(async () => {
  await service.close();
  await callback.close();
});

const run = (args: string[]) => startWebhooks(service.folder, [...args, "--url", service.url]).ended;

test("webhooks subscriptions lists, shows and ends what agents have subscribed to", async () => {
  expect(await run(["subscriptions", "list"])).toMatchObject({ code: 0, stdout: "No agent has subscribed.\n" });
  callback.answer = () => 413;
  const delivery = { mode: "webhook", url: callback.url, secret: createSecret() };
  const { result } = await rpc(service.url, "events/subscribe", { name: "deploys", delivery });
  const { body } = await service.post("deploys", { env: "a", n: 1 });
  await expect.poll(async () => (await run(["subscriptions", "show", result.id])).stdout).toContain(body.eventId);
  const shown = await run(["subscriptions", "show", result.id]);
  expect(shown.stdout).toContain("http_4xx (413)");
  expect(shown.stdout).not.toContain("abc");
  expect((await run(["subscriptions", "list"])).stdout).toMatch(/sub_\w+ +desk +deploys +\{\} +active/);
  expect((await run(["subscriptions", "requests"])).stdout).toMatch(
    /desk +127\.0\.0\.1 +events\/subscribe +deploys +ok/,
  );
  expect(await run(["subscriptions", "end", result.id])).toMatchObject({ code: 0, stdout: `${result.id}  ended\n` });
  expect(await run(["subscriptions", "end", "sub_unknown"])).toMatchObject({ code: 1 });
});

describe("webhooks mcp", () => {
  test.each(["claude-code", "codex", "cursor", "vscode"])(
    "setup %s prints the name of the variable, and no token",
    async (client) => {
      const { code, stdout } = await startWebhooks(
        service.folder,
        ["mcp", "setup", client, "--url", "https://h.example/"],
        {
          env: { HOOKLINE_MCP_TOKEN: MCP_TOKEN },
        },
      ).ended;
      expect(code).toBe(0);
      expect(stdout).toContain('"https://h.example/mcp"');
      expect(stdout).toContain("HOOKLINE_MCP_TOKEN");
      expect(stdout).not.toContain(MCP_TOKEN);
    },
  );

  test("needs the token, and no configuration", async () => {
    expect(await startWebhooks("/", ["mcp", "--url", service.url]).ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Set HOOKLINE_MCP_TOKEN"),
    });
    const wrong = {
      input: '{"jsonrpc":"2.0","id":7,"method":"events/list"}\nnonsense\n',
      env: { HOOKLINE_MCP_TOKEN: "wrong" },
    };
    const { stdout } = await startWebhooks("/", ["mcp", "--url", service.url], wrong).ended;
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
        .toSorted((a, b) => a.error.code - b.error.code),
    ).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: 7, error: { code: -32000, message: expect.stringContaining("401") } },
    ]);
  });

  test("relays the official client's messages over stdio", async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, "mcp", "--url", service.url],
      env: { PATH: plainEnv().PATH ?? "", HOOKLINE_MCP_TOKEN: MCP_TOKEN },
      cwd: "/",
    });
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await client.connect(transport);
    expect(client.getServerVersion()?.name).toBe("hookline");
    // The server names no capability that its version does not know.
    expect(client.getServerCapabilities()).toEqual({ extensions: { "io.modelcontextprotocol/events": {} } });
    await client.close();
  });
});
