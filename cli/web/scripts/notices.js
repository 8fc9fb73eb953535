import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

const LICENCE_FILE = /^(licen[cs]e|copying|notice)(\.|-|$)/i

/** Finds the package that a bundled module belongs to. */
function packageOf(file) {
  for (let dir = dirname(file); dir !== dirname(dir); dir = dirname(dir)) {
    const manifest = join(dir, 'package.json')
    if (!existsSync(manifest)) continue
    const { name, version, license, author } = JSON.parse(readFileSync(manifest, 'utf8'))
    // Folders inside a package may hold a package.json that only sets `type`.
    if (name && version) return { dir, name, version, license, author }
  }
  throw new Error(`no package owns ${file}`)
}

function licenceText({ dir, author }) {
  const files = readdirSync(dir).filter((name) => LICENCE_FILE.test(name)).sort()
  if (files.length === 0) {
    const who = typeof author === 'string' ? author : author?.name
    return `The package carries no licence file.${who ? ` Author: ${who}.` : ''}`
  }
  return files
    .map((name) => readFileSync(join(dir, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .join('\n\n')
}

/** Renders the notices of the given packages, each once, sorted by name. */
export function renderNotices(packages) {
  const sorted = [...packages].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const head =
    'The page is built from the npm packages below. Each is followed by its licence.\n\n' +
    sorted.map((p) => `  ${p.name} ${p.version} (${p.license})`).join('\n')
  const rule = '-'.repeat(78)
  const bodies = sorted.map(
    (p) => `${rule}\n${p.name} ${p.version}\nLicence: ${p.license}\n\n${licenceText(p)}`,
  )
  return `${[head, ...bodies].join('\n\n')}\n`
}

/** Emits `THIRD-PARTY-NOTICES.txt` for what really is in the bundle. */
export function thirdPartyNotices() {
  return {
    name: 'third-party-notices',
    apply: 'build',
    generateBundle(_options, bundle) {
      const packages = new Map()
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue
        for (const id of Object.keys(chunk.modules)) {
          const file = id.replace(/^\0/, '').replace(/\?.*$/, '')
          if (!file.includes('/node_modules/')) continue
          const found = packageOf(file)
          packages.set(`${found.name}@${found.version}`, found)
        }
      }
      this.emitFile({
        type: 'asset',
        fileName: 'THIRD-PARTY-NOTICES.txt',
        source: renderNotices(packages.values()),
      })
    },
  }
}
