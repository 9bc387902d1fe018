import assert from "node:assert/strict";
import type { AgentDriver, AgentTurn } from "../agents/port.ts";
import { type Checks, describeContract, type TestRunner, type UnderTest } from "./describe-contract.ts";
import { failureOf } from "./failure-of.ts";
import { turnOf } from "./turn-of.ts";

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
