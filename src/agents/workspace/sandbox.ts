import path from "node:path";
import type { FromSchema } from "json-schema-to-ts";
import type { CheckContext, OptionProblem } from "../../core/ports/driver.ts";
import { listFound } from "../../core/shared/found.ts";
import { NON_BLANK, objectSchema } from "../../core/shared/json.ts";
import { resolveCommand } from "../../core/shared/system/child-process.ts";
import type { ModelFormat } from "../../core/ports/agent.ts";
import { API_FORMATS } from "../ai-sdk.ts";
import { findAgent } from "./known-agents.ts";
import { findBox, overlaps, toFileArgument } from "./box.ts";
import { HOST_NAME } from "./hosts.ts";

export const sandboxSchema = {
  description:
    "Required. true: the program runs in a sandbox of the system (Linux, with the package bubblewrap), writes its own folders only, and reaches nothing. An object: the same with a model, hosts and files. false: what outside text makes it do, it does as this service's user.",
  anyOf: [
    { type: "boolean" },
    objectSchema([], {
      model: {
        type: "string",
        pattern: "^[^/]+/.",
        description:
          "provider/model that the agent may ask, at the cost of that provider. The agent never has the key.",
      },
      hosts: {
        type: "array",
        items: {
          type: "string",
          pattern: HOST_NAME.source.replaceAll(/\?<\w+>/g, ""),
          description: "A host as name or name:port: registry.npmjs.org.",
        },
        description:
          "Hosts that the agent may connect to by TLS, as name or name:port (default 443), at public addresses only. What a turn has read can leave there.",
      },
      read: {
        type: "array",
        items: NON_BLANK,
        description: "Files and folders that the program can also read, at their own paths.",
      },
    }),
  ],
} as const;

export type SandboxOptions = FromSchema<typeof sandboxSchema>;

/** The ways out of a sandbox, and what it shows. */
export interface Openings {
  model?: string;
  hosts?: readonly string[];
  read: readonly string[];
}

/** Undefined: there is no sandbox. */
export function toOpenings(sandbox: SandboxOptions | undefined, baseDir: string): Openings | undefined {
  if (sandbox === false) return undefined;
  const { model, hosts, read = [] } = typeof sandbox === "object" ? sandbox : {};
  return { model, hosts, read: read.map((file) => path.resolve(baseDir, file)) };
}

/** An agent asks its model in one format. `kind`: of the model's provider. */
function checkFormat(command: readonly string[], kind: string | undefined): OptionProblem | false {
  const { format } = findAgent(command);
  const speaks = new Map<string | undefined, readonly ModelFormat[]>(Object.entries(API_FORMATS));
  if (!format || speaks.get(kind)?.includes(format) !== false) return false;
  const kinds = [...speaks].flatMap(([name = "", formats]) => (formats.includes(format) ? [name] : []));
  const message = `${path.basename(command[0] ?? "")} asks its model in the format "${format}", which a provider of kind "${kind}" does not speak. Name a model of kind ${kinds.join(" or ")}.`;
  return { key: "sandbox.model", message };
}

interface CheckedOptions {
  command: readonly string[];
  cwd?: string;
  env?: Record<string, string>;
  sandbox?: SandboxOptions;
}

const REQUIRED =
  "Write true or false. true: the program writes its own folders only. false: what outside text makes it do, it does as this service's user.";

/** A sandbox is written, can be made on this machine, and shows nothing of the service. */
export function checkSandbox(
  options: CheckedOptions,
  { baseDir, ownPaths = [], kindOf }: CheckContext,
): OptionProblem[] {
  const { sandbox, command, cwd } = options;
  if (sandbox === undefined) return [{ key: "sandbox", message: REQUIRED }];
  const openings = toOpenings(sandbox, baseDir);
  if (!openings) return [];
  const box = findBox();
  const folder = path.resolve(baseDir, cwd ?? "");
  const shown: [key: string, file: string | undefined][] = [
    ["cwd", cwd === undefined ? undefined : folder],
    ...openings.read.map((file, index): [string, string] => [`sandbox.read[${index}]`, file]),
    ...resolveCommand(command, folder).map((arg, index): [string, string | undefined] => [
      `command[${index}]`,
      index === 0 ? undefined : toFileArgument(arg),
    ]),
  ];
  return listFound<OptionProblem>(
    "problem" in box && { key: "sandbox", message: box.problem },
    checkFormat(command, kindOf?.(openings.model?.split("/", 1)[0] ?? "")),
    shown.flatMap(([key, file]) =>
      file !== undefined && ownPaths.some((own) => overlaps(own, file))
        ? [{ key, message: `${file} holds the state or the configuration of this service. Name another.` }]
        : [],
    ),
    (openings.hosts ?? []).flatMap((host, index) => {
      const port = Number(HOST_NAME.exec(host)?.groups?.["port"] ?? 443);
      return port > 65_535 ? [{ key: `sandbox.hosts[${index}]`, message: `${port} is no port.` }] : [];
    }),
  );
}
