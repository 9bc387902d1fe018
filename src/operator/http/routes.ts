import { createApprovalRoutes } from "./approval-routes.ts";
import { createEventRoutes } from "./event-routes.ts";
import { createInboxRoutes } from "./inbox-routes.ts";
import { createMappingRoutes } from "./mapping-routes.ts";
import { toOpenApi } from "./openapi.ts";
import { createRecordingRoutes } from "./recording-routes.ts";
import { answering, type RouteTable } from "./route.ts";
import { createServiceRoutes } from "./service-routes.ts";
import type { RouteServices } from "./services.ts";
import { createSubscriptionRoutes } from "./subscription-routes.ts";
import { createWorkRoutes } from "./work-routes.ts";

/** The table of the API. A path is tried in this order. */
export function createRoutes(services: RouteServices): RouteTable {
  const { config, serviceUrl } = services;
  const routes: RouteTable = {
    ...createServiceRoutes(services),
    ...createInboxRoutes(services),
    "GET /api/openapi.json": answering({
      about: "OpenAPI 3.1 of the hooks, the health checks and this API.",
      answer: (): object =>
        toOpenApi({ routes, hooksPath: config().hooks.path, url: config().gateway.publicUrl ?? serviceUrl() }),
    }),
    ...createEventRoutes(services),
    ...createMappingRoutes(services),
    ...createWorkRoutes(services),
    ...createApprovalRoutes(services),
    ...createRecordingRoutes(services),
    ...createSubscriptionRoutes(services),
  };
  return routes;
}
