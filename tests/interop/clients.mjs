// The MCP clients of other makers behind one face: methods by their MCP names, and what came in beside the answers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as schemas from '@modelcontextprotocol/sdk/types.js'
import { pidOf } from './children.mjs'
import { eventually, pythonClient, rmcpClient } from './host.mjs'

export const V2025 = '2025-11-25'
export const V2026 = '2026-07-28'

const NOTIFICATIONS = {
  'notifications/message': schemas.LoggingMessageNotificationSchema,
  'notifications/resources/updated': schemas.ResourceUpdatedNotificationSchema,
  'notifications/resources/list_changed': schemas.ResourceListChangedNotificationSchema,
  'notifications/tools/list_changed': schemas.ToolListChangedNotificationSchema,
  'notifications/prompts/list_changed': schemas.PromptListChangedNotificationSchema,
}

const QUESTIONS = {
  elicitation: ['elicitation/create', schemas.ElicitRequestSchema, { elicitation: { form: {}, url: {} } }],
  sampling: ['sampling/createMessage', schemas.CreateMessageRequestSchema, { sampling: {} }],
  roots: ['roots/list', schemas.ListRootsRequestSchema, { roots: {} }],
}

/** The answer to a question: of its own message, or of its kind. */
const answerOf = (answer, params) => answer[params?.message] ?? answer

/** What the two generations of the TypeScript SDK have in common. */
async function typescript(client, transport, answers, children, on) {
  const events = []
  // The transport forgets its process when it begins to close.
  let pid
  let gone = false
  client.onclose = () => (gone = true)
  children?.add(() => (gone ? undefined : (pid ?? transport.pid)))
  const note = (event, params) => void events.push({ event, params })
  for (const [kind, answer] of Object.entries(answers)) {
    const [method, schema] = QUESTIONS[kind]
    on.request(method, schema, async (request) => {
      note(method, request.params)
      return answerOf(answer, request.params)
    })
  }
  for (const [method, schema] of Object.entries(NOTIFICATIONS)) {
    on.notification(method, schema, (notification) => note(method, notification.params))
  }
  client.onerror = (error) => note('error', error)
  try {
    await client.connect(transport)
    pid = transport.pid
  } catch (error) {
    await client.close().catch(() => {})
    throw error
  }
  let subscription
  const methods = {
    ping: () => client.ping(),
    'tools/list': (params, options) => client.listTools(params, options),
    'tools/call': (params, options) =>
      on.call(params, { ...options, onprogress: (progress) => note('notifications/progress', progress) }),
    'resources/list': (params, options) => client.listResources(params, options),
    'resources/templates/list': (params, options) => client.listResourceTemplates(params, options),
    'resources/read': (params, options) => client.readResource(params, options),
    'resources/subscribe': (params, options) => client.subscribeResource(params, options),
    'resources/unsubscribe': (params, options) => client.unsubscribeResource(params, options),
    'prompts/list': (params, options) => client.listPrompts(params, options),
    'prompts/get': (params, options) => client.getPrompt(params, options),
    'completion/complete': (params, options) => client.complete(params, options),
    'logging/setLevel': (params, options) => client.setLoggingLevel(params.level, options),
    'subscriptions/listen': async (params, options) => {
      subscription = await client.listen(params, options)
      return subscription.honoredFilter
    },
  }
  return {
    events,
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    request: (method, params, options = {}) => methods[method](params, options),
    async close() {
      await subscription?.close()
      // A session stays until it is deleted or idle.
      await transport.terminateSession?.()
      await client.close()
    },
    leave: () => client.close(),
  }
}

const capabilities = (answers) => Object.assign({}, ...Object.keys(answers).map((kind) => QUESTIONS[kind][2]))
const headers = (token) => (token ? { requestInit: { headers: { authorization: `Bearer ${token}` } } } : {})

function modern(mode, supportedProtocolVersions = undefined) {
  return async ({ url, token, command }, answers = {}, children = undefined) => {
    const versions = supportedProtocolVersions && { supportedProtocolVersions }
    const options = { capabilities: capabilities(answers), versionNegotiation: { mode }, ...versions }
    const client = new Client({ name: 'interop', version: '1.0.0' }, options)
    const transport = url
      ? new StreamableHTTPClientTransport(new URL(url), headers(token))
      : new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'ignore' })
    const session = await typescript(client, transport, answers, children, {
      request: (method, _schema, handler) => client.setRequestHandler(method, handler),
      notification: (method, _schema, handler) => client.setNotificationHandler(method, handler),
      call: (params, options) => client.callTool(params, options),
    })
    return Object.assign(session, { version: client.getNegotiatedProtocolVersion() })
  }
}

async function old({ url, token, command }, answers = {}, children = undefined) {
  const client = new OldClient({ name: 'interop', version: '1.0.0' }, { capabilities: capabilities(answers) })
  const transport = url
    ? new OldTransport(new URL(url), headers(token))
    : new OldStdio({ command: command[0], args: command.slice(1), stderr: 'ignore' })
  let version = V2025
  if (url) {
    // Over HTTP the client tells its transport what was agreed on; it has no getter.
    transport.setProtocolVersion = (agreed) => {
      version = agreed
      OldTransport.prototype.setProtocolVersion.call(transport, agreed)
    }
  }
  const session = await typescript(client, transport, answers, children, {
    request: (_method, schema, handler) => client.setRequestHandler(schema, handler),
    notification: (_method, schema, handler) => client.setNotificationHandler(schema, handler),
    call: (params, options) => client.callTool(params, undefined, options),
  })
  const tasks = client.experimental.tasks
  return Object.assign(session, {
    version,
    tasks: {
      async start(name, args) {
        for await (const message of tasks.callToolStream({ name, arguments: args }, undefined, { task: {} })) {
          if (message.type === 'error') throw message.error
          if (message.type === 'taskCreated') return message.task.taskId
        }
        throw new Error('no task came')
      },
      status: async (id) => (await tasks.getTask(id)).status,
      result: (id) => tasks.getTaskResult(id, schemas.CallToolResultSchema),
      cancel: (id) => tasks.cancelTask(id),
    },
  })
}

/** A program of `tests/peers`, where `rmcp` says how they are driven. */
function program(command, version) {
  return async (place, answers = {}, children = undefined) => {
    const child = spawn(command[0], [...command.slice(1), JSON.stringify({ ...place, version, answers })], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    children?.add(() => pidOf(child))
    const events = []
    const open = new Map()
    const ended = once(child, 'exit')
    let connected
    const first = new Promise((done, fail) => (connected = { done, fail }))
    ended.then(() => {
      const error = new Error('the client ended')
      connected.fail(error)
      for (const { fail } of open.values()) fail(error)
    })
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = JSON.parse(line)
      if (message.event === 'connected') connected.done(message.params)
      else if (message.event === 'failed') connected.fail(new Error(message.params.message))
      else if (message.event) events.push(message)
      else {
        const request = open.get(message.id)
        open.delete(message.id)
        if (!request) return
        if (message.error) request.fail(Object.assign(new Error(message.error.message), { code: message.error.code }))
        else request.done(message.result)
      }
    })
    let info
    try {
      info = await first
    } catch (error) {
      child.kill('SIGKILL')
      await ended
      throw error
    }
    let last = 0
    const send = (method, params) =>
      new Promise((done, fail) => {
        const id = ++last
        open.set(id, { done, fail })
        child.stdin.write(`${JSON.stringify({ id, do: method, params })}\n`)
      })
    const leave = async () => {
      child.stdin.end()
      await ended
    }
    const task = async (taskId) => send('tasks/get', { taskId })
    return {
      events,
      version: info.protocolVersion,
      server: info.serverInfo,
      instructions: info.instructions,
      request(method, params, { signal } = {}) {
        const answer = send(method, params)
        const id = last
        signal?.addEventListener('abort', () => {
          open.get(id)?.fail(signal.reason)
          open.delete(id)
          void send('cancel', id)
        })
        return answer
      },
      tasks: {
        start: async (name, args) => (await send('tools/call as a task', { name, arguments: args })).taskId,
        status: async (id) => (await task(id)).status,
        result: (id) => eventually('the task ends', async () => (await task(id)).result),
        cancel: (taskId) => send('tasks/cancel', { taskId }),
      },
      close: leave,
      leave,
    }
  }
}

/**
 * Every client: its name, what it speaks, how it connects (`children` keeps what that starts), the code it gives for a resource that is not there, and
 * whether it has tasks.
 */
export const clients = [
  { name: 'TypeScript 2.x', version: V2026, open: modern('auto'), notFound: -32602 },
  // It gives the code of 2026 whatever came.
  { name: 'TypeScript 2.x as 2025', version: V2025, open: modern('legacy'), notFound: -32602 },
  { name: 'TypeScript 1.x', version: V2025, open: old, notFound: -32002, tasks: true },
  { name: 'rmcp', version: V2026, open: program([rmcpClient], V2026), notFound: -32602, tasks: true },
  { name: 'rmcp as 2025', version: V2025, open: program([rmcpClient], V2025), notFound: -32002 },
]

/** The revisions before, as far as clients still speak them. */
export const older = ['2025-06-18', '2025-03-26'].flatMap((version) => [
  { name: `TypeScript 2.x as ${version}`, version, open: modern('legacy', [version]), notFound: -32602 },
  { name: `rmcp as ${version}`, version, open: program([rmcpClient], version), notFound: -32002 },
])

// A Python that has the SDK takes long to start, so this one is asked for by name.
if (process.env.MCP_PYTHON) {
  const python = [process.env.MCP_PYTHON, pythonClient]
  // It keeps the status of a refusal, and what it says, to itself.
  const refused = /server returned an error response/i
  clients.push(
    { name: 'Python', version: V2026, open: program(python, V2026), notFound: -32602, refused },
    { name: 'Python as 2025', version: V2025, open: program(python, V2025), notFound: -32002, refused },
  )
}
