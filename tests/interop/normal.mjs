// Normal forms of events and of the client's state, and their comparison.

/** Deep copy as JSON; functions become the text `[fn]`. */
export function plain(value) {
  return JSON.parse(JSON.stringify(value, (_, item) => (typeof item === 'function' ? '[fn]' : item)) ?? 'null')
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** Every string that occurs as a value in `value`. */
export function stringsOf(value, into = new Set()) {
  if (typeof value === 'string') into.add(value)
  else if (Array.isArray(value)) value.forEach((item) => stringsOf(item, into))
  else if (isObject(value)) Object.values(value).forEach((item) => stringsOf(item, into))
  return into
}

const ID_KEYS = new Set(['messageId', 'parentMessageId', 'stepName', 'stepId', 'entityId', 'id', 'interruptId'])
const TIME_KEYS = new Set(['createdAt', 'expiresAt'])

/**
 * Ids that a host made up: values of id keys that are not known from the request or the script and are not derived
 * from known ids.
 */
function hostMade(key, value, known) {
  if (!ID_KEYS.has(key) || known.has(value)) return false
  return !/^(approval_|client_tool_|mcp_input_|tool-|snapshot_)/.test(value)
}

/** Drops times and numbers host-made ids by first appearance. `known`: set of strings of the request and the script. */
export function normalEvents(events, known) {
  const ids = new Map()
  const number = (id) => {
    if (!ids.has(id)) ids.set(id, `<id ${ids.size + 1}>`)
    return ids.get(id)
  }
  const walk = (value, key) => {
    if (Array.isArray(value)) return value.map((item) => walk(item))
    if (isObject(value)) {
      const out = {}
      for (const name of Object.keys(value).sort(first)) out[name] = walk(value[name], name)
      return out
    }
    if (typeof value !== 'string') return value
    if (TIME_KEYS.has(key) && !known.has(value)) return ISO.test(value) ? '<time>' : value
    if (ids.has(value) && ID_KEYS.has(key)) return ids.get(value)
    return hostMade(key, value, known) ? number(value) : value
  }
  return events.map((event) => {
    const { timestamp, ...rest } = event
    return { ...(Number.isInteger(timestamp) ? {} : { timestamp: '<not an integer>' }), ...walk(rest) }
  })
}

// Numbering must not depend on the order of members.
const first = (a, b) => (a < b ? -1 : a > b ? 1 : 0)

const CLIENT_IDS = /^(msg|run|interrupt|thread)-\d+-[a-z0-9]+$/

/** The client's state without times, model names and made-up ids. */
export function normalState(state) {
  const ids = new Map()
  const number = (id) => {
    if (!ids.has(id)) ids.set(id, `<id ${ids.size + 1}>`)
    return ids.get(id)
  }
  for (const message of state.messages) number(message.id)
  const walk = (value, key) => {
    if (Array.isArray(value)) return value.map((item) => walk(item))
    if (isObject(value)) {
      const out = {}
      for (const name of Object.keys(value).sort(first)) {
        if (name === 'createdAt') continue
        const item = walk(value[name], name)
        // A message that only had its time there.
        if ((name === 'tanstack' || name === 'metadata') && isObject(item) && Object.keys(item).length === 0) continue
        out[name] = item
      }
      return out
    }
    if (typeof value !== 'string') return value
    if (ids.has(value)) return ids.get(value)
    if (key === 'model') return '<model>'
    if (key === 'stepId') return '<step>'
    if (key === 'expiresAt') return ISO.test(value) ? '<time>' : value
    return CLIENT_IDS.test(value) ? number(value) : value
  }
  return walk(plain(state))
}

const WORDING = /Invalid input: expected \S+, received [a-z]+/g
const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

function sameText(expected, actual) {
  if (expected === actual) return true
  if (typeof actual !== 'string' || !expected.match(WORDING)) return false
  // The wording is the application's validator's: only that there is one.
  const pattern = expected.split(WORDING).map(escape).join('[^]+?')
  return new RegExp(`^${pattern}$`).test(actual)
}

/** Lists the differences of two JSON values as `path: expected … got …`. */
export function diff(expected, actual, path = '$') {
  const show = (value) => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 400))
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const out = []
    for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
      out.push(...diff(expected[i], actual[i], `${path}[${i}]`))
    }
    return out
  }
  if (isObject(expected) && isObject(actual)) {
    const out = []
    for (const key of [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort()) {
      out.push(...diff(expected[key], actual[key], `${path}.${key}`))
    }
    return out
  }
  if (typeof expected === 'string' && sameText(expected, actual)) return []
  if (expected === actual) return []
  return [`${path}: expected ${show(expected)}, got ${show(actual)}`]
}
