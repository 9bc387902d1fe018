import { packageVersion } from "../../config/package.ts";
import { createHookline } from "../../hookline.ts";
import { locateConfig, stopOnSignal } from "../context.ts";

export interface ServeFlags {
  config?: string;
  host?: string;
  port?: number;
}

/** Serves until SIGTERM or SIGINT, then finishes what is in flight and exits 0; a second signal exits at once. */
export async function serve({ config, host, port }: ServeFlags): Promise<void> {
  const hookline = await createHookline({ config: locateConfig(config), host, port });
  const { url } = await hookline.listen().catch(async (error: unknown) => {
    await hookline.close();
    throw error;
  });
  // Before it says that it listens: from then on a signal may come.
  stopOnSignal(hookline);

  console.log(`Hookline ${packageVersion()}, configured by ${hookline.program().config.file}`);
  console.log(`Listening on ${url}`);
}
