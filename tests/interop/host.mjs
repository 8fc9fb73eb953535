// Starts and ends the programs under test.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Children, pidOf } from './children.mjs'

const here = dirname(fileURLToPath(import.meta.url))
export const fixtures = resolve(here, '../fixtures/agui')
export const scenarios = resolve(here, 'scenarios')
const debug = resolve(here, '../../target/debug')
const roscius = resolve(process.env.ROSCIUS_BIN ?? resolve(debug, 'roscius'))
const fixtureHost = resolve(process.env.FIXTURE_HOST ?? resolve(debug, 'examples/fixture_host'))
/** A server with a bit of everything, for MCP clients. */
export const mcpHost = resolve(dirname(fixtureHost), 'mcp_host')
/** The client of `tests/peers/rmcp`. */
export const rmcpClient = resolve(process.env.RMCP_CLIENT ?? resolve(debug, '../peers/debug/rmcp-client'))
/** The client of `tests/peers/python`. */
export const pythonClient = resolve(here, '../peers/python/client.py')

const URL_LINE = /http:\/\/127\.0\.0\.1:\d+/
const START_MS = 20_000
const STOP_MS = 8_000

/** Hosts that their tests did not come to end. */
const hosts = new Children()

/** Starts a program and waits for the URL it prints. */
export async function start(binary, args, env = {}) {
  assert.ok(existsSync(binary), `${binary} is missing: build it, or set ROSCIUS_BIN and FIXTURE_HOST`)
  const child = spawn(binary, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  hosts.add(() => pidOf(child))
  let out = ''
  let err = ''
  const exit = new Promise((done) => child.on('exit', (code, signal) => done({ code, signal })))
  child.stderr.on('data', (bytes) => (err += bytes))
  const url = await new Promise((done, fail) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      fail(new Error(`no URL within ${START_MS} ms\n${out}\n${err}`))
    }, START_MS)
    child.stdout.on('data', (bytes) => {
      out += bytes
      const found = URL_LINE.exec(out)
      if (!found) return
      clearTimeout(timer)
      done(found[0])
    })
    child.on('error', fail)
    exit.then(({ code, signal }) => {
      clearTimeout(timer)
      fail(new Error(`ended before it printed a URL (code ${code}, signal ${signal})\n${out}\n${err}`))
    })
  })

  let ended = false
  return {
    url,
    chat: `${url}/api/chat`,
    out: () => out,
    err: () => err,
    /** Ends the program as an operator would, and checks that it drains. */
    async stop() {
      if (ended) return
      ended = true
      child.kill('SIGTERM')
      let timer
      const late = new Promise((done) => (timer = setTimeout(done, STOP_MS)))
      const how = await Promise.race([exit, late])
      clearTimeout(timer)
      if (!how) {
        child.kill('SIGKILL')
        await exit
        assert.fail(`still running ${STOP_MS} ms after SIGTERM\n${err}`)
      }
      assert.deepEqual(how, { code: 0, signal: null }, `wrong end after SIGTERM\n${err}`)
    },
    /** Ends the program without a chance to clean up. */
    async kill() {
      if (ended) return
      ended = true
      child.kill('SIGKILL')
      await exit
    },
  }
}

/** Starts `roscius serve` on a free port. */
export function startServe(args = [], env = {}) {
  return start(roscius, ['serve', '--addr', '127.0.0.1:0', ...args], env)
}

/** Starts an example that serves until it is ended. */
export function startExample(name) {
  return start(resolve(dirname(fixtureHost), name), ['--serve'])
}

/** Starts the host with a bit of everything. */
export function startMcpHost() {
  return start(mcpHost, [])
}

/** Starts the fixture host with a scenario file. */
export async function startFixture(file, { trustHistory = false, env = {} } = {}) {
  const host = await start(fixtureHost, [file, ...(trustHistory ? ['--trust-history'] : [])], env)
  const post = async (path, body) => {
    const response = await fetch(host.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    })
    assert.ok(response.ok, `${path} answered ${response.status}`)
    await response.arrayBuffer()
  }
  return {
    ...host,
    log: async () => (await fetch(`${host.url}/fixture/log`)).json(),
    turn: (index, request) => post('/fixture/turn', request === undefined ? { index } : { index, request }),
    reset: () => post('/fixture/reset'),
  }
}

/** Runs `check` on a started host and ends the host whatever happens. */
export async function withHost(starting, check) {
  const host = await starting
  let failed = true
  try {
    const result = await check(host)
    failed = false
    return result
  } finally {
    if (failed) await host.kill()
    else await host.stop()
  }
}

/** Polls until `check` returns something, with a deadline. */
export async function eventually(what, check, ms = 10_000) {
  const end = Date.now() + ms
  for (;;) {
    const value = await check()
    if (value) return value
    if (Date.now() > end) assert.fail(`not within ${ms} ms: ${what}`)
    await new Promise((done) => setTimeout(done, 10))
  }
}
