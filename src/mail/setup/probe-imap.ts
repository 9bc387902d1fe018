import { once } from "node:events";
import { connect, type ConnectionOptions } from "node:tls";

/** Whether an IMAP server answers there, over TLS and with a certificate for its name. Never rejects. */
export async function probeImap(
  host: string,
  port: number,
  { signal, ...tls }: { signal: AbortSignal } & Pick<ConnectionOptions, "ca" | "lookup">,
): Promise<boolean> {
  const socket = connect({ host, port, servername: host, ...tls });
  // An error behind the first one would otherwise end the process.
  socket.on("error", () => undefined);
  try {
    const [greeting] = await once(socket, "data", { signal });
    return socket.authorized && /^\* (?:OK|PREAUTH)\b/i.test(String(greeting));
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
