import { readConfigText } from "../../config/read-config.ts";
import type { SetupPlan } from "../../mail/setup/plan-setup.ts";
import { buildProgram, type Program } from "../../program/build.ts";
import { createLog } from "../../telemetry/log.ts";
import { createSandbox } from "../../transforms/sandbox/supervisor.ts";

/**
 * Builds what `serve` would serve once the plan is carried out. Throws a `ConfigError` with everything that stands in its way.
 * `tolerant`: variables that are not set here count as if they were, for a service that runs elsewhere.
 */
export async function loadPlan({ file, after, unwritten }: SetupPlan, tolerant: boolean): Promise<Program> {
  const env = tolerant ? { ...placeholders(after), ...process.env } : process.env;
  const runner = createSandbox({ log: createLog("error") });
  try {
    return await buildProgram({
      generation: 1,
      load: () => readConfigText(file, after, { env, unwritten }),
      runner,
    });
  } finally {
    await runner.close();
  }
}

/** Long enough for a token. */
const PLACEHOLDER = "not-set-in-this-environment";

function placeholders(text: string): NodeJS.ProcessEnv {
  const names = [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = ""]) => name);
  return Object.fromEntries(names.map((name) => [name, `${PLACEHOLDER}-${name}`]));
}
