/**
 * A request on a connection of its own. The emulator closes those that are idle after a while, and on a busy machine that is
 * also when the next request comes.
 */
export async function askEmulator(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("connection", "close");
  return fetch(url, { ...init, headers });
}
