import assert from "node:assert/strict";
import type { AgentReply, AgentTurn } from "../agents/port.ts";
import { type AgentUnderTest, describeAgent } from "./describe-agent.ts";
import { type Checks, describeContract, type TestRunner } from "./describe-contract.ts";
import { failureOf } from "./failure-of.ts";
import { requireHeedsAbort } from "./require-heeds-abort.ts";
import { turnOf } from "./turn-of.ts";

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
export function describeRemoteAgent(
  runner: TestRunner,
  name: string,
  open: () => Promise<RemoteAgentUnderTest>,
): void {
  describeAgent(runner, name, open);
  const checks = { ...CHECKS, ...PASSING_CHECKS, ...LASTING_CHECKS };
  describeContract(runner, { title: `remote agent contract: ${name}`, open, checks });
}

const CHECKS: Checks<RemoteAgentUnderTest> = {
  async "gives the model's reply and its usage"(subject) {
    subject.reply("Nothing much.");
    const { text, usage } = await run(subject);
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
    await run(subject, { history, message: "three" });
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
    const { kind, retryAfterMs } = await failureOf(run(subject));
    assert.deepEqual({ kind, retryAfterMs }, { kind: "passing", retryAfterMs: 7000 });
  },

  async "takes a closed socket for passing, and does not retry by itself"(subject) {
    subject.cut();
    await requirePassing(subject);
  },

  async "settles soon after the abort while the server is silent"(subject) {
    subject.hang();
    await requireHeedsAbort(
      (signal) => run(subject, {}, signal),
      () => subject.requestCount(),
    );
  },

  async "asks for nothing once it is aborted"(subject) {
    await failureOf(run(subject, {}, AbortSignal.abort()));
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
    assert.equal((await failureOf(run(subject))).kind, "lasting");
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
  assert.equal((await failureOf(run(subject))).kind, "passing");
  assert.equal(subject.requestCount(), 1);
}

function run(
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
