/** The scripts of `webhooks completion`; those of fish and zsh are among the system tests. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run, runWebhooks } from "./support/cli.ts";
import { PROGRAM } from "./support/program.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-completion-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** In bash: the words that Tab offers after each line, one a line, and a line of `--` after those of a line. */
const BASH = `source ./script.bash
while IFS= read -r line; do
  IFS=$'\\t' read -ra COMP_WORDS <<< "$line"
  [[ $line == *$'\\t' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _hookline
  printf '%s\\n' "\${COMPREPLY[@]}" --
done
`;

const CASES: [string[], RegExp][] = [
  [["webhooks", ""], /^init\n[^]*^completion\n[^]*^--version\n/m],
  [["webhooks", "ch"], /^check\nchannels$/],
  [["webhooks", "events", "re"], /^replay$/],
  [["webhooks", "events", "list", "--hook", "list", "--s"], /^--status\n--since$/],
  [["webhooks", "events", "list", "--config", ""], /^$/],
  [["webhooks", "presets", "enable", "github", "--gen"], /^--generate$/],
  [["hookline", "ch"], /^check\nchannels$/],
];

test("bash completes commands, subcommands and options", async () => {
  await writeScript("bash");
  const input = CASES.map(([words]) => `${words.join("\t")}\n`).join("");
  const { stdout, code, stderr } = await run(folder, "bash", ["--norc", "-c", BASH], { input });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const offered = stdout.split(/^--\n/m).map((words) => words.trim());
  expect(offered.slice(0, -1)).toEqual(CASES.map(([, expected]) => expect.stringMatching(expected)));
});

test("bash completes the hooks of the configuration", async () => {
  const mappings = [{ match: { path: "deploys" }, messageTemplate: "x" }];
  writeFileSync(path.join(folder, "webhooks.json"), JSON.stringify({ hooks: { mappings } }));
  writeFileSync(path.join(folder, "hookline"), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`, {
    mode: 0o755,
  });
  await writeScript("bash");
  const env = { PATH: `${folder}:${process.env["PATH"]}` };
  const input = "hookline\tsend\tde\nhookline\ttry\tde\nhookline\tsend\tdeploys\tde\n";
  const { stdout } = await run(folder, "bash", ["--norc", "-c", BASH], { input, env });
  expect(stdout).toBe("deploys\n--\ndeploys\n--\n--\n");
});

test.each(["hookline", "webhooks"])("bash completes the command %s", async (command) => {
  await writeScript("bash");
  const { stdout } = await run(folder, "bash", ["--norc", "-c", `source ./script.bash; complete -p ${command}`]);
  expect(stdout).toBe(`complete -o bashdefault -o default -F _hookline ${command}\n`);
});

test("another shell is a usage error", async () => {
  expect(await runWebhooks(folder, "completion", "tcsh")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Expected bash or zsh or fish."),
  });
});

async function writeScript(shell: "bash"): Promise<void> {
  const { stdout } = await runWebhooks(folder, "completion", shell);
  writeFileSync(path.join(folder, `script.${shell}`), stdout);
}
