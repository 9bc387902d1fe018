import { expect, test } from "vitest";
import { findProblems } from "../../../test/support/config.ts";
import { builtInDrivers } from "../plugins.ts";
import type { MappingInput, UserConfig } from "../schema/generated.ts";

const SECRET = "a-signing-secret-of-good-length";
const AUTH = "hooks.mappings[0].auth";

function withAuth(
  auth: MappingInput["auth"],
  more: MappingInput = {},
  gateway: UserConfig["gateway"] = {},
): UserConfig {
  const mapping = { match: { path: "github" }, messageTemplate: "x", auth, ...more };
  return {
    gateway: { auth: { token: "the-token-of-the-gateway" }, ...gateway },
    hooks: { enabled: true, token: "a-hook-token-of-good-length", mappings: [mapping] },
  };
}

test("one secret and a list of them are valid", async () => {
  const none = { errors: [], warnings: [] };
  expect(await findProblems(withAuth({ scheme: "stripe", secret: SECRET }))).toEqual(none);
  expect(await findProblems(withAuth({ scheme: "stripe", secret: [SECRET, `${SECRET}-2`] }))).toEqual(none);
});

test("a signature without a time needs dedupe, or there is a warning that names the delivery's id", async () => {
  const auth = { scheme: "github", secret: SECRET };
  const { warnings } = await findProblems(withAuth(auth));
  expect(warnings).toEqual([
    expect.stringMatching(/^hooks\.mappings\[0\]\.auth: .* set dedupe to "\{\{headers\.x-github-delivery\}\}"$/),
  ]);
  expect((await findProblems(withAuth(auth, { dedupe: "{{headers.x-github-delivery}}" }))).warnings).toEqual([]);
  // It shows the secret itself: a recorded request is no better than that.
  expect((await findProblems(withAuth({ scheme: "telegram", secret: SECRET }))).warnings).toEqual([]);
});

test("a secret that is a hook token is warned of", async () => {
  const { warnings } = await findProblems(withAuth({ scheme: "stripe", secret: "a-hook-token-of-good-length" }));
  expect(warnings).toEqual([expect.stringContaining(`${AUTH}.secret: is the same as a hook token`)]);
});

test.each<[MappingInput["auth"], string]>([
  [{ scheme: "github" }, `${AUTH}.secret: is required`],
  [{ scheme: "github", secret: "" }, `${AUTH}.secret: must not be blank`],
  [{ scheme: "github", secret: [] }, `${AUTH}.secret: must not be empty`],
  [{ scheme: "github", secret: [SECRET, " \n"] }, `${AUTH}.secret[1]: must not be blank`],
  [
    { scheme: "github", secret: "the-token-of-the-gateway" },
    `${AUTH}.secret: must not be the same as gateway.auth.token`,
  ],
  [{ scheme: "githubb", secret: SECRET }, `${AUTH}.scheme: is unknown; did you mean "github"?`],
  [{ scheme: "github", secret: SECRET, secrt: SECRET }, `${AUTH}.secrt: unknown key "secrt"; did you mean "secret"?`],
])("%j is refused", async (auth, problem) => {
  const { errors } = await findProblems(withAuth(auth));
  expect(errors).toEqual([expect.stringContaining(problem)]);
  expect(errors.join()).not.toContain(SECRET);
});

test("it needs a path", async () => {
  const { errors } = await findProblems(withAuth({ scheme: "github", secret: SECRET }, { match: { source: "x" } }));
  expect(errors).toEqual([`${AUTH}: needs match.path: it applies to the requests to one path`]);
});

test("a short secret is warned of, and is not printed", async () => {
  const { warnings } = await findProblems(withAuth({ scheme: "stripe", secret: "hunter2" }));
  expect(warnings).toEqual([`${AUTH}.secret: is shorter than 16 characters and could be guessed`]);
});

test("references in secrets are resolved", async () => {
  const config = withAuth({ scheme: "github", secret: ["${NEW}", "${OLD:-}"] });
  expect((await findProblems(config, { env: { NEW: SECRET } })).errors).toEqual([
    `${AUTH}.secret[1]: must not be blank`,
  ]);
  expect((await findProblems(config)).errors).toEqual([
    `${AUTH}.secret[0]: the environment variable NEW is not set`,
    `${AUTH}.secret[1]: must not be blank`,
  ]);
});

test("a scheme that signs the address needs it", async () => {
  const schemes = Object.entries(builtInDrivers.providers).flatMap(([name, { signsUrl }]) => (signsUrl ? name : []));
  for (const scheme of schemes) {
    const auth = { scheme, secret: SECRET };
    expect((await findProblems(withAuth(auth))).errors).toEqual([
      `${AUTH}.url: is required, or gateway.publicUrl: ${scheme} signs the address that it posts to`,
    ]);
    expect((await findProblems(withAuth({ ...auth, url: "hooks.example.com" }))).errors).toHaveLength(1);
    expect((await findProblems(withAuth({ ...auth, url: "https://hooks.example.com/a" }))).errors).toEqual([]);
    expect((await findProblems(withAuth(auth, {}, { publicUrl: "https://hooks.example.com" }))).errors).toEqual([]);
  }
});

test("a preset whose sender signs the address names the key that is missing, once", async () => {
  const hooks = {
    enabled: true,
    token: "a-hook-token-of-good-length",
    presets: [{ use: "twilio", with: { secret: SECRET } }],
  };
  expect((await findProblems({ hooks })).errors).toEqual([
    "gateway.publicUrl: is required by the preset twilio: its sender signs the address that it posts to",
  ]);
});
