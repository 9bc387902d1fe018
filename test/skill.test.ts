/** `docs/skill/SKILL.md`: a scripted assistant runs its commands, in order, for senders that it has a payload of. */
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { createProgram } from "../src/cli/all-commands.ts";
import { leafCommands, nameOf } from "../src/cli/command-list.ts";
import { createTestIo, runWebhooks } from "./support/cli.ts";

const root = path.join(import.meta.dirname, "..");
const skill = readFileSync(path.join(root, "docs/skill/SKILL.md"), "utf8");
/** Without `npx hookline`. */
const commands = Array.from(skill.matchAll(/^npx hookline (.*)$/gm), ([, command = ""]) => command);

const folder = mkdtempSync(path.join(tmpdir(), "hookline-skill-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a new folder leads assistants to it", async () => {
  expect(await runWebhooks(folder, "init", "--yes")).toMatchObject({ code: 0 });
  const [, file = ""] = /read\n(\S+SKILL\.md)/.exec(readFileSync(path.join(folder, "AGENTS.md"), "utf8")) ?? [];
  expect(readFileSync(file, "utf8")).toBe(skill);
});

test("its commands exist, with their options", () => {
  const known = leafCommands(createProgram(createTestIo(folder).io));
  for (const line of commands) {
    const command = known.find((each) => line.startsWith(`${nameOf(each)} `));
    const options = line.split(" ").filter((word) => word.startsWith("--"));
    expect([line, command?.options.map(({ long }) => long)]).toEqual([line, expect.arrayContaining(options)]);
    expect(options).toContain("--json");
  }
});

/** They wait for a sender, or need a running service with events. */
const LATER = /^(?:record|events list|diff) /;

const SENDERS = ["grafana", "stripe"];

test.each(SENDERS)("following it connects a sender with a payload of %s", async (preset) => {
  const [found = ""] = globSync(`presets/${preset}/samples/*.json`, {
    cwd: root,
    exclude: (name) => /\.(?:expected|request)\.json$/.test(name),
  }).toSorted();
  cpSync(path.join(root, found), path.join(folder, `${preset}.json`));
  // The name is that of no preset: the sender is unknown.
  const values = { "<name>": `own-${preset}`, "<payload>": `${preset}.json`, "<sender>": preset };
  for (const line of commands.filter((command) => !LATER.test(command))) {
    const words = line.split(" ").map((word) => values[word as keyof typeof values] ?? word);
    const { code, stdout } = await runWebhooks(folder, ...words);
    expect([line, code, JSON.parse(stdout)]).toEqual([line, 0, expect.anything()]);
  }
  expect(await runWebhooks(folder, "test", `own-${preset}`)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^1 passed, 0 failed$/m),
  });
});
