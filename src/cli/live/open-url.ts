import { spawn } from "node:child_process";
import { once } from "node:events";

/** Opens an address in the person's browser. Rejects if this machine has no way to do so. */
export async function openUrl(url: string, env: NodeJS.ProcessEnv, platform = process.platform): Promise<void> {
  const [command, ...args] = opener(platform);
  const child = spawn(command, [...args, url], { env, stdio: "ignore", detached: true });
  // It may stay open as long as the browser does.
  await once(child, "spawn");
  child.unref();
}

function opener(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === "darwin") return ["open"];
  return platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}
