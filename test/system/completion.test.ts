/** The scripts of `webhooks completion` in Debian's fish and zsh. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run, runWebhooks } from "../support/cli.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-shells-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("fish completes commands and options, with what they do", async () => {
  await writeScript("fish");
  const complete = async (line: string): Promise<string> =>
    (await run(folder, "fish", ["-c", `source ./script.fish; complete -C '${line}'`])).stdout;
  expect(await complete("webhooks events re")).toBe(
    "replay\tRun events again through today's mappings, as new events\n",
  );
  expect(await complete("hookline events re")).toBe(await complete("webhooks events re"));
  expect(await complete("webhooks events list --sta")).toMatch(/^--status\tonly events that are held/);
  expect(await complete("webhooks ch")).toMatch(/^channels\t.*\ncheck\t.*\n$/);
});

test("zsh accepts the script", async () => {
  await writeScript("zsh");
  expect(await run(folder, "zsh", ["-n", "script.zsh"])).toMatchObject({ code: 0, stderr: "" });
});

async function writeScript(shell: "fish" | "zsh"): Promise<void> {
  const { stdout } = await runWebhooks(folder, "completion", shell);
  writeFileSync(path.join(folder, `script.${shell}`), stdout);
}
