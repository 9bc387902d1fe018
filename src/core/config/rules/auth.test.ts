import { expect, test } from "vitest";
import { findProblems } from "../../../../test/support/config.ts";
import { builtInDrivers } from "../../../service/drivers.ts";
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

test("a plain scheme needs dedupe, or there is a warning that names what to set", async () => {
  const warningsOf = async (auth: MappingInput["auth"], more?: MappingInput) =>
    (await findProblems(withAuth(auth, more))).warnings;
  expect(await warningsOf({ scheme: "telegram", secret: SECRET })).toEqual([
    `${AUTH}: The scheme telegram is plain: a request that is sent again runs again. To prevent that, set dedupe to "{{payload.update_id}}".`,
  ]);
  expect(await warningsOf({ scheme: "telegram", secret: SECRET }, { dedupe: "{{payload.update_id}}" })).toEqual([]);
  const hmac = { scheme: "hmac", secret: SECRET, header: "X-Signature" };
  for (const plain of [{ scheme: "dropbox", secret: SECRET }, { scheme: "asana", secret: SECRET }, hmac]) {
    expect(await warningsOf(plain)).toEqual([
      expect.stringMatching(/set dedupe to the event's id, or .* replay: "signature"\.$/),
    ]);
    expect(await warningsOf({ ...plain, replay: "signature" })).toEqual([]);
  }
  const timed = { ...hmac, signed: ["timestamp", ".", "body"], timestampHeader: "X-Time" };
  for (const signed of [timed, { scheme: "github", secret: SECRET }, { scheme: "grafana", secret: SECRET }]) {
    expect(await warningsOf(signed)).toEqual([]);
  }
});

test('a secret that requests show cannot be remembered: replay: "signature" is refused', async () => {
  for (const scheme of ["gitlab", "telegram", "token", "github"]) {
    const { errors } = await findProblems(withAuth({ scheme, secret: SECRET, replay: "signature" }));
    expect(errors).toEqual([expect.stringContaining(`${AUTH}.replay: The key "replay" is unknown`)]);
  }
});

test("a secret that is a hook token is warned of", async () => {
  const { warnings } = await findProblems(withAuth({ scheme: "stripe", secret: "a-hook-token-of-good-length" }));
  expect(warnings).toEqual([expect.stringContaining(`${AUTH}.secret: This secret is also a hook token`)]);
});

test.each<[MappingInput["auth"], string]>([
  [{ scheme: "github" }, `${AUTH}.secret: This value is required.`],
  [{ scheme: "github", secret: "" }, `${AUTH}.secret: This value must not be blank.`],
  [{ scheme: "github", secret: [] }, `${AUTH}.secret: This value must not be empty.`],
  [{ scheme: "github", secret: [SECRET, " \n"] }, `${AUTH}.secret[1]: This value must not be blank.`],
  [
    { scheme: "github", secret: "the-token-of-the-gateway" },
    `${AUTH}.secret: This secret must not be the same as gateway.auth.token`,
  ],
  [{ scheme: "githubb", secret: SECRET }, `${AUTH}.scheme: This value is unknown; did you mean "github"?`],
  [
    { scheme: "github", secret: SECRET, secrt: SECRET },
    `${AUTH}.secrt: The key "secrt" is unknown; did you mean "secret"?`,
  ],
])("%j is refused", async (auth, problem) => {
  const { errors } = await findProblems(withAuth(auth));
  expect(errors).toEqual([expect.stringContaining(problem)]);
  expect(errors.join()).not.toContain(SECRET);
});

test("it needs a path", async () => {
  const { errors } = await findProblems(withAuth({ scheme: "github", secret: SECRET }, { match: { source: "x" } }));
  expect(errors).toEqual([
    `${AUTH}: A mapping with auth needs match.path, because auth is about the requests to one path.`,
  ]);
});

test("a short secret is warned of, and is not printed", async () => {
  const { warnings } = await findProblems(withAuth({ scheme: "stripe", secret: "hunter2" }));
  expect(warnings).toEqual([
    `${AUTH}.secret: This secret is shorter than 16 characters and could be guessed. Use a longer one.`,
  ]);
});

test("references in secrets are resolved", async () => {
  const config = withAuth({ scheme: "github", secret: ["${NEW}", "${OLD:-}"] });
  expect((await findProblems(config, { env: { NEW: SECRET } })).errors).toEqual([
    `${AUTH}.secret[1]: This value must not be blank.`,
  ]);
  expect((await findProblems(config)).errors).toEqual([
    `${AUTH}.secret[0]: The environment variable NEW is not set. Set it.`,
    `${AUTH}.secret[1]: This value must not be blank.`,
  ]);
});

test("a scheme that signs the address needs it", async () => {
  const schemes = Object.entries(builtInDrivers.providers).flatMap(([name, { signsUrl }]) =>
    signsUrl?.({ signed: [] }) ? name : [],
  );
  expect(schemes).toContain("twilio");
  const hmac = { header: "X-Signature", signed: ["url", "body"], replay: "signature" };
  for (const scheme of [...schemes, "hmac"]) {
    const auth = { scheme, secret: SECRET, ...(scheme === "hmac" && hmac) };
    expect((await findProblems(withAuth(auth))).errors).toEqual([
      `${AUTH}.url: Set this or gateway.publicUrl, because ${scheme} signs the address that it posts to.`,
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
    presets: [{ use: "twilio", with: { secret: SECRET, from: "anyone" } }],
  };
  expect((await findProblems({ hooks })).errors).toEqual([
    "gateway.publicUrl: The preset twilio requires gateway.publicUrl, because its sender signs the address that it posts to.",
  ]);
});
