import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hideSecrets, isDone, toFileReference, toVariableReference, writePlan } from "./plan.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-edit-"));
  file = path.join(folder, "webhooks.json5");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("writePlan", () => {
  test("writes nothing if the file has changed", async () => {
    writeFileSync(file, "{}");
    const secret = path.join(folder, "secret");
    const planned = { file, before: "{}", after: "{ log: {} }", secretFiles: new Map([[secret, "x\n"]]) };
    writeFileSync(file, "{ }");
    expect(() => writePlan(planned)).toThrow(/changed in the meantime/);
    expect(readFileSync(file, "utf8")).toBe("{ }");
    expect(() => readFileSync(secret)).toThrow(/ENOENT/);
  });

  test("writes only the secret if only that is new", async () => {
    const secret = path.join(folder, "secret");
    writeFileSync(secret, "one\n");
    writeFileSync(file, "{}");
    const next = { file, before: "{}", after: "{}", secretFiles: new Map([[secret, "two\n"]]) };
    expect(isDone(next)).toBe(false);
    writePlan(next);
    expect(readFileSync(secret, "utf8")).toBe("two\n");
    expect(isDone(next)).toBe(true);
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

test("hideSecrets hides private keys, and what signs in to an address", () => {
  const text = `{
  gateway: { mcp: { key: ["s1", "s2"] } }, hooks: { mappings: [{ coalesce: { key: "shown" } }] },
  channels: { github: { app: { id: "shown", key: "s3" } }, "github:work": { app: { id: "shown", key: "s4" } } },
  agents: { tools: { t: { kind: "mcp", url: "https://mcp.example.com/?api_key=s5" } }, providers: { "my-token": "s6" } },
  store: { url: "postgres://user:s7@s8@db.example.com/shown", password: "\${PW}" },
}`;
  const shown = hideSecrets("x.json5", text);
  expect(shown).not.toMatch(/s\d/);
  expect(shown.match(/shown/g)).toHaveLength(4);
  expect(shown).toContain("@db.example.com/");
  expect(shown).toContain("${PW}");
});
