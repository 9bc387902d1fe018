/** `hookline/presets`: the types of payloads, and what makes use of them and of the presets' samples. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findPresets, readPreset, toTypeName } from "../src/core/config/presets/file.ts";
import { listEvents, readPresetSamples } from "../src/service/authoring/sample.ts";
import { type CliResult, run, runWebhooks } from "./support/cli.ts";

const root = path.join(import.meta.dirname, "..");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-preset-types-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("each sample has the type of its event, whose name tells the payloads of a transform apart", async () => {
  const declarations = findPresets().flatMap((preset) => {
    const samples = readPresetSamples(preset);
    const name = toTypeName(preset);
    const hasEvents = listEvents(readPreset(preset).preset, samples).length > 0;
    // Octokit's types have fields that samples may leave out.
    return (preset === "github" ? [] : samples)
      .filter(({ event }) => !hasEvents || event !== undefined)
      .map(({ event, file }, index) => {
        const type = hasEvents ? `presets.${name}<${JSON.stringify(event)}>` : `presets.${name}`;
        return `export const ${name}${index}: ${type} = ${readFileSync(`${file}.json`, "utf8")};`;
      });
  });
  expect(declarations.length).toBeGreaterThan(100);
  await webhooks("transform", "new", "any", "--preset", "mail");
  write("transforms/all.ts", `import type * as presets from "hookline/presets";\n${declarations.join("\n")}\n`);
  write(
    "transforms/narrow.ts",
    `import type { Transform } from "hookline";
import type { Alertmanager, GitHub, GitHubEvents } from "hookline/presets";

export const narrow: Transform<GitHub | Alertmanager> = ({ event, payload }) => {
  if (event === "pull_request.opened") {
    const title: string = payload.pull_request.title;
    const further: unknown = payload.pull_request["invented"];
    // @ts-expect-error -- a number
    const wrong: string = payload.pull_request.number;
    return { message: [title, further, wrong].join() };
  }
  if (event === "firing") return { message: payload.alerts.map(({ status }) => status).join() };
  // @ts-expect-error -- no such event
  if (event === "pull_request.opend") return null;
  // @ts-expect-error -- the payload is not known yet
  return { message: payload.pull_request.title };
};

export const one: Transform<GitHub<"issues.opened">> = ({ event, payload }) => {
  const name: "issues.opened" = event;
  return { message: name + payload.issue.title };
};

export const star: GitHubEvents["star.created"]["action"] = "created";

export const own: Transform<{ id: number } | { name: string }> = ({ event, payload }) => {
  const name: string | undefined = event;
  return { message: "id" in payload ? String(payload.id) : (name ?? payload.name) };
};
`,
  );
  expect(await compile()).toMatchObject({ code: 0, stdout: "" });
});

describe("webhooks transform new --preset", () => {
  test("writes a module that compiles, with the samples of the event, which it passes", async () => {
    write("webhooks.json5", '{\n  // mine\n  hooks: { presets: ["github"] },\n}\n');
    const { code, stdout } = await webhooks(...NEW, "--event", "pull_request.opened");
    expect([code, stdout]).toEqual([0, expect.stringContaining("Added to hooks.presets[0].with.transform")]);
    expect(read("webhooks.json5")).toMatch(/\/\/ mine\n[^]*module: "review\.ts"/);
    expect(read("transforms/review.ts")).toContain('import type { GitHub } from "hookline/presets";');
    expect(read("transforms/review.ts")).toContain("export type Payload = Known<GitHub>;");
    expect(read("transforms/hookline.d.ts")).toContain('payload: import("./review.ts").Payload;');
    expect(await compile()).toMatchObject({ code: 0, stdout: "" });
    expect(await webhooks("test", "review", "--update")).toMatchObject({ code: 0 });
    const expected = JSON.parse(read("transforms/review.samples/pull-request-opened.expected.json"));
    const shipped = path.join(root, "presets/github/samples/pull-request-opened.expected.json");
    expect(expected).toEqual(JSON.parse(readFileSync(shipped, "utf8")));
  });

  test("adds the preset, or says what to add if there is no configuration", async () => {
    const block = '{ use: "github", with: { transform: { module: "review.ts" } } }';
    expect((await webhooks(...NEW)).stdout).toContain(`For hooks.presets in your configuration:\n  ${block}`);
    rmSync(path.join(folder, "transforms"), { recursive: true });
    write("webhooks.json5", "{}\n");
    expect((await webhooks(...NEW)).stdout).toContain(`Added to hooks.presets in webhooks.json5:\n  ${block}`);
    expect(await webhooks("test", "review", "--update")).toMatchObject({ code: 0 });
    expect((await webhooks("transform", "new", "other", "--preset", "github")).stderr).toContain(
      'The preset "github" calls a transform already.',
    );
  });

  test("keeps the compiler options of the user, and adds the place of the types", async () => {
    write("transforms/tsconfig.json", '{\n  // mine\n  "compilerOptions": { "strict": true }\n}\n');
    await webhooks(...NEW);
    expect(read("transforms/tsconfig.json")).toMatch(
      /\/\/ mine\n[^]*"hookline\/presets": \[\s*"\/.*presets\/index\.d\.ts"/,
    );
    rmSync(path.join(folder, "transforms"), { recursive: true });
    write("node_modules/hookline/package.json", "{}");
    await webhooks(...NEW);
    expect(read("transforms/tsconfig.json")).not.toContain("paths");
  });

  test.each([
    [["--preset", "githup"], 'There is no preset "githup"; did you mean "github"?'],
    [["--preset", "github", "--event", "pull_request.opend"], 'did you mean "pull_request.opened"?'],
    [["--preset", "github", "--event", "zzz"], "`webhooks presets show github` lists its events"],
    [["--event", "push"], "set --preset too"],
    [["--preset", "github", "--sample", "p.json"], "leave out --sample and --from-event"],
  ])("refuses %j", async (flags, message) => {
    write("p.json", "{}");
    const { code, stderr } = await webhooks("transform", "new", "review", ...flags);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

const NEW = ["transform", "new", "review", "--preset", "github"];

function webhooks(...args: string[]): Promise<CliResult> {
  return runWebhooks(folder, ...args);
}

function compile(): Promise<CliResult> {
  return run(folder, path.join(root, "node_modules/.bin/tsc"), ["-p", "transforms"]);
}

function read(file: string): string {
  return readFileSync(path.join(folder, file), "utf8");
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
}
