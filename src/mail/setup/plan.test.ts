import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseSource } from "../../config/parse/source.ts";
import {
  hideSecrets,
  isDone,
  nameSecret,
  planSetup,
  readTarget,
  type SetupPlan,
  type Wanted,
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

describe("what is planned", () => {
  test.each([
    ["none", `{ hooks: { token: "${TOKEN}" } }`, ["mail"]],
    ["others", `{ hooks: { token: "${TOKEN}", presets: ["github"] } }`, ["github", "mail"]],
    ["it by its name", `{ hooks: { token: "${TOKEN}", presets: ["mail"] } }`, ["mail"]],
    [
      "it with parameters",
      `{ hooks: { token: "${TOKEN}", presets: [{ use: "mail", with: {} }] } }`,
      [{ use: "mail", with: {} }],
    ],
  ])("enables the preset where the configuration has %s", async (_what, text, presets) => {
    writeFileSync(file, text);
    expect(valueOf(await plan()).hooks.presets).toEqual(presets);
  });

  test("turns the hooks on where nothing is said, and leaves off what is off", async () => {
    expect(valueOf(await plan()).hooks).toMatchObject({ enabled: true });
    writeFileSync(file, `{ hooks: { enabled: false, token: "${TOKEN}" } }`);
    expect(valueOf(await plan()).hooks).toMatchObject({ enabled: false, token: TOKEN });
  });

  test("takes what an earlier run made as the tokens", async () => {
    mkdirSync(path.join(folder, ".webhooks"));
    for (const name of ["hook-token", "gateway-token"])
      writeFileSync(path.join(folder, ".webhooks", name), `${TOKEN}\n`);
    const { after, unwritten } = await plan();
    expect(after).toContain('token: "${file:.webhooks/hook-token}"');
    expect([...unwritten.keys()]).toEqual([]);
  });

  test("gives the operator a token where the configuration begins, and leaves one that is there alone", async () => {
    const { after, unwritten } = await plan();
    expect(parseSource(file, after).value).toMatchObject({
      gateway: { auth: { token: "${file:.webhooks/gateway-token}" } },
    });
    expect([...unwritten.keys()].map((secret) => path.basename(secret))).toEqual(["hook-token", "gateway-token"]);
    expect(new Set(unwritten.values()).size).toBe(2);
    writeFileSync(file, "{ log: {} }");
    expect(parseSource(file, (await plan()).after).value).not.toHaveProperty("gateway");
  });

  test("changes the mailbox alone, key by key, and nothing the second time", async () => {
    const old =
      '{ hooks: { enabled: true, token: "x", presets: ["mail"], mail: { lookback: "1d", source: { kind: "imap", /* a */ host: "old.example", port: 1, user: "ann", password: "${file:secret}" } } } }';
    writeFileSync(file, old);
    const { after } = await plan();
    expect(after).toBe(old.replace("old.example", "imap.example.com").replace("port: 1, ", ""));
    writeFileSync(file, after);
    expect(isDone(await plan())).toBe(true);
  });
});

describe("what is written", () => {
  test("is refused whole where the file was changed meanwhile", async () => {
    writeFileSync(file, "{}");
    const secret = path.join(folder, "secret");
    const planned = await plan({ unwritten: new Map([[secret, "x\n"]]) });
    writeFileSync(file, "{ }");
    expect(() => writeSetup(planned)).toThrow(/changed meanwhile/);
    expect(readFileSync(file, "utf8")).toBe("{ }");
    expect(() => readFileSync(secret)).toThrow(/ENOENT/);
  });

  test("is a secret alone where only that is new", async () => {
    const secret = path.join(folder, "secret");
    writeSetup(await plan({ unwritten: new Map([[secret, "one\n"]]) }));
    const next = await plan({ unwritten: new Map([[secret, "two\n"]]) });
    expect([isDone(next), next.before === next.after]).toEqual([false, true]);
    writeSetup(next);
    expect(readFileSync(secret, "utf8")).toBe("two\n");
  });
});

test.each([
  [{ kind: "env", name: "PW" } as const, "${PW}"],
  [{ kind: "file", file: "/etc/secrets/pw" } as const, "${file:/etc/secrets/pw}"],
  [{ kind: "file", file: "/srv/hooks/secrets/pw" } as const, "${file:secrets/pw}"],
  [{ kind: "file", file: "/srv/hooks2/pw" } as const, "${file:/srv/hooks2/pw}"],
  [{ kind: "text", text: "hunter2" } as const, "${file:.webhooks/pw}"],
])("a secret of %j is named %s", (place, reference) => {
  const named = nameSecret(place, { baseDir: "/srv/hooks", ownFile: "/srv/hooks/.webhooks/pw" });
  expect(named.reference).toBe(reference);
  expect(named.unwritten).toEqual(place.kind === "text" ? ["/srv/hooks/.webhooks/pw", "hunter2\n"] : undefined);
});

test.each(["A B", "1A", "A}", "A}${file:/etc/passwd", ""])("%j is no name of a variable", (name) => {
  expect(() => nameSecret({ kind: "env", name }, { baseDir: "/", ownFile: "/x" })).toThrow(/no name/);
});

test("what a configuration keeps secret is hidden, whatever is called so", () => {
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

async function plan(wanted: Partial<Wanted> = {}): Promise<SetupPlan> {
  return planSetup(await readTarget(file), { source: SOURCE, settings: {}, unwritten: new Map(), ...wanted });
}

function valueOf({ after }: SetupPlan): { hooks: Record<string, unknown> } {
  return parseSource(file, after).value as { hooks: Record<string, unknown> };
}
