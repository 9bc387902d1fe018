import { startJsonServer } from "../json-server.ts";

/** A Gitea with the webhooks of several repositories. */
export async function startGiteaPlaces(
  places: readonly string[],
): Promise<{ url: string; hooks: Map<string, object[]>; close(): Promise<void> }> {
  const hooks = new Map(places.map((place) => [place, [] as object[]]));
  const { url, close } = await startJsonServer(({ method, path: target = "", body }) => {
    const [, place = "", id] = /^\/api\/v1\/repos\/(\w+\/\w+)\/hooks(?:\/(\d+))?/.exec(target) ?? [];
    const list = hooks.get(place);
    if (!list) return { status: 404, body: {} };
    if (method === "GET") return { status: 200, body: id ? list[0] : target.includes("page=2") ? [] : list };
    if (method === "DELETE") list.length = 0;
    if (method === "POST") list.push({ id: list.length + 1, ...body });
    return method === "DELETE" ? { status: 204 } : { status: 201, body: list.at(-1) };
  });
  return { url, close, hooks };
}
