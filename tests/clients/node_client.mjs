// One scenario with the official client for Node.js.
//
//     OPENAI_BASE_URL=... OPENAI_API_KEY=... node node_client.mjs VERB GIVEN
//
// GIVEN is a JSON object, `request` in it the members of responses.create().
// Prints what the client saw as one JSON object; README.md says what it has for
// each verb.

import OpenAI, { toFile } from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { File } from "node:buffer";
import { webcrypto } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

// The client asks for both, and Node.js 18 has neither as a global.
globalThis.File ??= File;
globalThis.crypto ??= webcrypto;

const PAUSE_MS = 200;
const Weather = z.object({ city: z.string(), celsius: z.number().int() });

const verbs = {
  async plain(client, { request }) {
    return { response: await client.responses.create(request) };
  },

  async streamed(client, { request }) {
    return { events: await all(await client.responses.create({ ...request, stream: true })) };
  },

  async helper(client, { request }) {
    const stream = client.responses.stream(request);
    const types = (await all(stream)).map((event) => event.type);
    return { types, final: await attempt(() => stream.finalResponse()) };
  },

  async background(client, { request }) {
    const first = await client.responses.create({ ...request, background: true });
    return { first, response: await waitForEnd(client, first) };
  },

  // The connection ends after some events; the rest comes over another.
  async resumed(client, { request, drop_after }) {
    const events = [];
    const asked = { ...request, background: true, stream: true };
    for await (const event of await client.responses.create(asked)) {
      events.push(event);
      if (events.length === drop_after) break;
    }
    const { id } = events[0].response;
    const last = events.at(-1).sequence_number;
    const ask = (query) => client.responses.retrieve(id, { stream: true, ...query });
    const rest = await all(await ask({ starting_after: last }));
    const again = await all(await ask({}));
    const stream = client.responses.stream({ response_id: id, starting_after: last });
    const numbers = (await all(stream)).map((event) => event.sequence_number);
    const final = await attempt(() => stream.finalResponse());
    return { events, rest, again, helper: { numbers, final } };
  },

  async cancelled(client, { request }) {
    const { id } = await client.responses.create({ ...request, background: true });
    const answers = [await client.responses.cancel(id), await client.responses.cancel(id)];
    const response = await waitForEnd(client, await client.responses.retrieve(id));
    return { answers, response, late: await attempt(() => client.responses.cancel(id)) };
  },

  // The second and the third both continue the first.
  async chain(client, { requests }) {
    const responses = [];
    for (const request of requests) {
      const more = responses.length ? { previous_response_id: responses[0].id } : {};
      responses.push(await client.responses.create({ ...request, ...more }));
    }
    return { responses };
  },

  async functions(client, { request, results }) {
    const first = await client.responses.create(request);
    const calls = first.output.filter((item) => item.type === "function_call");
    const input = calls.map((call) => ({
      type: "function_call_output",
      call_id: call.call_id,
      output: results[JSON.parse(call.arguments).city],
    }));
    const after = { ...request, input, previous_response_id: first.id };
    return { first, calls, response: await client.responses.create(after) };
  },

  // Reads an uploaded file in a container; fetches what the code has made.
  async code(client, { request, file: [name, text] }) {
    const file = await client.files.create({
      file: await toFile(Buffer.from(text), name),
      purpose: "user_data",
    });
    const container = await client.containers.create({ name: "figures", file_ids: [file.id] });
    const response = await client.responses.create({
      ...request,
      tools: [{ type: "code_interpreter", container: container.id }],
      include: ["code_interpreter_call.outputs"],
    });
    const files = client.containers.files;
    const content = await (await client.files.content(file.id)).text();
    const made = [];
    for (const cited of citations(response)) {
      const { container_id } = cited;
      const answer = await files.content.retrieve(cited.file_id, { container_id });
      made.push({ ...cited, base64: await encoded(answer) });
    }
    const listed = await all(files.list(container.id));
    const deleted = await client.containers.delete(container.id);
    const gone = await attempt(() => client.containers.retrieve(container.id));
    const file_deleted = await client.files.delete(file.id);
    return { file, content, container, response, made, listed, deleted, gone, file_deleted };
  },

  // Uploads files, lists them in pages of two, and asks about the first one.
  async files(client, { request, files, too_large }) {
    const expires_after = { anchor: "created_at", seconds: 3600 };
    const upload = async (name, bytes) =>
      client.files.create({ file: await toFile(bytes, name), purpose: "vision", expires_after });
    const made = [];
    for (const [name, text] of files) made.push(await upload(name, Buffer.from(text)));
    const listed = await all(client.files.list({ limit: 2, order: "asc", purpose: "vision" }));
    const contents = [];
    for (const { id } of made) contents.push(await (await client.files.content(id)).text());
    const content = [
      { type: "input_text", text: request.input },
      { type: "input_file", file_id: made[0].id },
    ];
    const response = await client.responses.create({
      ...request,
      input: [{ role: "user", content }],
      include: ["code_interpreter_call.outputs"],
    });
    const large = await attempt(() => upload("large", Buffer.alloc(too_large)));
    const deleted = [];
    for (const { id } of made) deleted.push(await client.files.delete(id));
    const gone = await attempt(() => client.files.retrieve(made[0].id));
    return { made, listed, contents, response, large, deleted, gone };
  },

  async parsed(client, { request }) {
    const text = { format: zodTextFormat(Weather, "weather") };
    const response = await client.responses.parse({ ...request, text });
    return { value: response.output_parsed, response };
  },

  async conversation(client, { requests }) {
    const made = await client.conversations.create({ metadata: { topic: "greetings" } });
    const responses = [];
    for (const request of requests)
      responses.push(await client.responses.create({ ...request, conversation: made.id }));
    const items = await all(client.conversations.items.list(made.id, { order: "asc" }));
    const last = items.at(-1).id;
    const removed = await client.conversations.items.delete(last, {
      conversation_id: made.id,
    });
    const left = await all(client.conversations.items.list(made.id, { order: "asc" }));
    await client.conversations.update(made.id, { metadata: { topic: "farewells" } });
    const found = await client.conversations.retrieve(made.id);
    const deleted = await client.conversations.delete(made.id);
    const gone = await attempt(() => client.conversations.retrieve(made.id));
    return { made, responses, items, removed, left, found, deleted, gone };
  },

  // Pages of two; iterating asks for the next ones.
  async input_items(client, { request }) {
    const { id } = await client.responses.create(request);
    const ask = (query) => all(client.responses.inputItems.list(id, { limit: 2, ...query }));
    return { newest_first: await ask({}), oldest_first: await ask({ order: "asc" }) };
  },

  async deleted(client, { request }) {
    const { id } = await client.responses.create(request);
    await client.responses.delete(id);
    const after = { ...request, previous_response_id: id };
    return {
      retrieved: await attempt(() => client.responses.retrieve(id)),
      continued: await attempt(() => client.responses.create(after)),
      deleted: await attempt(() => client.responses.delete(id)),
    };
  },

  async webhook(client, { payload, headers, secret }) {
    const event = await client.webhooks.unwrap(payload, headers, secret);
    const forged = payload.replace("response", "resqonse");
    return {
      event,
      forged: await attempt(() => client.webhooks.unwrap(forged, headers, secret)),
    };
  },

  // The call that is not to succeed: create, retrieve, cancel or delete.
  async refused(client, { call, request, id }) {
    return { refusal: await attempt(() => client.responses[call](request ?? id)) };
  },

  // More calls than the key may make; then one that waits for its turn.
  async limited(client, { calls }) {
    const list = (more) => all(client.models.list(more));
    let refusal;
    for (let i = 0; i < calls && !refusal?.raised; i++)
      refusal = await attempt(() => list({ maxRetries: 0 }));
    const models = (await list({ maxRetries: 5 })).map((model) => model.id);
    return { refusal, models };
  },

  async models(client) {
    return { models: await all(client.models.list()) };
  },
};

// --- what they share

async function all(these) {
  const items = [];
  for await (const item of these) items.push(item);
  return items;
}

async function encoded(answer) {
  return Buffer.from(await answer.arrayBuffer()).toString("base64");
}

function citations(response) {
  return response.output
    .filter((item) => item.type === "message")
    .flatMap((item) => item.content.flatMap((part) => part.annotations ?? []))
    .filter((annotation) => annotation.type === "container_file_citation");
}

async function waitForEnd(client, response) {
  while (["queued", "in_progress"].includes(response.status)) {
    await sleep(PAUSE_MS);
    response = await client.responses.retrieve(response.id);
  }
  return response;
}

// {answer} or {raised}
async function attempt(ask) {
  try {
    return { answer: await ask() };
  } catch (error) {
    return { raised: described(error) };
  }
}

function described(error) {
  return {
    class: error.constructor.name,
    message: error.message,
    status: error.status ?? null,
    code: error.code ?? null,
    param: error.param ?? null,
    type: error.type ?? null,
    request_id: error.requestID ?? null,
    retry_after: error.headers?.get?.("retry-after") ?? null,
  };
}

const [verb, given] = process.argv.slice(2);
let seen;
try {
  const { retries = 2, ...rest } = JSON.parse(given);
  seen = await verbs[verb](new OpenAI({ maxRetries: retries }), rest);
} catch (error) {
  seen = { raised: described(error) };
}
console.log(JSON.stringify(seen));
