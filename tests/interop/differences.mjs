// The only two tables that may excuse anything. Each line has its reason.

/** Scenarios of `tests/fixtures/agui` that no test here plays yet. Checked against the folder. */
export const NOT_COVERED = {
  'abort-server-side': 'abort by a middleware hook; an aborted run ends with an event of its own here',
  'custom-events': 'middleware emits',
  'engine-throws-before-start': 'middleware throws',
  'middleware-order': 'middleware',
  'skip-and-abort-middleware': 'middleware',
  durable: 'event log over HTTP: re-attach and offsets',
  'generic-after-tools': 'generic interrupts by middleware',
  'generic-before-tools-cancel-tools': 'generic interrupts by middleware',
  'generic-before-tools-continue': 'generic interrupts by middleware',
  'generic-cancel': 'generic interrupts by middleware',
  'generic-expired': 'generic interrupts by middleware',
  'generic-invalid-response': 'generic interrupts by middleware',
  'generic-resolve': 'generic interrupts by middleware',
  'generic-stop': 'generic interrupts by middleware',
  'generic-unregistered-on-client': 'generic interrupts by middleware',
  'lazy-tools': 'lazy tools',
  'mcp-discovery-error': 'scripted MCP sources',
  'mcp-dup-with-own-tool': 'scripted MCP sources',
  'mcp-duplicate-tool': 'scripted MCP sources',
  'mcp-real-client': 'scripted MCP sources, ui resources',
  'structured-combined': 'structured output',
  'structured-fallback': 'structured output',
  'ui-resource': 'ui resources',
}

/** Recordings whose server was written by hand: they say what the client makes of given bytes, nothing about a host. */
export const CLIENT_ONLY = /^(mcp-input-.*|http-errors-.*|hydrate)$/

/** Tables: played by `tables.test.mjs`, or the reason why not. */
export const TABLES = {
  'bad-bodies': 'played',
  'bad-resume': 'played',
  'http-errors': 'client only',
  'openai-adapter': 'tests of the model port',
  'sse-tolerance': 'client only',
}

/** Rows of `bad-resume.table.json` that need generic definitions. */
export const NOT_COVERED_RESUME = /generic/i

/** Set when the host under test is built on the recorded packages themselves: then nothing is excused. */
export const REFERENCE = process.env.INTEROP_REFERENCE === '1'

function unseal(row) {
  if (!row.metadata?.roscius) return
  delete row.metadata.roscius
  if (Object.keys(row.metadata).length === 0) delete row.metadata
}

const TERMINAL = new Set(['RUN_FINISHED', 'RUN_ERROR'])

/**
 * What we do otherwise on purpose. `expected` and `actual` are the normalised event lists (`apply`) or the normalised
 * states of the client (`applyState`); each rule rewrites the two so that what is left has to be equal. A rule is applied
 * to every scenario, so it cannot hide a single failure.
 */
export const DIFFERENCES = [
  {
    name: 'every stream ends',
    reason: 'a stream without RUN_FINISHED or RUN_ERROR makes the client drop a pending interrupt and show success',
    apply(expected, actual) {
      const last = expected.at(-1)
      if (last && !TERMINAL.has(last.type) && TERMINAL.has(actual.at(-1)?.type)) actual.pop()
    },
  },
  {
    name: 'RUN_STARTED comes first on a resume',
    reason: 'results of resumed calls belong to the run, so the run starts before them',
    apply(expected, actual, request) {
      const results = expected.findIndex((event) => event.type === 'RUN_STARTED')
      if (results <= 0) return
      const [started] = expected.splice(results, 1)
      expected.unshift(started)
      // Which model the turn will play is not known that early.
      for (const event of [started, actual[0]]) if (event?.type === 'RUN_STARTED') delete event.metadata
      if (request.parentRunId !== undefined) started.parentRunId = request.parentRunId
    },
  },
  {
    name: 'RUN_STARTED of a continuation names its parent',
    reason: 'the recorded engine leaves it out when it pauses again before the model',
    apply(expected, actual, request) {
      if (request.parentRunId === undefined || expected[0]?.type !== 'RUN_STARTED') return
      expected[0].parentRunId = request.parentRunId
      if (actual[0]?.type === 'RUN_STARTED' && expected[0].metadata === undefined) delete actual[0].metadata
    },
  },
  {
    name: 'a pause carries a seal',
    reason: 'the seal lets another process resume the run; the client returns it unchanged',
    apply(_expected, actual) {
      for (const event of actual) if (event.type === 'MESSAGES_SNAPSHOT') event.messages?.forEach(unseal)
    },
    applyState(_expected, actual) {
      actual.messages.forEach(unseal)
    },
  },
]

/** Applies the table to a pair of lists. */
export function applyDifferences(expected, actual, request) {
  const pair = [structuredClone(expected), structuredClone(actual)]
  for (const rule of REFERENCE ? [] : DIFFERENCES) rule.apply?.(pair[0], pair[1], request)
  return pair
}

/** Applies the table to a pair of client states. */
export function applyStateDifferences(expected, actual) {
  const pair = [structuredClone(expected), structuredClone(actual)]
  for (const rule of REFERENCE ? [] : DIFFERENCES) rule.applyState?.(pair[0], pair[1])
  return pair
}
