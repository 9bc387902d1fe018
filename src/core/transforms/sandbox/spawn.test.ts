import { once } from "node:events";
import { text } from "node:stream/consumers";
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

test("the children have the time zone UTC and the locale en-US, wherever the machine is", async () => {
  const dir = createSandboxDir("");
  const child = dir.launch(["/bin/sh", "-c", "echo $TZ; echo $LC_ALL"]);
  expect(await text(child.stdout)).toBe("UTC\nen_US.UTF-8\n");
  dir.remove();
});
