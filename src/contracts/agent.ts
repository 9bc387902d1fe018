import assert from "node:assert/strict";
import type { AgentDriver, AgentReply, AgentTurn } from "../agents/driver.ts";
import { type Checks, describeContract, failureOf, assertAborts, type TestRunner, type UnderTest } from "./harness.ts";

export interface AgentUnderTest extends UnderTest {
  agent: AgentDriver;
  /** A model it knows, `provider/model`. */
  model?: string;
}

/** What every agent must do. `open` gives one that replies. */
export function describeAgent(runner: TestRunner, name: string, open: () => Promise<AgentUnderTest>): void {
  describeContract(runner, { title: `agent contract: ${name}`, open, checks: CHECKS });
}

const CHECKS: Checks<AgentUnderTest> = {
  "replies to a hook turn": (subject) => reply(subject, { kind: "hook" }),

  "replies to a heartbeat turn": (subject) => reply(subject, { kind: "heartbeat" }),

  async "takes turns of two sessions side by side"(subject) {
    await Promise.all([reply(subject, { sessionKey: "hook:1" }), reply(subject, { sessionKey: "hook:2" })]);
  },

  async "settles where it is aborted at once"({ agent, model }) {
    const run = agent.run(turnOf({ model }), AbortSignal.abort());
    await run.catch(() => failureOf(run));
  },
};

async function reply({ agent, model }: AgentUnderTest, turn: Partial<AgentTurn>): Promise<void> {
  const { text, model: named } = await agent.run(turnOf({ model, ...turn }), new AbortController().signal);
  assert.notEqual(text, "");
  assert.equal(typeof text, "string");
  assert.match(typeof named, /^(string|undefined)$/);
}

/** An agent whose replies come from a server that the suite can steer. */
export interface RemoteAgentUnderTest extends AgentUnderTest {
  /** From now on the model replies with this. */
  reply(text: string): void;
  /** From now on every request is refused. */
  refuse(status: number, retryAfterSeconds?: number): void;
  /** From now on every connection is cut without an answer. */
  cut(): void;
  /** From now on no answer ever comes. */
  hang(): void;
  /** What the model was given last, oldest first. */
  conversation(): { role: string; content: unknown }[];
  /** How many requests the server has had. */
  requestCount(): number;
}

/** What an agent must do that reaches its model over a network. `open` gives one that replies. */
export function describeRemoteAgent(runner: TestRunner, name: string, open: () => Promise<RemoteAgentUnderTest>): void {
  describeAgent(runner, name, open);
  const checks = { ...REMOTE_CHECKS, ...PASSING_CHECKS, ...LASTING_CHECKS };
  describeContract(runner, { title: `remote agent contract: ${name}`, open, checks });
}

const REMOTE_CHECKS: Checks<RemoteAgentUnderTest> = {
  async "gives the model's reply and its usage"(subject) {
    subject.reply("Nothing much.");
    const { text, usage } = await runTurn(subject);
    assert.equal(text, "Nothing much.");
    assert.equal(typeof usage?.inputTokens, "number");
    assert.equal(typeof usage?.outputTokens, "number");
  },

  async "sends the history before the message, in order"(subject) {
    subject.reply("ok");
    const history: AgentTurn["history"] = [
      { role: "user", text: "one" },
      { role: "assistant", text: "two" },
    ];
    await runTurn(subject, { history, message: "three" });
    assert.deepEqual(
      subject.conversation().map(({ role, content }) => [role, textOf(content)]),
      [
        ["user", "one"],
        ["assistant", "two"],
        ["user", "three"],
      ],
    );
  },

  async "tells how long a rate limit asks to wait"(subject) {
    subject.refuse(429, 7);
    const { retryable, retryAfterMs } = await failureOf(runTurn(subject));
    assert.deepEqual({ retryable, retryAfterMs }, { retryable: true, retryAfterMs: 7000 });
  },

  async "takes a closed socket for passing, and does not retry by itself"(subject) {
    subject.cut();
    await requirePassing(subject);
  },

  async "settles soon after the abort while the server is silent"(subject) {
    subject.hang();
    await assertAborts(
      (signal) => runTurn(subject, {}, signal),
      () => subject.requestCount(),
    );
  },

  async "asks for nothing once it is aborted"(subject) {
    await failureOf(runTurn(subject, {}, AbortSignal.abort()));
    assert.equal(subject.requestCount(), 0);
  },
};

const PASSING_CHECKS = toChecks([408, 409, 429, 500, 503], {
  name: (status) => `takes a ${status} for passing, and does not retry by itself`,
  check: requirePassing,
});

const LASTING_CHECKS = toChecks([400, 401, 403, 404, 422], {
  name: (status) => `takes a ${status} for lasting`,
  async check(subject) {
    assert.equal((await failureOf(runTurn(subject))).retryable, false);
  },
});

/** A check for each status that the server refuses with. */
function toChecks(
  statuses: number[],
  { name, check }: { name(status: number): string; check(subject: RemoteAgentUnderTest): Promise<void> },
): Checks<RemoteAgentUnderTest> {
  const refused = (status: number) => async (subject: RemoteAgentUnderTest) => {
    subject.refuse(status);
    await check(subject);
  };
  return Object.fromEntries(statuses.map((status) => [name(status), refused(status)]));
}

async function requirePassing(subject: RemoteAgentUnderTest): Promise<void> {
  assert.equal((await failureOf(runTurn(subject))).retryable, true);
  assert.equal(subject.requestCount(), 1);
}

function runTurn(
  { agent, model }: RemoteAgentUnderTest,
  turn: Partial<AgentTurn> = {},
  signal = new AbortController().signal,
): Promise<AgentReply> {
  return agent.run(turnOf({ model, ...turn }), signal);
}

function textOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: { text?: string }) => part.text).join("");
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
