// How tool calls stand, and how the transcript is kept consistent.

const STOPPED = 'Stopped before the tool answered.'

function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parsed(value) {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** Formats arguments or results: JSON is indented, anything else is as it is. */
export function pretty(value) {
  const read = parsed(value)
  if (typeof read === 'string') return read
  return JSON.stringify(read, null, 2) ?? ''
}

/** Collects the results of a transcript by tool call id; the last one counts. */
export function resultsById(messages) {
  const results = new Map()
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === 'tool-result') results.set(part.toolCallId, part)
    }
  }
  return results
}

/**
 * How one call stands: `{state, text}`. States: `streaming` (arguments still
 * arriving), `running`, `waiting` (a question is open), `approval`, `complete`,
 * `error`, `denied`. `text` is the result to show, if there is one.
 */
export function callView(part, result, waiting) {
  const output = result ? parsed(result.content) : part.output
  const answered = isRecord(output) ? output : {}
  if (part.approval?.approved === false || (answered.approved === false && answered.message)) {
    return { state: 'denied', text: 'You denied this call.' }
  }
  if (output !== undefined && answered.pendingExecution !== true) {
    const failed = result?.state === 'error' || part.state === 'error'
    const text = failed && typeof answered.error === 'string' ? answered.error : pretty(output)
    return { state: failed ? 'error' : 'complete', text }
  }
  if (waiting) return { state: part.state === 'approval-requested' ? 'approval' : 'waiting' }
  if (part.state === 'awaiting-input' || part.state === 'input-streaming') return { state: 'streaming' }
  if (part.state === 'error') return { state: 'error', text: 'The call failed.' }
  return { state: 'running' }
}

function isOpen(part, results) {
  if (part.type !== 'tool-call') return false
  const result = results.get(part.id)
  if (!result) return part.output === undefined
  const content = parsed(result.content)
  return isRecord(content) && content.pendingExecution === true
}

/**
 * Closes calls that will never get a result, so that the next message does not
 * run them again. A call whose arguments did not arrive whole is left out.
 * Returns the same list when nothing is open.
 */
export function closeOpenCalls(messages) {
  const results = resultsById(messages)
  if (!messages.some((m) => m.parts.some((part) => isOpen(part, results)))) return messages
  return messages.map((message) => {
    const open = message.parts.filter((part) => isOpen(part, results))
    if (open.length === 0) return message
    const ids = new Set(open.map((part) => part.id))
    const parts = message.parts
      .filter((part) => !(part.type === 'tool-result' && ids.has(part.toolCallId)))
      .flatMap((part) => {
        if (!open.includes(part)) return [part]
        const complete = part.arguments === '' || isRecord(parsed(part.arguments))
        if (!complete) return []
        return [
          { ...part, arguments: part.arguments || '{}', state: 'error', output: { error: STOPPED } },
          {
            type: 'tool-result',
            toolCallId: part.id,
            content: JSON.stringify({ error: STOPPED }),
            state: 'error',
            error: STOPPED,
          },
        ]
      })
    return { ...message, parts }
  })
}

function contents(message) {
  const of = (type) => message.parts.filter((part) => part.type === type)
  return JSON.stringify([
    of('text').map((part) => part.content).join(''),
    of('thinking').map((part) => part.content).join(''),
    of('tool-call').map((part) => part.id).sort(),
  ])
}

/** The order of the parts that are shown, as one text to compare. */
function layout(message) {
  return message.parts
    .filter((part) => part.type !== 'tool-result')
    .map((part) => (part.type === 'tool-call' ? part.id : part.type))
    .join(' ')
}

/**
 * Gives a message the order of parts that `before` has. A snapshot of the
 * transcript carries one text and one list of calls for each message, so text
 * that came after a call would jump in front of it. Returns `message` itself
 * unless it holds the same things in another order.
 */
export function keepOrder(before, message) {
  if (before === undefined || before === message || before.role !== message.role) return message
  if (layout(before) === layout(message) || contents(before) !== contents(message)) return message
  const now = new Map(
    message.parts.filter((part) => part.type === 'tool-call').map((part) => [part.id, part]),
  )
  const shown = before.parts.filter((part) => part.type !== 'tool-result')
  const rest = message.parts.filter(
    (part) => !['text', 'thinking', 'tool-call', 'tool-result'].includes(part.type),
  )
  return {
    ...message,
    parts: [
      ...shown
        .filter((part) => ['text', 'thinking', 'tool-call'].includes(part.type))
        .map((part) => (part.type === 'tool-call' ? now.get(part.id) : part)),
      ...message.parts.filter((part) => part.type === 'tool-result'),
      ...rest,
    ],
  }
}
