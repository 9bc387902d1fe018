import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test, vi } from "vitest";
import { startImsg } from "../../../test/support/imsg.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import type { Fault } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createImessage, imessage, toDriverError } from "./channel.ts";

const BASE = { baseDir: "/" };

describeRemoteChannel({ describe, test }, "imessage", open);

describe("imessage", () => {
  const never = new AbortController().signal;
  const message = { to: "+15551234567", text: "Hello.", idempotencyKey: "1" };

  test.each([
    ["+15551234567", { to: "+15551234567" }],
    ["ada@example.org", { to: "ada@example.org" }],
    ["chat_id:42", { chat_id: 42 }],
    ["chat_guid:iMessage;+;chat42", { chat_guid: "iMessage;+;chat42" }],
    ["chat_identifier:chat42", { chat_identifier: "chat42" }],
  ])("sends to %s", async (to, target) => {
    const imsg = await startImsg();
    await createImessage(imsg, BASE).send({ ...message, to }, never);
    expect(imsg.calls()).toEqual([{ jsonrpc: "2.0", id: "1", method: "send", params: { ...target, text: "Hello." } }]);
    await imsg.close();
  });

  test("a reply is plain text", async () => {
    const imsg = await startImsg();
    const text = "# Done\n\n**It** is [here](https://x.test/1).";
    await createImessage(imsg, BASE).send({ ...message, text, format: "markdown" }, never);
    expect(imsg.calls()).toMatchObject([{ params: { text: "Done\n\nIt is here (https://x.test/1)." } }]);
    await imsg.close();
  });

  test("a missing program is warned of", () => {
    const check = (command?: string[]) => imessage.check?.({ command }, BASE);
    expect(check(["sh"])).toEqual([]);
    expect(check(["no-imsg-here"])).toMatchObject([{ key: "command", level: "warning" }]);
  });

  test("a program's path is relative to the configuration file", async () => {
    const imsg = await startImsg();
    const baseDir = mkdtempSync(path.join(tmpdir(), "hookline-imessage-"));
    writeFileSync(path.join(baseDir, "imsg.sh"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    const command = ["./imsg.sh", ...imsg.command];
    expect(imessage.check?.({ command }, { baseDir })).toEqual([]);
    await createImessage({ command }, { baseDir }).send(message, never);
    expect(imsg.messages()).toEqual(["Hello."]);
    const missing = createImessage({ command: ["./missing.sh"] }, { baseDir }).send(message, never);
    expect((await failureOf(missing)).message).toMatch(/^\.\/missing\.sh could not be started/);
    rmSync(baseDir, { recursive: true });
    await imsg.close();
  });

  test("without imsg the error says what is needed", async () => {
    const channel = createImessage({ command: ["no-imsg-here", "rpc"] }, BASE);
    const error = await failureOf(channel.send(message, never));
    expect(error.retryable).toBe(false);
    // EACCES when a folder of the PATH is not readable
    expect(error.message).toMatch(/^no-imsg-here could not be started: E\w+\. iMessage needs a Mac/);
  });

  test("the environment contains none of the service's secrets", async () => {
    vi.stubEnv("HOOK_TOKEN", "s3cret");
    const script = `names=$(env | cut -d= -f1 | tr '\\n' +); printf '{"id":"1","result":{"guid":"%s"}}\\n' "$names"`;
    const { messageId } = await createImessage({ command: ["sh", "-c", script] }, BASE).send(message, never);
    expect(messageId).toContain("PATH");
    expect(messageId).not.toContain("HOOK_TOKEN");
    vi.unstubAllEnvs();
  });

  test("a program other than imsg is a retryable error", async () => {
    for (const command of [["true"], ["echo", "hello"], ["cat"]]) {
      expect(await failureOf(createImessage({ command }, BASE).send(message, never))).toMatchObject({
        retryable: true,
      });
    }
  });
});

async function open(): Promise<RemoteChannelUnderTest> {
  const imsg = await startImsg();
  return {
    channel: createImessage(imsg, BASE),
    to: "+15551234567",
    unknown: "chat_id:7",
    malformed: ["", " ", "Ada", "#general", "+", "chat_id:x", "chat_id:", "chat_guid:", "a@b", "+1 555"],
    received: async () => imsg.messages(),
    inject: (fault) => imsg.inject(fault),
    faults: {
      rateLimited: refusal(-32_000),
      retryAfterMs: undefined,
      refusedForGood: refusal(-32_601),
      brokenDown: refusal(-32_603),
    },
    requestCount: () => imsg.calls().length,
    close: () => imsg.close(),
  };
}

function refusal(code: number): Fault {
  return { kind: "answer", status: 200, body: JSON.stringify({ code, message: "It did not work." }) };
}

test.each([
  [-32_000, true],
  [-32_001, false],
  [-32_002, true],
  [-32_003, false],
  [-32_004, true],
  [-32_600, false],
  [-32_601, false],
  [-32_602, false],
  [-32_603, true],
])("code %i: retryable is %s", (code, retryable) => {
  expect(toDriverError({ code, message: "It did not work." }).retryable).toBe(retryable);
});

test("a message that may have been sent has advice", () => {
  expect(toDriverError({ code: -32_001 }).message).toContain("It may have been sent");
});

test("an unreadable answer is retryable", () => {
  for (const error of [undefined, null, "no", { code: "x" }]) expect(toDriverError(error).retryable).toBe(true);
});
