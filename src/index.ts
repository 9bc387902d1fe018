/** What a program imports. */
export { createHookline } from "./hookline.ts";
export type { Hookline, HooklineOptions } from "./hookline.ts";
export { ConfigError, HookError } from "./errors.ts";
export type { ConfigProblem } from "./errors.ts";
export type { ActionOverride, MappingInput, UserConfig } from "./config/generated.ts";
export type { Transform, TransformInput, TransformResult } from "./transforms/author.ts";

import type { UserConfig } from "./config/generated.ts";

/** Gives an editor the configuration's types; returns it as it is. */
export function defineConfig(config: UserConfig): UserConfig {
  return config;
}
