import type { Access } from "./access.ts";
import { type ApprovalParts, createApprovalRoutes } from "./approval-routes.ts";
import { createEventRoutes, type EventParts } from "./event-routes.ts";
import { createMappingRoutes, type MappingParts } from "./mapping-routes.ts";
import { toOpenApi } from "./openapi.ts";
import { answering, type RouteTable } from "./route.ts";
import { createRecordingRoutes, type RecordingParts } from "./recording-routes.ts";
import { createServiceRoutes, type ServiceParts } from "./service-routes.ts";
import { createSubscriptionRoutes, type SubscriptionParts } from "./subscription-routes.ts";
import { createWorkRoutes, type WorkParts } from "./work-routes.ts";

/** The parts of the service that the API uses. */
export interface OperatorServices
  extends ServiceParts, EventParts, MappingParts, WorkParts, ApprovalParts, RecordingParts, SubscriptionParts {
  journal: WorkParts["journal"] & SubscriptionParts["journal"];
  /** Where it listens. */
  serviceUrl(): string;
}

/** The table of the API. A path is tried in this order. */
export function createRoutes(services: OperatorServices & { access: Access }): RouteTable {
  const { config, serviceUrl } = services;
  const address = (): string => config().gateway.hooksUrl ?? serviceUrl();
  const routes: RouteTable = {
    ...createServiceRoutes(services),
    "GET /api/openapi.json": answering({
      about: "OpenAPI 3.1 of the hooks, the health checks and this API.",
      answer: (): object => toOpenApi({ routes, hooksPath: config().hooks.path, url: address() }),
    }),
    ...createEventRoutes(services),
    ...createMappingRoutes({ ...services, address }),
    ...createWorkRoutes(services),
    ...createApprovalRoutes(services),
    ...createRecordingRoutes(services),
    ...createSubscriptionRoutes(services),
  };
  return routes;
}
