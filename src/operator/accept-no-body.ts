import type { FastifyInstance } from "fastify";

/** Takes an empty body that is called JSON for none: clients that always send the header mean no harm by it. */
export function acceptNoBody(api: FastifyInstance): void {
  // As everywhere in the server: a payload may have a field of any name.
  const parseJson = api.getDefaultJsonParser("ignore", "ignore");
  api.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null);
    else void parseJson(request, String(body), done);
  });
}
