import { expect, test } from "vitest";
import { listChecks } from "../../../../.ci/checks.ts";
import { builtInDrivers } from "../../../service/drivers.ts";
import { checkConfigSchema } from "./blocks.ts";
import { toConfigProblem } from "./problems.ts";
import { createCheck } from "./validator.ts";

const auth = (block: unknown): object => ({ hooks: { mappings: [{ match: { path: "x" }, auth: block }] } });
const sentences = (value: unknown): string[] =>
  checkConfigSchema(value, builtInDrivers)
    .map(toConfigProblem)
    .map(({ key, message }) => `${key}: ${message}`);

test.each<[object, string[]]>([
  [{}, []],
  [
    auth({ scheme: "github", secret: "x", sekret: "y" }),
    ['hooks.mappings[0].auth.sekret: The key "sekret" is unknown; did you mean "secret"?'],
  ],
  [
    auth({ scheme: "githup", secret: "x" }),
    ['hooks.mappings[0].auth.scheme: This value is unknown; did you mean "github"?'],
  ],
  [auth({ scheme: "hmac", secret: "x" }), ["hooks.mappings[0].auth.header: This value is required."]],
  [auth("github"), ["hooks.mappings[0].auth: This value must be an object, not a string."]],
  [
    { agents: { providers: { a: { kind: "gateway" }, b: { kind: "openai", apiKey: 1 } } } },
    [
      "agents.providers.a.baseUrl: This value is required.",
      "agents.providers.b.apiKey: This value must be a string, not a number.",
    ],
  ],
  [
    { channels: { slak: {} } },
    [expect.stringMatching(/^channels\.slak: The key "slak" is unknown; did you mean "slack"\?/)],
  ],
  [
    { hooks: { mail: [{ name: "a", source: { kind: "gmial" } }] } },
    ['hooks.mail[0].source.kind: This value must be one of "imap", "gmail".'],
  ],
])("finds what is wrong in the blocks of drivers: %j", (value, problems) => {
  expect(sentences(value)).toEqual(problems);
});

test("fills in the defaults of a driver's block", () => {
  const value = { channels: { email: { host: "mail.example.com", from: "a@example.com" } } };
  expect(sentences(value)).toEqual([]);
  expect(value.channels.email).toEqual({
    host: "mail.example.com",
    from: "a@example.com",
    sentCopy: "auto",
    tls: "implicit",
    dryRun: false,
  });
});

test.each([...listChecks()])("the build's check %s finds what a checkout's finds", (name, { schema, options }) => {
  const built = createCheck(() => expect.unreachable("the build has no such check"), { ...options, built: name });
  const compiled = createCheck(() => schema, options);
  for (const value of [{}, { unknown: 1 }, { secret: 5, token: "", baseUrl: "x" }, []]) {
    const [one, other] = [structuredClone(value), structuredClone(value)];
    expect([built(one), one]).toEqual([compiled(other), other]);
  }
});
