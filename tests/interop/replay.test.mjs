// Every recorded request body, each on a fresh host, against the recorded response.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { NOT_COVERED, applyDifferences } from './differences.mjs'
import { fixtures, startFixture, withHost } from './host.mjs'
import { diff, normalEvents, stringsOf } from './normal.mjs'
import { parseEvents, post, postAndCut } from './wire.mjs'

const read = (name) => JSON.parse(readFileSync(join(fixtures, name), 'utf8'))
const covered = readdirSync(fixtures)
  .filter((name) => name.endsWith('.server.json'))
  .map((name) => name.slice(0, -'.server.json'.length))
  .filter((name) => !(name in NOT_COVERED))

function compareEvents(recorded, own, request, server) {
  const known = stringsOf(request, stringsOf(server))
  const [expected, actual] = applyDifferences(normalEvents(recorded, known), normalEvents(own, known), request)
  const types = (events) => events.map((event) => event.type)
  assert.deepEqual(types(actual), types(expected), 'event types')
  assert.deepEqual(diff(expected, actual), [])
}

for (const name of covered) {
  const server = read(`${name}.server.json`)
  for (const entry of server.requests) {
    test(`${name} ${entry.n}`, async () => {
      const request = read(`${name}.${entry.n}.request.json`)
      const http = read(`${name}.http.json`)[entry.n - 1]
      const recorded = readFileSync(join(fixtures, `${name}.${entry.n}.response.sse`), 'utf8')
      await withHost(startFixture(join(fixtures, `${name}.server.json`), { trustHistory: true }), async (host) => {
        await host.turn(entry.firstTurn, entry.n)
        if (server.clientAbort?.request === entry.n) {
          // The same number of frames as recorded, then the connection goes.
          const count = server.clientAbort.afterEvents
          const received = await postAndCut(host.chat, request, (text) => text.split('\n\n').length - 2 >= count)
          const events = [...received.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]))
          compareEvents(parseEvents(recorded), events.slice(0, count), request, server)
          return
        }
        const answer = await post(host.chat, request, { 'x-run-id': request.runId })
        assert.equal(answer.status, http.status)
        assert.match(answer.headers.get('content-type'), /^text\/event-stream/)
        assert.equal(answer.headers.get('cache-control'), http.responseHeaders['cache-control'])
        compareEvents(parseEvents(recorded), parseEvents(answer.text), request, server)
        const log = await host.log()
        assert.deepEqual(log.problems ?? [], [])
        assert.deepEqual(diff(entry.expect.toolRuns, log.toolRuns, 'toolRuns'), [])
        assert.equal(log.modelCalls, entry.expect.modelCalls, 'model calls')
      })
    })
  }
}
