// Runs the test files with node's own test runner: `node run.mjs [word…]`.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const major = Number(process.versions.node.split('.')[0])
if (major < 20) {
  console.error(`node 20 or newer is needed, this is ${process.version}`)
  process.exit(1)
}
const words = process.argv.slice(2)
const files = readdirSync(here)
  .filter((name) => name.endsWith('.test.mjs'))
  .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
  .sort()
if (files.length === 0) {
  console.error(`no test file matches ${words.join(', ')}`)
  process.exit(1)
}
const child = spawn(
  process.execPath,
  ['--test', '--test-reporter=spec', '--test-concurrency=2', ...files.map((name) => join(here, name))],
  { stdio: 'inherit', cwd: here },
)
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
