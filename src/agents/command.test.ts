import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isRunning } from "../../test/support/is-running.ts";
import { describeAgent, turnOf } from "../contracts/agent.ts";
import { failureOf } from "../contracts/harness.ts";
import { createCommand } from "./command.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "../core/ports/agent.ts";

const never = new AbortController().signal;

describeAgent({ describe, test }, "command", async () => ({
  agent: create({ command: ["sh", "-c", "echo Hello."], sandbox: false }),
  model: "own/default",
  close: async () => {},
}));

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), "hookline-command-"))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe("input", () => {
  test("the prompt is standard input; standard output without trailing line breaks is the reply", async () => {
    const message = `Grüße $HOME "quoted"\n${"x".repeat(200_000)}`;
    expect(await run(["cat"], { message: `${message}\n\n` })).toEqual({
      text: message,
      model: "own/default",
    });
  });

  test("the turn is described in the environment", async () => {
    const turn = { runId: "run-1", sessionKey: "hook:7", model: "own/fast/one", thinking: "high", timeoutSeconds: 9 };
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

  test("only PATH, HOME and LANG of the service's environment are passed on", async () => {
    vi.stubEnv("SLACK_TOKEN", "xoxb-secret");
    const { text } = await run(["env"], {}, { OWN: "1", HOOKLINE_RUN_ID: "forged" });
    const names = text.split("\n").map((line) => line.split("=")[0] ?? "");
    const allowed = ["HOME", "LANG", "PATH", "OWN"];
    expect(names).toEqual(expect.arrayContaining(["PATH", "OWN"]));
    expect(names.filter((name) => !name.startsWith("HOOKLINE_") && !allowed.includes(name))).toEqual([]);
    expect(text).not.toContain("forged");
  });

  test("the history is in a private file that is removed afterward", async () => {
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

  test("arguments are not interpreted by a shell", async () => {
    expect((await run(["echo", "$HOME; echo no"])).text).toBe("$HOME; echo no");
  });

  test("the program runs in the folder of the configuration", async () => {
    expect((await run(["pwd"])).text).toBe(folder);
  });
});

describe("result", () => {
  test("a program that ignores its prompt can reply", async () => {
    expect((await run(["echo", "ok"], { message: "x".repeat(1_000_000) })).text).toBe("ok");
  });

  test("empty output is an empty reply", async () => {
    expect((await run(["true"])).text).toBe("");
  });

  test.each([
    ["code 1", "exit 1", false, "own exited with code 1"],
    ["code 75, EX_TEMPFAIL", "exit 75", true, "own exited with code 75"],
    ["a signal", "kill -SEGV $$", true, "own was killed by SIGSEGV"],
    ["error output", "echo 'no such model' >&2; exit 2", false, "own exited with code 2: no such model"],
  ])("%s", async (_case, script, retryable, message) => {
    expect(await failureOf(run(["sh", "-c", script]))).toMatchObject({ retryable, message });
  });

  test("values of env are redacted in error messages", async () => {
    const script = 'echo "refused key $KEY" >&2; exit 1';
    const error = await failureOf(run(["sh", "-c", script], {}, { KEY: "abcdef-123456" }));
    expect(error.message).toBe("own exited with code 1: refused key [redacted]");
  });

  test.each([
    ["a missing program", ["no-such-program"], {}],
    ["an invalid variable", ["true"], { thinking: "a\0b" }],
  ] as const)("%s is a permanent error", async (_case, command, turn) => {
    const error = await failureOf(run(command, turn));
    expect(error.retryable).toBe(false);
    expect(error.message).toMatch(/^own could not be started \(E\w+\): check agents\.providers\.own\.command\.$/);
  });

  test("a program that writes too much is killed", async () => {
    expect(await failureOf(run(["yes"]))).toMatchObject({
      retryable: false,
      message: "own wrote more than 1048576 bytes and was killed.",
    });
  });

  test("processes that the program started end with it", async () => {
    const { text } = await run(["sh", "-c", "sleep 60 & echo $!"]);
    await expect.poll(() => isRunning(text)).toBe(false);
  });
});

test("a process that left the group cannot delay the reply", async () => {
  const mark = path.join(folder, "pid");
  const script = `setsid sh -c 'echo $$ > ${mark}; exec sleep 600' & while ! [ -s ${mark} ]; do sleep 0.05; done; echo ok`;
  const { text } = await run(["sh", "-c", script]);
  expect(text).toBe("ok");
  const left = readFileSync(mark, "utf8").trim();
  expect(isRunning(left)).toBe(true);
  process.kill(Number(left));
});

describe("abort", () => {
  test("the whole group is ended and its reply ignored", async () => {
    const pids = path.join(folder, "pids");
    const failed = abortOnce(pids, `sleep 60 & echo $! $$ > ${pids}; wait; echo late`);
    expect(await failed).toMatchObject({
      retryable: true,
      message: "The run was stopped before own replied.",
    });
    const left = readFileSync(pids, "utf8").trim().split(" ");
    await expect.poll(() => left.filter(isRunning)).toEqual([]);
  });

  test("a program that ignores SIGTERM is killed after two seconds", async () => {
    const pids = path.join(folder, "pids");
    const startedAt = performance.now();
    await abortOnce(pids, `trap '' TERM; echo $$ > ${pids}; while :; do sleep 1; done`);
    expect(performance.now() - startedAt).toBeGreaterThan(1900);
    expect(isRunning(readFileSync(pids, "utf8").trim())).toBe(false);
  });

  test("an aborted run starts no program", async () => {
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
  return create({ command: [file, ...args], env, sandbox: false }).run(
    turnOf({ model: "own/default", ...turn }),
    signal,
  );
}

function create(options: Parameters<typeof createCommand>[0]): AgentDriver {
  const own = { tempDir: path.join(folder, "temporary"), stateDir: path.join(folder, "state") };
  return createCommand(options, { name: "own", baseDir: folder, ...own });
}
