// LangChain: the adapter makes a block of each block, and the chat model has to
// take them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";

import { calls, checkSeen, model, serve } from "./site.mjs";

let site, bare, fake;

before(async () => {
  site = await serve();
  bare = await serve("--no-resource-links");
  fake = await model();
});
after(async () => {
  await fake.close();
  await site.close();
  await bare.close();
});

// connected runs a function with the tools of a server.
async function connected(url, options, run) {
  const client = new MultiServerMCPClient({ ...options, mcpServers: { repomcp: { transport: "http", url } } });
  try {
    await run(new Map((await client.getTools()).map((tool) => [tool.name, tool])));
  } finally {
    await client.close();
  }
}

// asked makes a call and lets the model see its result, as an agent does.
async function asked(tools, call) {
  const request = { id: "call-1", name: call.name, args: call.arguments, type: "tool_call" };
  const result = await tools.get(call.name).invoke(request);
  const chat = new ChatOpenAI({ model: "scripted", apiKey: "none", maxRetries: 0, configuration: { baseURL: fake.url } });
  await chat.invoke([new HumanMessage("go on"), new AIMessage({ content: "", tool_calls: [request] }), result]);
  const { messages } = fake.requests.at(-1);
  checkSeen(call, messages.find((message) => message.role === "tool").content);
}

test("sees what each tool says, by default", () =>
  connected(site.url, {}, async (tools) => {
    for (const call of calls.filter((c) => !c.links)) {
      await asked(tools, call);
    }
  }));

test("sees where files are once links are set aside", () =>
  connected(site.url, { outputHandling: { resource_link: "artifact" } }, async (tools) => {
    for (const call of calls) {
      await asked(tools, call);
    }
  }));

test("sees where files are from a server without links", () =>
  connected(bare.url, {}, async (tools) => {
    for (const call of calls) {
      await asked(tools, call);
    }
  }));

// What docs/tools.md says of links: ChatOpenAI takes none.
test("fails on links that are not set aside", () =>
  connected(site.url, {}, async (tools) => {
    for (const call of calls.filter((c) => c.links)) {
      await assert.rejects(asked(tools, call), /must be formatted as a data URL/);
    }
  }));
