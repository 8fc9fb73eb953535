// Drives the real chat client through the steps of a scenario.
import assert from 'node:assert/strict'
import { toolDefinition } from '@tanstack/ai'
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { z } from 'zod'
import { plain } from './normal.mjs'

const IDLE_MS = 80
const STEP_MS = 15_000

/** A Standard Schema whose JSON Schema is exactly the given one. */
export function typedSchema(schema) {
  if (schema === undefined) return undefined
  const { $schema: _, ...body } = schema
  const validator = z.fromJSONSchema(body)
  return {
    '~standard': {
      version: 1,
      vendor: 'fixture',
      validate: (value) => {
        const checked = validator.safeParse(value)
        return checked.success ? { value } : { issues: checked.error.issues }
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }
}

const sameJson = (a, b) => canonical(a) === canonical(b)
const canonical = (value) =>
  JSON.stringify(value, (_, item) =>
    item && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )

/** Builds what the browser side registers for one entry of `client.tools`. */
function clientTool(entry, server) {
  const given = entry.side || entry.inputSchema ? entry : (server.tools ?? []).find((tool) => tool.name === entry.name)
  assert.ok(given, `no definition of the client tool ${entry.name}`)
  const schema = given.typed ? typedSchema : (raw) => raw
  const { approve, reject } = given.approvalSchema ?? {}
  const definition = toolDefinition({
    name: given.name,
    description: given.description,
    ...(given.inputSchema && { inputSchema: schema(given.inputSchema) }),
    ...(given.outputSchema && { outputSchema: schema(given.outputSchema) }),
    ...(given.needsApproval && { needsApproval: true }),
    ...(given.approvalSchema && {
      approvalSchema: { ...(approve && { approve: schema(approve) }), ...(reject && { reject: schema(reject) }) },
    }),
  })
  if (!entry.results) return definition.client()
  return definition.client(async (args) => {
    const result = entry.results.find((item) => item.arguments === undefined || sameJson(item.arguments, args))
    assert.ok(result, `no result for ${entry.name}(${JSON.stringify(args)})`)
    if (typeof result.throws === 'string') throw result.throws
    if (result.throws) throw new Error(result.throws.message)
    return result.value
  })
}

/** A chat client with everything it saw. */
export function newClient(url, { thread, server = {}, registered = server.client ?? {}, fetchClient } = {}) {
  const seen = { chunks: [], errors: [], custom: [], bodies: [], statuses: [] }
  let stopAt = Infinity
  let active = Date.now()
  const touch = () => (active = Date.now())
  const counted = async (input, init) => {
    if (typeof init?.body === 'string') seen.bodies.push(JSON.parse(init.body))
    return (fetchClient ?? fetch)(input, init)
  }
  const client = new ChatClient({
    connection: fetchServerSentEvents(url, { fetchClient: counted }),
    threadId: thread,
    tools: (registered.tools ?? []).map((entry) => clientTool(entry, server)),
    ...(registered.forwardedProps && { forwardedProps: registered.forwardedProps }),
    ...(registered.body && { body: registered.body }),
    onChunk: (chunk) => {
      touch()
      seen.chunks.push(plain(chunk))
      if (seen.chunks.length === stopAt) client.stop()
    },
    onError: (error) => {
      touch()
      seen.errors.push(error)
    },
    onCustomEvent: (name, value, context) => seen.custom.push(plain({ eventType: name, data: value, context })),
    onStatusChange: (status) => {
      touch()
      seen.statuses.push(status)
    },
    onInterruptStateChange: touch,
    onMessagesChange: touch,
  })

  const idle = async (what) => {
    const end = Date.now() + STEP_MS
    touch()
    for (;;) {
      await new Promise((done) => setTimeout(done, 10))
      const busy = client.getIsLoading() || client.getInterruptState().resuming
      if (!busy && Date.now() - active >= IDLE_MS) return
      if (Date.now() > end) assert.fail(`${what}: not idle within ${STEP_MS} ms, status ${client.getStatus()}`)
    }
  }

  return {
    client,
    seen,
    idle,
    interrupts: () => client.getInterrupts(),
    /** Sends a message and waits until nothing happens any more. */
    async send(content, body) {
      await client.sendMessage(content, body)
      await idle('send')
    },
    /** Answers the i-th listed interrupt. */
    async answer(i, ...answer) {
      const item = client.getInterrupts()[i]
      assert.ok(item?.resolveInterrupt, `no interrupt ${i} that can be answered: ${JSON.stringify(plain(client.getInterrupts()))}`)
      item.resolveInterrupt(...answer)
      await idle('answer')
    },
    async cancel(i) {
      client.getInterrupts()[i].cancel()
      await idle('cancel')
    },
    stopAfter(k) {
      stopAt = seen.chunks.length + k
    },
    /** What `<s>.client.json` holds. */
    state() {
      return {
        status: client.getStatus(),
        messages: plain(client.getMessages()),
        interrupts: plain(client.getInterrupts()),
        interruptErrors: plain(client.getInterruptState().interruptErrors ?? []),
        errors: seen.errors.map((error) => ({
          name: error.name,
          message: error.message,
          ...(error.code !== undefined && { code: error.code }),
          ...(error.rawEvent !== undefined && { rawEvent: plain(error.rawEvent) }),
        })),
        customEvents: seen.custom,
      }
    },
    dispose: () => client.dispose(),
  }
}

/** Text of all assistant messages, joined. */
export function assistantText(state) {
  return state.messages
    .filter((message) => message.role === 'assistant')
    .flatMap((message) => message.parts)
    .filter((part) => part.type === 'text')
    .map((part) => part.content)
    .join('')
}

/** The parts of one type of all messages. */
export function partsOf(state, type) {
  return state.messages.flatMap((message) => message.parts).filter((part) => part.type === type)
}

/** Plays `client.steps` of a `<s>.server.json` and returns the final state. */
export async function play(url, name, server) {
  const chat = newClient(url, { thread: `thread-${name}`, server })
  const { steps } = server.client
  try {
    for (const [i, step] of steps.entries()) {
      if ('send' in step) {
        const next = steps[i + 1]
        if (next && 'stopAfterEvents' in next) chat.stopAfter(next.stopAfterEvents)
        if (step.refused) await assert.rejects(chat.send(step.send, step.body), /pending interrupts/)
        else await chat.send(step.send, step.body)
      } else if ('answer' in step) {
        const { value, editedArgs, payload } = step
        const options = { ...(editedArgs && { editedArgs }), ...(payload !== undefined && { payload }) }
        await chat.answer(step.answer, value, ...(Object.keys(options).length > 0 ? [options] : []))
      } else if ('answerAll' in step) {
        for (const item of chat.interrupts()) {
          if (item.kind in step.answerAll) item.resolveInterrupt(step.answerAll[item.kind])
        }
        await chat.idle('answerAll')
      } else if ('cancel' in step) await chat.cancel(step.cancel)
      else if ('retry' in step) {
        chat.client.retryInterrupts()
        await chat.idle('retry')
      } else if ('waitMs' in step) await new Promise((done) => setTimeout(done, step.waitMs))
      else if ('stop' in step) {
        chat.client.stop()
        await chat.idle('stop')
      } else assert.ok('stopAfterEvents' in step, `unknown step ${JSON.stringify(step)}`)
    }
    return { state: chat.state(), bodies: chat.seen.bodies, chunks: chat.seen.chunks }
  } finally {
    chat.dispose()
  }
}
