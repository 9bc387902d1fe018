/** What proves a driver: the suites that the service's own drivers pass, for the tests of a plugin's. */
export { describeAgent } from "./agent.ts";
export type { AgentUnderTest } from "./agent.ts";
export { describeRemoteAgent } from "./agent.ts";
export type { RemoteAgentUnderTest } from "./agent.ts";
export { describeChannel } from "./channel.ts";
export type { ChannelUnderTest } from "./channel.ts";
export { describeRemoteChannel } from "./channel.ts";
export type { RemoteChannelUnderTest } from "./channel.ts";
export { describeMailSource } from "./mail.ts";
export type { MailSourceUnderTest } from "./mail.ts";
export { startFaultProxy } from "./fault-proxy.ts";
export type { Fault, FaultProxy } from "./fault-proxy.ts";
export { turnOf } from "./agent.ts";
export type { TestRunner } from "./harness.ts";
