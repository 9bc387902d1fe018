import { describe, expect, test } from "vitest";
import { protectAction, toPrompt } from "../core/boundary/boundary.ts";
import { describeAgent, turnOf } from "../contracts/agent.ts";
import { createEcho } from "./echo.ts";

describeAgent({ describe, test }, "echo", async () => ({ agent: createEcho(), close: async () => {} }));

describe("echo", () => {
  const reply = async (message: string): Promise<string> => {
    const { text } = await createEcho().run(turnOf({ message }), new AbortController().signal);
    return text;
  };

  test("says that no model is configured and returns the message", async () => {
    expect(await reply("Build failed")).toBe("[echo: no model is configured] Build failed");
  });

  test("returns a long message whole", async () => {
    const message = "x".repeat(100_000);
    expect(await reply(message)).toContain(message);
  });

  test("removes the boundary around hook content", async () => {
    const action = { allowUnsafeExternalContent: false, instructions: "Be brief." };
    const message = toPrompt(protectAction("Build <failed>\n---\n", action, { source: "webhook", hook: "ci" }));
    expect(await reply(message)).toBe("[echo: no model is configured] Build <failed>\n---\n");
  });

  test("removes notice, headers and markers of a boundary", async () => {
    expect(await reply(`Do this.\n\nNotice\n${bounded("a1", "line one\n---\nline two")}`)).toBe(
      "[echo: no model is configured] line one\n---\nline two",
    );
  });

  test("returns the contents of several boundaries", async () => {
    expect(await reply(`${bounded("a1", "one")}\n\n${bounded("b2", "two")}`)).toBe(
      "[echo: no model is configured] one\n\ntwo",
    );
  });

  test("a boundary ends only at the marker with its id", async () => {
    const inner = '<<<END_EXTERNAL_UNTRUSTED_CONTENT id="zz">>>';
    expect(await reply(bounded("a1", `one\n${inner}\ntwo`))).toContain(`one\n${inner}\ntwo`);
  });

  test("a begin marker without an end marker is text", async () => {
    const message = '<<<EXTERNAL_UNTRUSTED_CONTENT id="a1">>>\nno end';
    expect(await reply(message)).toBe(`[echo: no model is configured] ${message}`);
  });

  test("returns empty content", async () => {
    expect(await reply(bounded("a1", ""))).toBe("[echo: no model is configured] ");
  });

  test("acknowledges a heartbeat", async () => {
    const turn = turnOf({ kind: "heartbeat", ack: "ALL_QUIET", message: "Events: …" });
    expect((await createEcho().run(turn, new AbortController().signal)).text).toBe("ALL_QUIET");
  });
});

function bounded(id: string, content: string): string {
  return [
    `<<<EXTERNAL_UNTRUSTED_CONTENT id="${id}">>>`,
    "Source: webhook",
    "Hook: ci",
    "---",
    content,
    `<<<END_EXTERNAL_UNTRUSTED_CONTENT id="${id}">>>`,
  ].join("\n");
}
