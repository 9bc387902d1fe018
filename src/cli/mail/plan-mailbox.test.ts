import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseSource } from "../../core/config/parse/source.ts";
import { type ConfigPlan, isDone } from "../../service/authoring/plan.ts";
import { readTarget } from "../../service/authoring/target.ts";
import { addMailbox, findMailboxes, planSetup, type WantedMail } from "./plan-mailbox.ts";

const TOKEN = "0123456789012345678901234";
const SOURCE = {
  kind: "imap",
  host: "imap.example.com",
  user: "ann",
  password: "${file:secret}",
  port: undefined,
};

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-plan-"));
  file = path.join(folder, "webhooks.json5");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("planSetup", () => {
  test.each([
    ["no presets", `{ hooks: { token: "${TOKEN}" } }`, ["mail"]],
    ["other presets", `{ hooks: { token: "${TOKEN}", presets: ["github"] } }`, ["github", "mail"]],
    ["mail", `{ hooks: { token: "${TOKEN}", presets: ["mail"] } }`, ["mail"]],
    [
      "mail with parameters",
      `{ hooks: { token: "${TOKEN}", presets: [{ use: "mail", with: {} }] } }`,
      [{ use: "mail", with: {} }],
    ],
  ])("enables the preset in a configuration with %s", async (_what, text, presets) => {
    writeFileSync(file, text);
    expect(valueOf(plan()).hooks.presets).toEqual(presets);
  });

  test("enables hooks unless they are disabled", async () => {
    expect(valueOf(plan()).hooks).toMatchObject({ enabled: true });
    writeFileSync(file, `{ hooks: { enabled: false, token: "${TOKEN}" } }`);
    expect(valueOf(plan()).hooks).toMatchObject({ enabled: false, token: TOKEN });
  });

  test("uses the tokens of an earlier run", async () => {
    mkdirSync(path.join(folder, ".webhooks"));
    for (const name of ["hook-token", "gateway-token"])
      writeFileSync(path.join(folder, ".webhooks", name), `${TOKEN}\n`);
    const { after, secretFiles } = plan();
    expect(after).toContain('token: "${file:.webhooks/hook-token}"');
    expect([...secretFiles.keys()]).toEqual([]);
  });

  test("adds a gateway token to a new configuration only", async () => {
    const { after, secretFiles } = plan();
    expect(parseSource(file, after).value).toMatchObject({
      gateway: { auth: { token: "${file:.webhooks/gateway-token}" } },
    });
    expect([...secretFiles.keys()].map((secret) => path.basename(secret))).toEqual(["gateway-token", "hook-token"]);
    expect(new Set(secretFiles.values()).size).toBe(2);
    writeFileSync(file, "{ log: {} }");
    expect(parseSource(file, plan().after).value).not.toHaveProperty("gateway");
  });

  test("changes single keys of the mailbox, and nothing the second time", async () => {
    const old =
      '{ hooks: { enabled: true, token: "x", presets: ["mail"], mail: { lookback: "1d", source: { kind: "imap", /* a */ host: "old.example", port: 1, user: "ann", password: "${file:secret}" } } } }';
    writeFileSync(file, old);
    const { after } = plan();
    expect(after).toBe(old.replace("old.example", "imap.example.com").replace("port: 1, ", ""));
    writeFileSync(file, after);
    expect(isDone(plan())).toBe(true);
  });

  test.each([
    ["webhooks.json5", 'mail: {\n      source: { kind: "imap", user: "bob" }, // Bob\n    },', ["// Bob"]],
    ["webhooks.yaml", "mail:\n    # of Bob\n    source: { kind: imap, user: bob } # Bob", ["# of Bob", "# Bob"]],
    ["webhooks.json5", 'mail: [{ source: { kind: "imap", user: "bob" } /* Bob */ }],', ["/* Bob */"]],
  ])("adds a mailbox to those in %s (%j), with their comments", async (name, mail, comments) => {
    file = path.join(folder, name);
    const lead = name.endsWith("yaml") ? ["hooks:\n  token: x\n  presets: [ mail ]\n  enabled: true\n  ", "\n"] : [];
    const [before = '{\n  hooks: {\n    enabled: true, token: "x", presets: ["mail"],\n    ', after = "\n  },\n}\n"] =
      lead;
    writeFileSync(file, before + mail + after);
    const target = readTarget(file, process.env);
    const added = planSetup(target, {
      mailbox: addMailbox(target),
      name: "ann",
      source: SOURCE,
      settings: { instructions: "Be brief." },
      secretFiles: new Map(),
    });
    const { port: _, ...source } = SOURCE;
    expect(valueOf(added).hooks).toMatchObject({
      mail: [{ source: { user: "bob" } }, { name: "ann", source, instructions: "Be brief." }],
    });
    for (const comment of comments) expect(added.after).toContain(comment);
  });
});

function plan(wanted: Partial<WantedMail> = {}): ConfigPlan {
  const target = readTarget(file, process.env);
  return planSetup(target, {
    mailbox: findMailboxes(target)[0] ?? addMailbox(target),
    source: SOURCE,
    settings: {},
    secretFiles: new Map(),
    ...wanted,
  });
}

function valueOf({ after }: ConfigPlan): { hooks: Record<string, unknown> } {
  return parseSource(file, after).value as { hooks: Record<string, unknown> };
}
