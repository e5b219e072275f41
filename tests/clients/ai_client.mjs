// One scenario with Vercel's AI SDK and its provider for OpenAI.
//
//     OPENAI_BASE_URL=... OPENAI_API_KEY=... node ai_client.mjs VERB GIVEN
//
// GIVEN is a JSON object; `request` in it is what responses.create() takes, of
// which the members that the SDK has are told to it in its own words. Prints what
// the SDK saw as one JSON object; README.md says what it has for each verb.

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, Output, streamText, tool, uploadFile } from "ai";
import { z } from "zod";

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = process.env;
const openai = createOpenAI({ apiKey, baseURL });
const Weather = z.object({ city: z.string(), celsius: z.number().int() });

const verbs = {
  async plain({ request }) {
    return { told: told(await generateText(asked(request))) };
  },

  async streamed({ request }) {
    const errors = [];
    const stream = streamText({
      ...asked(request),
      include: { rawChunks: true },
      onError: ({ error }) => errors.push(described(error)),
    });
    const events = [];
    const types = [];
    for await (const part of stream.fullStream) {
      if (part.type === "raw") events.push(part.rawValue);
      else types.push(part.type);
    }
    const final = await attempt(async () => ({
      text: await stream.text,
      finish: await stream.finishReason,
    }));
    return { events, types, final, errors };
  },

  // The second and the third both continue the first.
  async chain({ requests }) {
    const made = [];
    for (const request of requests) {
      const previousResponseId = made[0]?.id;
      made.push(told(await generateText(asked(request, { previousResponseId }))));
    }
    return { told: made };
  },

  // The SDK answers the calls by itself, and sends items back by reference.
  async functions({ request, results }) {
    const calls = [];
    const tools = Object.fromEntries(
      request.tools.map(({ name, description, parameters }) => [
        name,
        tool({
          description,
          inputSchema: jsonSchema(parameters),
          execute: (input) => (calls.push(input), results[input.city]),
        }),
      ]),
    );
    const options = { ...asked(request), tools, stopWhen: isStepCount(3) };
    return { calls, told: told(await generateText(options)) };
  },

  // Reads an uploaded file in a container that the server makes.
  async code({ request, file: [filename, text] }) {
    const data = Buffer.from(text);
    const api = openai.files();
    const file = await uploadFile({ api, data, filename, mediaType: "text/csv" });
    const fileIds = [file.providerReference.openai];
    const tools = { code_interpreter: openai.tools.codeInterpreter({ container: { fileIds } }) };
    const result = await generateText({ ...asked(request), tools });
    const made = [];
    for (const { providerMetadata, filename } of result.sources) {
      const { type, containerId, fileId } = providerMetadata.openai;
      if (type === "container_file_citation")
        made.push({ filename, base64: await fetched(containerId, fileId) });
    }
    const outputs = result.toolResults.map((done) => done.output);
    return { told: told(result), made, outputs };
  },

  async parsed({ request }) {
    const output = Output.object({ schema: Weather, name: "weather" });
    const result = await generateText({ ...asked(request), output });
    return { value: result.output, told: told(result) };
  },

  // It has no call that makes a conversation.
  async conversation({ requests }) {
    const made = await api("POST", "conversations", {});
    const answers = [];
    for (const request of requests)
      answers.push(told(await generateText(asked(request, { conversation: made.id }))));
    return { told: answers };
  },

  async refused({ request }) {
    return { refusal: await attempt(() => generateText(asked(request))) };
  },
};

// --- what they share

function asked(request, more = {}) {
  const prompt =
    typeof request.input === "string" ? { prompt: request.input } : { messages: request.input };
  return {
    model: openai.responses(request.model),
    ...prompt,
    temperature: request.temperature,
    tools: builtIn(request.tools),
    maxRetries: 2,
    providerOptions: {
      openai: {
        instructions: request.instructions,
        previousResponseId: request.previous_response_id,
        reasoningSummary: request.reasoning?.summary,
        forceReasoning: request.reasoning !== undefined,
        ...more,
      },
    },
  };
}

function builtIn(tools = []) {
  const made = {};
  for (const { type, name, description, parameters } of tools)
    if (type === "code_interpreter") made.code_interpreter = openai.tools.codeInterpreter();
    else made[name] = tool({ description, inputSchema: jsonSchema(parameters) });
  return made;
}

// What of a result all scenarios look at.
function told({ text, finishReason, usage, finalStep }) {
  const { providerMetadata } = finalStep;
  return { id: providerMetadata.openai.responseId, text, finish: finishReason, usage };
}

async function api(method, path, body) {
  const answer = await fetch(`${baseURL}/${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
  return answer.json();
}

async function fetched(container, file) {
  const url = `${baseURL}/containers/${container}/files/${file}/content`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
  if (!answer.ok) throw new Error(`GET ${url}: ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer()).toString("base64");
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
  const cause = error.lastError ?? error;
  const body = cause.data?.error ?? {};
  return {
    class: cause.constructor.name,
    message: cause.message,
    status: cause.statusCode ?? null,
    code: body.code ?? null,
    param: body.param ?? null,
    type: body.type ?? null,
    request_id: cause.responseHeaders?.["x-request-id"] ?? null,
  };
}

const [verb, given] = process.argv.slice(2);
let seen;
try {
  seen = await verbs[verb](JSON.parse(given));
} catch (error) {
  seen = { raised: described(error) };
}
console.log(JSON.stringify(seen));
