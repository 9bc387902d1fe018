import { afterEach, describe, expect, test } from "vitest";
import * as fc from "../../../../test/support/property.ts";
import { toCompiled, toConfig, toRequest } from "../../../../test/support/mapping.ts";
import type { MappingInput, UserConfig } from "../../config/schema/generated.ts";
import { createId } from "../../shared/id.ts";
import type { TransformOutcome } from "../../transforms/runner.ts";
import { createMappingIndex } from "../mapping-index.ts";
import { resolveRequest } from "../resolve-request.ts";
import { SESSION_RULES } from "./session-keys.ts";

type Tokens = NonNullable<NonNullable<UserConfig["hooks"]>["tokens"]>;

/** A mapping whose sender signs as nobody else, with this sessionKey. */
function signed(path: string, sessionKey?: string, more: MappingInput = {}): MappingInput {
  const auth = { scheme: "github", secret: `secret-of-${path}` } as const;
  return { id: path, match: { path }, auth, messageTemplate: "x", sessionKey, ...more };
}

const open = (path: string, sessionKey?: string, more: MappingInput = {}): MappingInput => ({
  id: path,
  match: { path },
  messageTemplate: "x",
  sessionKey,
  ...more,
});

interface Sent {
  hook: string;
  payload?: object;
  credential?: string;
  mappings?: MappingInput[];
  hooks?: UserConfig["hooks"];
  /** The transform's key. */
  returned?: string;
}

const SECRET = "secret-of-a-token-000000000000";
const TOKENS: Tokens = { ci: { secret: SECRET, hooks: ["agent", "builds"] }, desk: { secret: `${SECRET}1` } };

/** Gives the key of the session that a request leads to. */
function openHooks({ mappings = [], hooks = {} }: Pick<Sent, "mappings" | "hooks">) {
  const config = toConfig({ hooks: { tokens: TOKENS, ...hooks } });
  const compiled = mappings.map((mapping, index) => ({
    ...toCompiled(mapping, index),
    credential: mapping.auth && `auth:${mapping.match?.path}`,
  }));
  const index = createMappingIndex(compiled, config.hooks);
  return async ({ hook, payload = {}, credential, returned }: Sent): Promise<string> => {
    const isSigned = mappings.some(({ match, auth }) => match?.path === hook && auth);
    const own = isSigned ? `auth:${hook}` : "token:default";
    const { actions } = await resolveRequest(toRequest(hook, payload, { credential: credential ?? own }), {
      mappings: index,
      config,
      channels: undefined,
      run: async (): Promise<TransformOutcome> => ({ value: { sessionKey: returned }, log: [], runMs: 0 }),
      readMail: () => Promise.reject(new Error("no mail")),
    });
    const [action] = actions;
    return action?.kind === "agent" ? action.sessionKey : "";
  };
}

const keyOf = (sent: Sent): Promise<string> => openHooks(sent)(sent);

const UUID = "hook:019a6f00-1c00-7000-8000-0123456789ab";

describe("a request to agent", () => {
  const ask = (sessionKey: string | undefined, sent: Partial<Sent> = {}): Promise<string> =>
    keyOf({ hook: "agent", payload: { message: "x", sessionKey }, credential: "token:ci", ...sent });
  const withPrefix = (sessionPrefix: string) => ({
    hooks: { tokens: { ...TOKENS, ci: { ...TOKENS["ci"]!, sessionPrefix } } },
  });

  test.each<[string, string, Partial<Sent>, string]>([
    ["a limited token", "builds", {}, "token:ci:builds"],
    ["a limited token that names its prefix", "token:ci:builds", {}, "token:ci:builds"],
    ["the key of another sender", "hook:github:acme/web#1", {}, "token:ci:hook:github:acme/web#1"],
    ["the main session", "main", {}, "token:ci:main"],
    ["a written prefix", "builds", withPrefix("ci:"), "ci:builds"],
    ["a written prefix that covers others", "hook:github:1", withPrefix("hook:"), "hook:github:1"],
    ["any session", "builds", withPrefix(""), "builds"],
    ["any session but the main one", "MAIN", withPrefix(""), "hook:main"],
    ["a session that it was told of", UUID, {}, UUID],
    ["a token without hooks", "builds", { credential: "token:desk" }, "builds"],
    ["hooks.token", "builds", { credential: "token:default" }, "builds"],
  ])("%s", async (_, sessionKey, sent, expected) => expect(await ask(sessionKey, sent)).toBe(expected));

  test("a written prefix does not cover the sessions of mappings that it cannot reach", async () => {
    const mappings = [signed("github", "hook:github:{{id}}"), open("builds", "hook:builds:{{id}}")];
    const sent = { mappings, ...withPrefix("hook:") };
    expect(await ask("hook:github:1", sent)).toBe("token:ci:hook:github:1");
    expect(await ask("hook:builds:1", sent)).toBe("hook:builds:1");
    expect(await ask("hook:github", sent)).toBe("hook:github");
  });

  test("a request that names no key gets its own session, or the default one, without a prefix", async () => {
    expect(await ask(undefined)).toMatch(/^hook:[\da-f-]{36}$/);
    expect(await ask(undefined, { hooks: { tokens: TOKENS, defaultSessionKey: "desk" } })).toBe("desk");
  });

  test("hooks.allowedSessionKeyPrefixes is about the key that was asked for", async () => {
    const hooks = { tokens: TOKENS, allowedSessionKeyPrefixes: ["hook:"] };
    expect(await ask("hook:x", { hooks })).toBe("token:ci:hook:x");
    await expect(ask("x", { hooks })).rejects.toMatchObject({ code: "session_key_refused" });
  });

  test("a key that becomes too long is cut, and ends with a hash of the whole", async () => {
    const keys = await Promise.all(["a", "b"].map((end) => ask(`${"k".repeat(255)}${end}`)));
    for (const key of keys) expect(key).toMatch(/^token:ci:k{182}~[\da-f]{64}$/);
    expect(new Set(keys).size).toBe(2);
  });
});

describe("a mapping that a limited credential reaches", () => {
  const transform = { module: "check.ts" };

  test.each<[string, MappingInput, Partial<Sent>, string]>([
    ["the constant start of sessionKey", signed("a", "ci:{{id}}"), { payload: { id: 1 } }, "ci:1"],
    ["with a transform", signed("a", "ci:{{id}}", { transform }), { returned: "x" }, "ci:x"],
    ["a transform that keeps to it", signed("a", "ci:{{id}}", { transform }), { returned: "ci:x" }, "ci:x"],
    ["a fixed path counts", signed("a", "hook:{{path}}:{{id}}", { transform }), { returned: "x" }, "hook:/hooks/a:x"],
    ["a start of one character does not", signed("a", ":{{id}}"), { payload: { id: 1 } }, "hook:a::1"],
    ["a start that ends with a letter does not", signed("a", "ci{{id}}"), { payload: { id: 1 } }, "hook:a:ci1"],
    ["no start", signed("a", "{{id}}"), { payload: { id: "ci:1" } }, "hook:a:ci:1"],
    ["no sessionKey", signed("a", undefined, { transform }), { returned: "x" }, "hook:a:x"],
    ["no path", { ...signed("a", "{{id}}"), match: {} }, { payload: { id: 1 } }, "hook:a:1"],
    ["a whole key of the configuration", signed("a", "desk"), {}, "desk"],
    ["a written prefix", signed("a", "{{id}}", { sessionPrefix: "incident:" }), { payload: { id: 1 } }, "incident:1"],
    ["any session", signed("a", "{{id}}", { sessionPrefix: "" }), { payload: { id: "ci:1" } }, "ci:1"],
    ["never the main one", signed("a", "{{id}}", { sessionPrefix: "" }), { payload: { id: "Main" } }, "hook:main"],
    ["a session that the sender was told of", signed("a", "{{id}}"), { payload: { id: UUID } }, UUID],
    ["by a token with hooks", open("builds", "{{id}}"), { payload: { id: 1 }, hook: "builds" }, "hook:builds:1"],
    ["no limited one", open("a", "{{id}}"), { payload: { id: 1 } }, "1"],
    ["none, but a prefix", open("a", "{{id}}", { sessionPrefix: "a/" }), { payload: { id: 1 } }, "a/1"],
  ])("%s", async (_, mapping, sent, expected) => {
    const credential = mapping.match?.path === undefined ? "auth:undefined" : undefined;
    expect(await keyOf({ hook: "a", credential, mappings: [mapping], ...sent })).toBe(expected);
  });

  test("a written sessionPrefix makes a transform's keys those of the operator", async () => {
    const hooks = { allowRequestSessionKey: false };
    const sent = (more: MappingInput): Promise<string> =>
      keyOf({ hook: "a", mappings: [signed("a", undefined, { transform, ...more })], hooks, returned: "ci:x" });
    expect(await sent({ sessionPrefix: "ci:" })).toBe("ci:x");
    await expect(sent({})).rejects.toMatchObject({ code: "session_key_refused" });
  });

  test("a key of another mapping is moved out of its way, also if the payload names it", async () => {
    const mappings = [signed("a", "hook:{{id}}"), signed("github", "hook:github:{{id}}"), signed("ops", "hook:desk")];
    const from = (id: string): Promise<string> => keyOf({ hook: "a", payload: { id }, mappings });
    expect(await from("1")).toBe("hook:1");
    expect(await from("github:acme/web#1")).toBe("hook:a:hook:github:acme/web#1");
    expect(await from("desk")).toBe("hook:a:hook:desk");
    expect(await from("desk1")).toBe("hook:desk1");
  });

  test("what is moved is moved out of the way of a path that goes on, too", async () => {
    const mappings = [signed("a", "hook:{{id}}"), signed("a:hook", "{{id}}")];
    expect(await keyOf({ hook: "a", mappings, payload: { id: "a:hook:x" } })).toMatch(/^hook:a:[\da-f]{64}$/);
  });

  test("where keys of a mapping with a prefix are moved to is its own", async () => {
    const mappings = [signed("a", "hook:{{id}}"), signed("b", "{{id}}", { sessionPrefix: "incident:" })];
    expect(await keyOf({ hook: "a", mappings, payload: { id: "b:x" } })).toBe("hook:a:hook:b:x");
  });

  test("one prefix is shared, if it is written", async () => {
    const keys = (more: MappingInput, other = more) =>
      Promise.all(
        ["a", "b"].map((hook) =>
          keyOf({ hook, payload: { id: 1 }, mappings: [signed("a", "{{id}}", more), signed("b", "{{id}}", other)] }),
        ),
      );
    expect(await keys({})).toEqual(["hook:a:1", "hook:b:1"]);
    expect(await keys({ sessionPrefix: "incident:" })).toEqual(["incident:1", "incident:1"]);
    expect(await keys({ sessionKey: "incident:{{id}}" })).toEqual(["incident:1", "incident:1"]);
  });

  test("two senders of one path share no default", async () => {
    const auth = { scheme: "gitlab", secret: "secret-of-another" } as const;
    const mappings = [signed("a", "{{id}}"), signed("a", "{{id}}", { id: "other", auth })];
    const compiled = mappings.map((mapping, index) => ({ ...toCompiled(mapping, index), credential: `auth:${index}` }));
    const { sessions } = createMappingIndex(compiled);
    expect(compiled.map((mapping) => sessions.ofMapping(mapping)?.prefix)).toEqual(["hook:a:a:", "hook:a:other:"]);
  });
});

// Three senders, each with its own secret, and a token, whose templates, prefixes and keys anybody may have chosen.
const PARTS = ["hook:", "a", "b", "a:", "b:", ":", "ci:", "token:t:", "{{id}}", "{{path}}", "main"];
const text = fc
  .array(fc.constantFrom(...PARTS.slice(0, 8)), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(""));
const template = fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
const path = fc.constantFrom("a", "b", "a:b", "a:hook");

const scenario = fc.record({
  paths: fc.uniqueArray(path, { minLength: 3, maxLength: 3 }),
  templates: fc.tuple(template, template, template),
  names: fc.array(text, { minLength: 4, maxLength: 8 }),
});

interface Senders {
  paths: string[];
  templates: string[];
  names: string[];
}

/** Where two senders meet although nobody has written that they share. */
async function findMeeting({ paths, templates, names }: Senders): Promise<string | undefined> {
  const hooks = { tokens: { t: { secret: SECRET, hooks: ["agent"] } } };
  const send = openHooks({ mappings: paths.map((at, index) => signed(at, templates[index])), hooks });
  const seen = new Map<string, number>();
  // The next round: each names the keys that others have got.
  let round = names;
  for (let turn = 0; turn < 2; turn++) {
    const next: string[] = [];
    const sent = [0, 1, 2, 3].flatMap((from) => round.map((id) => ({ from, id })));
    for (const { from, id } of sent) {
      const asked = { hook: "agent", payload: { message: "x", sessionKey: id }, credential: "token:t" };
      const key = await send(from === 3 ? asked : { hook: paths[from] ?? "", payload: { id } });
      const other = seen.get(key) ?? from;
      if (other !== from && !isWritten(other, from, key)) return `${other} and ${from}: ${key}`;
      seen.set(key, from);
      next.push(key, key.replace(/^hook:/, ""));
    }
    round = next.slice(0, 12);
  }
  return undefined;

  /** The same start, the same whole key, the key of a run, or a start that somebody wrote like another's own. */
  function isWritten(one: number, other: number, key: string): boolean {
    const starts = [one, other].map((at) => startOf(at));
    const own = [one, other].map((at) => (at === 3 ? "token:t:" : `hook:${paths[at]}:`));
    const isBoth = starts[0] === starts[1];
    return isBoth || OWN.test(key) || starts.some((start, index) => start === own[1 - index]);
  }

  function startOf(at: number): string {
    const whole = at === 3 ? "token:t:" : (templates[at] ?? "").replaceAll("{{path}}", `/hooks/${paths[at]}`);
    return whole.split("{{")[0] ?? "";
  }
}

/** The session of one run, and the one in place of the main session. */
const OWN = /^hook:(?:main|[\da-f-]{36})$/;

test("keys of two limited credentials meet only if that is written", async () => {
  const property = fc.asyncProperty(scenario, async (given) => {
    expect(await findMeeting(given)).toBeUndefined();
  });
  await fc.assert(property, { numRuns: 200 });
});

describe("each rule is needed", () => {
  const original = { ...SESSION_RULES };
  afterEach(() => void Object.assign(SESSION_RULES, original));

  const github = signed("github", "hook:github:{{id}}");
  test.each<[keyof typeof SESSION_RULES, boolean, Sent, string]>([
    ["isTold", false, { hook: "a", payload: { id: UUID }, mappings: [signed("a", "{{id}}")] }, UUID],
    [
      "isOfScope",
      true,
      { hook: "a", payload: { id: "hook:github:1" }, mappings: [signed("a", "{{id}}")] },
      "hook:a:hook:github:1",
    ],
    [
      "isOfOthers",
      false,
      { hook: "a", payload: { id: "github:1" }, mappings: [signed("a", "hook:{{id}}"), github] },
      "hook:a:hook:github:1",
    ],
  ])("%s", async (rule, answer, sent, expected) => {
    expect(await keyOf(sent)).toBe(expected);
    SESSION_RULES[rule] = () => answer;
    expect(await keyOf(sent)).not.toBe(expected);
  });
});

test("only ids of the service make a session of its own", () => {
  expect(SESSION_RULES.isTold(`hook:${createId()}`)).toBe(true);
  expect(SESSION_RULES.isTold(`hook:${crypto.randomUUID()}`)).toBe(false);
});
