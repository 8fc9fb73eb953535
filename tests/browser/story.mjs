// Drives the page of a running roscius (demo model, demo server) through its
// main story in headless Chromium.
//
//   node story.mjs <base-url> [screenshot-folder]
//
// One line per step, a last line `N passed, N failed`, exit code 1 on failure.
// The browser is $CHROMIUM (a name or a path) or the first one found. Waits are
// for conditions, each with a deadline; $STORY_DEADLINE_MS (10000) sets it.
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { chromium } from 'playwright-core'

const [base, shots] = process.argv.slice(2)
if (!base) {
  console.error('usage: node story.mjs <base-url> [screenshot-folder]')
  process.exit(2)
}
const DEADLINE = Number(process.env.STORY_DEADLINE_MS ?? 10_000)
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const APPLICATIONS = ['/Applications/Chromium.app/Contents/MacOS/Chromium', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']

/** The browser named by $CHROMIUM, or else the first one on PATH. */
function findBrowser() {
  const wanted = process.env.CHROMIUM
  if (wanted && isAbsolute(wanted)) return wanted
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const names = wanted ? [wanted] : NAMES
  const places = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [...places, ...(wanted ? [] : APPLICATIONS)].find((place) => existsSync(place))
}

const executablePath = findBrowser()
if (!executablePath) {
  console.error('no Chromium found; set CHROMIUM to its path')
  process.exit(2)
}
if (shots) mkdirSync(shots, { recursive: true })

const browser = await chromium.launch({
  executablePath,
  headless: true,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
})
const page = await browser.newPage({ viewport: { width: 900, height: 1000 } })
page.setDefaultTimeout(DEADLINE)

const faults = []
const origin = new URL(base).origin
page.on('console', (message) => {
  if (message.type() === 'error') faults.push(`console: ${message.text()} (${message.location().url})`)
})
page.on('pageerror', (error) => faults.push(`page: ${error.message}`))
page.on('request', (request) => {
  if (/^https?:/.test(request.url()) && new URL(request.url()).origin !== origin) {
    faults.push(`request to another host: ${request.url()}`)
  }
})

const id = (name) => page.getByTestId(name)
const assistant = () => id('message-assistant')
const call = (tool) => page.locator(`[data-testid="tool-call"][data-tool="${tool}"]`)
const card = (kind) => page.locator(`[data-testid="interrupt"][data-kind="${kind}"]`)

/** Waits in the page until `test(argument)` is truthy. */
async function until(what, test, argument) {
  await page
    .waitForFunction(test, argument, { timeout: DEADLINE })
    .catch((error) => {
      throw new Error(`${what}: ${error.message.split('\n')[0]}`)
    })
}

async function status(key) {
  await until(
    `status ${key}`,
    (want) => document.querySelector('[data-testid="status"]')?.dataset.status === want,
    key,
  )
}

function must(condition, what) {
  if (!condition) throw new Error(what)
}

/** Writes a message and sees it in the conversation. */
async function say(text) {
  const before = await id('message-user').count()
  await id('composer').fill(text)
  await id('composer').press('Enter')
  await id('message-user').nth(before).waitFor()
  const shown = await id('message-user').nth(before).innerText()
  must(shown.trim() === text, `the page shows ${JSON.stringify(shown)}`)
}

/** The text of all answers so far. */
async function answerText() {
  return page.evaluate(() =>
    [...document.querySelectorAll('[data-testid="message-assistant"] > p.text')]
      .map((p) => p.textContent)
      .join('\n'),
  )
}

/** Runs `act`, waits for the end of the run, and returns the text it added. */
async function answered(act) {
  const before = (await answerText()).length
  await act()
  await until(
    'an answer',
    (length) => {
      const texts = [...document.querySelectorAll('[data-testid="message-assistant"] > p.text')]
      const done = document.querySelector('[data-testid="status"]')?.dataset.status === 'ready'
      return done && texts.map((p) => p.textContent).join('\n').length > length
    },
    before,
  )
  must((await id('error').count()) === 0, 'the page shows an error')
  return (await answerText()).slice(before)
}

/** The newest call of `tool` once it stands in one of `states`. */
async function settled(tool, states) {
  await until(
    `${tool} in ${states.join(' or ')}`,
    ([name, wanted]) => {
      const calls = document.querySelectorAll(`[data-testid="tool-call"][data-tool="${name}"]`)
      return wanted.includes([...calls].at(-1)?.dataset.state)
    },
    [tool, states],
  )
  return call(tool).last()
}

async function resultOf(tool, states) {
  return (await settled(tool, states)).getByTestId('tool-result').innerText()
}

async function focusIn(kind) {
  await until(
    `focus in the ${kind} card`,
    (name) => document.activeElement?.closest('[data-testid="interrupt"]')?.dataset.kind === name,
    kind,
  )
}

async function question(kind) {
  await status('waiting')
  await card(kind).waitFor()
  await focusIn(kind)
  must(await id('composer').isDisabled(), 'a message could be written while a question is open')
}

async function noQuestion() {
  await until('no card', () => document.querySelector('[data-testid="interrupt"]') === null)
}

let passed = 0
let failed = 0
async function step(name, run) {
  const seen = faults.length
  try {
    await run()
    must(faults.length === seen, faults.slice(seen).join('; '))
    passed += 1
    console.log(`ok    ${name}`)
  } catch (error) {
    failed += 1
    console.log(`FAIL  ${name}: ${error.message.split('\n')[0]}`)
    await shoot(name)
    // A question left open would fail every step after this one.
    await id('new-chat').click().catch(() => {})
    return
  }
  await shoot(name)
}

async function shoot(name) {
  if (!shots) return
  const file = `${String(passed + failed).padStart(2, '0')}-${name.replace(/[^a-z0-9]+/gi, '-')}.png`
  await page.screenshot({ path: join(shots, file), fullPage: true }).catch(() => {})
}

await step('the page opens and names its servers and examples', async () => {
  await page.goto(base)
  await status('ready')
  await id('servers').waitFor()
  await id('example').first().waitFor()
  await id('servers').locator('summary').click()
  await page.locator('[data-testid="server"][data-connected="true"]').first().waitFor()
  must((await id('servers').innerText()).includes('demo_get_weather'), 'no demo tools')
  await id('servers').locator('summary').click()
})

await step('hello is answered with text alone', async () => {
  const text = await answered(() => say('hello'))
  must(text.trim() !== '', 'no text')
  must((await id('tool-call').count()) === 0, 'a tool ran')
})

await step('an example chip runs a tool with arguments, result and text', async () => {
  await id('new-chat').click()
  const chip = id('example').filter({ hasText: 'weather in Oslo' })
  const text = await answered(() => chip.click())
  must(text.trim() !== '', 'no text')
  const weather = await settled('demo_get_weather', ['complete'])
  must((await weather.getByTestId('tool-arguments').innerText()).includes('Oslo'), 'no arguments')
  must((await weather.getByTestId('tool-result').innerText()).trim() !== '', 'no result')
})

await step('a form question is checked before it is sent', async () => {
  await say('ask me for a city')
  await question('form')
  await settled('demo_ask_city', ['waiting'])
  await id('interrupt-send').click()
  await card('form').locator('[aria-invalid="true"]').waitFor()
  await status('waiting')
})

await step('an answered form goes on with the call', async () => {
  const text = await answered(async () => {
    await card('form').locator('input').first().fill('Paris')
    await card('form').locator('input').first().press('Enter')
  })
  await noQuestion()
  must((await resultOf('demo_ask_city', ['complete'])).includes('Paris'), 'no Paris in the result')
  must(text.includes('Paris'), `no Paris in ${JSON.stringify(text)}`)
})

for (const [name, button] of [
  ['a declined form', 'interrupt-decline'],
  ['a cancelled form', 'interrupt-cancel'],
]) {
  await step(`${name} ends the call without an answer`, async () => {
    await say('ask me for a city')
    await question('form')
    const text = await answered(() => id(button).click())
    await noQuestion()
    must(text.trim() !== '', 'no text')
    await resultOf('demo_ask_city', ['complete', 'error'])
  })
}

await step('an open question is still there after a reload', async () => {
  await say('ask me for a city')
  await question('form')
  await page.reload()
  await question('form')
  const text = await answered(async () => {
    await card('form').locator('input').first().fill('Lima')
    await id('interrupt-send').click()
  })
  await noQuestion()
  must(text.includes('Lima'), `no Lima in ${JSON.stringify(text)}`)
})

await step('a sampling question shows its messages, and the model writes into the box', async () => {
  await say('summarize: actors are small')
  await question('sampling')
  must((await id('sampling-prompt').innerText()).includes('actors are small'), 'no prompt')
  await id('sampling-model').click()
  await until(
    'text in the box',
    () => document.querySelector('[data-testid="sampling-answer"]')?.value.trim() !== '',
  )
  await status('waiting')
})

await step('the sampled answer goes on with the call', async () => {
  const sampled = (await id('sampling-answer').inputValue()).trim()
  await answered(async () => {
    await id('sampling-answer').fill(`${sampled} (read and sent)`)
    await id('interrupt-send').click()
  })
  await noQuestion()
  const result = await resultOf('demo_summarize', ['complete'])
  must(result.includes('(read and sent)'), `the edited answer is not in ${JSON.stringify(result)}`)
})

await step('a denied call does not run', async () => {
  await say('delete note 3')
  await question('approval')
  must((await card('approval').innerText()).includes('demo_delete_note'), 'no tool name')
  must((await id('approval-arguments').innerText()).includes('3'), 'no arguments')
  await answered(() => id('interrupt-deny').click())
  await noQuestion()
  await settled('demo_delete_note', ['denied'])
})

await step('an approved call runs', async () => {
  await say('delete note 3')
  await question('approval')
  await answered(() => id('interrupt-approve').click())
  await noQuestion()
  must((await resultOf('demo_delete_note', ['complete'])).trim() !== '', 'no result')
})

await step('stop ends a run in the middle of a tool', async () => {
  await say('count to 5')
  await settled('demo_slow_count', ['streaming', 'running'])
  await id('stop').click()
  await status('ready')
  await settled('demo_slow_count', ['error'])
})

await step('the chat goes on after a stop, without running the tool again', async () => {
  const text = await answered(() => say('hello'))
  must(text.trim() !== '', 'no text')
  must((await call('demo_slow_count').count()) === 1, 'the stopped tool was called again')
})

await step('escape stops too', async () => {
  await say('count to 5')
  await settled('demo_slow_count', ['streaming', 'running'])
  await page.keyboard.press('Escape')
  await status('ready')
  await settled('demo_slow_count', ['error'])
})

await step('a reload keeps the conversation', async () => {
  const read = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('article')].map((message) => [message.dataset.testid, message.innerText]),
    )
  const before = await read()
  must(before.length > 0, 'there is no conversation to keep')
  await page.reload()
  await until(
    'the conversation',
    (count) => document.querySelectorAll('article').length === count,
    before.length,
  )
  must(JSON.stringify(await read()) === JSON.stringify(before), 'the conversation changed')
  await status('ready')
})

await step('the kept conversation goes on', async () => {
  must((await answered(() => say('weather in Oslo'))).trim() !== '', 'no text')
})

await step('a new chat is empty, and stays so after a reload', async () => {
  await id('new-chat').click()
  await id('empty').waitFor()
  must((await page.locator('article').count()) === 0, 'messages are left')
  await page.reload()
  await id('empty').waitFor()
  must((await page.locator('article').count()) === 0, 'messages came back')
})

if (shots) {
  await page.emulateMedia({ colorScheme: 'dark' })
  await id('example').first().click().catch(() => {})
  await status('ready').catch(() => {})
  await page.screenshot({ path: join(shots, '99-dark.png'), fullPage: true }).catch(() => {})
}
await browser.close()
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
