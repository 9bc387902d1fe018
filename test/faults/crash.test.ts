import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient, waitFor } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, withTokens } from "../support/service.ts";

const tokens = { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN };

let folder: string;
let model: Server;
/** The prompts that the model got. */
let asked: number;
let answering: boolean;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-crash-"));
  asked = 0;
  answering = false;
  model = createServer((request, response) => {
    request.resume().on("end", () => {
      asked += 1;
      if (answering) response.setHeader("content-type", "application/json").end(JSON.stringify(completion("done")));
    });
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
});

afterEach(() => {
  model.closeAllConnections();
  model.close();
  rmSync(folder, { recursive: true, force: true });
});

test("kill -9 between the 202 and the run, then a restart: the run happens, once", async () => {
  const file = writeConfig();
  const first = await startProcess(file);
  const { status, body } = await createClient(first.url, tokens).post("agent", {
    message: "survive",
    sessionKey: "s",
    deliver: false,
    wakeMode: "next-heartbeat",
  });
  expect(status).toBe(202);
  await waitFor(() => asked === 1, "the turn to start");
  expect(await first.end("SIGKILL")).toBe("SIGKILL");

  answering = true;
  const second = await openService(folder);
  const event = await second.settled(body.eventId);
  expect(event).toMatchObject({ status: "done", runs: [{ id: body.runId, state: "done", reply: "done" }] });
  expect((await second.api("/api/sessions/s")).entries).toMatchObject([{ role: "user" }, { role: "assistant" }]);
  expect((await second.api("/api/sessions/main")).entries).toHaveLength(1);
  expect(asked).toBe(2);
  await second.close();
});

test("kill -9 right after a wake's 200: the system event is kept, and its heartbeat runs", async () => {
  const file = writeConfig();
  const first = await startProcess(file);
  expect((await createClient(first.url, tokens).post("wake", { text: "remember me" })).status).toBe(200);
  await first.end("SIGKILL");

  answering = true;
  const second = await openService(folder);
  await waitFor(async () => {
    const { entries } = await second.api("/api/sessions/main");
    return entries.some(({ role }: { role: string }) => role === "assistant");
  }, "the heartbeat");
  await second.close();
});

function writeConfig(): string {
  const file = path.join(folder, "webhooks.json5");
  const baseUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  const providers = { local: { kind: "openai-compatible" as const, baseUrl } };
  writeFileSync(file, JSON.stringify(withTokens({ agents: { providers, defaults: { model: "local/small" } } })));
  return file;
}

function completion(content: string): object {
  const message = { role: "assistant", content };
  return {
    id: "1",
    object: "chat.completion",
    created: 0,
    model: "small",
    choices: [{ index: 0, message, finish_reason: "stop" }],
  };
}
