/** The scripts of `webhooks completion`, in the shells that this machine has. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run, runWebhooks } from "./support/cli.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-completion-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** In bash: the words that Tab offers after this line, one a line. */
const BASH = `source ./script.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_webhooks
printf '%s\\n' "\${COMPREPLY[@]}"
`;

const CASES: [string[], RegExp][] = [
  [["webhooks", ""], /^init\n[^]*^completion\n[^]*^--version\n/m],
  [["webhooks", "ch"], /^check\nchannels$/],
  [["webhooks", "events", "re"], /^replay$/],
  [["webhooks", "events", "list", "--hook", "list", "--s"], /^--status\n--since$/],
  [["webhooks", "events", "list", "--config", ""], /^$/],
  [["webhooks", "presets", "enable", "github", "--gen"], /^--generate$/],
];

test.each(CASES)("bash completes %j", async (words, expected) => {
  await writeScript("bash");
  const { stdout, code, stderr } = await run(folder, "bash", ["-c", BASH, "bash", ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.trim()).toMatch(expected);
});

describe.runIf(has("fish"))("fish", () => {
  test("completes commands and options, with what they do", async () => {
    await writeScript("fish");
    const complete = async (line: string): Promise<string> =>
      (await run(folder, "fish", ["-c", `source ./script.fish; complete -C '${line}'`])).stdout;
    expect(await complete("webhooks events re")).toBe(
      "replay\tRun events again through today's mappings, as new events\n",
    );
    expect(await complete("webhooks events list --sta")).toMatch(/^--status\tonly accepted/);
    expect(await complete("webhooks ch")).toMatch(/^channels\t.*\ncheck\t.*\n$/);
  });
});

test.runIf(has("zsh"))("zsh accepts the script", async () => {
  await writeScript("zsh");
  expect(await run(folder, "zsh", ["-n", "script.zsh"])).toMatchObject({ code: 0, stderr: "" });
});

test("another shell is a usage error", async () => {
  expect(await runWebhooks(folder, "completion", "tcsh")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Expected bash or zsh or fish."),
  });
});

async function writeScript(shell: string): Promise<void> {
  const { stdout } = await runWebhooks(folder, "completion", shell);
  writeFileSync(path.join(folder, `script.${shell}`), stdout);
}

function has(shell: string): boolean {
  try {
    execFileSync(shell, ["-c", "exit 0"]);
    return true;
  } catch {
    return false;
  }
}
