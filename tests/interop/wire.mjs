// Raw requests to a chat endpoint.
import assert from 'node:assert/strict'
import { connect } from 'node:net'

/** Splits an event stream into its events; refuses everything that is not `data: <json>`, comments excepted. */
export function parseEvents(text) {
  const events = []
  for (const frame of text.split('\n\n')) {
    const lines = frame.split('\n').filter((line) => line !== '' && !line.startsWith(':'))
    if (lines.length === 0) continue
    assert.equal(lines.length, 1, `a frame is one line: ${frame}`)
    assert.ok(lines[0].startsWith('data: '), `a frame starts with "data: ": ${frame}`)
    events.push(JSON.parse(lines[0].slice(6)))
  }
  assert.ok(text === '' || text.endsWith('\n\n'), 'the last frame is complete')
  return events
}

/** Posts a body as it stands and reads the whole answer. */
export async function post(url, body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Posts a body and returns the events. */
export async function run(url, body) {
  const answer = await post(url, body, { 'x-run-id': body.runId })
  assert.equal(answer.status, 200, answer.text)
  return parseEvents(answer.text)
}

/**
 * Posts a body on a socket of its own and cuts the connection: `when(received)` sees the text received so far, once
 * before anything came (the request is then fully written).
 */
export function postAndCut(url, body, when) {
  const { hostname, port, pathname } = new URL(url)
  const text = JSON.stringify(body)
  return new Promise((done, fail) => {
    let received = ''
    const socket = connect(Number(port), hostname)
    socket.setTimeout(30_000, () => fail(new Error(`nothing to cut at: ${received}`)))
    const cut = () => {
      socket.destroy()
      done(received)
    }
    socket.on('error', fail)
    socket.on('connect', () => {
      socket.write(
        `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n` +
          `X-Run-Id: ${body.runId}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
        () => when('') && cut(),
      )
    })
    socket.on('data', (bytes) => {
      received += bytes
      if (when(received)) cut()
    })
    socket.on('end', () => fail(new Error(`ended before the cut: ${received}`)))
  })
}

/** The last event of a type. */
export function lastOf(events, type) {
  return events.filter((event) => event.type === type).at(-1)
}

/** The interrupts of a stream that paused. */
export function interruptsOf(events) {
  return lastOf(events, 'RUN_FINISHED')?.outcome?.interrupts ?? []
}
