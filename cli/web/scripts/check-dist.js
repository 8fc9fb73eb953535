// Builds into a temporary folder, twice, and compares both with the committed
// `dist/`. Exit 1 names the files that differ.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build } from 'vite'

function files(root, dir = root) {
  return readdirSync(dir, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(dir, entry.name)
      return entry.isDirectory() ? files(root, path) : [relative(root, path)]
    })
    .sort()
}

const root = new URL('..', import.meta.url).pathname
const committed = join(root, 'dist')
const differences = new Set()
for (const round of [1, 2]) {
  const out = mkdtempSync(join(tmpdir(), 'roscius-page-'))
  try {
    await build({ root, logLevel: 'error', build: { outDir: out, emptyOutDir: true } })
    for (const name of new Set([...files(committed), ...files(out)])) {
      const [a, b] = [committed, out].map((dir) => {
        try {
          return readFileSync(join(dir, name))
        } catch {
          return undefined
        }
      })
      if (!a || !b || !a.equals(b)) differences.add(`${name} (build ${round})`)
    }
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}
if (differences.size > 0) {
  console.error(`dist/ is not what the sources build; run \`npm run build\`:\n  ${[...differences].join('\n  ')}`)
  process.exit(1)
}
console.log('dist/ is what the sources build')
