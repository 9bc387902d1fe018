/**
 * Alertmanager, Grafana and PagerDuty report to one hook. All reports about a service belong to one incident until each of them
 * is over, so the agent follows it in one session. Only the first critical report wakes it at once.
 */
import type { Transform, TransformResult } from "hookline";

/** Alertmanager's webhook, version 4. Grafana's has the same fields, and `orgId`. */
interface AlertGroup {
  groupKey?: string;
  status?: string;
  orgId?: number;
  externalURL?: string;
  commonLabels?: { alertname?: string; service?: string; severity?: string };
  commonAnnotations?: { summary?: string; runbook_url?: string };
}

/** PagerDuty's webhook, version 3. */
interface PagerDutyMessage {
  event?: { event_type?: string; data?: PagerDutyIncident };
}

interface PagerDutyIncident {
  id?: string;
  title?: string;
  html_url?: string;
  urgency?: string;
  service?: { summary?: string };
}

/** The fields that all three have. */
interface Report {
  /** The same in each report about the same alerts. */
  id: string;
  sender: string;
  service: string;
  title: string;
  severity: string;
  isOver: boolean;
  links: string[];
}

/** The state of a service while it has an incident. */
interface Incident {
  session: string;
  isCritical: boolean;
  /** The reports that are not over. */
  open: string[];
}

const onCall: Transform<AlertGroup & PagerDutyMessage> = ({ payload, state, now }): TransformResult => {
  const report = payload.event ? readPagerDuty(payload.event) : readAlertGroup(payload);
  if (!report || report.severity === "info") return null;

  const key = `incident:${report.service}`;
  const stored = state.get(key);
  const known = isIncident(stored) ? stored : undefined;
  if (report.isOver && !known) return null; // Nobody was asked about it.

  const isCritical = report.severity === "critical" && !report.isOver;
  const others = known?.open.filter((id) => id !== report.id) ?? [];
  const incident: Incident = {
    session: known?.session ?? `incident:${report.service}:${now}`,
    isCritical: isCritical || known?.isCritical === true,
    open: report.isOver ? others : [...others, report.id],
  };
  const isSettled = incident.open.length === 0;
  state.set(key, isSettled ? undefined : incident, { ttl: "24h" });

  const news = !known ? "New incident" : isSettled ? "The incident is over" : "Same incident";
  return {
    message: [
      `${news} of ${report.service}: ${report.sender} says ${report.isOver ? "resolved" : report.severity}`,
      report.title,
      ...report.links,
    ].join("\n"),
    sessionKey: incident.session,
    wakeMode: isCritical && !known?.isCritical ? "now" : "next-heartbeat",
  };
};
export default onCall;

/** Whether this transform has set the value. */
function isIncident(value: unknown): value is Incident {
  return typeof value === "object" && value !== null && "session" in value;
}

function readAlertGroup({ groupKey = "", status, orgId, externalURL, ...common }: AlertGroup): Report {
  const { alertname = "An alert", service = "unknown", severity = "warning" } = common.commonLabels ?? {};
  const { summary, runbook_url } = common.commonAnnotations ?? {};
  const sender = orgId === undefined ? "Alertmanager" : "Grafana";
  return {
    id: `${sender} ${groupKey}`,
    sender,
    service: service.toLowerCase(),
    title: summary === undefined ? alertname : `${alertname}: ${summary}`,
    severity,
    isOver: status === "resolved",
    links: [externalURL, runbook_url].filter((link) => link !== undefined),
  };
}

/** Its services have the names of the label `service`. */
function readPagerDuty({ event_type = "", data = {} }: NonNullable<PagerDutyMessage["event"]>): Report | undefined {
  const { id, title = "An incident", html_url, urgency, service } = data;
  if (!/^incident\.(triggered|reopened|escalated|resolved)$/.test(event_type) || !service?.summary) return undefined;
  return {
    id: `PagerDuty ${id}`,
    sender: "PagerDuty",
    service: service.summary.toLowerCase(),
    title,
    severity: urgency === "high" ? "critical" : "warning",
    isOver: event_type === "incident.resolved",
    links: html_url === undefined ? [] : [html_url],
  };
}
