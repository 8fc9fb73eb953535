// The two small endpoints beside the chat.

function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const strings = (value) => (Array.isArray(value) ? value.filter((v) => typeof v === 'string') : [])

/** Makes what `/api/info` says safe to show, whatever it says. */
export function readInfo(body) {
  const info = isRecord(body) ? body : {}
  return {
    model: typeof info.model === 'string' ? info.model : undefined,
    examples: strings(info.examples),
    servers: (Array.isArray(info.servers) ? info.servers : []).filter(isRecord).map((server) => ({
      name: String(server.name ?? ''),
      url: typeof server.url === 'string' ? server.url : '',
      tools: strings(server.tools),
      connected: server.connected === true,
      error: typeof server.error === 'string' ? server.error : undefined,
    })),
  }
}

/** Asks what is connected; undefined when the host does not say. */
export async function fetchInfo(signal) {
  try {
    const response = await fetch('/api/info', { signal })
    return response.ok ? readInfo(await response.json()) : undefined
  } catch {
    return undefined
  }
}

/** Lets the run's model answer a sampling request; returns its text. */
export async function sample(request, signal) {
  const response = await fetch('/api/sample', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ request }),
    signal,
  })
  const body = await response.json().catch(() => undefined)
  if (!response.ok) {
    throw new Error(typeof body?.error === 'string' ? body.error : `HTTP ${response.status}`)
  }
  if (typeof body?.text !== 'string') throw new Error('The model sent no text.')
  return body.text
}
