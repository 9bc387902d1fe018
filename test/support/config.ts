import type { CheckOptions } from "../../src/core/config/load.ts";
import { checkConfig } from "../../src/service/drivers.ts";
import { ConfigError, type ConfigProblem } from "../../src/core/errors.ts";

/** The problems of a configuration, as `key: message`. */
export async function findProblems(
  config: unknown,
  options: Partial<CheckOptions> = {},
): Promise<{ errors: string[]; warnings: string[] }> {
  const toText = ({ key, message }: ConfigProblem): string => `${key}: ${message}`;
  try {
    const { problems, warnings } = await checkConfig(config, { baseDir: "/", env: {}, ...options });
    return { errors: problems.map(toText), warnings: warnings.map(toText) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { errors: error.problems.map(toText), warnings: [] };
  }
}
