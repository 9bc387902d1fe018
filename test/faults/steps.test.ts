/** `kill -9` during each request of a turn with calls: it continues from its last step, and nothing that is recorded is asked again. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { createClient, waitFor } from "../support/client.ts";
import { startModels } from "../support/models.ts";
import { startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, withTokens } from "../support/service.ts";
import { createServer } from "node:http";

/** The requests of a turn with two calls, in order, without a kill. */
const REQUESTS = ["model 0", "call 1", "model 1", "call 2", "model 2"];

/** A turn for each request: it is killed during that one. */
interface Turn {
  killedAt: number;
  asked: string[];
  eventId: string;
  /** The messages of the last request to the model. */
  messages: { role: string; content: unknown }[];
}

test("kill -9 during each request of a turn", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-steps-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const turns = REQUESTS.map((_, killedAt): Turn => ({ killedAt, asked: [], eventId: "", messages: [] }));
  /** Until the kill, the request is never answered. */
  const arrive = async ({ killedAt, asked }: Turn, request: string): Promise<void> => {
    asked.push(request);
    if (asked.length === killedAt + 1) await new Promise(() => {});
  };
  const models = await startModels();
  onTestFinished(() => models.close());
  models.answer(async (messages) => {
    const [, number] = /errand (\d)/.exec(JSON.stringify(messages)) ?? [];
    const turn = turns[Number(number)]!;
    turn.messages = messages;
    const round = messages.filter(({ role }) => role === "tool").length;
    await arrive(turn, `model ${round}`);
    if (round === 2) return { text: "All done." };
    const id = 10 * turn.killedAt + round + 1;
    return { calls: [{ id: `id-${round + 1}`, name: "tickets__show", arguments: { id } }] };
  });
  const server = createServer((request, response) => {
    const id = Number(request.url?.slice(1));
    const call = id % 10;
    void arrive(turns[Math.floor(id / 10)]!, `call ${call}`).then(() => response.end(`ticket ${call}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const config: UserConfig = {
    agents: {
      providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "house/large", maxAttempts: 1, maxConcurrent: turns.length, heartbeat: { every: "24h" } },
      tools: {
        tickets: {
          kind: "http",
          baseUrl: `http://127.0.0.1:${port}`,
          private: true,
          calls: { show: { description: "One ticket.", get: "/{id}", input: { id: "integer" } } },
        },
      },
    },
    hooks: { agent: { grants: { "tickets.show": "read" } } },
  };
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens(config)));

  const killed = await startProcess(file);
  const client = createClient(killed.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  for (const turn of turns) {
    const errand = { message: `errand ${turn.killedAt}`, sessionKey: `session ${turn.killedAt}` };
    const { body } = await client.post("agent", { ...errand, deliver: false, wakeMode: "next-heartbeat" });
    turn.eventId = body.eventId;
  }
  await waitFor(() => turns.every(({ asked, killedAt }) => asked.length === killedAt + 1), "the requests");
  await killed.end("SIGKILL");

  const last = await openService(folder);
  onTestFinished(() => last.close());
  for (const turn of turns) {
    const event = await last.settled(turn.eventId);
    const { killedAt, asked, messages } = turn;
    expect(event.runs).toMatchObject([{ state: "done", reply: "All done." }]);
    const { entries } = await last.api(`/api/sessions/${encodeURIComponent(`session ${killedAt}`)}`);
    expect(entries).toMatchObject([{ role: "user" }, { role: "assistant" }]);
    // Only the request that was interrupted is repeated.
    expect(asked).toEqual([...REQUESTS.slice(0, killedAt + 1), ...REQUESTS.slice(killedAt)]);
    const { steps } = await last.api(`/api/runs/${event.runs[0].id}`);
    expect(steps.map(({ n, kind }: { n: number; kind: string }) => `${n} ${kind}`)).toEqual([
      "1 model",
      "2 call",
      "3 model",
      "4 call",
      "5 model",
    ]);
    const results = messages.filter(({ role }) => role === "tool");
    expect(results.map(({ content }) => /ticket \d/.exec(String(content))?.[0])).toEqual(["ticket 1", "ticket 2"]);
  }
});
