import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseSource } from "../../config/parse/source.ts";
import {
  addMailbox,
  findMailboxes,
  hideSecrets,
  isDone,
  planSetup,
  readTarget,
  type SetupPlan,
  toFileReference,
  toVariableReference,
  type WantedMail,
  writeSetup,
} from "./plan.ts";

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

describe("writeSetup", () => {
  test("writes nothing if the file has changed", async () => {
    writeFileSync(file, "{}");
    const secret = path.join(folder, "secret");
    const planned = plan({ secretFiles: new Map([[secret, "x\n"]]) });
    writeFileSync(file, "{ }");
    expect(() => writeSetup(planned)).toThrow(/changed in the meantime/);
    expect(readFileSync(file, "utf8")).toBe("{ }");
    expect(() => readFileSync(secret)).toThrow(/ENOENT/);
  });

  test("writes only the secret if only that is new", async () => {
    const secret = path.join(folder, "secret");
    writeSetup(plan({ secretFiles: new Map([[secret, "one\n"]]) }));
    const next = plan({ secretFiles: new Map([[secret, "two\n"]]) });
    expect([isDone(next), next.before === next.after]).toEqual([false, true]);
    writeSetup(next);
    expect(readFileSync(secret, "utf8")).toBe("two\n");
  });
});

test.each([
  ["/etc/secrets/pw", "${file:/etc/secrets/pw}"],
  ["/srv/hooks/secrets/pw", "${file:secrets/pw}"],
  ["/srv/hooks2/pw", "${file:/srv/hooks2/pw}"],
])("the reference to %s is %s", (place, reference) => {
  expect(toFileReference(place, "/srv/hooks")).toBe(reference);
});

test("the reference to a variable", () => {
  expect(toVariableReference("PW")).toBe("${PW}");
});

test.each(["A B", "1A", "A}", "A}${file:/etc/passwd", ""])("%j is not a valid variable name", (name) => {
  expect(() => toVariableReference(name)).toThrow(/not the name/);
});

test("hideSecrets hides every secret of a configuration", () => {
  const text = `{
  gateway: { auth: { token: "s1" } }, hooks: { token: "\${TOKEN}", mail: { source: { password: 's2\\x41', oauth: { clientSecret: "s3", refreshToken: "s4", tokenUrl: "https://shown" } } },
    presets: [{ use: "github", with: { secret: ["s5", "s6"] } }], mappings: [{ transform: { module: "shown", secrets: { ANY: "s7" } } }] },
  agents: { providers: { p: { apiKey: "s8", headers: { "x-any": "s9" }, env: { ANY: "s10" } } } }, channels: { msteams: { appPassword: "s11" } },
}`;
  const shown = hideSecrets("x.json5", text);
  expect(shown).not.toMatch(/s\d/);
  expect(shown.match(/shown/g)).toHaveLength(2);
  expect(shown).toContain("${TOKEN}");
});

function plan(wanted: Partial<WantedMail> = {}): SetupPlan {
  const target = readTarget(file, process.env);
  return planSetup(target, {
    mailbox: findMailboxes(target)[0] ?? addMailbox(target),
    source: SOURCE,
    settings: {},
    secretFiles: new Map(),
    ...wanted,
  });
}

function valueOf({ after }: SetupPlan): { hooks: Record<string, unknown> } {
  return parseSource(file, after).value as { hooks: Record<string, unknown> };
}
