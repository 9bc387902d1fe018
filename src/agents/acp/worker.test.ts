import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AcpProgram } from "./process.ts";
import { createAcpWitness } from "./worker.ts";

test("what an agent wrote before its answer is not told of the next turn, though it is read later", async () => {
  const agent = silentAgent();
  const witness = createAcpWitness(agent.program);
  setImmediate(() => agent.write("before"));
  await witness.duringPrompt(async () => "answered");
  const lost = witness.duringPrompt(async () => {
    agent.write("during");
    throw new Error("gone");
  });
  await expect(lost).rejects.toThrow(/^during$/);
});

test("nor of what comes before the next prompt", async () => {
  const agent = silentAgent();
  const witness = createAcpWitness(agent.program);
  setImmediate(() => agent.write("before"));
  await witness.duringPrompt(async () => "answered");
  const lost = witness.beforePrompt(() => Promise.reject(new Error("gone")));
  await expect(lost).rejects.toThrow(/^$/);
});

/** Its words are those that were read by the time that they are asked for. */
function silentAgent(): { program: AcpProgram; write: (words: string) => void } {
  let read: string[] = [];
  const program = {
    ready: new Promise<never>(() => {}),
    isGone: () => false,
    forgetWords: () => void (read = []),
    async lastWords() {
      await nextTurn();
      return read.join(" ");
    },
    end: () => {},
    kill: () => {},
  };
  return { program, write: (words) => void read.push(words) };
}
