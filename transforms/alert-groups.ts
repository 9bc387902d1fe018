/** Alertmanager posts alerts in groups; `forEach` makes a call of each. Those of one service share a conversation. */
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
    // Critical alerts reach people, the others stay in the summary.
    ...(isCritical ? { channel: "slack", to: secrets.ON_CALL_CHANNEL } : { deliver: false }),
  };
};
export default alertGroups;
