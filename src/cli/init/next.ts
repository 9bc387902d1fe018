import { existsSync } from "node:fs";
import path from "node:path";
import type { ConfigPlan, Target } from "../../config/edit/plan.ts";
import { parseSource } from "../../config/parse/source.ts";
import { PRESETS_FOLDER, readPreset } from "../../config/presets/file.ts";
import { writeConnectSteps } from "../../config/presets/page.ts";
import { toObject } from "../../shared/json.ts";
import type { CliIo } from "../io.ts";
import { toUrl } from "../presets/enable.ts";
import { EXAMPLE } from "./first-config.ts";

/** A command, and what it is for. */
export interface NextStep {
  command: string;
  purpose: string;
}

/** What to set at the sender of a preset; empty if there is nothing. */
export function describeSender(name: string, { file, after }: ConfigPlan, target: Target, cwd: string): string[] {
  const url = toUrl({ ...target, written: toObject(parseSource(file, after).value) }, name);
  const secret = path.join(target.stateDir, `${name}-secret`);
  const steps = writeConnectSteps(name, url, path.relative(cwd, secret));
  return steps === "" ? [] : [`To connect ${name}:\n${steps}`];
}

/** Serve, post a sample, look or go on. */
export function listNext(
  { preset, hasExample }: { preset: string | undefined; hasExample: boolean },
  io: CliIo,
): NextStep[] {
  const step = (args: string, purpose: string): NextStep => ({ command: `${commandName(io.env)} ${args}`, purpose });
  const example = preset === undefined ? undefined : findPresetSample(preset, io.cwd);
  const sample =
    example !== undefined
      ? `${preset} ${example}`
      : hasExample && `${EXAMPLE} transforms/${EXAMPLE}.samples/problem.json`;
  return [
    step("dev", "serves the hooks and shows each request; keep it open"),
    sample
      ? step(`send ${sample}`, "in a second terminal: posts a sample as its sender would")
      : step("check", "shows what is configured"),
    preset === undefined
      ? step("events show --last", "shows everything about the last request")
      : step(`transform new ${preset} --from-event last`, "writes code of your own for its events, with their type"),
  ];
}

/** The sample of a preset that its page shows, relative to where the person is. */
function findPresetSample(name: string, cwd: string): string | undefined {
  const { example } = readPreset(name).preset;
  const file = path.join(PRESETS_FOLDER, name, "samples", `${example}.json`);
  return example !== undefined && existsSync(file) ? path.relative(cwd, file) : undefined;
}

/** How the person called this command. */
function commandName(env: NodeJS.ProcessEnv): string {
  if (env["npm_command"] === "exec") return "npx webhooks";
  return env["npm_lifecycle_event"] === "webhooks" ? "npm run -s webhooks --" : "webhooks";
}
