import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createAgent } from "../../test/support/acp-agent.mjs";
import { type InnerPrograms, serveInnerPrograms } from "../../test/support/inner-program.ts";
import { isRunning } from "../../test/support/is-running.ts";
import { ACP_AGENT } from "../../test/support/program.ts";
import { describeAgent, turnOf } from "../contracts/agent.ts";
import { failureOf } from "../contracts/harness.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "../core/ports/agent.ts";
import { createAcp } from "./acp.ts";

const never = new AbortController().signal;
const HISTORY: AgentTurn["history"] = [
  { role: "user", text: "one" },
  { role: "assistant", text: "two" },
];

const folder = mkdtempSync(path.join(tmpdir(), "hookline-acp-"));
/** The agent with the variables that are its argument. */
let programs: InnerPrograms;
beforeAll(async () => {
  programs = await serveInnerPrograms(({ argument, onLine, ...program }) =>
    onLine(createAgent({ ...program, env: JSON.parse(argument) })),
  );
});
afterAll(() => {
  programs.close();
  rmSync(folder, { recursive: true });
});

/** The same agent as a program of its own. */
const OWN_PROGRAM = [process.execPath, ACP_AGENT];

describeAgent({ describe, test }, "acp", async () => ({
  agent: create(),
  model: "own/default",
  close: async () => {},
}));

let agent: AgentDriver;
beforeEach(() => void (agent = create()));
afterEach(() => void vi.unstubAllEnvs());

test.each([
  ["image", " [image/png 9]", undefined],
  [
    "",
    "\n\nThe pictures are not shown to you: this model takes none.",
    ["The agent takes no pictures: it was asked without them."],
  ],
])("pictures are blocks for an agent that takes them: %s", async (can, block, warnings) => {
  agent = create({ env: { ACP_CAN: can } });
  const files = [
    { name: "file-1.png", type: "image/png", isImage: true, bytes: Buffer.from("a picture") },
    { name: "file-2.txt", type: "text/plain", isImage: false, bytes: Buffer.from("a text") },
  ];
  const reply = await run("look", { files });
  expect(reply.text).toBe(`session-1 1: look${block}`);
  expect(reply.warnings?.length ? reply.warnings : undefined).toEqual(warnings);
});

describe("sessions", () => {
  test.each(["resume", "load"])(
    "a session is continued by another program, which is sent only the message: %s",
    async (can) => {
      agent = create({ env: keeping(can) });
      const pid = await textOf("pid");
      expect(await textOf("again", { history: HISTORY })).toBe("session-1 2: again");
      expect(await textOf("pid", { history: HISTORY })).not.toBe(pid);
      await expect.poll(() => isRunning(pid)).toBe(false);
    },
  );

  test("the file of the sessions is gone: a new one is sent the history as JSON", async () => {
    const env = keeping("resume");
    agent = create({ env });
    await textOf("hello");
    rmSync(env.ACP_STORE);
    const text = await textOf("again", { history: HISTORY });
    expect(text).toBe(`session-1 1: Earlier turns of this session, oldest first:\n${JSON.stringify(HISTORY)}\n\nagain`);
  });

  test("an agent that cannot continue is sent the history each time", async () => {
    await textOf("hello");
    expect(await textOf("again", { history: HISTORY })).toMatch(/^session-1 1: Earlier/);
  });

  test("two parallel sessions are separate", async () => {
    const ask = (sessionKey: string) => textOf("pid", { sessionKey });
    const [a, b] = await Promise.all([ask("a"), ask("b")]);
    expect(a).not.toBe(b);
  });

  test("a turn without history starts a new session", async () => {
    agent = create({ env: keeping("resume") });
    await textOf("hello");
    expect(await textOf("hello")).toBe("session-2 1: hello");
  });

  test.each(["die", "fail -32603"])("a failed turn ends the session of the agent: %s", async (message) => {
    agent = create({ env: keeping("resume") });
    await textOf("hello");
    expect(await failureOf(run(message, { history: HISTORY }))).toMatchObject({ retryable: true });
    expect(await textOf("again", { history: HISTORY })).toMatch(/^session-2 1: Earlier/);
    expect(await textOf("more", { history: HISTORY })).toBe("session-2 2: more");
  });

  test("what the agent remembers counts among the private sources", async () => {
    expect((await run("hello", { sources: ["a"] })).sources).toEqual(["a"]);
    expect((await run("hello", { sources: ["b"], history: HISTORY })).sources).toEqual(["a", "b"]);
    expect(await run("hello")).not.toHaveProperty("sources");
  });
});

describe("input", () => {
  test("the environment and the folder are those of the configuration", async () => {
    vi.stubEnv("SLACK_TOKEN", "xoxb-secret");
    agent = create({ command: OWN_PROGRAM, env: { OWN: "1" }, cwd: "/tmp" });
    const { env, cwd } = JSON.parse(await textOf("env"));
    expect(env).toMatchObject({ OWN: "1", PATH: process.env["PATH"] });
    expect(env).not.toHaveProperty("SLACK_TOKEN");
    expect(cwd).toBe("/tmp");
  });

  test("chooses the model", async () => {
    expect(await run("model", { model: "own/large" })).toEqual({
      text: "large",
      model: "own/large",
      warnings: [],
    });
  });

  test("chooses the original model again", async () => {
    agent = create({ env: keeping("resume") });
    await run("hello", { model: "own/large" });
    expect(await textOf("model", { history: HISTORY })).toBe("small");
  });

  test("a model that the agent does not offer is a warning", async () => {
    expect(await run("model", { model: "own/huge" })).toMatchObject({
      text: "small",
      warnings: ['The agent does not offer the model "huge" and answered with its own choice.'],
    });
  });

  test.each([
    ["permission reject", { outcome: "selected", optionId: "no" }],
    ["permission", { outcome: "cancelled" }],
  ])("permission is never given: %s", async (message, outcome) => {
    const { text, warnings } = await run(message);
    expect(JSON.parse(text)).toEqual(outcome);
    expect(warnings).toEqual(["The agent asked for a permission once, which was refused: rm -rf."]);
    expect((await run("hello", { history: HISTORY })).warnings).toEqual([]);
  });
});

describe("result", () => {
  test("the reply is what was said after the last call; what came before it are notes", async () => {
    const { text, notes } = await run("work");
    expect(text).toBe("The final answer.\n\nAnd a word more.");
    const said = [
      { text: "I'll look first." },
      { call: "read tests" },
      { text: "Now the tests." },
      { call: "run tests" },
    ];
    expect(notes?.map(({ at: _at, ...note }) => note)).toEqual(said);
  });

  test("without a word after the last call, the last message is the reply", async () => {
    const { text, notes } = await run("work silent");
    expect(text).toBe("Now the tests.");
    expect(notes?.map(({ at: _at, ...note }) => note)).toEqual([
      { text: "I'll look first." },
      { call: "read tests" },
      { call: "run tests" },
    ]);
  });

  test("an agent that says nothing after a refusal has failed for good", async () => {
    expect(await failureOf(run("permission silent"))).toMatchObject({
      retryable: false,
      message: "The agent replied nothing after a permission was refused: rm -rf.",
    });
  });

  test("an incomplete text is a reply with a warning", async () => {
    expect(await run("stop max_tokens")).toMatchObject({
      text: "half a",
      warnings: ['The reply may be incomplete: it ended with "max_tokens".'],
    });
  });

  test.each([
    ["stop refusal", false, 'own ended with "refusal" before it wrote a reply.'],
    ["stop max_turn_requests", false, 'own ended with "max_turn_requests" before it wrote a reply.'],
    ["stop cancelled", true, 'own ended with "cancelled" before it wrote a reply.'],
    ["fail -32603", true, "own failed: refused key [redacted]"],
    ["fail -32602", false, "own failed: refused key [redacted]"],
    [
      "fail -32000",
      false,
      "own requires a login: log in with the program itself, or set a key in agents.providers.own.env.",
    ],
    ["flood", false, "The agent wrote more than 1048576 characters and was stopped."],
  ])("%s", async (message, retryable, expected) => {
    agent = create({ env: { KEY: "abcdef-123456" } });
    expect(await failureOf(run(message))).toMatchObject({ retryable, message: expected });
  });

  test("a missing program is a permanent error", async () => {
    agent = create({ command: ["no-such-program"] });
    expect(await failureOf(run("hello"))).toMatchObject({
      retryable: false,
      // EACCES when a folder of the PATH is not readable
      message: expect.stringMatching(/^own could not be started \(E\w+\): check agents\.providers\.own\.command\.$/),
    });
  });

  test("a program that exits at once is a retryable error", async () => {
    agent = create({ command: ["true"] });
    expect(await failureOf(run("hello"))).toMatchObject({
      retryable: true,
      message: "own was lost before it replied.",
    });
  });

  test("error output at start-up is shown without colors and secrets", async () => {
    const complain = "printf '\\033[31mno key %s\\007\\n' \"$KEY\" >&2; exit 1";
    agent = create({ command: ["sh", "-c", complain], env: { KEY: "abcdef-123456" } });
    expect(await failureOf(run("hello"))).toMatchObject({
      retryable: true,
      message: "own was lost before it replied: no key [redacted]",
    });
  });

  test("the end of a long error output is shown", async () => {
    agent = create({ command: ["sh", "-c", "seq 1 100000 >&2; echo over >&2"] });
    const { message } = await failureOf(run("hello"));
    expect(message).toMatch(/99999 100000 over$/);
    expect(message.length).toBeLessThan(400);
  });

  test("once a prompt was sent, error output is not shown: it may quote it", async () => {
    agent = create({ command: OWN_PROGRAM });
    expect(await failureOf(run("complain and die"))).toMatchObject({ message: "own was lost before it replied." });
  });

  test("another version of the protocol is a permanent error", async () => {
    agent = create({ env: { ACP_VERSION: "9" } });
    expect(await failureOf(run("hello"))).toMatchObject({
      retryable: false,
      message: "The agent speaks version 9 of the Agent Client Protocol; expected 1.",
    });
  });
});

describe("usage", () => {
  test("a turn has the tokens in its context, and what the session's cost has grown by", async () => {
    agent = create({ env: keeping("resume") });
    expect(await run("usage 1200 0.25")).toMatchObject({ usage: { inputTokens: 1200 }, cost: 0.25 });
    const second = await run("usage 1500 0.75", { history: HISTORY });
    expect(second).toMatchObject({ usage: { inputTokens: 1500 }, cost: 0.5 });
    expect(await run("usage 100 0.125")).toMatchObject({ usage: { inputTokens: 100 }, cost: 0.125 });
  });

  test("an agent that says nothing of it has none", async () => {
    const reply = await run("hello");
    expect(reply).not.toHaveProperty("usage");
    expect(reply).not.toHaveProperty("cost");
    expect(await run("usage 7", { history: HISTORY })).not.toHaveProperty("cost");
  });

  test("a negative cost would give back what a budget has counted", async () => {
    expect(await run("usage 7 -100")).not.toHaveProperty("cost");
  });
});

describe("abort", () => {
  test("the turn is canceled", async () => {
    expect(await abortOnceAt("wait")).toMatchObject({
      retryable: true,
      message: "The run was stopped before own replied.",
    });
  });

  test("an agent that ignores the cancellation is killed after two seconds", async () => {
    const startedAt = performance.now();
    expect(await abortOnceAt("deaf")).toMatchObject({ retryable: true });
    expect(performance.now() - startedAt).toBeGreaterThan(1900);
  });

  test("an agent that never initializes is killed too", async () => {
    agent = create({ command: ["sleep", "60"] });
    expect(await failureOf(run("hello", {}, AbortSignal.timeout(300)))).toMatchObject({ retryable: true });
  });
});

/** Aborts once the agent is at the prompt. */
async function abortOnceAt(word: "wait" | "deaf"): Promise<Error> {
  const mark = path.join(folder, "mark");
  const abort = new AbortController();
  const failed = failureOf(run(`${word} ${mark}`, {}, abort.signal));
  await expect.poll(() => existsSync(mark)).toBe(true);
  rmSync(mark);
  abort.abort();
  return failed;
}

async function textOf(message: string, turn: Partial<AgentTurn> = {}): Promise<string> {
  return (await run(message, turn)).text;
}

function run(message: string, turn: Partial<AgentTurn> = {}, signal = never): Promise<AgentReply> {
  return agent.run(turnOf({ model: "own/default", message, ...turn }), signal);
}

/** Variables of an agent that can continue the sessions of this test. */
function keeping(can: string): { ACP_CAN: string; ACP_STORE: string } {
  return { ACP_CAN: can, ACP_STORE: path.join(folder, `sessions-${randomUUID()}`) };
}

function create(options: { command?: string[]; env?: Record<string, string>; cwd?: string } = {}): AgentDriver {
  return createAcp(
    { command: programs.command(JSON.stringify(options.env ?? {})), sandbox: false, ...options },
    { name: "own", baseDir: "/", tempDir: folder, stateDir: path.join(folder, randomUUID()) },
  );
}
