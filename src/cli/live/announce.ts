import { networkInterfaces } from "node:os";
import type { Program } from "../../program/build.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import { formatCount } from "../format.ts";
import { style } from "../io.ts";

/** How many mappings of a hook are named. */
const MAX_LISTED = 3;

/** What it serves, which agent answers, and whether the operator's side is on. */
export function describeProgram({ config, mappings }: Program, url: string): string[] {
  const { hooks, agents, gateway } = config;
  const byHook = Map.groupBy(mappings.mappings, ({ match }) => match.path ?? "<any name>");
  const urls = [...byHook].map(([hook, ofHook]) => [
    `${url}${hooks.path}/${hook}`,
    style(
      "dim",
      ofHook.length > MAX_LISTED
        ? formatCount(ofHook.length, "mapping")
        : ofHook.map(({ source }) => source.id).join(", "),
    ),
  ]);
  const builtIn = BUILT_IN_HOOKS.map((hook) => [`${url}${hooks.path}/${hook}`]);
  const providers = Object.keys(agents.providers).join(", ");
  const operator = "webhooks events list, sessions list, runs list";
  return [
    ...block(
      "Hooks",
      hooks.enabled ? [...urls, ...builtIn].map((row) => row.join("  ")) : ["off: set hooks.enabled to true"],
    ),
    ...block("Agent", [
      providers === ""
        ? "echo, a placeholder that repeats its prompt: set agents.providers to use a model"
        : `${agents.model ?? "no default model"} (${providers})`,
    ]),
    ...block("Operator", [gateway.token ? operator : `off without gateway.auth.token: /api, ${operator}`]),
  ];
}

/** The lines beside their title. */
function block(title: string, lines: string[]): string[] {
  return lines.map((line, index) => `${(index === 0 ? title : "").padEnd(10)}${line}`);
}

/** For a service on all addresses: the URLs by which other machines reach it. */
export function otherUrls(host: string, url: string): string[] {
  const families = { "0.0.0.0": ["IPv4"], "::": ["IPv4", "IPv6"] }[host] ?? [];
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal, address }) => !internal && families.includes(family) && !address.startsWith("fe80:"))
    .map(({ family, address }) => {
      const reachable = new URL(url);
      reachable.hostname = family === "IPv6" ? `[${address}]` : address;
      return `             ${reachable.origin}`;
    });
}
