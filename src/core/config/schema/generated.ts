// Generated from the schemas by `npm run generate`. Do not edit.

/**
 * Body of POST {hooks_path}/wake.
 */
export interface WakePayload {
  /**
   * Description of the event.
   */
  text: string;
  /**
   * now: start a heartbeat at once. next-heartbeat: wait for the next periodic one.
   */
  mode?: "now" | "next-heartbeat";
  /**
   * A repeat with the same key gets the first answer and does nothing.
   */
  idempotencyKey?: string;
  [k: string]: unknown;
}

/**
 * Body of POST {hooks_path}/agent.
 */
export interface AgentPayload {
  /**
   * Prompt or message for the agent.
   */
  message: string;
  /**
   * Human-readable hook name, used as a prefix in session summaries.
   */
  name?: string;
  /**
   * The agent's session. Reusing one key continues its conversation. Default: a random hook:<uuid>.
   */
  sessionKey?: string;
  /**
   * now: a heartbeat after the run. next-heartbeat: wait for the next periodic one.
   */
  wakeMode?: "now" | "next-heartbeat";
  /**
   * Send the reply to the messaging channel.
   */
  deliver?: boolean;
  /**
   * Channel of the reply: the name of a configured channel, or last for the one used last.
   */
  channel?: string;
  /**
   * Recipient on the channel. Default: the last recipient.
   */
  to?: string;
  /**
   * Model override, provider/model or an alias.
   */
  model?: string;
  /**
   * Thinking-level override: low, medium, high.
   */
  thinking?: string;
  /**
   * Maximum duration of the run, in seconds.
   */
  timeoutSeconds?: number;
  /**
   * A repeat with the same key gets the first answer and runs nothing.
   */
  idempotencyKey?: string;
  [k: string]: unknown;
}

/**
 * The result of a transform. Its fields override those of the mapping's templates; null clears a field.
 */
export interface ActionOverride {
  /**
   * Default: the mapping's action.
   */
  kind?: "wake" | "agent" | null;
  /**
   * The wake's text.
   */
  text?: string | null;
  /**
   * now: start a heartbeat at once. next-heartbeat: wait for the next periodic one. wakeMode means the same.
   */
  mode?: "now" | "next-heartbeat" | null;
  /**
   * The agent's message.
   */
  message?: string | null;
  /**
   * Prefix of the summary.
   */
  name?: string | null;
  /**
   * The agent's session.
   */
  sessionKey?: string | null;
  /**
   * now: start a heartbeat at once. next-heartbeat: wait for the next periodic one. mode means the same.
   */
  wakeMode?: "now" | "next-heartbeat" | null;
  /**
   * Send the reply to the messaging channel. A list names targets of the mapping's deliver; [] is false.
   */
  deliver?: boolean | string[] | null;
  /**
   * Channel of the reply: the name of a configured channel, last or source.
   */
  channel?: string | null;
  /**
   * Recipient on the channel.
   */
  to?: string | null;
  /**
   * Model override. It must be on agents.defaults.models if that is set.
   */
  model?: string | null;
  /**
   * Thinking-level override.
   */
  thinking?: string | null;
  /**
   * With hooks.compat: the gateway's agent.
   */
  agentId?: string | null;
  /**
   * With hooks.compat: the channel's account.
   */
  accountId?: string | null;
  /**
   * With hooks.compat: isolated: the run starts without what was said before in its session.
   */
  sessionMode?: "isolated" | "persistent" | null;
  /**
   * null: the turn may call nothing. A transform cannot grant anything.
   */
  grants?: null;
  /**
   * Maximum duration of the run, in seconds.
   */
  timeoutSeconds?: number | null;
  /**
   * false enables the safety boundary. true is refused unless the mapping has it.
   */
  allowUnsafeExternalContent?: boolean | null;
}

/**
 * A bundle of mappings under a name. { "$param": "x.y" } stands for y in the parameter x; without it, the key is left out. { "$file": "x.hbs" } stands for the text of a file in the preset's folder; beside $param, for a parameter without a value. An object with "$if": "x.y" is left out if y is missing, false or empty. Of one with "$case": "x", the field with the name of that value is taken.
 */
export interface Preset {
  $schema?: string;
  /**
   * The preset's name, as its folder.
   */
  name: string;
  /**
   * Its purpose, in one sentence.
   */
  description: string;
  /**
   * Other names under which people look for it, such as those of compatible senders. A message about an unknown preset names the preset for them.
   *
   * Items: A name of small letters, digits and -.
   */
  aliases?: string[];
  /**
   * Further parameters: a JSON Schema each. Every preset has path, fields and the settings of a mapping, and with common.auth also secret.
   */
  parameters?: {
    [k: string]: {
      [k: string]: unknown;
    };
  };
  /**
   * The parameter `events`.
   */
  events?: {
    /**
     * Every event of the sender.
     */
    known: string[];
    /**
     * Events that lead to an action unless the operator names others.
     */
    default: string[];
  };
  /**
   * The parameter `ignore`: its keys, each with its JSON Schema, or true for self, bots, drafts, labels, branches and automatic.
   */
  ignore?: {
    [k: string]:
      | {
          [k: string]: unknown;
        }
      | boolean;
  };
  /**
   * The parameter `from`: who may start a turn by an event of this sender, whose mappings say who its author is. Without it, its events are a machine's.
   */
  from?: {
    /**
     * Entries without the parameter. Without them, somebody must write it.
     */
    default?: string[];
    /**
     * Forms of an entry, besides anyone: member, github:<id>. A part in <> stands for any characters.
     */
    forms: string[];
    /**
     * All events ask once the parameter is written.
     */
    asks?: true;
  };
  /**
   * The parameter `mention`: what asks must name the agent.
   */
  mention?: {
    /**
     * Without the parameter, the sender must say that an event is for the agent.
     */
    default?: true;
    /**
     * The sender says whom a message mentions.
     */
    says?: true;
  };
  /**
   * The sender's API can register the webhook: the parameters apiToken and apiUrl, and these.
   */
  registration?: {
    /**
     * An entry of the parameter `place`: its JSON Schema. Mappings with `place: { $param: place }` skip events elsewhere.
     */
    place?: {
      [k: string]: unknown;
    };
    /**
     * Nothing can be registered without a place.
     */
    placeRequired?: boolean;
    /**
     * The parameter `catchUp`: what did not arrive can be found.
     */
    catchUp?: boolean;
  };
  /**
   * Parameters that must be given.
   */
  required?: string[];
  /**
   * A block of the configuration: its keys are the defaults of the parameters of the same name.
   */
  defaultsFrom?: "hooks.mail";
  /**
   * The sample that the page shows. Default: the first that leads to an action.
   */
  example?: string;
  /**
   * Meaning of `workspace: true`: fields of a mapping's workspace.
   */
  workspace?: {
    repository: string;
    base?: string;
    commit?: string;
    pull?: string;
  };
  /**
   * Names for `context`: the pages that a person would open first, read from the sender's API.
   */
  reads?: {
    /**
     * The channel whose block has the credential and the address.
     */
    channel?: string;
    /**
     * Without a channel: the address of the API. The credential is the parameter readToken.
     */
    baseUrl?: string;
    calls: {
      [k: string]: {
        /**
         * Its title in the prompt.
         */
        title: string;
        /**
         * Path of the GET request, with {name} for an argument.
         */
        get: string;
        query?: {
          [k: string]: string | number;
        };
        /**
         * The header of this name. Default: that of the channel.
         */
        accept?: string;
        /**
         * Templates over the event. If one lacks a value, the read is left out with a warning.
         */
        arguments: {
          [k: string]: string;
        };
        /**
         * Template over the event: if it is blank, the read is left out.
         */
        when?: string;
        /**
         * The ids of the mappings that have it. Default: all.
         */
        mappings?: string[];
        /**
         * The argument with the place that is read: that of the event, or one above it. A channel with several accounts reads with the one of the place.
         */
        account?: string;
        /**
         * A list that is read first: get is read for each of its first 3 items with these values; {id} is an item's.
         */
        each?: {
          /**
           * A path, beginning with /.
           */
          get: string;
          /**
           * The field of the answer with the list. Default: the answer is the list.
           */
          items?: string;
          where: {
            [k: string]: string[];
          };
        };
        /**
         * One redirect to another host is followed, without the credential.
         */
        redirects?: boolean;
        /**
         * Template over `answer`, the JSON that was read. Default: the text as it is.
         */
        template?:
          | string
          | {
              [k: string]: unknown;
            };
        /**
         * diff: the numbers of the lines are written before them. failure: the part of a log that ends with its last error.
         */
        show?: "diff" | "failure";
      };
    };
  };
  /**
   * Names for `grants`, as <preset>.<call>: what can be done at the place of an event.
   */
  writes?: {
    /**
     * The channel whose block has the credential and the address.
     */
    channel: string;
    /**
     * Template over `answer`, the JSON of an answer with a status of success: unless it is blank, the call was refused, and this is why.
     */
    failure?: string;
    calls: {
      [k: string]: {
        /**
         * Its purpose, in one sentence, for who chooses it.
         */
        title: string;
        /**
         * The permission that the token needs.
         */
        permission: string;
        /**
         * Arguments that the event gives, as templates over it. If it lacks a value, the call is not there.
         */
        place: {
          [k: string]: string;
        };
        /**
         * The argument with the place: that of the event, or one above it. A channel with several accounts writes with the one of the place.
         */
        account?: string;
        /**
         * The ids of the mappings that have it. Default: all.
         */
        mappings?: string[];
        /**
         * Arguments that the model may fill, by their JSON Schemas. All are required unless they say optional: true.
         */
        input?: {
          [k: string]: {
            [k: string]: unknown;
          };
        };
        /**
         * Values that the service knows by other names, such as the id of a state. They are looked up before the call, and are there for its templates under these names. What is not found is refused, with a list of what there is.
         */
        find?: {
          [k: string]: {
            /**
             * Path of a GET request.
             */
            get?: string;
            /**
             * Path of a POST request that only reads.
             */
            post?: string;
            query?: {
              [k: string]: unknown;
            };
            body?: {
              [k: string]: unknown;
            };
            /**
             * The fields of the answer with lists, as dotted paths; an empty one is the answer.
             */
            items: string[];
            /**
             * Fields of an item that may have the value, as dotted paths. Case is ignored.
             *
             * @minItems 1
             */
            by: [string, ...string[]];
            /**
             * The argument with the value, or a list of them.
             */
            of: string;
            /**
             * The field of the item that is used, as a dotted path.
             */
            take: string;
          };
        };
        /**
         * Path, with {name} for an argument.
         */
        post?: string;
        /**
         * Path, with {name} for an argument.
         */
        put?: string;
        /**
         * Path, with {name} for an argument.
         */
        patch?: string;
        /**
         * Path, with {name} for an argument.
         */
        delete?: string;
        /**
         * The body as JSON, whose texts are templates over the arguments. A template that is the whole text keeps its type. Of an object with "$each": "x" there is one for each item of the argument x, a list, with that as item.
         */
        body?: {
          [k: string]: unknown;
        };
        /**
         * Instead of a path: a recipient of the channel, as a template over the arguments. The argument text is sent there as a reply would be.
         */
        send?: string;
        /**
         * Others can read it, also where the place is private.
         */
        public?: true;
        /**
         * Twice is the same as once, or the service recognizes the second: after a crash it is repeated.
         */
        retry?: true;
      };
    };
  };
  /**
   * Fields of all mappings. A mapping's own field replaces one of the same name, except in match.
   */
  common?: {
    [k: string]: unknown;
  };
  /**
   * Mappings, each under the mapping schema once its parameters are filled in.
   *
   * @minItems 1
   */
  mappings: [
    {
      [k: string]: unknown;
    },
    ...{
      [k: string]: unknown;
    }[]
  ];
}

/**
 * @minItems 1
 */
export type ValuePattern =
  | string
  | number
  | boolean
  | null
  | (string | number | boolean | null)[]
  | {not: string | number | boolean | null | (string | number | boolean | null)[]};
/**
 * How the sender authenticates; needs match.path. Default: by the hook token. Several mappings may use one path. Repeat the same auth in each; then they are tried in order.
 */
export type Auth = {scheme: string; [option: string]: unknown};
/**
 * The mailbox.
 */
export type MailSource = MailSourcesImap | MailSourcesGmail;
/**
 * A provider of models, or another agent.
 */
export type Agent =
  | AgentsEcho
  | AgentsOpenaiCompatible
  | AgentsOpenai
  | AgentsAnthropic
  | AgentsGateway
  | AgentsCommand
  | AgentsAcp;
/**
 * A group of calls.
 */
export type ToolSet = ToolsHttp | ToolsMcp;

/**
 * Hookline's configuration file: JSON5 or YAML. In a string, ${NAME} is replaced by that environment variable, ${NAME:-default} by the default if it is unset or empty, and ${file:PATH} by the text of that file without its last line break. The path is relative to this file.
 */
export interface UserConfig {
  /**
   * For editors.
   */
  $schema?: string;
  /**
   * Other files that this configuration is made of, relative to this one: names, or patterns below a folder with * and **, as teams/*.yaml. This file's values have precedence over theirs.
   */
  include?: string[];
  /**
   * Packages and local modules that add agents, channels, mail sources and signature schemes. They run in the service's process with all its rights.
   */
  plugins?: string[];
  /**
   * The HTTP server. Changes of host, port, role and trustedProxies take effect at the next start.
   */
  gateway?: {
    /**
     * Address to listen on.
     */
    host?: string;
    /**
     * Port to listen on; 0 takes a free one.
     */
    port?: number;
    /**
     * The node's work; needs store.url. all: answers hooks and executes runs. ingress: only answers. worker: only executes, and watches mailboxes. serve --role overrides it.
     */
    role?: "all" | "ingress" | "worker";
    /**
     * The operator's own credential.
     */
    auth?: {
      /**
       * Opens /api and the page. Without it, both are off.
       */
      token?: string;
    };
    /**
     * Addresses or CIDR ranges whose X-Forwarded-For counts.
     */
    trustedProxies?: string[];
    /**
     * Opens POST /mcp, where agents list, poll and subscribe to the events of mappings with publish (MCP Events). Without it, /mcp does not exist.
     */
    mcp?: {
      /**
       * Who may use it with a token, by name. Subscriptions belong to the name, which stays the same when the secret is rotated.
       */
      principals?: {
        [k: string]: {
          /**
           * The bearer token. In a list (for rotation) the first is the current one, and the others are still accepted.
           */
          secret: string | string[];
          /**
           * Names of the event types that it may see, as deploys or github.*; * stands for any characters.
           */
          events: string[];
          /**
           * Arguments with the values that its events must have. It sees no event that lacks one of them.
           */
          arguments?: {
            [k: string]: string | number | boolean | (string | number | boolean)[];
          };
        };
      };
      /**
       * Accepts access tokens (JWT) of an OAuth issuer, for hosted clients. Needs gateway.publicUrl: the audience of the tokens is <publicUrl>/mcp.
       */
      oauth?: {
        /**
         * The issuer, exactly as its metadata and its tokens name it.
         */
        issuer: string;
        /**
         * The scope that clients ask the issuer for.
         */
        scope?: string;
        /**
         * Who may use it, by name. Other subjects are refused.
         */
        principals: {
          [k: string]: {
            /**
             * The subject of the tokens.
             */
            sub: string;
            /**
             * Names of the event types that it may see, as deploys or github.*; * stands for any characters.
             */
            events: string[];
            /**
             * Arguments with the values that its events must have. It sees no event that lacks one of them.
             */
            arguments?: {
              [k: string]: string | number | boolean | (string | number | boolean)[];
            };
          };
        };
      };
      /**
       * Hosts of callbacks that may use http, any port and private addresses, such as 127.0.0.1. Others need https on port 443 and a public address.
       */
      allowHosts?: string[];
      /**
       * Encrypts the secrets of subscriptions: at least 32 random characters. In a list (for rotation) the first encrypts, and all decrypt. Required with store.url. Default: the file mcp.key in store.path.
       */
      key?: string | string[];
    };
    /**
     * The service's public address, without the hooks path: https://hooks.example.com. Some senders sign it, and the page can be opened under it.
     */
    publicUrl?: string;
  };
  /**
   * The hook interface.
   */
  hooks?: {
    /**
     * Turns the hook interface on.
     */
    enabled?: boolean;
    /**
     * The secret that senders present. Required while hooks.enabled is true. In a list (for rotation) the first is the current one, and the others are still accepted.
     */
    token?: string | string[];
    /**
     * More tokens, by name. Idempotency keys belong to the name, which stays the same when the secret is rotated.
     */
    tokens?: {
      [k: string]: {
        /**
         * The secret. In a list (for rotation) the first is the current one, and the others are still accepted.
         */
        secret: string | string[];
        /**
         * The hooks for which this token is accepted, by name. Default: all.
         */
        hooks?: string[];
        /**
         * The start of the keys of all sessions that its requests to agent can lead to, if it has hooks: it is put in front of a key that begins otherwise. "": any session. Default: token:<name>:.
         */
        sessionPrefix?: string;
      };
    };
    /**
     * Settings of POST {hooks.path}/agent.
     */
    agent?: {
      grants?: Grants;
    };
    /**
     * openclaw: x-openclaw-token is accepted like x-gateway-token, x-openclaw-idempotency-key like Idempotency-Key, and agentId, sessionMode, accountId and waitForCompletion mean what they mean there. Names of channels may be in any case.
     */
    compat?: "openclaw";
    /**
     * With compat: the agents that agentId may name; * for any. Default: any.
     */
    allowedAgentIds?: string[];
    /**
     * Path prefix of the hook interface. Slashes at either end make no difference.
     */
    path?: string;
    /**
     * Maximum size of a body after decompression, in bytes.
     */
    maxBodyBytes?: number;
    /**
     * Maximum time for a body to arrive, in seconds.
     */
    bodyTimeoutSeconds?: number;
    /**
     * Maximum number of actions from one request with forEach.
     */
    maxFanOut?: number;
    /**
     * Maximum number of unfinished runs; beyond it, requests are answered 503.
     */
    maxPending?: number;
    /**
     * How long an idempotency key is remembered.
     */
    dedupeWindow?: string;
    /**
     * Places in payloads whose values are not stored. If set, a body that cannot be parsed is not stored at all.
     *
     * Items: A place in a payload: $.user.password, $.items[*].token.
     */
    redact?: string[];
    /**
     * Presets to enable, alone or with options: by name, or one of your own by its folder, as ./presets/acme. A folder is relative to this file.
     */
    presets?: (
      | string
      | {
          /**
           * Name of the preset, or its folder.
           */
          use: string;
          /**
           * The preset's parameters.
           */
          with?: {
            [k: string]: unknown;
          };
        }
    )[];
    /**
     * Folder from which transform modules are loaded.
     */
    transformsDir?: string;
    /**
     * Folders whose packages transforms may import through a link in `node_modules`, beside those of the workspace that the transforms are in.
     */
    transformRoots?: string[];
    /**
     * Custom hooks, tried in order. The first match wins.
     */
    mappings?: MappingInput[];
    /**
     * The mailbox to watch, or a list of mailboxes; `npx hookline mail setup` writes it. model, thinking, channel, to and instructions apply to the mails of this mailbox in the mail preset.
     */
    mail?: UserConfigMailbox | [UserConfigMailbox, ...UserConfigMailbox[]];
    /**
     * Whether a request may choose its session: by sessionKey in its payload, through a template or a transform.
     */
    allowRequestSessionKey?: boolean;
    /**
     * If set, every given session key must start with one of these.
     */
    allowedSessionKeyPrefixes?: string[];
    /**
     * Session key of hooks that give none. Default: a random hook:<uuid> for each run.
     */
    defaultSessionKey?: string;
  };
  /**
   * Agents and their models.
   */
  agents?: {
    /**
     * Model providers by name, which is the part of a model before the slash. Without any, the built-in echo agent answers.
     */
    providers?: {
      [k: string]: Agent;
    };
    /**
     * Tool sets by name: what an agent's turn can be given to read or to call. Nothing is granted by default.
     */
    tools?: {
      [k: string]: ToolSet;
    };
    /**
     * Settings of every run.
     */
    defaults?: {
      /**
       * Model of runs that name no other: provider/model or an alias.
       */
      model?: string;
      /**
       * Allowed models. When set, the list is enforced.
       */
      models?: (
        | string
        | {
            /**
             * provider/model.
             */
            id: string;
            /**
             * A short name for it.
             */
            alias?: string;
          }
      )[];
      /**
       * Thinking level: low, medium, high.
       */
      thinking?: string;
      /**
       * Models that are asked in this order, at once, if a run's own model is overloaded, unknown, cannot be reached or has no quota left: provider/model or an alias.
       */
      fallbackModels?: string[];
      /**
       * Maximum length of an answer, in tokens. Default: what the model's provider sets.
       */
      maxOutputTokens?: number;
      /**
       * Maximum duration of a run, in seconds.
       */
      timeoutSeconds?: number;
      /**
       * How often a turn with grants asks its model. Then it ends with what there is.
       */
      maxSteps?: number;
      /**
       * Maximum number of runs at the same time.
       */
      maxConcurrent?: number;
      /**
       * Maximum number of attempts at a run whose failures are retryable.
       */
      maxAttempts?: number;
      /**
       * The main session's periodic turn.
       */
      heartbeat?: {
        /**
         * Time between heartbeats, at its multiples since 1970 in UTC. Default: 30m.
         */
        every?: string;
        /**
         * In place of every: when heartbeats are, as in the schedule of a mapping.
         */
        cron?: string;
        /**
         * The zone of cron, as Europe/Berlin. Default: UTC.
         */
        timezone?: string;
        /**
         * The first heartbeat that is asked for runs at once. Those asked for within this time after it are one, at its end.
         */
        joinWindow?: string;
        /**
         * The reply that means: nothing to report. It is not delivered.
         */
        ack?: string;
        grants?: Grants1;
        /**
         * Channel of the replies to heartbeats. Without it they go to the last recipient that a mapping names in the configuration.
         */
        channel?: string;
        /**
         * Recipient of the replies to heartbeats.
         */
        to?: string;
      };
    };
    /**
     * Hosts to which links in replies may have a query and a fragment, also after the agent has read something private. *.example.com stands for every host below example.com.
     *
     * Items: A host such as docs.example.com, or *.example.com.
     */
    linkHosts?: string[];
    /**
     * The price of a model per million tokens, by provider/model. A run's cost is stored with it.
     */
    prices?: {
      /**
       * The currency of all prices and limits, by its code in ISO 4217: EUR. It is shown beside costs.
       */
      currency?: string;
      [k: string]:
        | {
            /**
             * Price of a million prompt tokens.
             */
            input: number;
            /**
             * Price of a million reply tokens.
             */
            output: number;
            /**
             * Price of a million prompt tokens that the provider read from its cache. Default: as input.
             */
            cachedInput?: number;
            /**
             * Price of a million prompt tokens that the provider wrote into its cache. Default: as input.
             */
            cacheWrite?: number;
          }
        | string
        | undefined;
    };
    /**
     * How a person is asked before a call that is granted with ask, about a call whose outcome is not known, and about a reply that waits. Without a channel, they are answered on the operator's page, by npx hookline approvals, or by the API alone.
     */
    approvals?: {
      /**
       * A channel that is configured. Requires to.
       */
      channel?: string;
      /**
       * Recipient on it. Requires channel.
       */
      to?: string;
      /**
       * How long a question waits. Then it is denied. A question about an outcome waits until it is answered.
       */
      expires?: string;
      /**
       * Who may answer in a message, by id: slack:T0ACME/U0ANN, telegram:4711, github:583231. Names do not count.
       *
       * Items: A channel and the id of a person there: slack:T0ACME/U0ANN, github:583231.
       */
      by?: string[];
    };
    /**
     * Holds further runs once it is spent. A day begins at 00:00 UTC.
     */
    budget?: {
      /**
       * Limit for all runs and heartbeats of a day.
       */
      perDay?: number;
      /**
       * Limit for the runs of one session in a day.
       */
      perSession?: number;
      /**
       * Limit for one run: after it the model is not asked again, and the run ends with what there is.
       */
      perRun?: number;
      /**
       * cost: the limits are in the currency of agents.prices. tokens: they are tokens of prompts and replies.
       */
      unit?: "cost" | "tokens";
    };
  };
  channels?: Channels;
  /**
   * Messages to a person when something needs attention.
   */
  alerts?: {
    /**
     * dead-letter: a run or delivery failed permanently. reload-failed: a changed configuration was refused. mailbox-down: no mail can arrive; a problem of the network is reported after five minutes. no-event-for: no event in the time that after gives. budget: a run is held by agents.budget or limits.perRecipient. model-unavailable: a run has waited for its model's provider for five minutes. tool-changed: a call of a tool set differs from what was accepted, and was refused. tool-unreachable: there is no connection to the server of a tool set, and a call failed. approval-waiting: a person is asked about a call or a reply, or too many questions were open. outcome-unknown: nobody knows whether a call was executed. catch-up: after a gap, a sender could not give everything that did not arrive. subscription-suspended: an agent's callback has failed for 15 minutes, or the secret of its subscription cannot be read. restarting: the service has ended at least five times within an hour without being stopped, and no single run or delivery explains it.
     *
     * @minItems 1
     */
    on: [
      (
        | "dead-letter"
        | "reload-failed"
        | "mailbox-down"
        | "no-event-for"
        | "budget"
        | "model-unavailable"
        | "tool-changed"
        | "tool-unreachable"
        | "approval-waiting"
        | "outcome-unknown"
        | "catch-up"
        | "subscription-suspended"
        | "restarting"
      ),
      ...(
        | "dead-letter"
        | "reload-failed"
        | "mailbox-down"
        | "no-event-for"
        | "budget"
        | "model-unavailable"
        | "tool-changed"
        | "tool-unreachable"
        | "approval-waiting"
        | "outcome-unknown"
        | "catch-up"
        | "subscription-suspended"
        | "restarting"
      )[]
    ];
    /**
     * A channel that is configured.
     */
    channel: string;
    /**
     * Recipient on it.
     */
    to: string;
    /**
     * At most one message of each kind, and of each mailbox and provider, in this time.
     */
    every?: string;
    /**
     * For no-event-for: the time without an event.
     */
    after?: string;
    /**
     * For no-event-for: the hook whose events count. Default: all.
     */
    hook?: string;
  }[];
  /**
   * How much of a session's earlier turns a turn gets. The newest that fit are sent. All stay readable until store.retention deletes them.
   */
  session?: {
    /**
     * Maximum number of earlier turns, each a prompt with its reply. 0: every turn starts fresh.
     */
    maxTurns?: number;
    /**
     * Maximum tokens of earlier turns, estimated as four characters each.
     */
    maxTokens?: number;
    /**
     * A session without a turn for this time starts fresh.
     */
    idleAfter?: string;
  };
  /**
   * Protection from loops.
   */
  limits?: {
    /**
     * Maximum number of answers that one recipient on a channel gets within an hour, in all threads together. Further turns that would answer it are held.
     */
    perRecipient?: number;
  };
  /**
   * Where the state is stored.
   */
  store?: {
    /**
     * The state folder, relative to the configuration file.
     */
    path?: string;
    /**
     * A PostgreSQL database that holds the state instead, for several nodes: postgres://user@host:5432/database. For TLS add sslmode=verify-full, and sslrootcert=<file> if the certificate is not from a public authority. Behind PgBouncer use transaction mode. Before 1.21 it loses the names of prepared statements: the node that notices sends them without names from then on. 1.18 is tested, later versions are not.
     */
    url?: string;
    /**
     * Another way to the same database, past a pooler or through another pool of it: renewals of this node's lease go there, so that no other work delays them. Default: url.
     */
    leaseUrl?: string;
    /**
     * Password of the database's user. Default: the one in url, and in leaseUrl.
     */
    password?: string;
    /**
     * Maximum number of connections of this node, besides the one that listens for notifications and the one that renews its lease.
     */
    maxConnections?: number;
    /**
     * How long a write waits for an unavailable database before the sender is answered 503.
     */
    commitTimeout?: string;
    /**
     * Whether a start may change a database's tables that an earlier version made. Run pg_dump before. Also for one start: `npx hookline serve --upgrade-store`. A state folder needs neither: it is copied first.
     */
    upgrade?: boolean;
    /**
     * How long finished events are kept, with their runs, entries and deliveries. Unfinished work is never deleted.
     */
    retention?: {
      /**
       * Age at which finished events are deleted.
       */
      maxAge?: string;
      /**
       * Maximum size of the journal, in bytes. Above it the oldest finished events are deleted. Not with store.url.
       */
      maxBytes?: number;
      /**
       * Maximum number of idempotency keys. Above it the oldest are forgotten before hooks.dedupeWindow ends.
       */
      maxKeys?: number;
    };
  };
  /**
   * The service's own log, JSON lines on standard error.
   */
  log?: {
    /**
     * Lowest level that is written.
     */
    level?: "debug" | "info" | "warn" | "error" | "silent";
  };
}
/**
 * The calls of agents.tools that the model may ask for in a turn of POST {hooks.path}/agent.
 */
export interface Grants {
  [k: string]:
    | "read"
    | "ask"
    | "allow"
    | {
        /**
         * read: the call only reads, as the operator knows. ask: it changes something, and a person is asked each time. allow: it changes something, and nobody is asked.
         */
        mode: "read" | "ask" | "allow";
        /**
         * Arguments that are fixed, whose texts are templates. A template that is the whole text keeps its type. The model does not see them and cannot choose them. If the event lacks a value, nothing is granted, with a warning.
         */
        arguments?: {
          [k: string]: unknown;
        };
        /**
         * Arguments that the model may fill. The model does not see those that are neither fixed nor free. Default: with allow none, else all that are not fixed.
         */
        free?: string[];
        /**
         * How often the model may ask for the call in a run, refused and denied calls included. Default: for read any number of times, else 1.
         */
        max?: number;
        /**
         * true: after a crash, a call whose result is not known is repeated with the same call id. Default: a person is asked.
         */
        retry?: boolean;
      };
}
/**
 * Turns a request to a custom hook into a wake or an agent action. The first that matches wins.
 */
export interface MappingInput {
  /**
   * Shown in logs and in the operator API. Default: mapping-<index>.
   */
  id?: string;
  /**
   * For people; nothing reads it.
   */
  description?: string;
  /**
   * Times at which the mapping gets an event of its own, in place of requests. It needs cron or every, and the mapping an id: its hook is schedule/<id>, its body { schedule, at, local }.
   */
  schedule?: {
    /**
     * Five fields: minute, hour, day of the month, month, weekday. Names of months and days, L, W and #, and @hourly, @daily, @weekly, @monthly, @yearly are known.
     */
    cron?: string;
    /**
     * The zone of cron, as Europe/Berlin. Default: UTC.
     */
    timezone?: string;
    /**
     * A period of 1m to 24h, at its multiples since 1970 in UTC.
     */
    every?: string;
  };
  /**
   * Conditions that must all hold. Without any, every request matches.
   */
  match?: {
    /**
     * The name after the hooks path. It may contain slashes.
     */
    path?: string;
    /**
     * Equal to the payload's string field source.
     */
    source?: string;
    /**
     * Header values, in the forms of match.payload.
     */
    headers?: {
      [k: string]: ValuePattern;
    };
    /**
     * Values of the payload by path, as action, repository.full_name or labels[*].name. A field of exactly that name is taken first. A string is exact; * in it stands for any characters, and /expression/flags is a regular expression. A list matches if one of its values does. { not: value } must not match. A list in the payload matches if one of its values does; an object and a missing field do not.
     */
    payload?: {
      [k: string]: ValuePattern;
    };
    /**
     * A JSON Schema that the payload must satisfy to match. Its patterns run in linear time.
     */
    where?:
      | {
          [k: string]: unknown;
        }
      | boolean;
  };
  /**
   * JSON Schema (or the path of a file with one); a matching request whose payload fails it gets 400. Its patterns run in linear time.
   */
  schema?:
    | string
    | {
        [k: string]: unknown;
      }
    | boolean;
  auth?: Auth;
  /**
   * Template of the event's name, as {{headers.x-github-event}}.{{action}}. It is shown with the event and compared with events.
   */
  event?: string;
  /**
   * Template of what the event is about, in one line, as {{repository.full_name}}#{{issue.number}}: {{issue.title}}. It is shown with the event. Default: the start of the message.
   */
  subject?: string;
  /**
   * Names of events that lead to an action; * stands for any characters. Other events are skipped. Default: all lead to an action.
   */
  events?: string[];
  /**
   * Events that lead to no action. The reason of the first rule that applies is recorded.
   */
  ignore?: {
    /**
     * Template. Each of its lines is compared.
     */
    value: string;
    /**
     * Ignored if a line is one of these, in any case; * stands for any characters.
     */
    is?: string | string[];
    /**
     * Ignored if no line is one of these. Templates.
     */
    isNot?: string | string[];
    /**
     * Ignored if the whole value is a comment that this service wrote, or the id of one: its mark is signed with a key of the store.
     */
    isOwn?: boolean;
    /**
     * Not for an author whom from names by id or @name.
     */
    unlessNamed?: boolean;
    /**
     * Shown with the skipped event.
     */
    reason: string;
  }[];
  /**
   * Events that ask must name the agent; others are skipped. A thread in which the agent has spoken counts.
   */
  mention?: {
    /**
     * Template of the text that names are looked for in, outside of quotes and code.
     */
    text?: string;
    /**
     * Template: not blank if the sender says that the event is for the agent, as a direct message or a mention.
     */
    said?: string;
    /**
     * true: the sender must say it. A name, or a list of names: it may also stand in the text, as a whole word. false: off.
     */
    is: boolean | string | string[];
  };
  /**
   * Who wrote the text of the event, or did what it tells: the first case whose when is not blank. Each field is a template whose values stay on their lines. An event that names nobody is a machine's.
   */
  author?: {
    /**
     * The case counts if this is not blank. Default: always.
     */
    when?: string;
    /**
     * The id at the service. Each of several lines is an id.
     */
    id?: string;
    /**
     * The service, which is put in front of ids: github for github:583231. Default: in a preset its name.
     */
    of?: string;
    /**
     * A name that only one person has, for @name.
     */
    handle?: string;
    /**
     * Another name, which is only shown.
     */
    title?: string;
    /**
     * The roles that the service gives the author, one a line. They are shown, and from can name them.
     */
    role?: string;
    /**
     * More that from can name, one a line: verified addresses, numbers, ids of roles.
     */
    also?: string;
    /**
     * An address that nobody has verified. It is shown, and counts only with ! in from.
     */
    claimed?: string;
    /**
     * Not blank: the author is a member.
     */
    member?: string;
    /**
     * A place that only its people see. They are members if place names it without *.
     */
    room?: string;
    /**
     * The id of who edited the text. An edit by somebody else than the author asks for nothing.
     */
    editor?: string;
  }[];
  /**
   * The instructions say to do what the text says, so that only who is in from can start a turn. Default: true if from has a value.
   */
  asks?: boolean;
  /**
   * Who may start a turn. Other events are skipped.
   */
  from?: {
    /**
     * Template of who wrote the text. Each of its lines is compared; a value stays on its line. Default: the author.
     */
    value?: string;
    /**
     * A turn starts if a line is one of these, in any case; * stands for any characters. With ! in front: never. anyone: also for others, as a stranger's turn. []: nobody.
     */
    is: string | string[];
  };
  /**
   * Maximum size of a body after decompression, in bytes. Default: hooks.maxBodyBytes, which it may exceed.
   */
  maxBodyBytes?: number;
  /**
   * text: a body of type text/… becomes { text }, one of type application/x-ndjson or application/jsonl { lines: [...] }. All mappings of one path agree; needs match.path. Default: such bodies are refused, unless a text is JSON.
   */
  body?: "text";
  /**
   * The action that the request leads to. none, with publish: nothing is started, the event is only published.
   */
  action?: "wake" | "agent" | "none";
  /**
   * Subscribers of gateway.mcp get each accepted event when it is committed. The event's type is <hook>.<event>, or <hook>. Needs match.path.
   */
  publish?:
    | boolean
    | {
        /**
         * Fields that subscribers can filter by: each text is a template. A template that is the whole text keeps its type. Headers and query cannot be read.
         */
        arguments?: {
          [k: string]: string | number | boolean;
        };
        /**
         * The content of the event: "payload", or an object whose texts are templates. hooks.redact applies, and values whose names look like secrets are replaced. Default: the arguments.
         */
        data?:
          | "payload"
          | {
              [k: string]: unknown;
            };
        /**
         * The description of the event type for subscribers.
         */
        description?: string;
      };
  /**
   * none: the message is sent to the channel without asking an agent. Default: the agent of the model.
   */
  agent?: "none";
  /**
   * now: start a heartbeat at once. next-heartbeat: wait for the next periodic one. Or a template of one of them: if it renders blank it is now, and any other text is now with a warning.
   */
  wakeMode?: string;
  /**
   * Template. Prefix of the summary. Default: the hook's name.
   */
  name?: string;
  /**
   * Template of the session key. Default: hooks.defaultSessionKey, else a random hook:<uuid>. A payload that lacks one of the template's values also gets the random one.
   */
  sessionKey?: string;
  /**
   * The start of the keys of all sessions that a request can lead to: it is put in front of a key that begins otherwise. Mappings with one prefix share sessions. "": any session. Default, if the mapping has an auth or a token with hooks reaches it: the constant start of sessionKey, else hook:<path>:.
   */
  sessionPrefix?: string;
  /**
   * Template of the agent's message.
   */
  messageTemplate?: string;
  /**
   * Template of the wake's text.
   */
  textTemplate?: string;
  /**
   * Maximum number of characters of message or text. A longer one is cut at the end of a line, and says so; several empty lines become one. Default: no limit.
   */
  maxMessageLength?: number;
  /**
   * The operator's instructions for the agent, placed before the safety boundary; never a template.
   */
  instructions?: string;
  /**
   * Send the reply to the messaging channel. A list sends it to each of its targets, instead of channel, to and update.
   */
  deliver?:
    | boolean
    | {
        /**
         * The name of this target for a transform, in the deliver of its action.
         */
        name?: string;
        /**
         * Template. The name of a configured channel, last or source.
         */
        channel: string;
        /**
         * Template. Recipient on the channel. Default: the last recipient.
         */
        to?: string;
        /**
         * With channel: source, a later reply of the session replaces the earlier one at the same place, if the channel can edit its messages.
         */
        update?: boolean;
        /**
         * session: the first reply of a session opens a thread there, and its later ones go into it.
         */
        thread?: "session";
        /**
         * Template. If it renders blank or false, the reply is not sent to this target.
         */
        when?: string;
        /**
         * Who can see what is written there. Default: that of the channel's block, or of the place.
         */
        audience?: "private" | "public";
      }[];
  /**
   * Template. The name of a configured channel, last or source. Default: last.
   */
  channel?: string;
  /**
   * Template. Recipient on the channel. Default: the last recipient.
   */
  to?: string;
  /**
   * The place that the event is about, for channel: source. If the payload lacks one of its values, the reply is not delivered.
   */
  source?: {
    /**
     * Template. The channel's name.
     */
    channel: string;
    /**
     * Template. The recipient, as {{repository.full_name}}#{{issue.number}}. If it renders several lines, the first one that the channel's allow lists is used, else the last.
     */
    to: string;
    /**
     * For place: characters, no letters or digits, behind which a recipient goes on below a place, as # in acme/web#12. Default: /#!:;
     */
    below?: string;
    /**
     * Template. For email: the ids of the mails that the answer follows, each in < >, the answered one last. Of more than 50, the first and the last ones are kept.
     */
    references?: string;
    /**
     * Template. For email: the subject of the mail that is answered.
     */
    subject?: string;
    /**
     * Template. The ids of the messages that the event answers, as the channel names them, one a line: the answered one, then the first one of its thread. If a session has sent one of them, the event belongs to that session.
     */
    replyTo?: string;
    /**
     * Template. The whole hash of the commit that a review is about.
     */
    commit?: string;
    /**
     * Template. Who can see what is written there: private, or anything else for public. The audience of the channel's block has precedence.
     */
    audience?: string;
    /**
     * Template. An address of the service that the event is about. In a reply from private text, links to its host stay whole.
     */
    url?: string;
  };
  /**
   * Where the events may be: recipients of source, as acme/web. An entry covers itself and what is below it, as acme/web#12; case is ignored, * stands for any characters, and ! in front excludes. Other events are skipped, before anything else of the mapping. Default: anywhere.
   *
   * @minItems 1
   */
  place?: string | string[];
  /**
   * The reply is a review of the pull request or merge request of the event, with comments on lines. The value is the strongest verdict that the agent may give; true is comment.
   */
  review?: true | "comment" | "request-changes" | "approve";
  /**
   * With channel: source, a later reply of the session replaces the earlier one at the same place, if the channel can edit its messages.
   */
  update?: boolean;
  /**
   * session: the first reply of a session opens a thread at its recipient, and its later ones go into it. A recipient that names a thread stays in it.
   */
  thread?: "session";
  /**
   * Answers the request with the reply of its run, for senders that show the answer, as Slack's slash commands and Twilio do. It takes precedence over Prefer: wait. A repeat of the request gets the same answer.
   */
  answer?: {
    /**
     * Seconds from the arrival of the request until the answer is sent without the reply. No longer than the sender waits.
     */
    wait: number;
    /**
     * Template of the answer. It sees the event as it is stored, and {{reply}}. Values are escaped by contentType: in JSON they are written in quotes, as "text": "{{reply}}", or with the helper json; in XML as text or in a quoted attribute.
     */
    template: string;
    /**
     * The type of the answer: one of JSON, of XML, or text/plain, whose values are not escaped. The charset is UTF-8.
     */
    contentType?: string;
    /**
     * The status of the answer, and of else.
     */
    status?: number;
    /**
     * Template of the answer if the reply is not there in time, if the run failed or is held, or if the event led to no run or to several. It sees the event. Default: the usual answer.
     */
    else?: string;
  };
  /**
   * A repository in which the agent works: a program in a sandbox, kind acp or command. What it has changed becomes the call <service>.change, if grants has it. In github, gitlab and gitea true is the repository of the event.
   */
  workspace?:
    | boolean
    | {
        /**
         * Template. The account of a channel and the repository there: github:acme/app, github:eu:acme/app. In github, gitlab and gitea the default is that of the event.
         */
        repository?: string;
        /**
         * Template. The whole id of the commit that the tree has, or a full ref as refs/tags/v1. Default: the newest of base.
         */
        commit?: string;
        /**
         * Template. Not blank for events at a pull request: one of somebody else is read, and no change is offered.
         */
        pull?: string;
        /**
         * Template. The branch that pull requests are for. Default: the default branch.
         */
        base?: string;
        /**
         * A program and its arguments, run in the sandbox in each new tree: ["npm", "ci"].
         *
         * @minItems 1
         */
        setup?: [string, ...string[]];
        /**
         * Paths that may change with allow, as src or docs/*.md: an entry covers itself and what is below it, * is any characters. Changes elsewhere ask a person. Default: everything.
         *
         * @minItems 1
         */
        paths?: [string, ...string[]];
        /**
         * Paths that ask a person even with allow, in the same form. Default: files of CI, CODEOWNERS, .git*, .npmrc, .envrc, .husky, .vscode, and files that tell agents what to do.
         */
        protect?: string[];
        /**
         * A fork that is pushed to, as acme-bot/app, so that checks run without the repository's secrets. Default: the repository itself.
         */
        pushTo?: string;
        /**
         * The author of commits, as Ann <ann@acme.com>. Default: Hookline.
         */
        author?: string;
        /**
         * How many failed checks of its change the agent is given in a row, until a person comments or reviews. Default: 5.
         */
        tries?: number;
      };
  /**
   * Which changes of this service an event may be about: it continues their session.
   */
  change?: {
    /**
     * Template of lines: the recipient of a pull request as acme/app#12, or a branch as acme/app:agent/1f0a2b3c.
     */
    keys: string;
    /**
     * Template. The whole id of the commit that a check was about.
     */
    commit?: string;
    /**
     * The event says that a check has failed. Other events continue a session if they ask.
     */
    check?: boolean;
  };
  /**
   * With hooks.compat: the agent of the gateway that runs the turn, in place of model.
   */
  agentId?: string;
  /**
   * With hooks.compat: the account of the channel, whose block is <channel>:<account>.
   */
  accountId?: string;
  /**
   * With hooks.compat: isolated: each run starts without what was said before in its session, and runs of one session still run in order. Default: persistent.
   */
  sessionMode?: "isolated" | "persistent";
  /**
   * Template. provider/model or an alias.
   */
  model?: string;
  /**
   * Template. low, medium, high.
   */
  thinking?: string;
  /**
   * With channel: source, a text for the place of the event when the run has failed permanently; never a template. The reply of a later retry replaces it, if the channel can edit its messages.
   */
  onFailure?: string;
  /**
   * Instead of agents.defaults.fallbackModels: models that are asked in this order if the run's own cannot answer. [] means none.
   */
  fallbackModels?: string[];
  /**
   * Maximum length of an answer, in tokens. Default: agents.defaults.maxOutputTokens.
   */
  maxOutputTokens?: number;
  /**
   * The calls of agents.tools that the model may ask for, by <set>.<call>; * stands for any characters. In a preset also what its page lists, as github.label. Default: none.
   */
  grants?: {
    [k: string]:
      | "read"
      | "ask"
      | "allow"
      | {
          /**
           * read: the call only reads, as the operator knows. ask: it changes something, and a person is asked each time. allow: it changes something, and nobody is asked.
           */
          mode: "read" | "ask" | "allow";
          /**
           * Arguments that are fixed, whose texts are templates. A template that is the whole text keeps its type. The model does not see them and cannot choose them. If the event lacks a value, nothing is granted, with a warning.
           */
          arguments?: {
            [k: string]: unknown;
          };
          /**
           * Arguments that the model may fill. The model does not see those that are neither fixed nor free. Default: with allow none, else all that are not fixed.
           */
          free?: string[];
          /**
           * How often the model may ask for the call in a run, refused and denied calls included. Default: for read any number of times, else 1.
           */
          max?: number;
          /**
           * true: after a crash, a call whose result is not known is repeated with the same call id. Default: a person is asked.
           */
          retry?: boolean;
        };
  };
  /**
   * Maximum duration of the run, in seconds.
   */
  timeoutSeconds?: number;
  /**
   * true disables the safety boundary for this hook. Dangerous: only for trusted internal sources.
   */
  allowUnsafeExternalContent?: boolean;
  /**
   * The service that posts received mails here. source and messages: [mail] are added to the payload, in the form of the mail preset.
   */
  mail?: "mailgun" | "postmark" | "sendgrid" | "ses";
  /**
   * Path of an array in the payload. Each item becomes one action, as {{item}} with {{index}}. [*] in the path stands for each item of an array: entry[*].messages.
   */
  forEach?: string;
  /**
   * With forEach: each action sees the list with just its own item, so {{messages[0]}} works as in OpenClaw.
   */
  forEachNarrows?: boolean;
  /**
   * Template. Who takes part in the conversation of sessionKey, one a line, the author of the event first. An author who has not taken part begins a session of their own, and the message says so. The first author begins the conversation.
   */
  participants?: string;
  /**
   * Template of the id of the channel message that the event is about: C0123:1767603600.000100 in Slack, -100123:45 in Telegram, the message's own id in others. If a delivery sent that message within hooks.dedupeWindow, the event is skipped.
   */
  echo?: string;
  /**
   * Template of the idempotency key; with forEach, of each item's key. No key if it is empty or lacks one of its values.
   */
  dedupe?: string;
  /**
   * Maximum number of its runs at the same time. Others wait; runs of other mappings do not. Default: agents.defaults.maxConcurrent.
   */
  concurrency?: number;
  /**
   * At most max of its runs start in any such period. Others wait; none is refused.
   */
  rateLimit?: {
    /**
     * Runs in a period.
     */
    max: number;
    /**
     * The period, a number and its unit: 500ms, 30s, 1m, 24h.
     */
    per?: string;
  };
  /**
   * Up to 8 texts, read by calls of agents.tools before the agent is asked. Each text is in the prompt after the message, inside the boundary.
   */
  context?: {
    /**
     * The call: <set>.<call>.
     */
    call: string;
    /**
     * Its arguments, whose texts are templates. A template that is the whole text keeps its type. If they do not fit the call's schema, this context is left out with a warning.
     */
    arguments?: {
      [k: string]: unknown;
    };
    /**
     * The title of the text in the prompt. Default: the name of the call.
     */
    title?: string;
    /**
     * How many characters of the text are used. Default: those of the call.
     */
    maxLength?: number;
    /**
     * If it cannot be read, the run is retried. Default: the agent is asked without it, with a note.
     */
    required?: boolean;
    /**
     * Template: if it is blank or `false`, this context is left out.
     */
    when?: string;
  }[];
  /**
   * Where the files of an event are in its payload. `files: true` gives them to the agent.
   *
   * @maxItems 50
   */
  attachments?: {
    /**
     * Path of a list of files, or of one: `event.files`. Templates see the fields of each. Default: the whole payload is one.
     */
    each?: string;
    /**
     * Only the last of the list.
     */
    last?: boolean;
    /**
     * Template: the name of the file.
     */
    name?: string;
    /**
     * Template: its media type, as the sender says.
     */
    type?: string;
    /**
     * Template: its size in bytes.
     */
    size?: string;
    /**
     * Template: its address, at a host of the channel's service or of hosts.
     */
    url?: string;
    /**
     * Template: its id, by which the channel's account finds it.
     */
    id?: string;
    /**
     * Template: the name of the mailbox of hooks.mail that has it under this id.
     */
    mailbox?: string;
    /**
     * Path of its bytes in base64.
     */
    content?: string;
    /**
     * Template: a text in Markdown or HTML, whose pictures are the files.
     */
    images?: string;
    /**
     * Public hosts that are asked without a credential, instead of the channel's account.
     *
     * Items: A host such as files.example.com, or *.example.com.
     */
    hosts?: string[];
  }[];
  /**
   * true: the agent is given the event's files: pictures, texts, and in a sandbox all of them in /files. Up to 5, 10 MB each, 20 MB in all. Default: their names only.
   */
  files?: boolean;
  /**
   * Requests with the same key within the window become one agent run, which starts when the window closes and has all their messages. Wakes do not need it: a heartbeat takes all pending events.
   */
  coalesce?: {
    /**
     * Template of the key; with forEach, of each item's key. Without a key, or if it lacks one of its values, the request gets its own run.
     */
    key: string;
    /**
     * Time from the first request to the start of the run, in milliseconds.
     */
    windowMs: number;
  };
  /**
   * The transform gets input.state, with get(key) and set(key, value, { ttl }): values that stay from one request to the next. They are committed with the event. true: the state is named as the mapping, in a preset as its hook, so that all mappings of the preset share it. A name: all mappings, presets and schedules with this name share it.
   */
  state?: boolean | string;
  /**
   * TypeScript or JavaScript that decides the action, run in a sandbox.
   */
  transform?: {
    /**
     * File in hooks.transformsDir.
     */
    module: string;
    /**
     * Export to call. Default: the default export, else transform.
     */
    export?: string;
    /**
     * Time limit of the call, in milliseconds; with forEach, of all calls of the request together.
     */
    timeoutMs?: number;
    /**
     * Memory limit, in MiB.
     */
    memoryMb?: number;
    /**
     * request: calls share frozen globals, and each has its own module variables. strict: each call gets its own context, which costs more.
     */
    isolation?: "request" | "strict";
    /**
     * Values that the transform gets, by name; usually ${ENV} or ${file:PATH}.
     */
    secrets?: {
      [k: string]: string;
    };
  };
}
export interface UserConfigMailbox {
  /**
   * The mailbox in the status, in `npx hookline mail run --mailbox`, and as `source` of the payload: letters, digits, dots, @, - and _. Default: the kind of the source.
   */
  name?: string;
  source?: MailSource;
  /**
   * Whether `npx hookline serve` watches the mailbox. false: only `npx hookline mail run` does.
   */
  autoStart?: boolean;
  /**
   * How far back the first start reads. Default: only mail that arrives after the mailbox was first opened.
   */
  lookback?: string;
  /**
   * Maximum number of mails in one request.
   */
  batchSize?: number;
  /**
   * Maximum size of a mail's text, in bytes.
   */
  maxBytes?: number;
  /**
   * The server whose Authentication-Results are trusted, as it names itself in them (mx.google.com). Default: the topmost ones, which a sender can forge if your server adds none.
   */
  authservId?: string;
  /**
   * Which mails are posted. A mail that was left out is posted only if it is moved later, for example out of spam.
   */
  filter?: {
    /**
     * Senders whose mail is posted. Default: all.
     */
    senders?: string[];
    /**
     * A mail must have one of these labels or keywords.
     *
     * @minItems 1
     */
    labels?: [string, ...string[]];
    /**
     * pass: only mail whose authentication results say dmarc=pass.
     */
    dmarc?: "pass";
    /**
     * Post mail from the mailbox's own addresses too.
     */
    own?: boolean;
    /**
     * Post spam too.
     */
    spam?: boolean;
    /**
     * Post mail in the trash or marked as deleted too.
     */
    trash?: boolean;
    /**
     * Post drafts too.
     */
    drafts?: boolean;
  };
  /**
   * provider/model or an alias.
   */
  model?: string;
  /**
   * low, medium, high.
   */
  thinking?: string;
  /**
   * Channel for replies.
   */
  channel?: string;
  /**
   * Recipient on the channel.
   */
  to?: string;
  /**
   * The operator's instructions for the agent.
   */
  instructions?: string;
}
/**
 * Any mailbox that speaks IMAP.
 */
export interface MailSourcesImap {
  /**
   * The kind of thing that this block configures.
   */
  kind: "imap";
  /**
   * The server's name.
   */
  host: string;
  /**
   * Default: 993, without implicit TLS 143.
   */
  port?: number;
  /**
   * none is for a server on this machine only.
   */
  tls?: "implicit" | "starttls" | "none";
  /**
   * The login name.
   */
  user: string;
  /**
   * A reference: ${ENV} or ${file:PATH}. Set either this or oauth.
   */
  password?: string;
  /**
   * Access by OAuth 2, with a refresh token.
   */
  oauth?: {
    /**
     * Where access tokens come from.
     */
    tokenUrl?: string;
    /**
     * The client's id.
     */
    clientId: string;
    /**
     * The client's secret, if it has one, as ${ENV} or ${file:PATH}.
     */
    clientSecret?: string;
    /**
     * A reference: ${ENV} or ${file:PATH}.
     */
    refreshToken: string;
    /**
     * Scopes to ask for, separated by spaces, if the provider requires them.
     */
    scope?: string;
  };
  /**
   * The folders to follow, one connection each.
   *
   * @minItems 1
   * @maxItems 10
   */
  folders?:
    | [string]
    | [string, string]
    | [string, string, string]
    | [string, string, string, string]
    | [string, string, string, string, string]
    | [string, string, string, string, string, string]
    | [string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string, string, string];
}
/**
 * Gmail's own API with its notifications over Pub/Sub.
 */
export interface MailSourcesGmail {
  /**
   * The kind of thing that this block configures.
   */
  kind: "gmail";
  /**
   * The mailbox's address.
   */
  user: string;
  /**
   * Access by OAuth 2, with a refresh token. Google's tokenUrl is known.
   */
  oauth: {
    /**
     * Where access tokens come from.
     */
    tokenUrl?: string;
    /**
     * The client's id.
     */
    clientId: string;
    /**
     * The client's secret, if it has one, as ${ENV} or ${file:PATH}.
     */
    clientSecret?: string;
    /**
     * A reference: ${ENV} or ${file:PATH}.
     */
    refreshToken: string;
    /**
     * Scopes to ask for, separated by spaces, if the provider requires them.
     */
    scope?: string;
  };
  /**
   * The Pub/Sub topic that Gmail notifies. Required with subscription or push.
   */
  topic?: string;
  /**
   * The subscription to pull. This or push; without either, Gmail is asked once a minute.
   */
  subscription?: string;
  /**
   * Pub/Sub posts to /mail/push of this service instead, with a signed token.
   */
  push?: {
    /**
     * The audience of the tokens, as in the push subscription.
     */
    audience: string;
    /**
     * The e-mail address that the tokens are issued for. Everyone can have tokens issued for their own.
     */
    serviceAccount: string;
    /**
     * For tests: Google's public keys as a JSON Web Key Set.
     */
    keysUrl?: string;
  };
  /**
   * Where Gmail's API is, for tests. Default: Google's own.
   */
  apiUrl?: string;
  /**
   * Where Pub/Sub is, for tests and its emulator. Default: Google's own.
   */
  pubsubUrl?: string;
}
export interface AgentsEcho {
  /**
   * The kind of thing that this block configures.
   */
  kind: "echo";
}
export interface AgentsOpenaiCompatible {
  /**
   * The kind of thing that this block configures.
   */
  kind: "openai-compatible";
  /**
   * Address of its API. openai and anthropic default to the vendor's own.
   */
  baseUrl: string;
  /**
   * Its key; usually ${ENV} or ${file:PATH}.
   */
  apiKey?: string;
  /**
   * Additional headers of every call.
   */
  headers?: {
    [k: string]: string;
  };
}
export interface AgentsOpenai {
  /**
   * The kind of thing that this block configures.
   */
  kind: "openai";
  /**
   * Address of its API. openai and anthropic default to the vendor's own.
   */
  baseUrl?: string;
  /**
   * Its key; usually ${ENV} or ${file:PATH}.
   */
  apiKey?: string;
  /**
   * Additional headers of every call.
   */
  headers?: {
    [k: string]: string;
  };
}
export interface AgentsAnthropic {
  /**
   * The kind of thing that this block configures.
   */
  kind: "anthropic";
  /**
   * Address of its API. openai and anthropic default to the vendor's own.
   */
  baseUrl?: string;
  /**
   * Its key; usually ${ENV} or ${file:PATH}.
   */
  apiKey?: string;
  /**
   * Additional headers of every call.
   */
  headers?: {
    [k: string]: string;
  };
}
export interface AgentsGateway {
  /**
   * The kind of thing that this block configures.
   */
  kind: "gateway";
  /**
   * Address of its API. openai and anthropic default to the vendor's own.
   */
  baseUrl: string;
  /**
   * Its key; usually ${ENV} or ${file:PATH}.
   */
  apiKey?: string;
  /**
   * Additional headers of every call.
   */
  headers?: {
    [k: string]: string;
  };
  /**
   * The header that names the session. Default: x-openclaw-session-key.
   */
  sessionHeader?: string;
  /**
   * Whether it keeps what was said in a session, so that a turn sends only its message; false: also the history. Default: true.
   */
  keepsHistory?: boolean;
}
export interface AgentsCommand {
  /**
   * The kind of thing that this block configures.
   */
  kind: "command";
  /**
   * The program and its arguments, run without a shell, once for each turn. command: the prompt is on its standard input, the reply on its standard output.
   *
   * @minItems 1
   */
  command: [string, ...string[]];
  /**
   * The folder that the program runs in. Without a sandbox the default is the configuration file's. In one it is /work, which is empty by default, and this folder, read-only, if it is set.
   */
  cwd?: string;
  /**
   * Variables of the program, which can read them, besides PATH, HOME, LANG and those of the turn: HOOKLINE_SESSION_KEY, HOOKLINE_RUN_ID, HOOKLINE_KIND (hook or heartbeat), HOOKLINE_MODEL, HOOKLINE_THINKING, HOOKLINE_TIMEOUT_SECONDS, HOOKLINE_MAX_OUTPUT_TOKENS, HOOKLINE_MAX_REPLY_BYTES, HOOKLINE_ACK, HOOKLINE_HISTORY (a file with the earlier turns: [{ role, text }]), and in a sandbox HOOKLINE_MODEL_URL and HOOKLINE_MCP_URL.
   */
  env?: {
    [k: string]: string;
  };
  /**
   * Required. true: the program runs in a sandbox of the system (Linux, with the package bubblewrap), writes its own folders only, and reaches nothing. An object: the same with a model, hosts and files. false: what outside text makes it do, it does as this service's user.
   */
  sandbox?:
    | boolean
    | {
        /**
         * provider/model that the agent may ask, at the cost of that provider. The agent never has the key.
         */
        model?: string;
        /**
         * Hosts that the agent may connect to by TLS, as name or name:port (default 443), at public addresses only. What a turn has read can leave there.
         *
         * Items: A host as name or name:port: registry.npmjs.org.
         */
        hosts?: string[];
        /**
         * Files and folders that the program can also read, at their own paths.
         */
        read?: string[];
      };
}
export interface AgentsAcp {
  /**
   * The kind of thing that this block configures.
   */
  kind: "acp";
  /**
   * The program and its arguments, run without a shell, once for each turn. command: the prompt is on its standard input, the reply on its standard output.
   *
   * @minItems 1
   */
  command: [string, ...string[]];
  /**
   * The folder that the program runs in. Without a sandbox the default is the configuration file's. In one it is /work, which is empty by default, and this folder, read-only, if it is set.
   */
  cwd?: string;
  /**
   * Variables of the program, which can read them, besides PATH, HOME, LANG and those of the turn: HOOKLINE_SESSION_KEY, HOOKLINE_RUN_ID, HOOKLINE_KIND (hook or heartbeat), HOOKLINE_MODEL, HOOKLINE_THINKING, HOOKLINE_TIMEOUT_SECONDS, HOOKLINE_MAX_OUTPUT_TOKENS, HOOKLINE_MAX_REPLY_BYTES, HOOKLINE_ACK, HOOKLINE_HISTORY (a file with the earlier turns: [{ role, text }]), and in a sandbox HOOKLINE_MODEL_URL and HOOKLINE_MCP_URL.
   */
  env?: {
    [k: string]: string;
  };
  /**
   * Required. true: the program runs in a sandbox of the system (Linux, with the package bubblewrap), writes its own folders only, and reaches nothing. An object: the same with a model, hosts and files. false: what outside text makes it do, it does as this service's user.
   */
  sandbox?:
    | boolean
    | {
        /**
         * provider/model that the agent may ask, at the cost of that provider. The agent never has the key.
         */
        model?: string;
        /**
         * Hosts that the agent may connect to by TLS, as name or name:port (default 443), at public addresses only. What a turn has read can leave there.
         *
         * Items: A host as name or name:port: registry.npmjs.org.
         */
        hosts?: string[];
        /**
         * Files and folders that the program can also read, at their own paths.
         */
        read?: string[];
      };
}
/**
 * Requests to one host.
 */
export interface ToolsHttp {
  /**
   * The kind of thing that this block configures.
   */
  kind: "http";
  /**
   * Begins every address. Redirects that leave its scheme, host or port are not followed.
   */
  baseUrl: string;
  /**
   * The host may be this machine or in a private network. Link-local and metadata addresses are never called.
   */
  private?: boolean;
  /**
   * Headers of every call, such as its credential.
   */
  headers?: {
    [k: string]: string;
  };
  /**
   * Calls, by name.
   */
  calls: {
    [k: string]: {
      /**
       * A description for the person or model that chooses the call.
       */
      description: string;
      /**
       * Path below baseUrl. {name} is an argument as one segment, {+name} one that may contain slashes.
       */
      get?: string;
      /**
       * Path below baseUrl. {name} is an argument as one segment, {+name} one that may contain slashes.
       */
      post?: string;
      /**
       * Path below baseUrl. {name} is an argument as one segment, {+name} one that may contain slashes.
       */
      put?: string;
      /**
       * Path below baseUrl. {name} is an argument as one segment, {+name} one that may contain slashes.
       */
      patch?: string;
      /**
       * Path below baseUrl. {name} is an argument as one segment, {+name} one that may contain slashes.
       */
      delete?: string;
      /**
       * The arguments: the JSON Schema of each, or the name of its type: "string", "integer", "number", "boolean", "array" or "object". All are required unless they say optional: true.
       */
      input?: {
        [k: string]:
          | "string"
          | "integer"
          | "number"
          | "boolean"
          | "array"
          | "object"
          | {
              [k: string]: unknown;
            };
      };
      /**
       * Query parameters, whose texts are templates over the arguments. A list repeats its parameter.
       */
      query?: {
        [k: string]: unknown;
      };
      /**
       * The body as JSON, whose texts are templates over the arguments. A template that is the whole text keeps its type.
       */
      body?: {
        [k: string]: unknown;
      };
      /**
       * How many characters of its result are used, if that differs from the set's.
       */
      maxResultLength?: number;
    };
  };
  /**
   * Who can see what is asked of the set. http: private unless it says public. Other kinds must say it, since their server may fetch any address.
   */
  audience?: "private" | "public";
  /**
   * How many characters of a result are used. The text says when there were more.
   */
  maxResultLength?: number;
  /**
   * How long a call may take, in seconds.
   */
  callTimeoutSeconds?: number;
  /**
   * Record calls that change something, and tell the model that they were not sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * The tools of an MCP server, as far as tools.lock.json has them.
 */
export interface ToolsMcp {
  /**
   * The kind of thing that this block configures.
   */
  kind: "mcp";
  /**
   * Address of a server over streamable HTTP. Either this or command.
   */
  url?: string;
  /**
   * With url: the host may be this machine or in a private network.
   */
  private?: boolean;
  /**
   * With url: headers of every request, such as its credential.
   */
  headers?: {
    [k: string]: string;
  };
  /**
   * A server as a program with its arguments, run without a shell as the service's user. A path of the program, and an argument that begins with ./ or ../ or names a file there, is relative to the configuration file. Either this or url.
   *
   * @minItems 1
   */
  command?: [string, ...string[]];
  /**
   * With command: what its environment has besides PATH, LANG and HOME, which is its own folder in the state folder.
   */
  env?: {
    [k: string]: string;
  };
  /**
   * Who can see what is asked of the set. http: private unless it says public. Other kinds must say it, since their server may fetch any address.
   */
  audience?: "private" | "public";
  /**
   * How many characters of a result are used. The text says when there were more.
   */
  maxResultLength?: number;
  /**
   * How long a call may take, in seconds.
   */
  callTimeoutSeconds?: number;
  /**
   * Record calls that change something, and tell the model that they were not sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * The calls of agents.tools that the model may ask for in a heartbeat. All of them read.
 */
export interface Grants1 {
  [k: string]:
    | "read"
    | "ask"
    | "allow"
    | {
        /**
         * read: the call only reads, as the operator knows. ask: it changes something, and a person is asked each time. allow: it changes something, and nobody is asked.
         */
        mode: "read" | "ask" | "allow";
        /**
         * Arguments that are fixed, whose texts are templates. A template that is the whole text keeps its type. The model does not see them and cannot choose them. If the event lacks a value, nothing is granted, with a warning.
         */
        arguments?: {
          [k: string]: unknown;
        };
        /**
         * Arguments that the model may fill. The model does not see those that are neither fixed nor free. Default: with allow none, else all that are not fixed.
         */
        free?: string[];
        /**
         * How often the model may ask for the call in a run, refused and denied calls included. Default: for read any number of times, else 1.
         */
        max?: number;
        /**
         * true: after a crash, a call whose result is not known is repeated with the same call id. Default: a person is asked.
         */
        retry?: boolean;
      };
}
/**
 * Messaging channels, one block each. Several accounts of one have blocks such as slack:eu.
 */
export interface Channels {
  bitbucket?: ChannelsBitbucket;
  chatwoot?: ChannelsChatwoot;
  discord?: ChannelsDiscord;
  gitea?: ChannelsGitea;
  github?: ChannelsGithub;
  gitlab?: ChannelsGitlab;
  googlechat?: ChannelsGooglechat;
  imessage?: ChannelsImessage;
  jira?: ChannelsJira;
  linear?: ChannelsLinear;
  mattermost?: ChannelsMattermost;
  msteams?: ChannelsMsteams;
  notion?: ChannelsNotion;
  pagerduty?: ChannelsPagerduty;
  sentry?: ChannelsSentry;
  signal?: ChannelsSignal;
  slack?: ChannelsSlack;
  telegram?: ChannelsTelegram;
  whatsapp?: ChannelsWhatsapp;
  zendesk?: ChannelsZendesk;
  email?: ChannelsEmail;
  http?: ChannelsHttp;
  [k: string]:
    | ChannelsBitbucket
    | ChannelsChatwoot
    | ChannelsDiscord
    | ChannelsGitea
    | ChannelsGithub
    | ChannelsGitlab
    | ChannelsGooglechat
    | ChannelsImessage
    | ChannelsJira
    | ChannelsLinear
    | ChannelsMattermost
    | ChannelsMsteams
    | ChannelsNotion
    | ChannelsPagerduty
    | ChannelsSentry
    | ChannelsSignal
    | ChannelsSlack
    | ChannelsTelegram
    | ChannelsWhatsapp
    | ChannelsZendesk
    | ChannelsEmail
    | ChannelsHttp
    | undefined;
}
/**
 * Comments on Bitbucket Cloud. The token needs the permission Pull requests: Write, for issues Issues: Write.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^bitbucket:[a-z0-9-]{1,24}$".
 */
export interface ChannelsBitbucket {
  /**
   * Access token of a repository, project or workspace; or, with email, an API token.
   */
  token: string;
  /**
   * `@name` in a reply notifies people and teams.
   */
  allowMentions?: boolean;
  /**
   * `fixes #1` in a reply can close an issue.
   */
  allowClosing?: boolean;
  /**
   * A reply shows images of other hosts, whose servers learn who looks at it.
   */
  allowImages?: boolean;
  /**
   * Default: https://api.bitbucket.org/2.0.
   */
  baseUrl?: string;
  /**
   * The address of the API token's account.
   */
  email?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Private notes and answers in Chatwoot's conversations.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^chatwoot:[a-z0-9-]{1,24}$".
 */
export interface ChannelsChatwoot {
  /**
   * Access token of an agent who can see the conversation.
   */
  token: string;
  /**
   * Your own server. Default: https://app.chatwoot.com.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * The channel discord.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^discord:[a-z0-9-]{1,24}$".
 */
export interface ChannelsDiscord {
  /**
   * Bot token.
   */
  token: string;
  /**
   * For tests and proxies, without the version. Default: https://discord.com/api.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Comments on Gitea and Forgejo. The access token needs the permission issue: Read and Write.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^gitea:[a-z0-9-]{1,24}$".
 */
export interface ChannelsGitea {
  /**
   * Access token of the agent's account.
   */
  token: string;
  /**
   * `@name` in a reply notifies people and teams.
   */
  allowMentions?: boolean;
  /**
   * `fixes #1` in a reply can close an issue.
   */
  allowClosing?: boolean;
  /**
   * A reply shows images of other hosts, whose servers learn who looks at it.
   */
  allowImages?: boolean;
  /**
   * The server as people open it: https://git.example.com.
   */
  baseUrl: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Comments on GitHub. A fine-grained token or a GitHub App needs Issues and Pull requests: Read and write; for discussions Discussions: Read and write; for commits Contents: Read.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^github:[a-z0-9-]{1,24}$".
 */
export interface ChannelsGithub {
  /**
   * Personal access token of the agent's account.
   */
  token?: string;
  /**
   * `@name` in a reply notifies people and teams.
   */
  allowMentions?: boolean;
  /**
   * `fixes #1` in a reply can close an issue.
   */
  allowClosing?: boolean;
  /**
   * A reply shows images of other hosts, whose servers learn who looks at it.
   */
  allowImages?: boolean;
  /**
   * The address of the API, for GitHub Enterprise Server: https://<host>/api/v3. Default: https://api.github.com.
   */
  baseUrl?: string;
  /**
   * A GitHub App instead of a token.
   */
  app?: {
    /**
     * The app's client id or id.
     */
    id: string;
    /**
     * The number at the end of the installation's URL. Default: that of the event, or of the repository that is written to.
     */
    installation?: string;
    /**
     * Its private key, PEM. \n may stand for line ends.
     */
    key: string;
  };
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Notes on GitLab. A project or group access token needs the scope api and the role Reporter.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^gitlab:[a-z0-9-]{1,24}$".
 */
export interface ChannelsGitlab {
  /**
   * Access token of a project, a group or the agent's account.
   */
  token: string;
  /**
   * `@name` in a reply notifies people and teams.
   */
  allowMentions?: boolean;
  /**
   * `fixes #1` in a reply can close an issue.
   */
  allowClosing?: boolean;
  /**
   * A reply shows images of other hosts, whose servers learn who looks at it.
   */
  allowImages?: boolean;
  /**
   * The server as people open it. Default: https://gitlab.com.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Google Chat, as a Chat app with a service account.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^googlechat:[a-z0-9-]{1,24}$".
 */
export interface ChannelsGooglechat {
  /**
   * The service account: `client_email` of its key file.
   */
  email: string;
  /**
   * `private_key` of the key file, PEM. \n may stand for line ends.
   */
  privateKey: string;
  /**
   * For tests and proxies. Default: https://chat.googleapis.com.
   */
  baseUrl?: string;
  /**
   * For tests. Default: https://oauth2.googleapis.com/token.
   */
  tokenUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Messages on a Mac, through https://github.com/openclaw/imsg.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^imessage:[a-z0-9-]{1,24}$".
 */
export interface ChannelsImessage {
  /**
   * A program and its arguments that speak the JSON-RPC of imsg; from another machine ["ssh", "mac", "imsg", "rpc"]. A path of the program is relative to the configuration file. Default: ["imsg", "rpc"].
   *
   * @minItems 1
   */
  command?: [string, ...string[]];
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Comments on the issues of Jira Cloud. The account may browse the project and add comments; an API token or OAuth token with scopes needs read:jira-work and write:jira-work.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^jira:[a-z0-9-]{1,24}$".
 */
export interface ChannelsJira {
  /**
   * API token of the account `email`. Without `email`: OAuth access token.
   */
  token: string;
  /**
   * The account that the API token belongs to.
   */
  email?: string;
  /**
   * https://<site>.atlassian.net; for a token with scopes https://api.atlassian.com/ex/jira/<cloud id>.
   */
  baseUrl: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Comments on Linear's issues. An API key needs the permissions Read and Create comments, an OAuth token the scopes read and comments:create; to edit comments and to show reactions, both need write.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^linear:[a-z0-9-]{1,24}$".
 */
export interface ChannelsLinear {
  /**
   * API key of the agent's account, or an OAuth access token.
   */
  token?: string;
  /**
   * `@name` in a reply notifies people and teams.
   */
  allowMentions?: boolean;
  /**
   * `fixes #1` in a reply can close an issue.
   */
  allowClosing?: boolean;
  /**
   * A reply shows images of other hosts, whose servers learn who looks at it.
   */
  allowImages?: boolean;
  /**
   * For tests and proxies. Default: https://api.linear.app.
   */
  baseUrl?: string;
  /**
   * An OAuth application with client credentials instead of a token. It asks for the scopes read and write.
   */
  app?: {
    /**
     * Its client id.
     */
    id: string;
    /**
     * Its client secret.
     */
    secret: string;
  };
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * The channel mattermost.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^mattermost:[a-z0-9-]{1,24}$".
 */
export interface ChannelsMattermost {
  /**
   * Access token of a bot account. Without the permission to use channel mentions, its messages cannot notify everyone.
   */
  token: string;
  /**
   * The server as people open it: https://chat.example.com.
   */
  baseUrl: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Microsoft Teams, through the Bot Framework's connector.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^msteams:[a-z0-9-]{1,24}$".
 */
export interface ChannelsMsteams {
  /**
   * Application id of the bot's registration.
   */
  appId: string;
  /**
   * Its client secret.
   */
  appPassword: string;
  /**
   * The tenant of a single-tenant bot.
   */
  tenantId?: string;
  /**
   * The service URL in the bot's activities. Default: https://smba.trafficmanager.net/teams.
   */
  baseUrl?: string;
  /**
   * For tests and other clouds. Default: the sign-in of the tenant at https://login.microsoftonline.com.
   */
  tokenUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Comments in Notion. The connection needs the capabilities to read and to insert comments.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^notion:[a-z0-9-]{1,24}$".
 */
export interface ChannelsNotion {
  /**
   * Token of an internal connection, to which the pages are shared.
   */
  token: string;
  /**
   * Default: https://api.notion.com.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Notes on PagerDuty's incidents. An API key that can write, or a token with incidents.read and incidents.write.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^pagerduty:[a-z0-9-]{1,24}$".
 */
export interface ChannelsPagerduty {
  /**
   * REST API key.
   */
  token: string;
  /**
   * The mail address of the user who writes the notes.
   */
  from: string;
  /**
   * https://api.eu.pagerduty.com in Europe. Default: https://api.pagerduty.com.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Comments on Sentry's issues. The token of an internal integration needs Issue & Event: Read & Write.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^sentry:[a-z0-9-]{1,24}$".
 */
export interface ChannelsSentry {
  /**
   * Token of an internal integration.
   */
  token: string;
  /**
   * `@name` in a reply notifies people and teams.
   */
  allowMentions?: boolean;
  /**
   * `fixes #1` in a reply can close an issue.
   */
  allowClosing?: boolean;
  /**
   * A reply shows images of other hosts, whose servers learn who looks at it.
   */
  allowImages?: boolean;
  /**
   * https://de.sentry.io in Europe, or your own server. Default: https://sentry.io.
   */
  baseUrl?: string;
  /**
   * The organization's slug.
   */
  organization: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * The daemon of signal-cli, started with `signal-cli daemon --http`.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^signal:[a-z0-9-]{1,24}$".
 */
export interface ChannelsSignal {
  /**
   * Number or id of the account that sends: +15551234567. Required if the daemon has several.
   */
  account?: string;
  /**
   * Where the daemon listens. It asks for no credential, so nobody else should reach it. Default: http://127.0.0.1:8080.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * The channel slack.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^slack:[a-z0-9-]{1,24}$".
 */
export interface ChannelsSlack {
  /**
   * Bot token.
   */
  token: string;
  /**
   * For tests and proxies. Default: https://slack.com/api/.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * The channel telegram.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^telegram:[a-z0-9-]{1,24}$".
 */
export interface ChannelsTelegram {
  /**
   * Bot token, from @BotFather.
   */
  token: string;
  /**
   * For tests and your own Bot API server. Default: https://api.telegram.org.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * WhatsApp's Cloud API.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^whatsapp:[a-z0-9-]{1,24}$".
 */
export interface ChannelsWhatsapp {
  /**
   * Access token of a system user with the whatsapp_business_messaging permission.
   */
  token: string;
  /**
   * Id of the business phone number that sends; not the number itself.
   */
  phoneNumberId: string;
  /**
   * Version of the Graph API. Default: v24.0.
   */
  version?: string;
  /**
   * For tests and proxies. Default: https://graph.facebook.com.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Internal notes and answers on Zendesk's tickets. An OAuth access token needs tickets:read and tickets:write.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^zendesk:[a-z0-9-]{1,24}$".
 */
export interface ChannelsZendesk {
  /**
   * `<email>/token:<API token>` of an agent, or an OAuth access token.
   */
  token: string;
  /**
   * As in `https://<subdomain>.zendesk.com`.
   */
  subdomain?: string;
  /**
   * Instead of subdomain, for tests and proxies.
   */
  baseUrl?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Mail, through an SMTP server.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^email:[a-z0-9-]{1,24}$".
 */
export interface ChannelsEmail {
  /**
   * The server's name.
   */
  host: string;
  /**
   * Default: 465, without implicit TLS 587.
   */
  port?: number;
  /**
   * none is for a server on this machine only.
   */
  tls?: "implicit" | "starttls" | "none";
  /**
   * The login name. Without it, there is no login.
   */
  user?: string;
  /**
   * A reference: ${ENV} or ${file:PATH}.
   */
  password?: string;
  /**
   * The address that mails come from.
   */
  from: string;
  /**
   * The name of an IMAP mailbox of hooks.mail that the mails come from. Its login is used unless user is set, and its folder of sent mail.
   */
  mailbox?: string;
  /**
   * auto: with mailbox, a copy is in its folder of sent mail. Gmail and Exchange keep one without that.
   */
  sentCopy?: "auto" | "off";
  /**
   * The name beside it.
   */
  fromName?: string;
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}
/**
 * Any HTTP endpoint. The configuration names the targets; `to` is the name of one.
 *
 * This interface was referenced by `Channels`'s JSON-Schema definition
 * via the `patternProperty` "^http:[a-z0-9-]{1,24}$".
 */
export interface ChannelsHttp {
  /**
   * The endpoints, by the names that `to` can have.
   */
  targets: {
    [k: string]: {
      /**
       * Gets a POST. Redirects are not followed.
       */
      url: string;
      /**
       * Further headers.
       */
      headers?: {
        [k: string]: string;
      };
      /**
       * Signs each request as Standard Webhooks says: whsec_ and base64, or any text of at least 24 bytes.
       */
      secret?: string;
      /**
       * JSON whose texts are templates over text, eventId, runId, hook, sessionKey and the event. Default: these five.
       */
      body?: {
        [k: string]: unknown;
      };
      /**
       * A field of the JSON that an accepted request answers with, for a service that answers its errors with 200.
       */
      success?: {
        /**
         * Where it is: `errcode`, `result.status`.
         */
        path: string;
        /**
         * Its value. Any other is a refusal.
         */
        is: string | number | boolean;
      };
    };
  };
  /**
   * The channel, as in the name of the block. It may be left out.
   */
  kind?: string;
  /**
   * Recipients that a payload may choose; * stands for any characters.
   */
  allow?: string[];
  /**
   * Who can see what is written there. Default: a recipient that the configuration names is private, any other one public, unless a preset knows that the place is private. A reply to a public place waits for a person if the agent has read something private.
   */
  audience?: "private" | "public";
  /**
   * Record deliveries as skipped, with what would have been sent, instead of sending them.
   */
  dryRun?: boolean;
}

/**
 * Hookline's configuration file: JSON5 or YAML. In a string, ${NAME} is replaced by that environment variable, ${NAME:-default} by the default if it is unset or empty, and ${file:PATH} by the text of that file without its last line break. The path is relative to this file.
 */
export interface ValidConfig {
  /**
   * For editors.
   */
  $schema?: string;
  /**
   * Other files that this configuration is made of, relative to this one: names, or patterns below a folder with * and **, as teams/*.yaml. This file's values have precedence over theirs.
   */
  include?: string[];
  /**
   * Packages and local modules that add agents, channels, mail sources and signature schemes. They run in the service's process with all its rights.
   */
  plugins?: string[];
  /**
   * The HTTP server. Changes of host, port, role and trustedProxies take effect at the next start.
   */
  gateway: {
    /**
     * Address to listen on.
     */
    host: string;
    /**
     * Port to listen on; 0 takes a free one.
     */
    port: number;
    /**
     * The node's work; needs store.url. all: answers hooks and executes runs. ingress: only answers. worker: only executes, and watches mailboxes. serve --role overrides it.
     */
    role: "all" | "ingress" | "worker";
    /**
     * The operator's own credential.
     */
    auth?: {
      /**
       * Opens /api and the page. Without it, both are off.
       */
      token?: string;
    };
    /**
     * Addresses or CIDR ranges whose X-Forwarded-For counts.
     */
    trustedProxies: string[];
    /**
     * Opens POST /mcp, where agents list, poll and subscribe to the events of mappings with publish (MCP Events). Without it, /mcp does not exist.
     */
    mcp?: {
      /**
       * Who may use it with a token, by name. Subscriptions belong to the name, which stays the same when the secret is rotated.
       */
      principals: {
        [k: string]: {
          /**
           * The bearer token. In a list (for rotation) the first is the current one, and the others are still accepted.
           */
          secret: string | string[];
          /**
           * Names of the event types that it may see, as deploys or github.*; * stands for any characters.
           */
          events: string[];
          /**
           * Arguments with the values that its events must have. It sees no event that lacks one of them.
           */
          arguments: {
            [k: string]: string | number | boolean | (string | number | boolean)[];
          };
        };
      };
      /**
       * Accepts access tokens (JWT) of an OAuth issuer, for hosted clients. Needs gateway.publicUrl: the audience of the tokens is <publicUrl>/mcp.
       */
      oauth?: {
        /**
         * The issuer, exactly as its metadata and its tokens name it.
         */
        issuer: string;
        /**
         * The scope that clients ask the issuer for.
         */
        scope: string;
        /**
         * Who may use it, by name. Other subjects are refused.
         */
        principals: {
          [k: string]: {
            /**
             * The subject of the tokens.
             */
            sub: string;
            /**
             * Names of the event types that it may see, as deploys or github.*; * stands for any characters.
             */
            events: string[];
            /**
             * Arguments with the values that its events must have. It sees no event that lacks one of them.
             */
            arguments: {
              [k: string]: string | number | boolean | (string | number | boolean)[];
            };
          };
        };
      };
      /**
       * Hosts of callbacks that may use http, any port and private addresses, such as 127.0.0.1. Others need https on port 443 and a public address.
       */
      allowHosts: string[];
      /**
       * Encrypts the secrets of subscriptions: at least 32 random characters. In a list (for rotation) the first encrypts, and all decrypt. Required with store.url. Default: the file mcp.key in store.path.
       */
      key?: string | string[];
    };
    /**
     * The service's public address, without the hooks path: https://hooks.example.com. Some senders sign it, and the page can be opened under it.
     */
    publicUrl?: string;
  };
  /**
   * The hook interface.
   */
  hooks: {
    /**
     * Turns the hook interface on.
     */
    enabled: boolean;
    /**
     * The secret that senders present. Required while hooks.enabled is true. In a list (for rotation) the first is the current one, and the others are still accepted.
     */
    token?: string | string[];
    /**
     * More tokens, by name. Idempotency keys belong to the name, which stays the same when the secret is rotated.
     */
    tokens?: {
      [k: string]: {
        /**
         * The secret. In a list (for rotation) the first is the current one, and the others are still accepted.
         */
        secret: string | string[];
        /**
         * The hooks for which this token is accepted, by name. Default: all.
         */
        hooks?: string[];
        /**
         * The start of the keys of all sessions that its requests to agent can lead to, if it has hooks: it is put in front of a key that begins otherwise. "": any session. Default: token:<name>:.
         */
        sessionPrefix?: string;
      };
    };
    /**
     * Settings of POST {hooks.path}/agent.
     */
    agent: {
      /**
       * The calls of agents.tools that the model may ask for in a turn of POST {hooks.path}/agent.
       */
      grants?: MappingInput["grants"];
    };
    /**
     * openclaw: x-openclaw-token is accepted like x-gateway-token, x-openclaw-idempotency-key like Idempotency-Key, and agentId, sessionMode, accountId and waitForCompletion mean what they mean there. Names of channels may be in any case.
     */
    compat?: "openclaw";
    /**
     * With compat: the agents that agentId may name; * for any. Default: any.
     */
    allowedAgentIds?: string[];
    /**
     * Path prefix of the hook interface. Slashes at either end make no difference.
     */
    path: string;
    /**
     * Maximum size of a body after decompression, in bytes.
     */
    maxBodyBytes: number;
    /**
     * Maximum time for a body to arrive, in seconds.
     */
    bodyTimeoutSeconds: number;
    /**
     * Maximum number of actions from one request with forEach.
     */
    maxFanOut: number;
    /**
     * Maximum number of unfinished runs; beyond it, requests are answered 503.
     */
    maxPending: number;
    /**
     * How long an idempotency key is remembered.
     */
    dedupeWindow: string;
    /**
     * Places in payloads whose values are not stored. If set, a body that cannot be parsed is not stored at all.
     *
     * Items: A place in a payload: $.user.password, $.items[*].token.
     */
    redact: string[];
    /**
     * Presets to enable, alone or with options: by name, or one of your own by its folder, as ./presets/acme. A folder is relative to this file.
     */
    presets: (
      | string
      | {
          /**
           * Name of the preset, or its folder.
           */
          use: string;
          /**
           * The preset's parameters.
           */
          with?: {
            [k: string]: unknown;
          };
        }
    )[];
    /**
     * Folder from which transform modules are loaded.
     */
    transformsDir: string;
    /**
     * Folders whose packages transforms may import through a link in `node_modules`, beside those of the workspace that the transforms are in.
     */
    transformRoots: string[];
    /**
     * Custom hooks, tried in order. The first match wins.
     */
    mappings: MappingInput[];
    /**
     * The mailbox to watch, or a list of mailboxes; `npx hookline mail setup` writes it. model, thinking, channel, to and instructions apply to the mails of this mailbox in the mail preset.
     */
    mail: ValidConfigMailbox | [ValidConfigMailbox, ...ValidConfigMailbox[]];
    /**
     * Whether a request may choose its session: by sessionKey in its payload, through a template or a transform.
     */
    allowRequestSessionKey: boolean;
    /**
     * If set, every given session key must start with one of these.
     */
    allowedSessionKeyPrefixes: string[];
    /**
     * Session key of hooks that give none. Default: a random hook:<uuid> for each run.
     */
    defaultSessionKey?: string;
  };
  /**
   * Agents and their models.
   */
  agents: {
    /**
     * Model providers by name, which is the part of a model before the slash. Without any, the built-in echo agent answers.
     */
    providers: {
      [k: string]: {kind: string; [option: string]: unknown};
    };
    /**
     * Tool sets by name: what an agent's turn can be given to read or to call. Nothing is granted by default.
     */
    tools: {
      [k: string]: {kind: string; [option: string]: unknown};
    };
    /**
     * Settings of every run.
     */
    defaults: {
      /**
       * Model of runs that name no other: provider/model or an alias.
       */
      model?: string;
      /**
       * Allowed models. When set, the list is enforced.
       */
      models?: (
        | string
        | {
            /**
             * provider/model.
             */
            id: string;
            /**
             * A short name for it.
             */
            alias?: string;
          }
      )[];
      /**
       * Thinking level: low, medium, high.
       */
      thinking?: string;
      /**
       * Models that are asked in this order, at once, if a run's own model is overloaded, unknown, cannot be reached or has no quota left: provider/model or an alias.
       */
      fallbackModels?: string[];
      /**
       * Maximum length of an answer, in tokens. Default: what the model's provider sets.
       */
      maxOutputTokens?: number;
      /**
       * Maximum duration of a run, in seconds.
       */
      timeoutSeconds: number;
      /**
       * How often a turn with grants asks its model. Then it ends with what there is.
       */
      maxSteps: number;
      /**
       * Maximum number of runs at the same time.
       */
      maxConcurrent: number;
      /**
       * Maximum number of attempts at a run whose failures are retryable.
       */
      maxAttempts: number;
      /**
       * The main session's periodic turn.
       */
      heartbeat: {
        /**
         * Time between heartbeats, at its multiples since 1970 in UTC. Default: 30m.
         */
        every?: string;
        /**
         * In place of every: when heartbeats are, as in the schedule of a mapping.
         */
        cron?: string;
        /**
         * The zone of cron, as Europe/Berlin. Default: UTC.
         */
        timezone?: string;
        /**
         * The first heartbeat that is asked for runs at once. Those asked for within this time after it are one, at its end.
         */
        joinWindow: string;
        /**
         * The reply that means: nothing to report. It is not delivered.
         */
        ack: string;
        /**
         * The calls of agents.tools that the model may ask for in a heartbeat. All of them read.
         */
        grants?: MappingInput["grants"];
        /**
         * Channel of the replies to heartbeats. Without it they go to the last recipient that a mapping names in the configuration.
         */
        channel?: string;
        /**
         * Recipient of the replies to heartbeats.
         */
        to?: string;
      };
    };
    /**
     * Hosts to which links in replies may have a query and a fragment, also after the agent has read something private. *.example.com stands for every host below example.com.
     *
     * Items: A host such as docs.example.com, or *.example.com.
     */
    linkHosts: string[];
    /**
     * The price of a model per million tokens, by provider/model. A run's cost is stored with it.
     */
    prices: {
      /**
       * The currency of all prices and limits, by its code in ISO 4217: EUR. It is shown beside costs.
       */
      currency?: string;
      [k: string]:
        | {
            /**
             * Price of a million prompt tokens.
             */
            input: number;
            /**
             * Price of a million reply tokens.
             */
            output: number;
            /**
             * Price of a million prompt tokens that the provider read from its cache. Default: as input.
             */
            cachedInput?: number;
            /**
             * Price of a million prompt tokens that the provider wrote into its cache. Default: as input.
             */
            cacheWrite?: number;
          }
        | string
        | undefined;
    };
    /**
     * How a person is asked before a call that is granted with ask, about a call whose outcome is not known, and about a reply that waits. Without a channel, they are answered on the operator's page, by npx hookline approvals, or by the API alone.
     */
    approvals?: {
      /**
       * A channel that is configured. Requires to.
       */
      channel?: string;
      /**
       * Recipient on it. Requires channel.
       */
      to?: string;
      /**
       * How long a question waits. Then it is denied. A question about an outcome waits until it is answered.
       */
      expires: string;
      /**
       * Who may answer in a message, by id: slack:T0ACME/U0ANN, telegram:4711, github:583231. Names do not count.
       *
       * Items: A channel and the id of a person there: slack:T0ACME/U0ANN, github:583231.
       */
      by: string[];
    };
    /**
     * Holds further runs once it is spent. A day begins at 00:00 UTC.
     */
    budget?: {
      /**
       * Limit for all runs and heartbeats of a day.
       */
      perDay?: number;
      /**
       * Limit for the runs of one session in a day.
       */
      perSession?: number;
      /**
       * Limit for one run: after it the model is not asked again, and the run ends with what there is.
       */
      perRun?: number;
      /**
       * cost: the limits are in the currency of agents.prices. tokens: they are tokens of prompts and replies.
       */
      unit: "cost" | "tokens";
    };
  };
  channels: Record<string, Record<string, unknown>>;
  /**
   * Messages to a person when something needs attention.
   */
  alerts: {
    /**
     * dead-letter: a run or delivery failed permanently. reload-failed: a changed configuration was refused. mailbox-down: no mail can arrive; a problem of the network is reported after five minutes. no-event-for: no event in the time that after gives. budget: a run is held by agents.budget or limits.perRecipient. model-unavailable: a run has waited for its model's provider for five minutes. tool-changed: a call of a tool set differs from what was accepted, and was refused. tool-unreachable: there is no connection to the server of a tool set, and a call failed. approval-waiting: a person is asked about a call or a reply, or too many questions were open. outcome-unknown: nobody knows whether a call was executed. catch-up: after a gap, a sender could not give everything that did not arrive. subscription-suspended: an agent's callback has failed for 15 minutes, or the secret of its subscription cannot be read. restarting: the service has ended at least five times within an hour without being stopped, and no single run or delivery explains it.
     *
     * @minItems 1
     */
    on: [
      (
        | "dead-letter"
        | "reload-failed"
        | "mailbox-down"
        | "no-event-for"
        | "budget"
        | "model-unavailable"
        | "tool-changed"
        | "tool-unreachable"
        | "approval-waiting"
        | "outcome-unknown"
        | "catch-up"
        | "subscription-suspended"
        | "restarting"
      ),
      ...(
        | "dead-letter"
        | "reload-failed"
        | "mailbox-down"
        | "no-event-for"
        | "budget"
        | "model-unavailable"
        | "tool-changed"
        | "tool-unreachable"
        | "approval-waiting"
        | "outcome-unknown"
        | "catch-up"
        | "subscription-suspended"
        | "restarting"
      )[]
    ];
    /**
     * A channel that is configured.
     */
    channel: string;
    /**
     * Recipient on it.
     */
    to: string;
    /**
     * At most one message of each kind, and of each mailbox and provider, in this time.
     */
    every: string;
    /**
     * For no-event-for: the time without an event.
     */
    after?: string;
    /**
     * For no-event-for: the hook whose events count. Default: all.
     */
    hook?: string;
  }[];
  /**
   * How much of a session's earlier turns a turn gets. The newest that fit are sent. All stay readable until store.retention deletes them.
   */
  session: {
    /**
     * Maximum number of earlier turns, each a prompt with its reply. 0: every turn starts fresh.
     */
    maxTurns: number;
    /**
     * Maximum tokens of earlier turns, estimated as four characters each.
     */
    maxTokens: number;
    /**
     * A session without a turn for this time starts fresh.
     */
    idleAfter: string;
  };
  /**
   * Protection from loops.
   */
  limits: {
    /**
     * Maximum number of answers that one recipient on a channel gets within an hour, in all threads together. Further turns that would answer it are held.
     */
    perRecipient: number;
  };
  /**
   * Where the state is stored.
   */
  store: {
    /**
     * The state folder, relative to the configuration file.
     */
    path: string;
    /**
     * A PostgreSQL database that holds the state instead, for several nodes: postgres://user@host:5432/database. For TLS add sslmode=verify-full, and sslrootcert=<file> if the certificate is not from a public authority. Behind PgBouncer use transaction mode. Before 1.21 it loses the names of prepared statements: the node that notices sends them without names from then on. 1.18 is tested, later versions are not.
     */
    url?: string;
    /**
     * Another way to the same database, past a pooler or through another pool of it: renewals of this node's lease go there, so that no other work delays them. Default: url.
     */
    leaseUrl?: string;
    /**
     * Password of the database's user. Default: the one in url, and in leaseUrl.
     */
    password?: string;
    /**
     * Maximum number of connections of this node, besides the one that listens for notifications and the one that renews its lease.
     */
    maxConnections: number;
    /**
     * How long a write waits for an unavailable database before the sender is answered 503.
     */
    commitTimeout: string;
    /**
     * Whether a start may change a database's tables that an earlier version made. Run pg_dump before. Also for one start: `npx hookline serve --upgrade-store`. A state folder needs neither: it is copied first.
     */
    upgrade: boolean;
    /**
     * How long finished events are kept, with their runs, entries and deliveries. Unfinished work is never deleted.
     */
    retention: {
      /**
       * Age at which finished events are deleted.
       */
      maxAge: string;
      /**
       * Maximum size of the journal, in bytes. Above it the oldest finished events are deleted. Not with store.url.
       */
      maxBytes?: number;
      /**
       * Maximum number of idempotency keys. Above it the oldest are forgotten before hooks.dedupeWindow ends.
       */
      maxKeys: number;
    };
  };
  /**
   * The service's own log, JSON lines on standard error.
   */
  log: {
    /**
     * Lowest level that is written.
     */
    level: "debug" | "info" | "warn" | "error" | "silent";
  };
}
export interface ValidConfigMailbox {
  /**
   * The mailbox in the status, in `npx hookline mail run --mailbox`, and as `source` of the payload: letters, digits, dots, @, - and _. Default: the kind of the source.
   */
  name?: string;
  source?: {kind: string; [option: string]: unknown};
  /**
   * Whether `npx hookline serve` watches the mailbox. false: only `npx hookline mail run` does.
   */
  autoStart: boolean;
  /**
   * How far back the first start reads. Default: only mail that arrives after the mailbox was first opened.
   */
  lookback?: string;
  /**
   * Maximum number of mails in one request.
   */
  batchSize: number;
  /**
   * Maximum size of a mail's text, in bytes.
   */
  maxBytes: number;
  /**
   * The server whose Authentication-Results are trusted, as it names itself in them (mx.google.com). Default: the topmost ones, which a sender can forge if your server adds none.
   */
  authservId?: string;
  /**
   * Which mails are posted. A mail that was left out is posted only if it is moved later, for example out of spam.
   */
  filter: {
    /**
     * Senders whose mail is posted. Default: all.
     */
    senders?: string[];
    /**
     * A mail must have one of these labels or keywords.
     *
     * @minItems 1
     */
    labels?: [string, ...string[]];
    /**
     * pass: only mail whose authentication results say dmarc=pass.
     */
    dmarc?: "pass";
    /**
     * Post mail from the mailbox's own addresses too.
     */
    own: boolean;
    /**
     * Post spam too.
     */
    spam: boolean;
    /**
     * Post mail in the trash or marked as deleted too.
     */
    trash: boolean;
    /**
     * Post drafts too.
     */
    drafts: boolean;
  };
  /**
   * provider/model or an alias.
   */
  model?: string;
  /**
   * low, medium, high.
   */
  thinking?: string;
  /**
   * Channel for replies.
   */
  channel?: string;
  /**
   * Recipient on the channel.
   */
  to?: string;
  /**
   * The operator's instructions for the agent.
   */
  instructions?: string;
}
