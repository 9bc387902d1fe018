import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentDriver, AgentTurn } from "../../src/agents/port.ts";
import type { DriverError } from "../../src/errors.ts";
import { failureOf } from "../support/failure.ts";

export interface AgentUnderTest {
  agent: AgentDriver;
  /** A model it knows, `provider/model`. */
  model?: string;
  close(): Promise<void>;
}

/** An agent whose replies come from a server that the suite can steer. */
export interface RemoteAgentUnderTest extends AgentUnderTest {
  reply(text: string): void;
  refuse(status: number, retryAfterSeconds?: number): void;
  cut(): void;
  hang(): void;
  /** What the server was given last, oldest first. */
  conversation(): { role: string; content: unknown }[];
  requestCount(): number;
}

/** A turn with everything filled in that a test does not care about. */
export function turnOf(turn: Partial<AgentTurn> = {}): AgentTurn {
  return {
    runId: "run-1",
    sessionKey: "hook:1",
    kind: "hook",
    history: [],
    message: "What is new?",
    timeoutSeconds: 60,
    ack: "HEARTBEAT_OK",
    ...turn,
  };
}

const never = new AbortController().signal;

/** What every agent must do. */
export function describeAgent(name: string, open: () => Promise<AgentUnderTest>): void {
  describe(`agent contract: ${name}`, () => {
    let subject: AgentUnderTest;
    beforeEach(async () => void (subject = await open()));
    afterEach(() => subject.close());

    test.each(["hook", "heartbeat"] as const)("replies to a %s turn and names its model", async (kind) => {
      const reply = await subject.agent.run(turnOf({ kind, model: subject.model }), never);
      expect(reply.text).not.toBe("");
      expect(reply.model).toBeTypeOf("string");
    });
  });
}

/** What an agent must do that reaches its model over a network. */
export function describeRemoteAgent(name: string, open: () => Promise<RemoteAgentUnderTest>): void {
  describeAgent(name, open);
  describe(`remote agent contract: ${name}`, () => {
    let subject: RemoteAgentUnderTest;
    beforeEach(async () => void (subject = await open()));
    afterEach(() => subject.close());

    const run = (turn: Partial<AgentTurn> = {}, signal: AbortSignal = never) =>
      subject.agent.run(turnOf({ model: subject.model, ...turn }), signal);
    const failure = (signal?: AbortSignal): Promise<DriverError> => failureOf(run({}, signal));

    test("gives the model's reply and its usage", async () => {
      subject.reply("Nothing much.");
      const reply = await run();
      expect(reply.text).toBe("Nothing much.");
      expect(reply.usage).toEqual({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) });
    });

    test("sends the history before the message, in order", async () => {
      subject.reply("ok");
      const history = [
        { role: "user", text: "one" },
        { role: "assistant", text: "two" },
      ] as const;
      await run({ history: [...history], message: "three" });
      expect(subject.conversation().map(({ role, content }) => [role, textOf(content)])).toEqual([
        ["user", "one"],
        ["assistant", "two"],
        ["user", "three"],
      ]);
    });

    test.each([408, 409, 429, 500, 503])(
      "takes a %i for passing, and does not retry by itself",
      async (status) => {
        subject.refuse(status);
        expect(await failure()).toMatchObject({ kind: "passing" });
        expect(subject.requestCount()).toBe(1);
      },
    );

    test.each([400, 401, 403, 404, 422])("takes a %i for lasting", async (status) => {
      subject.refuse(status);
      expect(await failure()).toMatchObject({ kind: "lasting" });
    });

    test("tells how long a rate limit asks to wait", async () => {
      subject.refuse(429, 7);
      expect(await failure()).toMatchObject({ kind: "passing", retryAfterMs: 7000 });
    });

    test("takes a closed socket for passing, and does not retry by itself", async () => {
      subject.cut();
      expect(await failure()).toMatchObject({ kind: "passing" });
      expect(subject.requestCount()).toBe(1);
    });

    test("settles within a moment of the abort while the server is silent", async () => {
      subject.hang();
      const abort = new AbortController();
      const failed = failure(abort.signal);
      await expect.poll(() => subject.requestCount()).toBe(1);
      const abortedAt = performance.now();
      abort.abort();
      await failed;
      expect(performance.now() - abortedAt).toBeLessThan(500);
    });

    test("asks for nothing once it is aborted", async () => {
      await failure(AbortSignal.abort());
      expect(subject.requestCount()).toBe(0);
    });
  });
}

function textOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: { text?: string }) => part.text).join("");
}
