/** Scopes that events need, by the beginning of their names. */
const SCOPES: [event: string, scopes: string[]][] = [
  ["app_mention", ["app_mentions:read"]],
  ["message.channels", ["channels:history"]],
  ["message.groups", ["groups:history"]],
  ["message.im", ["im:history"]],
  ["message.mpim", ["mpim:history"]],
  ["reaction_", ["reactions:read"]],
];

/**
 * The address at which a Slack app is created with everything set, its secret aside.
 * https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests/
 */
export function toAppLink(url: string, events: readonly string[]): string {
  const known = events.filter((event) => SCOPES.some(([name]) => event.startsWith(name)));
  const read = SCOPES.flatMap(([name, scopes]) => (known.some((event) => event.startsWith(name)) ? scopes : []));
  const manifest = {
    display_information: { name: "Hookline" },
    features: {
      app_home: { messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      bot_user: { display_name: "Hookline", always_online: true },
    },
    oauth_config: { scopes: { bot: ["chat:write", "reactions:write", "files:read", ...read] } },
    settings: {
      event_subscriptions: { request_url: url, bot_events: known },
      interactivity: { is_enabled: true, request_url: url },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: false,
    },
  };
  return `https://api.slack.com/apps?new_app=1&manifest_json=${encodeURIComponent(JSON.stringify(manifest))}`;
}
