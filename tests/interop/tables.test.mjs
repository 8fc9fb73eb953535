// Bodies that are refused, and continuations that are refused.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { NOT_COVERED_RESUME, REFERENCE, applyDifferences } from './differences.mjs'
import { fixtures, startFixture, withHost } from './host.mjs'
import { diff, normalEvents, stringsOf } from './normal.mjs'
import { parseEvents, post } from './wire.mjs'

const directory = mkdtempSync(join(tmpdir(), 'roscius-tables-'))
after(() => rmSync(directory, { recursive: true }))

function table(name) {
  const content = JSON.parse(readFileSync(join(fixtures, `${name}.table.json`), 'utf8'))
  const file = join(directory, `${name}.server.json`)
  writeFileSync(file, JSON.stringify({ requests: [], client: { steps: [] }, ...content.server }))
  return { ...content, file }
}

const ERRORS = 'Validation errors: '

describe('bad bodies', () => {
  const { cases, server, file } = table('bad-bodies')
  for (const row of cases) {
    test(row.case, async () => {
      await withHost(startFixture(file, { trustHistory: true }), async (host) => {
        const answer = await post(host.chat, row.bodyText ?? row.body)
        assert.equal(answer.status, row.status, answer.text)
        const type = row.contentType.split(';')[0]
        assert.equal(answer.headers.get('content-type').split(';')[0], type)
        if (row.status === 200) {
          const known = stringsOf(row.body, stringsOf(server))
          const own = parseEvents(answer.text)
          // The table has no time stamps.
          const recorded = row.events.map((event) => ({ ...event, timestamp: 0 }))
          const [expected, actual] = applyDifferences(normalEvents(recorded, known), normalEvents(own, known), row.body)
          assert.deepEqual(diff(expected, actual), [])
          return
        }
        // The sentence is ours; it says why. The JSON parser's own wording is not wire data.
        const at = row.reason.indexOf(ERRORS)
        if (at >= 0 && !REFERENCE) assert.ok(answer.text.includes(row.reason.slice(at + ERRORS.length)), `no reason in: ${answer.text}`)
        else assert.ok(answer.text.trim().length > 0, 'some sentence')
        assert.equal((await host.log()).modelCalls, 0)
      })
    })
  }
})

/** An error item without the wording: what a client compares. */
function shape(error) {
  const { message, ...rest } = error
  return { ...rest, message: typeof message === 'string' && message.length > 0 ? '<a sentence>' : message }
}

describe('bad resume', () => {
  const { cases, server, file } = table('bad-resume')
  const mine = cases.filter((row) => !NOT_COVERED_RESUME.test(row.case))
  test('most rows are covered', () => assert.ok(mine.length >= 20, `${mine.length}: ${mine.map((row) => row.case)}`))
  for (const row of mine) {
    test(row.case, async () => {
      await withHost(startFixture(file, { trustHistory: true }), async (host) => {
        const answer = await post(host.chat, row.request)
        assert.equal(answer.status, row.status, answer.text)
        const known = stringsOf(row.request, stringsOf(server))
        const own = parseEvents(answer.text)
        const recorded = row.events.map((event) => ({ ...event, timestamp: 0 }))
        const [expected, actual] = applyDifferences(normalEvents(recorded, known), normalEvents(own, known), row.request)
        assert.deepEqual(actual.map((event) => event.type), expected.map((event) => event.type), 'event types')
        for (const events of [expected, actual]) {
          for (const event of events) {
            if (event.type !== 'RUN_ERROR') continue
            event.message = shape(event).message
            const tanstack = event.metadata?.tanstack
            if (tanstack?.interruptErrors) tanstack.interruptErrors = tanstack.interruptErrors.map(shape)
          }
        }
        assert.deepEqual(diff(expected, actual), [])
        const log = await host.log()
        assert.deepEqual(log.problems ?? [], [])
        assert.deepEqual(diff(row.toolRuns, log.toolRuns, 'toolRuns'), [])
        assert.equal(log.modelCalls, row.modelCalls, 'model calls')
      })
    })
  }
})
