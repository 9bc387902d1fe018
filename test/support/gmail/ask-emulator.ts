/** Requests on a new connection: the emulator closes idle ones, on a busy machine just when the next request arrives. */
export async function askEmulator(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("connection", "close");
  return fetch(url, { ...init, headers });
}
