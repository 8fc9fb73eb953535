// What a pause of the run asks for, read from the interrupts of `useChat`.

const PAYLOAD = 'tanstack:interruptPayload'

function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Says which card an interrupt gets.
 *
 * `closed` items cannot be answered here at all; they still hold the
 * conversation, so the card only offers to stop waiting.
 */
export function classify(interrupt) {
  const metadata = isRecord(interrupt.metadata) ? interrupt.metadata : {}
  const payload = metadata[PAYLOAD]
  if (interrupt.kind === 'unbound' || interrupt.canResolve === false) {
    return { card: 'closed', payload }
  }
  if (interrupt.kind === 'tool-approval') {
    return {
      card: 'approval',
      toolName: interrupt.toolName,
      input: interrupt.originalArgs,
      resolve: (approved, editedArgs) =>
        interrupt.resolveInterrupt(approved, editedArgs === undefined ? undefined : { editedArgs }),
    }
  }
  if (metadata.kind === 'approval') {
    return {
      card: 'approval',
      toolName: typeof metadata.toolName === 'string' ? metadata.toolName : 'tool',
      input: metadata.input,
      resolve: (approved, editedArgs) =>
        interrupt.resolveInterrupt(editedArgs === undefined ? { approved } : { approved, editedArgs }),
    }
  }
  if (interrupt.id.startsWith('mcp_input_') && isRecord(payload) && isRecord(payload.request)) {
    if (payload.kind === 'form' || payload.kind === 'sampling') {
      return {
        card: payload.kind,
        toolName: typeof metadata.toolName === 'string' ? metadata.toolName : undefined,
        request: payload.request,
      }
    }
  }
  return { card: 'generic', payload }
}

/** The tool call that an interrupt holds up, or undefined. */
export function heldCall(interrupt) {
  if (typeof interrupt.toolCallId === 'string') return interrupt.toolCallId
  for (const prefix of ['mcp_input_', 'approval_']) {
    if (interrupt.id.startsWith(prefix)) return interrupt.id.slice(prefix.length)
  }
  return undefined
}

/**
 * Field names of the form questions in one stream event, in the order in which
 * the server wrote them: `[interruptId, names]` pairs.
 */
export function fieldOrders(chunk) {
  const interrupts = chunk?.type === 'RUN_FINISHED' ? chunk.outcome?.interrupts : undefined
  if (!Array.isArray(interrupts)) return []
  return interrupts.flatMap((item) => {
    const properties = item?.metadata?.[PAYLOAD]?.request?.requestedSchema?.properties
    return isRecord(properties) ? [[item.id, Object.keys(properties)]] : []
  })
}

/** The text of an MCP content value (one block or a list of blocks). */
export function contentText(content) {
  const blocks = Array.isArray(content) ? content : [content]
  return blocks
    .map((block) => {
      if (typeof block === 'string') return block
      if (!isRecord(block)) return ''
      if (typeof block.text === 'string') return block.text
      const what = [block.type, block.mimeType].filter((part) => typeof part === 'string').join(', ')
      return `[${what || 'content that this page cannot show'}]`
    })
    .filter((line) => line !== '')
    .join('\n')
}

/** One line for each error that the item carries. */
export function errorLines(interrupt) {
  return interrupt.errors.map((error) => {
    const path = Array.isArray(error.path) && error.path.length > 0 ? ` (${error.path.join('.')})` : ''
    return `${error.message}${path}`
  })
}

const FINAL = ['stale', 'expired', 'conflict']

/** Whether the item's errors say that no further answer will be taken. */
export function isSettled(interrupt) {
  return interrupt.errors.some((error) => FINAL.includes(error.code))
}
