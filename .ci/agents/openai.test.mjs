// OpenAI's framework of agents: a whole run, in which the model asks for tools and
// gets their results.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Agent, MCPServerStreamableHttp, OpenAIChatCompletionsModel, run, setTracingDisabled } from "@openai/agents";
import OpenAI from "openai";

import { calls, checkSeen, model, serve, toolCalls } from "./site.mjs";

let site, fake, server;

before(async () => {
  setTracingDisabled(true);
  site = await serve();
  fake = await model(toolCalls(calls), { content: "all seen" });
  server = new MCPServerStreamableHttp({ url: site.url, name: "repomcp" });
  await server.connect();
});
after(async () => {
  await server.close();
  await fake.close();
  await site.close();
});

test("sees what each tool says", async () => {
  const client = new OpenAI({ apiKey: "none", baseURL: fake.url, maxRetries: 0 });
  const agent = new Agent({ name: "reader", model: new OpenAIChatCompletionsModel(client, "scripted"), mcpServers: [server] });
  const result = await run(agent, "go on");
  assert.equal(result.finalOutput, "all seen");
  const [first, second] = fake.requests;
  assert.ok(first.tools.some((tool) => tool.function.name === "search_code"));
  const seen = second.messages.filter((message) => message.role === "tool");
  assert.equal(seen.length, calls.length);
  for (const [i, call] of calls.entries()) {
    const message = seen.find((m) => m.tool_call_id === `call-${i}`);
    // Texts are put together as they are; what has a link is sent as JSON.
    assert.equal(message.content.startsWith('[{"type":'), call.links === true, message.content.slice(0, 200));
    checkSeen(call, message.content);
  }
});
