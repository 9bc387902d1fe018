/** Alertmanager posts alerts in groups; `forEach` calls this transform for each. Alerts of one service share a session. */
import type { Transform, TransformResult } from "hookline";

/** Prometheus Alertmanager's webhook, version 4. */
interface Group {
  alerts?: Alert[];
}

interface Alert {
  status?: "firing" | "resolved";
  labels?: { alertname?: string; service?: string; severity?: string };
  annotations?: { summary?: string; runbook_url?: string };
  startsAt?: string;
}

const alertGroups: Transform<Group, Alert> = ({ item, index, payload, secrets }): TransformResult => {
  const { alertname = "An alert", service = "unknown", severity } = item.labels ?? {};
  if (severity === "info") return null;
  if (item.status === "resolved") {
    return { kind: "wake", text: `${alertname} on ${service} is resolved.`, mode: "next-heartbeat" };
  }

  const { summary = "No summary.", runbook_url = "none" } = item.annotations ?? {};
  const isCritical = severity === "critical";
  return {
    message: [
      `${alertname} fires on ${service} since ${item.startsAt}: ${summary}`,
      `Runbook: ${runbook_url}`,
      `Alert ${(index ?? 0) + 1} of ${payload.alerts?.length} in its group.`,
    ].join("\n"),
    sessionKey: `alerts:${service}`,
    // Critical alerts are delivered to people, the others only appear in the summary.
    ...(isCritical ? { channel: "slack", to: secrets.ON_CALL_CHANNEL } : { deliver: false }),
  };
};
export default alertGroups;
