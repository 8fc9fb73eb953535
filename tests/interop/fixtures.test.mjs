// The real chat client through every recorded scenario.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CLIENT_ONLY, NOT_COVERED, TABLES, applyStateDifferences } from './differences.mjs'
import { play } from './drive.mjs'
import { fixtures, startFixture, withHost } from './host.mjs'
import { diff, normalState } from './normal.mjs'

const read = (name) => JSON.parse(readFileSync(join(fixtures, name), 'utf8'))
const names = readdirSync(fixtures)
const all = names.filter((name) => name.endsWith('.server.json')).map((name) => name.slice(0, -'.server.json'.length))
const covered = all.filter((name) => !(name in NOT_COVERED))

test('every scenario is played or listed as not covered', () => {
  assert.deepEqual(Object.keys(NOT_COVERED).filter((name) => !all.includes(name)), [], 'the table names what exists')
  assert.deepEqual(covered.filter((name) => !names.includes(`${name}.client.json`)), [], 'each has a recorded client')
  const clients = names.filter((name) => name.endsWith('.client.json')).map((name) => name.slice(0, -'.client.json'.length))
  assert.deepEqual(clients.filter((name) => !all.includes(name) && !CLIENT_ONLY.test(name)), [], 'nothing is forgotten')
  const tables = names.filter((name) => name.endsWith('.table.json')).map((name) => name.slice(0, -'.table.json'.length))
  assert.deepEqual(tables.sort(), Object.keys(TABLES).sort())
  assert.ok(covered.length >= 24, `${covered.length} scenarios`)
})

/**
 * A copy of a scenario whose model waits so long between deltas that a stop after the k-th event is in time on any
 * machine: the recording stopped by count, not by the clock.
 */
function unhurried(server, folder) {
  const slow = structuredClone(server)
  for (const turn of slow.model.turns) if (turn.delayMs) turn.delayMs = 1000
  const file = join(folder, 'slow.server.json')
  writeFileSync(file, JSON.stringify(slow))
  return file
}

function recordedState(recorded) {
  return {
    status: recorded.finalStatus,
    messages: recorded.finalMessages,
    interrupts: recorded.finalInterrupts,
    errors: recorded.errors,
    customEvents: recorded.customEvents,
  }
}

for (const name of covered) {
  test(name, async (t) => {
    const server = read(`${name}.server.json`)
    const recorded = read(`${name}.client.json`)
    const folder = mkdtempSync(join(tmpdir(), 'roscius-fixture-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const stops = server.client.steps.some((step) => 'stopAfterEvents' in step)
    const file = stops ? unhurried(server, folder) : join(fixtures, `${name}.server.json`)
    await withHost(startFixture(file), async (host) => {
      const { state } = await play(host.chat, name, server)
      const { interruptErrors: _, ...actual } = state
      const pair = applyStateDifferences(normalState(recordedState(recorded)), normalState(actual))
      assert.deepEqual(diff(...pair), [])
      const log = await host.log()
      assert.deepEqual(log.problems ?? [], [])
      const runs = server.requests.flatMap((request) => request.expect?.toolRuns ?? [])
      assert.deepEqual(diff(runs, log.toolRuns, 'toolRuns'), [])
      const calls = server.requests.reduce((sum, request) => sum + (request.expect?.modelCalls ?? 0), 0)
      assert.equal(log.modelCalls, calls, 'model calls')
    })
  })
}
