/** The promises of `docs/stability.md` within a minor version, as names: a change of one is a decision. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createProgram } from "../src/cli/all-commands.ts";
import { leafCommands, nameOf } from "../src/cli/command-list.ts";
import { EXIT_CODES } from "../src/cli/command.ts";
import { createTestIo } from "./support/cli.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");
/** Loosely typed, so that the test can read any field. */
type Loose = ReturnType<typeof JSON.parse>;
const readJson = (file: string): Loose => JSON.parse(readFileSync(path.join(root, file), "utf8"));

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const FILE = "stability.txt";
/** The first line of the file, so that a difference shows it. */
const HOW_TO_CHANGE = `\
# Names that docs/stability.md promises. A change needs two places: this file (npm test -- test/stability.test.ts -u), and
# CHANGELOG.md, under *Breaking* with what to write instead if a name is gone.`;

test("nothing that docs/stability.md promises has changed", async () => {
  const lines = [
    ...listExports(),
    ...listConfig(),
    ...listCommands(),
    ...(await listApi()),
    ...(await listMetrics()),
    ...listPresets(),
  ];
  await expect(`${HOW_TO_CHANGE}\n${lines.join("\n")}\n`).toMatchFileSnapshot(FILE);
});

/** Names of modules. Their types are in `public-types.txt`, which `package.test.ts` compares. */
function listExports(): string[] {
  const { exports }: Loose = readJson("package.json");
  return Object.keys(exports).map((name) => `export ${name}`);
}

/** Each key of the configuration, with the kinds of value that it takes. */
function listConfig(): string[] {
  const schema: Loose = readJson("schemas/config.json");
  const lines = new Set<string>();
  const visit = (node: Loose, at: string, within: string[]): void => {
    if (typeof node !== "object" || node === null) return;
    if (typeof node.$ref === "string") {
      if (within.includes(node.$ref)) return;
      visit(schema.definitions[node.$ref.replace("#/definitions/", "")], at, [...within, node.$ref]);
    }
    for (const each of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])]) visit(each, at, within);
    const preset = node.properties?.use?.const;
    for (const [key, value] of Object.entries<Loose>(node.properties ?? {})) {
      const name = at === "" ? key : `${preset === undefined ? at : `hooks.presets.${preset}`}.${key}`;
      lines.add(`config ${name}`);
      visit(value, name, within);
    }
    if (typeof node.additionalProperties === "object") visit(node.additionalProperties, `${at}.*`, within);
    if (typeof node.items === "object") visit(node.items, `${at}[]`, within);
  };
  visit(schema, "", []);
  // Keys that a preset's `with` shares with a mapping are listed there.
  return [...lines].filter((line) => !/hooks\.presets\.\w[\w-]*\.with\.\w+\W/.test(line)).toSorted();
}

function listCommands(): string[] {
  const codes = Object.entries(EXIT_CODES).map(([name, code]) => `exit ${code} ${name}`);
  const commands = leafCommands(createProgram(createTestIo(root).io)).flatMap((command) => {
    const name = nameOf(command);
    const args = command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    );
    return [["command", name, ...args].join(" "), ...command.options.map(({ flags }) => `command ${name} ${flags}`)];
  });
  return [...codes, ...commands];
}

/** Each field that an endpoint takes or gives. */
async function listApi(): Promise<string[]> {
  const { paths, components } = await service.api("/api/openapi.json");
  const lines = new Set<string>();
  const visit = (node: Loose, at: string): void => {
    if (typeof node !== "object" || node === null) return;
    if (typeof node.$ref === "string") lines.add(`${at}: ${node.$ref.replace("#/components/schemas/", "")}`);
    for (const each of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])]) visit(each, at);
    for (const [key, value] of Object.entries<Loose>(node.properties ?? {})) {
      lines.add(`${at} ${key}`);
      visit(value, `${at} ${key}`);
    }
    if (typeof node.items === "object") visit(node.items, `${at} []`);
  };
  const operations = Object.entries<Loose>(paths).flatMap(([address, methods]) =>
    Object.entries<Loose>(methods).map(([method, operation]) => [`api ${method.toUpperCase()} ${address}`, operation]),
  );
  for (const [at, { parameters = [], responses = {} }] of operations) {
    lines.add(at);
    for (const { name } of parameters) if (name) lines.add(`${at} ?${name}`);
    const answers = Object.entries<Loose>(responses).filter(([status]) => status.startsWith("2"));
    for (const [status, { content = {} }] of answers)
      visit(Object.values<Loose>(content)[0]?.schema, `${at} ${status}`);
  }
  for (const [name, schema] of Object.entries(components.schemas)) visit(schema, `view ${name}`);
  return [...lines];
}

async function listMetrics(): Promise<string[]> {
  const text = await (
    await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${GATEWAY_TOKEN}` } })
  ).text();
  return Array.from(text.matchAll(/^# TYPE (\S+ \S+)$/gm), ([, name]) => `metric ${name}`);
}

/** The session key of each sample. */
function listPresets(): string[] {
  return globSync("presets/*/preset.json", { cwd: root })
    .toSorted()
    .flatMap((file) => {
      const folder = path.dirname(file);
      const name = path.basename(folder);
      return globSync(`${folder}/samples/*.expected.json`, { cwd: root })
        .toSorted()
        .flatMap((sample) => {
          const { actions = [] }: Loose = readJson(sample);
          const sessions = new Set<string>(actions.flatMap(({ sessionKey }: Loose) => sessionKey ?? []));
          return [...sessions].map((key) => `session ${name}/${path.basename(sample, ".expected.json")} ${key}`);
        });
    });
}
