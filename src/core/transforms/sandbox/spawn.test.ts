import { once } from "node:events";
import { expect, test } from "vitest";
import { createSandboxDir } from "./spawn.ts";

test("Ctrl-C in a terminal, which ends a process group, does not reach the children", async () => {
  const dir = createSandboxDir("process.stdin.resume();");
  const child = dir.launch([]);
  // The group that it leads has its id.
  expect(process.kill(-child.pid!, "SIGKILL")).toBe(true);
  await once(child, "exit");
  dir.remove();
});
