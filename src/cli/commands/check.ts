import { toSentence } from "../../errors.ts";
import { withProgram } from "../context.ts";

/** Loads and compiles everything that `serve` would. Throws a `ConfigError` with every problem. */
export async function check(flags: { config?: string }): Promise<void> {
  await withProgram(flags.config, async ({ config, warnings }) => {
    for (const warning of warnings) console.warn(`warning: ${toSentence(warning)}`);
    const mappings = config.hooks.mappings.map(({ id }) => id).join(", ");
    console.log(`${config.file} is good: ${mappings || "no mappings"}`);
  });
}
