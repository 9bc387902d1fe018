import assert from "node:assert/strict";
import type { AgentDriver, AgentReply, AgentTurn } from "../core/ports/agent.ts";
import { type Checks, describeContract, failureOf, assertAborts, type TestRunner, type UnderTest } from "./harness.ts";

/** An agent, with what it answers to. */
export interface AgentUnderTest extends UnderTest {
  agent: AgentDriver;
  /** A model that the agent knows, as `provider/model`. */
  model?: string;
}

/** The contract of each agent. `open` returns an agent that replies. */
export function describeAgent(runner: TestRunner, name: string, open: () => Promise<AgentUnderTest>): void {
  describeContract(runner, { title: `agent contract: ${name}`, open, checks: CHECKS });
}

const CHECKS: Checks<AgentUnderTest> = {
  "replies to a hook turn": (subject) => reply(subject, { kind: "hook" }),

  "replies to a heartbeat turn": (subject) => reply(subject, { kind: "heartbeat" }),

  async "runs turns of two sessions in parallel"(subject) {
    await Promise.all([reply(subject, { sessionKey: "hook:1" }), reply(subject, { sessionKey: "hook:2" })]);
  },

  async "settles when it is aborted before the start"({ agent, model }) {
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

/** An agent whose replies come from a server that the suite controls. */
export interface RemoteAgentUnderTest extends AgentUnderTest {
  /** Makes the model reply with this text. */
  reply(text: string): void;
  /** Makes the server refuse requests. */
  refuse(status: number, retryAfterSeconds?: number): void;
  /** Makes the server close connections without an answer. */
  cut(): void;
  /** Makes the server never answer. */
  hang(): void;
  /** The messages of the last request, oldest first. */
  conversation(): { role: string; content: unknown }[];
  /** How many requests the server has received. */
  requestCount(): number;
}

/** The contract of each agent that calls its model over a network. `open` returns one that replies. */
export function describeRemoteAgent(runner: TestRunner, name: string, open: () => Promise<RemoteAgentUnderTest>): void {
  describeAgent(runner, name, open);
  const checks = { ...REMOTE_CHECKS, ...STATUS_CHECKS };
  describeContract(runner, { title: `remote agent contract: ${name}`, open, checks });
}

const REMOTE_CHECKS: Checks<RemoteAgentUnderTest> = {
  async "returns the model's reply and its usage"(subject) {
    subject.reply("Nothing much.");
    const { text, usage } = await runTurn(subject);
    assert.equal(text, "Nothing much.");
    assert.equal(typeof usage?.inputTokens, "number");
    assert.equal(typeof usage?.outputTokens, "number");
  },

  async "sends the history in order, then the message"(subject) {
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

  async "a rate limit is a retryable error with the time to wait"(subject) {
    subject.refuse(429, 7);
    const { retryable, retryAfterMs } = await failureOf(runTurn(subject));
    assert.deepEqual({ retryable, retryAfterMs }, { retryable: true, retryAfterMs: 7000 });
  },

  async "a closed connection is a retryable error, and the driver does not retry by itself"(subject) {
    subject.cut();
    await assertFailure(subject, true);
  },

  async "rejects soon after an abort while the server does not answer"(subject) {
    subject.hang();
    await assertAborts(
      (signal) => runTurn(subject, {}, signal),
      () => subject.requestCount(),
    );
  },

  async "sends no request after an abort"(subject) {
    await failureOf(runTurn(subject, {}, AbortSignal.abort()));
    assert.equal(subject.requestCount(), 0);
  },
};

const RETRYABLE = [408, 409, 429, 500, 503];
const PERMANENT = [400, 401, 403, 404, 422];

const STATUS_CHECKS: Checks<RemoteAgentUnderTest> = Object.fromEntries(
  [...RETRYABLE, ...PERMANENT].map((status) => {
    const retryable = RETRYABLE.includes(status);
    const check = async (subject: RemoteAgentUnderTest): Promise<void> => {
      subject.refuse(status);
      await assertFailure(subject, retryable);
    };
    return [`status ${status} is a ${retryable ? "retryable" : "permanent"} error`, check];
  }),
);

async function assertFailure(subject: RemoteAgentUnderTest, retryable: boolean): Promise<void> {
  assert.equal((await failureOf(runTurn(subject))).retryable, retryable);
  // The dispatcher retries, not the driver.
  assert.equal(subject.requestCount(), 1);
}

/** An agent whose turns can have tools. */
export interface CallingAgentUnderTest extends RemoteAgentUnderTest {
  /** Makes the model ask for these calls, with this text beside them. */
  askFor(calls: { name: string; arguments: unknown }[], text?: string): void;
  /** The body of the last request. */
  lastBody(): string;
}

/** The contract of each agent that can call. `open` returns one that replies. */
export function describeCallingAgent(
  runner: TestRunner,
  name: string,
  open: () => Promise<CallingAgentUnderTest>,
): void {
  describeRemoteAgent(runner, name, open);
  describeContract(runner, { title: `calling agent contract: ${name}`, open, checks: CALL_CHECKS });
}

const TOOLS: AgentTurn["tools"] = [
  {
    name: "tickets__show",
    description: "Shows one ticket.",
    inputSchema: {
      type: "object",
      properties: { id: { type: "integer" } },
      required: ["id"],
      additionalProperties: false,
    },
  },
];

const CALL_CHECKS: Checks<CallingAgentUnderTest> = {
  async "says that its model can call"({ agent, model }) {
    assert.equal(agent.canCall?.(model), true);
  },

  async "shows the model the calls, and no others"(subject) {
    await runTurn(subject, { tools: TOOLS });
    for (const text of ["tickets__show", "Shows one ticket.", '"integer"'])
      assert.ok(subject.lastBody().includes(text));
    await runTurn(subject);
    assert.ok(!subject.lastBody().includes("tickets__show"));
  },

  async "gives the calls of an answer, and executes none"(subject) {
    const asked = [7, 8].map((id) => ({ name: "tickets__show", arguments: { id } }));
    subject.askFor(asked);
    const { calls = [] } = await runTurn(subject, { tools: TOOLS });
    assert.deepEqual(
      calls.map((call) => ({ name: call.name, arguments: call.arguments })),
      asked,
    );
    assert.equal(new Set(calls.map(({ toolCallId }) => toolCallId)).size, asked.length);
    assert.equal(subject.requestCount(), 1);
  },

  async "gives the text beside a call"(subject) {
    subject.askFor([{ name: "tickets__show", arguments: { id: 7 } }], "Let me look.");
    const { text, calls, warnings = [] } = await runTurn(subject, { tools: TOOLS });
    assert.deepEqual([text, calls?.length, warnings.length], ["Let me look.", 1, 0]);
  },

  async "gives a call that does not exist or does not fit, for the caller to refuse"(subject) {
    for (const call of [
      { name: "tickets__close", arguments: { id: 7 } },
      { name: "tickets__show", arguments: { id: "seven" } },
      { name: "tickets__show", arguments: [] },
    ]) {
      subject.askFor([call]);
      const { calls, answer } = await runTurn(subject, { tools: TOOLS });
      assert.deepEqual([calls?.length, calls?.[0]?.name], [1, call.name]);
      subject.reply("I see.");
      assert.equal((await continueTurn(subject, { calls, answer }, "refused")).text, "I see.");
    }
  },

  async "continues from an answer that was stored, with the results in order"(subject) {
    subject.askFor([7, 8].map((id) => ({ name: "tickets__show", arguments: { id } })));
    const { calls, answer } = await runTurn(subject, { tools: TOOLS, message: "What is new?" });
    subject.reply("Both are closed.");
    const { text } = await continueTurn(subject, { calls, answer: JSON.parse(JSON.stringify(answer)) }, "closed");
    assert.equal(text, "Both are closed.");
    const sent = JSON.stringify(subject.conversation());
    const places = ["What is new?", "tickets__show", "closed 0", "closed 1"].map((one) => sent.indexOf(one));
    assert.ok(!places.includes(-1), sent);
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
  },
};

function continueTurn(
  subject: CallingAgentUnderTest,
  { calls = [], answer }: Pick<AgentReply, "calls" | "answer">,
  text: string,
): Promise<AgentReply> {
  const results = calls.map(({ toolCallId, name }, index) => ({
    toolCallId,
    name,
    text: `${text} ${index}`,
    isError: index > 0,
  }));
  return runTurn(subject, { tools: TOOLS, message: "What is new?", exchanges: [{ answer, results }] });
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

let runs = 0;

/** A turn with defaults for the fields that a test does not set, each of another run. */
export function turnOf(turn: Partial<AgentTurn> = {}): AgentTurn {
  return {
    runId: `run-${(runs += 1)}`,
    sessionKey: "hook:1",
    kind: "hook",
    history: [],
    message: "What is new?",
    timeoutSeconds: 60,
    ack: "HEARTBEAT_OK",
    ...turn,
  };
}
