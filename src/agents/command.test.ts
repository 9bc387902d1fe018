import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isRunning } from "../../test/support/is-running.ts";
import { describeAgent, turnOf } from "../contracts/agent.ts";
import { failureOf } from "../contracts/harness.ts";
import { createCommand } from "./command.ts";
import type { AgentReply, AgentTurn } from "./driver.ts";

const never = new AbortController().signal;

describeAgent({ describe, test }, "command", async () => ({
  agent: createCommand({ name: "own", provider: { kind: "command", command: ["sh", "-c", "echo Hello."] } }),
  model: "own/default",
  close: async () => {},
}));

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), "hookline-command-"))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe("what the program is given", () => {
  test("the prompt on standard input, whole; its output without the last line break is the reply", async () => {
    const message = `Grüße $HOME "quoted"\n${"x".repeat(200_000)}`;
    expect(await run(["cat"], { message: `${message}\n\n` })).toEqual({
      text: message,
      model: "own/default",
    });
  });

  test("the turn's facts in its environment", async () => {
    const turn = { sessionKey: "hook:7", model: "own/fast/one", thinking: "high", timeoutSeconds: 9 };
    const { text } = await run(["env"], turn);
    expect(text.split("\n")).toEqual(
      expect.arrayContaining([
        "HOOKLINE_RUN_ID=run-1",
        "HOOKLINE_SESSION_KEY=hook:7",
        "HOOKLINE_KIND=hook",
        "HOOKLINE_MODEL=fast/one",
        "HOOKLINE_THINKING=high",
        "HOOKLINE_TIMEOUT_SECONDS=9",
        "HOOKLINE_MAX_REPLY_BYTES=1048576",
        "HOOKLINE_ACK=HEARTBEAT_OK",
      ]),
    );
  });

  test("of the service's own environment no more than it needs to run", async () => {
    vi.stubEnv("SLACK_TOKEN", "xoxb-secret");
    const { text } = await run(["env"], {}, { OWN: "1", HOOKLINE_RUN_ID: "forged" });
    const names = text.split("\n").map((line) => line.split("=")[0] ?? "");
    const mayBeThere = ["HOME", "LANG", "PATH", "OWN"];
    expect(names).toEqual(expect.arrayContaining(["PATH", "OWN"]));
    expect(names.filter((name) => !name.startsWith("HOOKLINE_") && !mayBeThere.includes(name))).toEqual([]);
    expect(text).not.toContain("forged");
  });

  test("the history in a file of its own that nobody else can read, and that is gone afterwards", async () => {
    const history = [
      { role: "user", text: "one" },
      { role: "assistant", text: "two" },
    ] as const;
    const script = 'stat -c %a "$HOOKLINE_HISTORY"; echo "$HOOKLINE_HISTORY"; cat "$HOOKLINE_HISTORY"';
    const { text } = await run(["sh", "-c", script], { history: [...history] });
    const [mode, file, content] = text.split("\n");
    expect(mode).toBe("600");
    expect(JSON.parse(content ?? "")).toEqual(history);
    expect(existsSync(path.dirname(file ?? ""))).toBe(false);
  });

  test("arguments as they are: no shell reads them", async () => {
    expect((await run(["echo", "$HOME; echo no"])).text).toBe("$HOME; echo no");
  });

  test("the folder of the configuration to run in", async () => {
    expect((await run(["pwd"])).text).toBe(folder);
  });
});

describe("how the program ends", () => {
  test("a program that does not read its prompt still replies", async () => {
    expect((await run(["echo", "ok"], { message: "x".repeat(1_000_000) })).text).toBe("ok");
  });

  test("a program that has nothing to say gives an empty reply", async () => {
    expect((await run(["true"])).text).toBe("");
  });

  test.each([
    ["code 1", "exit 1", false, "own ended with code 1"],
    ["code 75, EX_TEMPFAIL", "exit 75", true, "own ended with code 75"],
    ["a signal", "kill -SEGV $$", true, "own was ended by SIGSEGV"],
    ["words", "echo 'no such model' >&2; exit 2", false, "own ended with code 2: no such model"],
  ])("%s", async (_case, script, retryable, message) => {
    expect(await failureOf(run(["sh", "-c", script]))).toMatchObject({ retryable, message });
  });

  test("what it was given as a secret is not told", async () => {
    const script = 'echo "refused key $KEY" >&2; exit 1';
    const error = await failureOf(run(["sh", "-c", script], {}, { KEY: "abcdef-123456" }));
    expect(error.message).toBe("own ended with code 1: refused key [redacted]");
  });

  test.each([
    ["a program that is not there", ["no-such-program"], {}],
    ["a variable that cannot be", ["true"], { thinking: "a\0b" }],
  ] as const)("%s fails for good", async (_case, command, turn) => {
    const error = await failureOf(run(command, turn));
    expect(error.retryable).toBe(false);
    expect(error.message).toMatch(/^own could not be started \(E\w+\): see agents\.providers\.own\.command\.$/);
  });

  test("a program that writes without end is ended, and fails for good", async () => {
    expect(await failureOf(run(["yes"]))).toMatchObject({
      retryable: false,
      message: "own wrote more than 1048576 bytes and was ended.",
    });
  });

  test("what it has left running ends with it", async () => {
    const { text } = await run(["sh", "-c", "sleep 60 & echo $!"]);
    await expect.poll(() => isRunning(text)).toBe(false);
  });
});

test("whoever left the group cannot hold up the reply", async () => {
  const mark = path.join(folder, "pid");
  const script = `setsid sh -c 'echo $$ > ${mark}; exec sleep 600' & while ! [ -s ${mark} ]; do sleep 0.05; done; echo ok`;
  const { text } = await run(["sh", "-c", script]);
  expect(text).toBe("ok");
  const left = readFileSync(mark, "utf8").trim();
  expect(isRunning(left)).toBe(true);
  process.kill(Number(left));
});

describe("at the abort", () => {
  test("the whole group is asked to end, and no reply is taken", async () => {
    const pids = path.join(folder, "pids");
    const failed = abortOnce(pids, `sleep 60 & echo $! $$ > ${pids}; wait; echo late`);
    expect(await failed).toMatchObject({
      retryable: true,
      message: "The run was stopped before own replied.",
    });
    const left = readFileSync(pids, "utf8").trim().split(" ");
    await expect.poll(() => left.filter(isRunning)).toEqual([]);
  });

  test("a program that does not heed is killed two seconds later", async () => {
    const pids = path.join(folder, "pids");
    const startedAt = performance.now();
    await abortOnce(pids, `trap '' TERM; echo $$ > ${pids}; while :; do sleep 1; done`);
    expect(performance.now() - startedAt).toBeGreaterThan(1900);
    expect(isRunning(readFileSync(pids, "utf8").trim())).toBe(false);
  });

  test("nothing is started once it has come", async () => {
    const mark = path.join(folder, "mark");
    await failureOf(run(["touch", mark], {}, {}, AbortSignal.abort()));
    expect(existsSync(mark)).toBe(false);
  });

  /** Aborts once the script has written the file. */
  async function abortOnce(file: string, script: string): Promise<Error> {
    const abort = new AbortController();
    const failed = failureOf(run(["sh", "-c", script], {}, {}, abort.signal));
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toMatch(/\n/);
    abort.abort();
    return failed;
  }
});

function run(
  [file, ...args]: readonly [string, ...string[]],
  turn: Partial<AgentTurn> = {},
  env: Record<string, string> = {},
  signal: AbortSignal = never,
): Promise<AgentReply> {
  const agent = createCommand({
    name: "own",
    provider: { kind: "command", command: [file, ...args], cwd: folder, env },
  });
  return agent.run(turnOf({ model: "own/default", ...turn }), signal);
}
